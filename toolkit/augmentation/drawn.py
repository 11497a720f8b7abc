"""The training rows that a study draws: so many of each class, and how many there really are."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from datasets import Dataset


class Drawn(NamedTuple):
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

        >>> Drawn(16, 16, 96, False).name, Drawn(8, 64, 328, False).name, Drawn(8, 119, 500, True).name
        ('16', '8-64', 'all 500')
        """
        if self.same:
            return f"all {self.total:,}"
        return f"{self.most:,}" if self.fewest == self.most else f"{self.fewest:,}-{self.most:,}"


def reached_sizes(labels: Sequence[Hashable], sizes: Sequence[int]) -> list[int]:
    """The sizes that differ, each once; 0, which is all rows, stands for those that no class exceeds.

    >>> reached_sizes("aaab", [2, 16, 64])
    [2, 0]

    Args:
        labels: The class of each row.
        sizes: Training rows of each class; 0 takes all rows.
    """
    largest = max(Counter(labels).values(), default=0)
    return list(dict.fromkeys(0 if size >= largest else size for size in sizes))


def drawn_rows(labels: Sequence[Hashable], size: int, seeds: int) -> Drawn:
    """What a size of a study is.

    Args:
        labels: The class of each row.
        size: Training rows of each class; 0 takes all rows.
        seeds: How often rows are drawn.
    """
    draws = [chosen_rows(labels, size, seed) for seed in range(seeds if size else 1)]
    counts = Counter(labels[row] for row in draws[0]).values()
    same = all(set(one) == set(draws[0]) for one in draws[1:])
    return Drawn(min(counts, default=0), max(counts, default=0), len(draws[0]), same)


def chosen_rows(labels: Sequence[Hashable], size: int, seed: int) -> list[int]:
    """The numbers of as many random rows of each class, all of a class that has fewer; of all rows if `size` is 0."""
    if not size:
        return list(range(len(labels)))
    of_class = defaultdict(list)
    for number, label in enumerate(labels):
        of_class[label].append(number)
    chance, chosen = random.Random(seed), list[int]()
    for _, numbers in sorted(of_class.items(), key=lambda item: str(item[0])):
        chosen += chance.sample(numbers, min(size, len(numbers)))
    chance.shuffle(chosen)
    return chosen


def few_of_each(rows: Dataset, label: str, size: int, seed: int) -> Dataset:
    """As many random rows of each class, all of a class that has fewer; all rows if `size` is 0."""
    return rows.select(chosen_rows(list(rows[label]), size, seed)) if size else rows
