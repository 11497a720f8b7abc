"""The batches of a whole training: pairs of similar length together, in random order, over all epochs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from torch.utils.data import Sampler


class Batches(Sampler[list[int]]):
    """Batches of numbers of pairs; one pass over it is the whole training, so that it can be resumed by skipping.

    >>> batches = Batches([3, 9, 3, 8], epochs=1, batch_tokens=18, batch_pairs=10, share=1, seed=0)
    >>> sorted(map(sorted, batches))
    [[0, 2], [1, 3]]

    Args:
        lengths: Pieces of the longer side of each pair.
        epochs: How often each pair is read.
        batch_tokens: Greatest size of a batch: pairs times the length of the longest.
        batch_pairs: The most pairs of a batch.
        share: Batches of one step of the optimizer over all processes; the batches that are left over at the end are
            dropped.
        seed: Of the order.
    """

    def __init__(
        self, lengths: Sequence[int], epochs: int, batch_tokens: int, batch_pairs: int, share: int, seed: int
    ) -> None:
        self.lengths, self.epochs, self.seed = lengths, epochs, seed
        self.cuts = cut(sorted(lengths), batch_tokens, batch_pairs)
        self.count = len(self.cuts) * epochs // share * share

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[list[int]]:
        batches_left = self.count
        for epoch in range(self.epochs):
            rng = random.Random(self.seed * 1_000_003 + epoch)
            order = sorted(range(len(self.lengths)), key=lambda i: (self.lengths[i], rng.random()))
            batches = [order[begin:end] for begin, end in self.cuts]
            rng.shuffle(batches)
            yield from batches[:batches_left]
            batches_left -= min(batches_left, len(batches))


def cut(lengths: Sequence[int], batch_tokens: int, batch_pairs: int) -> list[tuple[int, int]]:
    """Where each batch begins and ends in pairs that are sorted by length; every epoch is cut alike.

    >>> cut([3, 3, 8, 9], 18, 10)
    [(0, 2), (2, 4)]
    """
    cuts, begin = [], 0
    for end in range(1, len(lengths) + 1):
        is_full = end - begin == batch_pairs or end == len(lengths) or (end + 1 - begin) * lengths[end] > batch_tokens
        if is_full:
            cuts.append((begin, end))
            begin = end
    return cuts
