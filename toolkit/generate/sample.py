"""Many sampled translations of each row's source, under random negative constraints (ParaBank 2, section 2.1)."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from toolkit.bitext.subwords import SPACE, Pieces
from toolkit.bitext.words import is_chinese, plain_word_spans
from toolkit.data.progress import at_hand
from toolkit.data.rows import Origin, Row
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.forbidden import Phrases
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.sampling import Sample, sample
from toolkit.generate.constrain import _word_table
from toolkit.generate.merge import _merge, _rows_at_once, _source_too_long, max_output_tokens
from toolkit.system.memory import in_halves, releasing
from toolkit.system.processes import row_seed, row_seeds
from toolkit.translator.load import Translator

BYTE = re.compile(r"<0x[0-9A-F]{2}>")
SPECIAL = re.compile(r"<[^<>]+>")
# ours: rows that the samples of a sentence have at their peak, as a share of the samples, by the tokens of its source.
# Measured with starter/de-en at the paper's settings on 2 to 60 tokens; a larger translator shares more.
SHARED_ROWS, MORE_ROWS = 0.2, 0.04
NO_LETTER, NO_TEXT = "_", "\n"  # stand for an unknown letter, and for a special token

NegativeWord = tuple[str, list[list[int]]]  # a word, and the ids of each segmentation that is forbidden with it


def sample_rows(
    rows: Iterable[Row],
    translator: Translator,
    constraint_sets: int,
    samples_per_set: int,
    top_k: int,
    constraint_rate: float,
    batch_rows: int,
    seed: int,
    min_p: float = 0.0,
    forbid: str = "pieces",
    top_p: float = 1.0,
    avoid: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Row]:
    """Give every row its sampled candidates; equal texts of one row are one candidate.

    Args:
        rows: Rows with a source and no candidates; all of a shard are held at a time.
        translator: Source language to the references' language.
        constraint_sets: Sets of negative words for each row.
        samples_per_set: Samples under each set.
        top_k: Tokens that are left to draw from at each step.
        constraint_rate: Probability with which a word of the reference goes into a set.
        batch_rows: Rows of the decoder at a time, as many as are expected at most (`batches`).
        seed: Of the constraints and the samples.
        min_p: Tokens below this share of the most probable allowed one's probability are left out; 0 is the paper's.
        forbid: What is forbidden of a word: "pieces" that spell it in the reference, or the "words" themselves.
        top_p: Of the `top_k` tokens, the most probable are left that have this share of their probability together.
        avoid: By id of a row, words or phrases that none of its samples may say; only with forbid "words".

    Yields:
        The rows in their order, `candidates` filled. The reason of an empty sample is "empty", that of one that did not
        end "unfinished". A source with more tokens than the model has positions gives one candidate without text,
        "source_too_long".

    Raises:
        ValueError: There are words to avoid, and `forbid` is not "words".

    Source: ParaBank 2 (Hu et al. 2019b), sections 2.1 and 3.3.
    """
    if avoid and forbid != "words":
        raise ValueError(f"wanted forbid 'words' with words to avoid, got {forbid!r}")
    shard, engine = list(rows), engine_of(translator.model)
    sources = translator.source.encode([row.source or "" for row in shard])
    each = constraint_sets * samples_per_set
    for row, ids in zip(shard, sources, strict=True):
        if len(ids) > engine.limit:
            row.candidates = [_source_too_long("sample", translator.signature)]
    order = sorted(
        (i for i in range(len(shard)) if len(sources[i]) <= engine.limit), key=lambda i: (len(sources[i]), i)
    )
    stages = [f"sample-{n}" for n in range(each)]

    def decode(batch: Sequence[int]) -> None:
        sets_by_row = [
            choose_words(
                negative_words(shard[i].reference, translator.target),
                constraint_sets,
                constraint_rate,
                seed,
                shard[i].id,
            )
            for i in batch
        ]
        if avoid:
            sets_by_row = [
                [_add_phrases(avoid.get(shard[i].id, ()), word_set) for word_set in word_sets]
                for i, word_sets in zip(batch, sets_by_row, strict=True)
            ]
        constraints = _build_constraints(
            [word_set for word_sets in sets_by_row for word_set in word_sets], forbid, translator
        )
        sample_keys = [key for i in batch for key in row_seeds(seed, shard[i].id, stages)]
        limits = [max_output_tokens(len(sources[i])) for i in batch]
        samples = sample(engine, [sources[i] for i in batch], constraints, sample_keys, top_k, limits, min_p, top_p)
        texts = _sample_texts(samples, translator.target)
        for n, i in enumerate(batch):
            part = slice(n * each, (n + 1) * each)
            origins = [Origin(f"set-{k}", [], [w for w, _ in word_set]) for k, word_set in enumerate(sets_by_row[n])]
            sample_origins = [origin for origin in origins for _ in range(samples_per_set)]
            shard[i].candidates = _merge(
                samples[part], texts[part], sample_origins, "sample", translator.signature, translator.target.unk
            )

    for batch in releasing(batches(order, [len(ids) for ids in sources], each, batch_rows)):
        with at_hand([shard[i] for i in batch]):
            in_halves(batch, decode)
    yield from shard


def _add_phrases(phrases: Sequence[str], words: Sequence[NegativeWord]) -> list[NegativeWord]:
    """A set of words, and phrases that are forbidden in any pieces; a word that stands in both is there once."""
    return [*((phrase, []) for phrase in phrases), *(word for word in words if word[0] not in phrases)]


def _sample_texts(outputs: Sequence[Sample], pieces: Pieces) -> list[str]:
    """The text of each sample; a sample that stands there several times is detokenised once."""
    output_by_id = {id(output): output for output in outputs}
    texts = dict(zip(output_by_id, pieces.decode([output.ids for output in output_by_id.values()]), strict=True))
    return [texts[id(output)] for output in outputs]


def batches(order: Sequence[int], tokens: Sequence[int], each: int, batch_rows: int) -> Iterator[list[int]]:
    """Cut an order of sentences into batches whose rows are expected to be `batch_rows` at most, at their peak.

    Batches of long sentences have fewer (`_rows_at_once`).

    >>> [len(batch) for batch in batches(range(40), [5] * 20 + [30] * 20, each=10, batch_rows=80)]
    [20, 8, 8, 4]

    Args:
        order: Numbers of sentences, short ones first.
        tokens: Of each source, EOS counted.
        each: Samples of a sentence.
        batch_rows: Rows of the decoder, of which samples with equal beginnings share one.
    """
    batch: list[int] = []
    rows = 0.0
    for i in order:
        expected = each * min(1.0, SHARED_ROWS + MORE_ROWS * tokens[i])
        if batch and rows + expected > _rows_at_once(batch_rows, tokens[i]):
            yield batch
            batch, rows = [], 0.0
        batch.append(i)
        rows += expected
    if batch:
        yield batch


def negative_words(reference: str, pieces: Pieces) -> list[NegativeWord]:
    """The words of a reference that may be forbidden, each with the ids of all its places in the Viterbi segmentation.

    Names and numbers are not taken, because they cannot be paraphrased (`plain_word_spans`), as in ParaBank (Hu et al.
    2019a, section 3); names are where no capital tells them. This is ours for ParaBank 2, whose section 2.1 says
    "tokens". A word without a space before it ('"maybe"') is forbidden together with the mark before it, because its
    own pieces may be parts of other words. So may those of Chinese words, which never have a space.

    Args:
        reference: The human sentence.
        pieces: The forward translator's target side.

    Returns:
        Each word once, in order, with its distinct segmentations.
    """
    ids = pieces.encode([reference])[0][:-1]
    visible = [_visible_text(i, pieces) for i in ids]
    text, piece_indices = "".join(visible), [n for n, piece in enumerate(visible) for _ in piece]
    segmentations: dict[str, list[list[int]]] = {}
    without_spaces = is_chinese(text)
    for begin, end in plain_word_spans(text):
        alone = begin == 0 or text[begin - 1] == NO_TEXT or without_spaces
        span = ids[piece_indices[begin if alone else begin - 1] : piece_indices[end - 1] + 1]
        if span not in segmentations.setdefault(text[begin:end], []):
            segmentations[text[begin:end]].append(span)
    return list(segmentations.items())


def _visible_text(i: int, pieces: Pieces) -> str:
    """The text of a piece, at least one character: one that stands for it where it is unknown or special."""
    name = pieces.names[i]
    if i == pieces.unk or BYTE.fullmatch(name):
        return NO_LETTER
    return NO_TEXT if SPECIAL.fullmatch(name) else name.replace(SPACE, " ")


def _build_constraints(
    sets: Sequence[Sequence[NegativeWord]], forbid: str, translator: Translator
) -> Phrases | LexicalConstraints | None:
    """The constraints of some sets of words, as `sample` takes them; `forbid` is that of `sample_rows`."""
    if forbid == "pieces":
        return [[ids for _, spans in word_set for ids in spans] for word_set in sets]
    constraint_sets = [ConstraintSet(negative=tuple(word for word, _ in word_set)) for word_set in sets]
    table = _word_table(translator.target, translator.model.device)
    return LexicalConstraints.of(constraint_sets, table, translator.target.spell)


def choose_words(
    words: Sequence[NegativeWord], sets: int, rate: float, seed: int, row_id: str
) -> list[list[NegativeWord]]:
    """Random subsets of a row's words, each with probability `rate`. This is ours: the paper does not say how many.

    Args:
        words: See `negative_words`.
        sets: How many sets.
        rate: Probability with which a word is in a set, in [0, 1].
        seed: Of the run.
        row_id: Of the row.
    """
    rng = random.Random(row_seed(seed, row_id, "constraints"))
    return [[word for word in words if rng.random() < rate] for _ in range(sets)]
