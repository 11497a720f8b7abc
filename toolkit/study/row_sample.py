"""The training rows that a study draws: so many of each class, and how many there really are."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from datasets import Dataset


class _RowSample(NamedTuple):
    """The training rows of a size.

    Attributes:
        fewest: Rows of the class that has the fewest.
        most: Rows of the class that has the most.
        total: Rows of all classes.
        same: Whether every seed trains on the same rows.
    """

    fewest: int
    most: int
    total: int
    same: bool

    @property
    def name(self) -> str:
        """The size by its true numbers.

        >>> _RowSample(16, 16, 96, False).name, _RowSample(8, 64, 328, False).name, _RowSample(8, 119, 500, True).name
        ('16', '8-64', 'all 500')
        """
        if self.same:
            return f"all {self.total:,}"
        return f"{self.most:,}" if self.fewest == self.most else f"{self.fewest:,}-{self.most:,}"


def _distinct_sizes(labels: Sequence[Hashable], sizes: Sequence[int]) -> list[int]:
    """The sizes that differ, each once; 0, which is all rows, stands for those that no class exceeds.

    >>> _distinct_sizes("aaab", [2, 16, 64])
    [2, 0]

    Args:
        labels: The class of each row.
        sizes: Training rows of each class; 0 takes all rows.
    """
    largest = max(Counter(labels).values(), default=0)
    return list(dict.fromkeys(0 if size >= largest else size for size in sizes))


def _row_sample(labels: Sequence[Hashable], size: int, seeds: int) -> _RowSample:
    """The numbers of the rows that a size of a study gives.

    Args:
        labels: The class of each row.
        size: Training rows of each class; 0 takes all rows.
        seeds: How many samples are drawn.
    """
    samples = [_sample_indices(labels, size, seed) for seed in range(seeds if size else 1)]
    counts = Counter(labels[index] for index in samples[0]).values()
    same = all(set(sample) == set(samples[0]) for sample in samples[1:])
    return _RowSample(min(counts, default=0), max(counts, default=0), len(samples[0]), same)


def _sample_indices(labels: Sequence[Hashable], size: int, seed: int) -> list[int]:
    """The indices of as many random rows of each class, all of a class that has fewer; of all rows if `size` is 0."""
    if not size:
        return list(range(len(labels)))
    indices_by_label = defaultdict(list)
    for index, label in enumerate(labels):
        indices_by_label[label].append(index)
    rng, sample = random.Random(seed), list[int]()
    for _, indices in sorted(indices_by_label.items(), key=lambda item: str(item[0])):
        sample += rng.sample(indices, min(size, len(indices)))
    rng.shuffle(sample)
    return sample


def few_of_each(rows: Dataset, label: str, size: int, seed: int) -> Dataset:
    """As many random rows of each class, all of a class that has fewer; all rows if `size` is 0."""
    return rows.select(_sample_indices(list(rows[label]), size, seed)) if size else rows
