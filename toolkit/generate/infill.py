"""Sentences that say the keywords of a reference in other orders, with words between them that fit the context.

Source: ParaNet (Liu et al. 2022), sections 3.1 and 3.2. A T5-type model reads the context of the reference with its
keywords in place of the reference, and a sentinel token before, between and after them; it says what each stands for.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

from toolkit.data.progress import at_hand
from toolkit.data.rows import Candidate, Origin, Row
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.hypotheses import Hypothesis
from toolkit.decode.likelihood import log_likelihood
from toolkit.generate._substitute import substituted
from toolkit.generate.keywords import _Keyword, _permutations, keywords
from toolkit.generate.merge import _even_batches, _merge, _source_too_long, max_output_tokens
from toolkit.generate.sentinels import (
    MOST_KEYWORDS,
    _fills,
    _sentinel_ids,
    _unmet,
    infill_input,
    infill_output,
    sentence_of,
)
from toolkit.generate.synonyms import Synonyms
from toolkit.system.memory import in_halves, releasing
from toolkit.translator.load import Translator

Search = tuple[int, list[str], list[int]]  # the number of a row, its keywords in an order, the ids of the input


def infill_rows(
    rows: Iterable[Row],
    infiller: Translator,
    stop_words: Set[str],
    synonyms: Synonyms | None,
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
        infiller: A T5-type model (`_sentinel_ids`).
        stop_words: Of the references' language, in lower case.
        synonyms: What may replace a keyword; None replaces nothing.
        most_permutations: The most orders of the keywords.
        drop_rate: Share of the keywords that are dropped, those that say least about the reference.
        beam: Hypotheses that a search follows at a time.
        batch_rows: How many hypotheses are decoded at a time.
        batch_tokens: Size of a scoring batch: inputs times the tokens of the longest.
        seed: Seed of the orders.

    Yields:
        The rows in their order, `candidates` filled. The origin of a candidate has the keywords in their order. Reasons
        are those of `toolkit.generate.merge._merge`, and two of candidates without text: "no_keywords" for a reference
        that has none, and "source_too_long" for one that is with its context longer than the model reads.

    Source: ParaNet, sections 3.1 and 3.2, appendix A.
    """
    shard = list(rows)
    keywords_by_row = [keywords(row.reference, stop_words)[:MOST_KEYWORDS] for row in shard]
    informative_keywords = informative(
        [row.reference for row in shard], keywords_by_row, infiller, drop_rate, batch_tokens
    )
    phrases_by_row = (
        substituted(shard, informative_keywords, infiller, synonyms, batch_rows)
        if synonyms
        else _keyword_texts(informative_keywords)
    )
    searches: list[Search] = []
    for number, (row, phrases) in enumerate(zip(shard, phrases_by_row, strict=True)):
        rng = random.Random(f"{seed}\t{row.id}")
        orders = [[phrases[i] for i in order] for order in _permutations(len(phrases), most_permutations, rng)]
        searches += searches_of(row, number, orders if phrases else [], infiller)
    pairs_by_row = search(shard, searches, infiller, beam, batch_rows)
    for row, pairs in zip(shard, pairs_by_row, strict=True):
        texts = texts_of(row.reference, pairs, infiller)
        origins = [Origin(None, order, [], _unmet(order, text)) for (order, _), text in zip(pairs, texts, strict=True)]
        hypotheses = [hypothesis for _, hypothesis in pairs]
        row.candidates += _merge(hypotheses, texts, origins, "infill", infiller.signature, infiller.target.unk)
    yield from shard


def texts_of(reference: str, pairs: Sequence[tuple[list[str], Hypothesis]], infiller: Translator) -> list[str]:
    """The sentence that each hypothesis and its order of keywords make."""
    marks = _sentinel_ids(infiller)
    return [
        sentence_of(order, _fills(hypothesis.ids, marks, infiller.target), reference) for order, hypothesis in pairs
    ]


