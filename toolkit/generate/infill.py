"""Sentences that say the keywords of a reference in other orders, with words between them that fit the context.

Source: ParaNet (Liu et al. 2022), sections 3.1 and 3.2. A T5-type model reads the context of the reference with its
keywords in place of the reference, and a sentinel token before, between and after them; it says what each stands for.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from toolkit.bitext.hub_subwords import HubPieces
from toolkit.bitext.subwords import Pieces
from toolkit.decode.beam import beam_search
from toolkit.decode.engine import engine_of
from toolkit.decode.hypotheses import Hypothesis
from toolkit.decode.likelihood import log_likelihood
from toolkit.generate.keywords import Keyword, keywords, permutations
from toolkit.generate.merge import max_output_tokens, merge, rows_at_once, source_too_long
from toolkit.memory import releasing
from toolkit.progress import at_hand
from toolkit.rows import Candidate, Origin, Row
from toolkit.translator.load import Translator

SENTINEL = "<extra_id_{}>"  # of T5's tokenizers; the model reads and says them in this order
SENTINELS = 100  # of T5's checkpoints
MOST_KEYWORDS = SENTINELS - 2  # of a sentence; one sentinel more than keywords, and one that ends the output
Search = tuple[int, list[str], list[int]]  # the number of a row, its keywords in an order, the ids of the input
CLITIC = re.compile(r"\s+(?=(?:n['’]t|['’](?:s|ll|re|ve|d|m))\b)", re.IGNORECASE)
BEFORE_MARK = re.compile(r"\s+(?=[,.;:!?)\]…])")
AFTER_BRACKET = re.compile(r"(?<=[(\[])\s+")


def infill_rows(
    rows: Iterable[Row],
    infiller: Translator,
    most_permutations: int,
    drop_rate: float,
    beam: int,
    batch_rows: int,
    batch_tokens: int,
    seed: int,
) -> Iterator[Row]:
    """Give every row a candidate for each order of its keywords; equal texts of one row are one candidate.

    Args:
        rows: Rows with a reference and its context, without candidates; all of a shard are held at a time.
        infiller: A T5-type model (`sentinel_ids`).
        most_permutations: The most orders of the keywords.
        drop_rate: Share of the keywords that are dropped, those that say least about the reference.
        beam: Hypotheses that a search follows at a time.
        batch_rows: How many hypotheses are decoded at a time.
        batch_tokens: Size of a scoring batch: inputs times the tokens of the longest.
        seed: Seed of the orders.

    Yields:
        The rows in their order, `candidates` filled. The origin of a candidate has the keywords in their order. Reasons
        are those of `toolkit.generate.merge.merge`, and two of candidates without text: "no_keywords" for a reference
        that has none, and "source_too_long" for one that is with its context longer than the model reads.

    Source: ParaNet, sections 3.1 and 3.2, appendix A.
    """
    shard, engine = list(rows), engine_of(infiller.model)
    chosen = informative([row.reference for row in shard], infiller, drop_rate, batch_tokens)
    searches: list[Search] = []
    for number, (row, found) in enumerate(zip(shard, chosen, strict=True)):
        chance = random.Random(f"{seed}\t{row.id}")
        orders = [[found[i].text for i in order] for order in permutations(len(found), most_permutations, chance)]
        texts = [infill_input(order, row.context_before or "", row.context_after or "") for order in orders]
        ids = infiller.source.encode(texts) if found else []
        if not found:
            row.candidates = [Candidate("", "infill", draws=0, generator=infiller.signature, reason="no_keywords")]
        elif max(map(len, ids)) > engine.limit:
            row.candidates = [source_too_long("infill", infiller.signature)]
        else:
            searches += [(number, order, own) for order, own in zip(orders, ids, strict=True)]
    orders_of = Counter(number for number, _, _ in searches)
    lengths = [len(ids) for ids in infiller.target.encode([row.reference for row in shard])]
    said: list[list[tuple[list[str], Hypothesis]]] = [[] for _ in shard]
    for batch in releasing(batches(searches, batch_rows // beam)):
        numbers = [number for number, _, _ in batch]
        with at_hand([shard[number] for number in numbers], sum(1 / orders_of[number] for number in numbers)):
            limits = [max_output_tokens(lengths[number]) + len(order) + 2 for number, order, _ in batch]
            found_here = beam_search(engine, [ids for _, _, ids in batch], beam, limits)
            for (number, order, _), hypotheses in zip(batch, found_here, strict=True):
                said[number] += [(order, hypothesis) for hypothesis in hypotheses]
    marks = sentinel_ids(infiller)
    for row, own in zip(shard, said, strict=True):
        texts = [sentence_of(order, fills(one.ids, marks, infiller.target), row.reference) for order, one in own]
        origins = [Origin(None, order, [], unmet(order, text)) for (order, _), text in zip(own, texts, strict=True)]
        row.candidates += merge([one for _, one in own], texts, origins, "infill", infiller.signature)
    yield from shard


def batches(searches: Sequence[Search], batch_rows: int) -> Iterator[list[Search]]:
    """Cut searches into batches of similar length; batches of long inputs have fewer (`rows_at_once`)."""
    batch: list[Search] = []
    for one in sorted(searches, key=lambda search: (len(search[2]), search[0])):
        if batch and len(batch) + 1 > rows_at_once(batch_rows, len(one[2])):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def informative(
    references: Sequence[str], infiller: Translator, drop_rate: float, batch_tokens: int
) -> list[list[Keyword]]:
    """The keywords of each reference without those that say least about it, in its order.

    A keyword says much if the model finds the rest of the reference probable beside it: p(S | k) of section 3.1.

    Args:
        references: The references.
        infiller: A T5-type model.
        drop_rate: Share of the keywords that is dropped.
        batch_tokens: Size of a scoring batch.

    Source: ParaNet, section 3.1 and appendix A: round(count x rate) are dropped.
    """
    found = [keywords(reference)[:MOST_KEYWORDS] for reference in references]
    dropped = [round(len(own) * drop_rate) for own in found]
    asked = [(number, one) for number, own in enumerate(found) if dropped[number] for one in own]
    inputs = infiller.source.encode([infill_input([one.text], "", "") for _, one in asked])
    outputs = infiller.target.encode([infill_output(references[number], [one]) for number, one in asked])
    scores = log_likelihood(engine_of(infiller.model), inputs, outputs, batch_tokens) if asked else []
    by_keyword = dict(zip(((number, one) for number, one in asked), scores, strict=True))
    kept = []
    for number, own in enumerate(found):
        worst = sorted(own, key=lambda one: by_keyword[number, one])[: dropped[number]] if dropped[number] else []
        kept.append([one for one in own if one not in worst])
    return kept


def infill_input(found: Sequence[str], before: str, after: str) -> str:
    """What the model reads: the context, with keywords and sentinels in place of the sentence.

    >>> infill_input(["reported crisply", "final stage"], "It was late.", "")
    'It was late. <extra_id_0> reported crisply <extra_id_1> final stage <extra_id_2>'

    Source: ParaNet, section 3.2 and figure 2.
    """
    masked = SENTINEL.format(0)
    for number, text in enumerate(found, 1):
        masked += f" {text} {SENTINEL.format(number)}"
    return " ".join(part for part in (before, masked, after) if part)


def infill_output(sentence: str, found: Sequence[Keyword]) -> str:
    """What the model should say for a sentence with these keywords: each sentinel with the words that it stands for.

    >>> infill_output("She reported it crisply.", [Keyword("reported", 4, 12), Keyword("crisply", 16, 23)])
    '<extra_id_0> She <extra_id_1> it <extra_id_2> .'
    """
    begins, ends = [0, *(one.end for one in found)], [*(one.begin for one in found), len(sentence)]
    gaps = [sentence[begin:end].strip() for begin, end in zip(begins, ends, strict=True)]
    return " ".join(f"{SENTINEL.format(number)} {gap}".strip() for number, gap in enumerate(gaps))


def sentinel_ids(infiller: Translator) -> list[int]:
    """The ids of the sentinels of a model.

    Raises:
        ValueError: The model has none: it is not T5-like.
    """
    vocabulary = infiller.source.vocabulary if isinstance(infiller.source, HubPieces) else {}
    found = [vocabulary[name] for name in map(SENTINEL.format, range(SENTINELS)) if name in vocabulary]
    if len(found) < SENTINELS:
        raise ValueError(
            f"wanted a T5-type model with the tokens {SENTINEL.format(0)} to {SENTINEL.format(SENTINELS - 1)}, "
            f"got {infiller.name!r} with {len(found)} of them"
        )
    return found


def fills(ids: Sequence[int], marks: Sequence[int], pieces: Pieces) -> list[str]:
    """What each sentinel stands for in an output; sentinels that are not in their order end it.

    Args:
        ids: The output.
        marks: The ids of the sentinels (`sentinel_ids`).
        pieces: Of the output.
    """
    parts: list[list[int]] = []
    places = {mark: number for number, mark in enumerate(marks)}
    for one in ids:
        number = places.get(one)
        if number is not None and number < len(parts):
            break
        if number is not None:
            parts += [[] for _ in range(number + 1 - len(parts))]
        elif parts:
            parts[-1].append(one)
    return pieces.decode(parts)


def sentence_of(found: Sequence[str], said: Sequence[str], reference: str) -> str:
    """The keywords with what was said before, between and after them, in the typography of the reference.

    >>> sentence_of(["reported crisply", "n't", "final stage"], ["she", "that it was", "the", "."], "The end.")
    "She reported crisply that it wasn't the final stage."
    """
    between = [*said, *[""] * (len(found) + 1)]
    parts = [part for pair in zip(between, [*found, ""], strict=False) for part in pair if part]
    text = AFTER_BRACKET.sub("", BEFORE_MARK.sub("", CLITIC.sub("", " ".join(parts))))
    text = with_quotes(text)
    return text[:1].upper() + text[1:] if reference[:1].isupper() else text


def with_quotes(text: str) -> str:
    """A text with no space inside of its quotation marks, of which the first opens and the second closes.

    >>> with_quotes('" Go home , " he said')
    '"Go home ," he said'
    """
    pieces = text.split('"')
    if len(pieces) % 2 == 0:
        return text
    for number in range(1, len(pieces), 2):
        pieces[number] = pieces[number].strip()
    return '"'.join(pieces)


def unmet(found: Sequence[str], text: str) -> list[str]:
    """The keywords that a text does not say."""
    return [one for one in found if one.lower() not in text.lower()]
