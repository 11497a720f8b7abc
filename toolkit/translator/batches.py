"""Batches of a training: pairs of similar length, segmented anew in every epoch, padded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from torch import Tensor

from toolkit.bitext.subwords import PAD, Pieces
from toolkit.models.padding import pad
from toolkit.translator.settings import TrainingSettings

SEGMENTATIONS = 1  # ours: the sampled segmentations draw other random numbers than the order of the pairs
IdPair = tuple[list[int], list[int]]  # the ids of a source and of its reference


def batches(
    table: pa.Table, source: Pieces, target: Pieces, settings: TrainingSettings, epoch: int, pool: int = 50_000
) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch of batches in random order, with newly sampled segmentations.

    A pool of pairs is drawn, segmented, sorted by length so that there is next to no padding, and cut into batches of
    `batch_tokens`; the batches are shuffled. All of it depends on the seed and the epoch only, so that the processes of
    a launch, and a training that goes on, have the same list of batches.

    Yields:
        Source ids (rows, source steps) and label ids (rows, target steps), padded.
    """
    rng = np.random.default_rng((settings.seed, epoch))
    seeds = np.random.default_rng((settings.seed, epoch, SEGMENTATIONS))
    order = rng.permutation(len(table))
    for start in range(0, len(order), pool):
        rows = table.take(pa.array(np.sort(order[start : start + pool])))
        pairs = segmented(rows, source, target, settings.alpha, int(seeds.integers(2**31)))
        pairs = [pair for pair in pairs if max(map(len, pair)) <= settings.max_tokens]
        packed = list(pack(pairs, settings.batch_tokens))
        for i in rng.permutation(len(packed)):
            yield padded_pairs(packed[i])


def segmented(
    table: pa.Table, source: Pieces, target: Pieces, alpha: float | None = None, seed: int = 0
) -> list[IdPair]:
    """The ids of both sides of all pairs of a table; without `alpha`, of the most probable segmentation."""
    sources = source.encode(table["source"].to_pylist(), alpha, seed)
    references = target.encode(table["reference"].to_pylist(), alpha, seed + 1)
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
