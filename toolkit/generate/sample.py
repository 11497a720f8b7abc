"""Many sampled translations of each row's source, under random negative constraints (ParaBank 2, section 2.1)."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from toolkit.bitext.subwords import SPACE, Pieces
from toolkit.decode.expanded import engine_of
from toolkit.decode.sampling import sample
from toolkit.generate.merge import longest, merge, too_long
from toolkit.models.translator import Translator
from toolkit.parallel import row_seed
from toolkit.progress import at_hand
from toolkit.rows import Origin, Row


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
) -> Iterator[Row]:
    """Give every row its sampled candidates; equal texts of one row are one candidate.

    Args:
        rows: Rows with a source and no candidates; all of a shard are held at a time.
        translator: Source language to the references' language.
        constraint_sets: Sets of negative words for each row.
        samples_per_set: Samples under each set.
        top_k: Tokens that are left to draw from at each step.
        constraint_rate: Probability with which a word of the reference goes into a set.
        batch_rows: How many samples are decoded at a time.
        seed: Of the constraints and the samples.
        min_p: Tokens below this share of the most probable allowed one's probability are left out; 0 is the paper's.

    Yields:
        The rows in their order, `candidates` filled. A sample that said nothing has the reason "empty", one that did
        not end "unfinished"; a source that the model has no positions for gives one without text, "source_too_long".

    Source: ParaBank 2 (Hu et al. 2019b), sections 2.1 and 3.3.
    """
    shard, engine = list(rows), engine_of(translator.model)
    sources = translator.source.encode([row.source or "" for row in shard])
    each = constraint_sets * samples_per_set
    for row, ids in zip(shard, sources, strict=True):
        if len(ids) > engine.limit:
            row.candidates = [too_long("sample", translator.signature)]
    order = sorted(
        (i for i in range(len(shard)) if len(sources[i]) <= engine.limit), key=lambda i: (len(sources[i]), i)
    )
    at_a_time = max(1, batch_rows // each)
    for begin in range(0, len(order), at_a_time):
        batch = [(shard[i], sources[i]) for i in order[begin : begin + at_a_time]]
        with at_hand([row for row, _ in batch]):
            words = [
                choose_words(
                    negative_words(row.reference, translator.target), constraint_sets, constraint_rate, seed, row.id
                )
                for row, _ in batch
            ]
            phrases = [[ids for _, ids in chosen] for sets in words for chosen in sets for _ in range(samples_per_set)]
            seeds = [row_seed(seed, row.id, f"sample-{n}") for row, _ in batch for n in range(each)]
            limits = [longest(len(ids)) for _, ids in batch]
            drawn = sample(engine, [ids for _, ids in batch], phrases, seeds, top_k, limits, min_p)
            texts = translator.target.decode([s.ids for s in drawn])
            for n, (row, _) in enumerate(batch):
                part = slice(n * each, (n + 1) * each)
                origins = [Origin(f"set-{k}", [], [w for w, _ in chosen]) for k, chosen in enumerate(words[n])]
                per_sample = [origin for origin in origins for _ in range(samples_per_set)]
                row.candidates = merge(drawn[part], texts[part], per_sample, "sample", translator.signature)
    yield from shard


def negative_words(reference: str, pieces: Pieces) -> list[tuple[str, list[int]]]:
    """The words of a reference that may be forbidden, each with the ids of its Viterbi segmentation.

    Only lower-case alphabetical words are taken, as in ParaBank (Hu et al. 2019a, section 3): a forbidden name or
    number cannot be paraphrased. This is ours for ParaBank 2, whose section 2.1 says "tokens".

    Args:
        reference: The human sentence.
        pieces: The forward translator's target side.
    """
    ids = pieces.encode([reference])[0][:-1]
    words: list[tuple[str, list[int]]] = []
    for i in ids:
        piece = pieces.names[i]
        if piece.startswith(SPACE) or not words:
            words.append((piece.removeprefix(SPACE), [i]))
        elif piece.isalpha() or piece in ("'", "-") or i == pieces.unk:
            words[-1] = (words[-1][0] + piece, [*words[-1][1], i])
        else:
            words.append((piece, [i]))
    found = {word: span for word, span in words if word.isalpha() and word.islower()}
    return list(found.items())


def choose_words(
    words: Sequence[tuple[str, list[int]]], sets: int, rate: float, seed: int, row_id: str
) -> list[list[tuple[str, list[int]]]]:
    """Random subsets of a row's words, each word in each with probability `rate` (the paper names no size: ours)."""
    chance = random.Random(row_seed(seed, row_id, "constraints"))
    return [[word for word in words if chance.random() < rate] for _ in range(sets)]
