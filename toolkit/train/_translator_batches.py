"""Batches of a training: pairs of similar length, segmented anew in every epoch, padded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from accelerate.utils import gather_object
from torch import Tensor

from toolkit.bitext.subwords import PAD, Pieces
from toolkit.models.padding import pad
from toolkit.translator.settings import TrainingSettings

IdPair = tuple[list[int], list[int]]  # the ids of a source and of its reference


def batches(
    table: pa.Table,
    source: Pieces,
    target: Pieces,
    settings: TrainingSettings,
    epoch: int,
    pool: int = 50_000,
    rank: int = 0,
    ranks: int = 1,
) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch of batches in random order, with newly sampled segmentations.

    A pool of pairs is drawn, segmented, sorted by length so that there is next to no padding, and cut into batches of
    `batch_tokens`; the batches are shuffled. The order of the pairs depends on the seed and the epoch only. Sampled
    segmentations do not, because SentencePiece draws others in every process, whatever its seed. So each process of a
    launch segments a share of the pool and sends it to the others: all have the same batches.

    Args:
        table: The pairs.
        source: Pieces of the source side.
        target: Pieces of the reference side.
        settings: Of the training.
        epoch: Number of the epoch.
        pool: Pairs that are segmented at a time.
        rank: Number of this process among those that read the epoch in step.
        ranks: Their number.

    Yields:
        Source ids (rows, source steps) and label ids (rows, target steps), padded.
    """
    rng = np.random.default_rng((settings.seed, epoch))
    order = rng.permutation(len(table))
    for start in range(0, len(order), pool):
        rows = table.take(pa.array(np.sort(order[start : start + pool])))
        share = segmented(rows.take(pa.array(range(rank, len(rows), ranks))), source, target, settings.alpha)
        pairs = gather_object(share) if ranks > 1 else share
        pairs = [pair for pair in pairs if max(map(len, pair)) <= settings.max_tokens]
        packed = list(pack(pairs, settings.batch_tokens))
        for i in rng.permutation(len(packed)):
            yield padded_pairs(packed[i])


def segmented(table: pa.Table, source: Pieces, target: Pieces, alpha: float | None = None) -> list[IdPair]:
    """The ids of both sides of all pairs of a table; without `alpha`, of the most probable segmentation."""
    sources = source.encode(table["source"].to_pylist(), alpha)
    references = target.encode(table["reference"].to_pylist(), alpha)
    return list(zip(sources, references, strict=True))


def pack(pairs: list[IdPair], batch_tokens: int) -> Iterator[list[IdPair]]:
    """Cut pairs, sorted by length, into batches of at most `batch_tokens`: rows times the longest sequence.

    >>> [len(batch) for batch in pack([([5], [5, 6])] * 5, batch_tokens=4)]
    [2, 2, 1]
    """
    batch: list[IdPair] = []
    longest = 0
    for pair in sorted(pairs, key=lambda pair: (max(map(len, pair)), len(pair[1]), len(pair[0]))):
        longest = max(longest, *map(len, pair))
        if batch and (len(batch) + 1) * longest > batch_tokens:
            yield batch
            batch, longest = [], max(map(len, pair))
        batch.append(pair)
    if batch:
        yield batch


def padded_pairs(batch: list[IdPair]) -> tuple[Tensor, Tensor]:
    """Source ids (rows, source steps) and label ids (rows, target steps) of a batch, padded."""
    return pad([source for source, _ in batch], PAD), pad([reference for _, reference in batch], PAD)