def searches_of(row: Row, number: int, orders: Sequence[list[str]], infiller: Translator) -> list[Search]:
    """A search for each order of a row's keywords; a row that cannot be infilled gets a candidate that says why."""
    if not orders:
        row.candidates = [Candidate("", "infill", draws=0, generator=infiller.signature, reason="no_keywords")]
        return []
    before, after = row.context_before or "", row.context_after or ""
    inputs = infiller.source.encode([infill_input(order, before, after) for order in orders])
    if max(map(len, inputs)) > engine_of(infiller.model).limit:
        row.candidates = [_source_too_long("infill", infiller.signature)]
        return []
    return [(number, order, ids) for order, ids in zip(orders, inputs, strict=True)]


def search(
    shard: Sequence[Row], searches: Sequence[Search], infiller: Translator, beam: int, batch_rows: int
) -> list[list[tuple[list[str], Hypothesis]]]:
    """What each row's searches found: the order of the keywords and the best hypothesis of each."""
    engine, order_counts = engine_of(infiller.model), Counter(number for number, _, _ in searches)
    lengths = [len(ids) for ids in infiller.target.encode([row.reference for row in shard])]
    pairs_by_row: list[list[tuple[list[str], Hypothesis]]] = [[] for _ in shard]

    def decode(batch: Sequence[Search]) -> None:
        limits = [max_output_tokens(lengths[number]) + len(order) + 2 for number, order, _ in batch]
        batch_hypotheses = beam_search(engine, [ids for _, _, ids in batch], beam, limits)
        for (number, order, _), hypotheses in zip(batch, batch_hypotheses, strict=True):
            pairs_by_row[number] += [(order, hypothesis) for hypothesis in hypotheses]

    for indices in releasing(_even_batches([len(ids) for _, _, ids in searches], batch_rows // beam)):
        batch = [searches[index] for index in indices]
        numbers = [number for number, _, _ in batch]
        with at_hand([shard[number] for number in numbers], sum(1 / order_counts[number] for number in numbers)):
            in_halves(batch, decode)
    return pairs_by_row


def _keyword_texts(keywords_by_row: Iterable[Sequence[_Keyword]]) -> list[list[str]]:
    """The texts of keywords."""
    return [[keyword.text for keyword in row_keywords] for row_keywords in keywords_by_row]


def informative(
    references: Sequence[str],
    keywords_by_reference: Sequence[Sequence[_Keyword]],
    infiller: Translator,
    drop_rate: float,
    batch_tokens: int,
) -> list[list[_Keyword]]:
    """The keywords of each reference without those that say least about it, in its order.

    A keyword says much if the model finds the rest of the reference probable beside it: p(S | k) of section 3.1.

    Args:
        references: The references.
        keywords_by_reference: Their keywords.
        infiller: A T5-type model.
        drop_rate: Share of the keywords that is dropped.
        batch_tokens: Size of a scoring batch.

    Source: ParaNet, section 3.1 and appendix A: round(count x rate) are dropped.
    """
    drop_counts = [round(len(reference_keywords) * drop_rate) for reference_keywords in keywords_by_reference]
    scored_keywords = [
        (number, keyword)
        for number, reference_keywords in enumerate(keywords_by_reference)
        if drop_counts[number]
        for keyword in reference_keywords
    ]
    inputs = infiller.source.encode([infill_input([keyword.text], "", "") for _, keyword in scored_keywords])
    outputs = infiller.target.encode(
        [infill_output(references[number], [keyword]) for number, keyword in scored_keywords]
    )
    scores = log_likelihood(engine_of(infiller.model), inputs, outputs, batch_tokens) if scored_keywords else []
    score_by_keyword = dict(zip(((number, keyword) for number, keyword in scored_keywords), scores, strict=True))
    kept_keywords = []
    for number, reference_keywords in enumerate(keywords_by_reference):
        worst = (
            sorted(reference_keywords, key=lambda keyword: score_by_keyword[number, keyword])[: drop_counts[number]]
            if drop_counts[number]
            else []
        )
        kept_keywords.append([keyword for keyword in reference_keywords if keyword not in worst])
    return kept_keywords
