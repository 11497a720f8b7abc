"""Which rows get copies, and which of the new rows are wanted: those that keep or balance the classes, and the most."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from math import ceil

SPARE = 3  # ours: so many times as many rows are worked on as are needed; some give no copy


def _rows_to_augment(
    total: int,
    labels: Sequence[Hashable] | None,
    copies: int,
    balance: bool,
    stratify: bool,
    max_rows: int | None,
    seed: int,
) -> list[int]:
    """The numbers of the rows that are worked on, in order: all, or random ones where fewer new rows are wanted.

    >>> _rows_to_augment(5, ["a", "a", "a", "b", "a"], 2, True, False, None, 0)
    [3]

    Args:
        total: The number of rows.
        labels: The class of each row, for balance and stratify.
        copies: New rows for each row, at most.
        balance: Whether only classes that are smaller than the largest get new rows.
        stratify: Whether all classes grow by the same share, so that rows of each are needed.
        max_rows: New rows at most; None is no limit.
        seed: Of the choice.
    """
    order = _shuffled(total, seed)
    if balance:
        assert labels is not None
        order = _first_of_each(order, labels, {label: _needed(lack, copies) for label, lack in _lacks(labels).items()})
    if stratify and max_rows is not None:
        assert labels is not None
        share = Fraction(max_rows, total) if total else Fraction(0)
        needed_counts = {label: _needed(ceil(share * size), copies) for label, size in Counter(labels).items()}
        return sorted(_first_of_each(order, labels, needed_counts))
    return sorted(order if max_rows is None else order[: _needed(max_rows, copies)])


def _first_of_each(
    order: Sequence[int], labels: Sequence[Hashable], needed_counts: Mapping[Hashable, int]
) -> list[int]:
    """The first rows of each class, as many as are wanted of it.

    >>> _first_of_each([4, 3, 2, 1, 0], "aabab", {"a": 2, "b": 1})
    [4, 3, 1]
    """
    remaining, chosen_rows = dict(needed_counts), []
    for row in order:
        remaining[labels[row]] -= 1
        if remaining[labels[row]] >= 0:
            chosen_rows.append(row)
    return chosen_rows


def _needed(new: int, copies: int) -> int:
    """The rows that are worked on for so many new rows."""
    return SPARE * -(-new // copies)


def _lacks(labels: Sequence[Hashable]) -> dict[Hashable, int]:
    """How many rows each class has less than the largest.

    >>> _lacks("aaab")
    {'a': 0, 'b': 2}
    """
    sizes = Counter(labels)
    largest = max(sizes.values(), default=0)
    return {label: largest - size for label, size in sizes.items()}


def same_share(labels: Sequence[Hashable], sources: Sequence[int], max_rows: int | None) -> dict[Hashable, int]:
    """How many new rows each class gets if all grow by the same share: that of the class with the fewest new rows.

    >>> same_share("aaaabb", [0, 1, 2, 3, 4], None), same_share("aaaabb", [0, 1, 2, 3, 4, 5], 3)
    ({'a': 2, 'b': 1}, {'a': 2, 'b': 1})

    Args:
        labels: The class of each row.
        sources: The number of the row that each new row is made of.
        max_rows: New rows at most; None is no limit.
    """
    sizes, new_counts = Counter(labels), Counter(labels[row] for row in sources)
    shares = [Fraction(new_counts[label], size) for label, size in sizes.items()]
    if max_rows is not None and labels:
        shares.append(Fraction(max_rows, len(labels)))
    return {label: int(min(shares) * size) for label, size in sizes.items()}


def _scarcest(labels: Sequence[Hashable], sources: Sequence[int]) -> str:
    """The class with the smallest share of new rows, which is the share of all classes, in words.

    >>> _scarcest("aaaabb", [0, 1, 2, 3, 4])
    "all classes grow by the share of 'b', which has 1 new rows of 2 rows"
    """
    sizes, new_counts = Counter(labels), Counter(labels[row] for row in sources)
    label = min(sizes, key=lambda candidate: Fraction(new_counts[candidate], sizes[candidate]))
    return (
        f"all classes grow by the share of {label!r}, which has {new_counts[label]:,} new rows of {sizes[label]:,} rows"
    )


def wanted_rows(
    sources: Sequence[int],
    total: int,
    labels: Sequence[Hashable] | None,
    class_limits: Mapping[Hashable, int] | None,
    max_rows: int | None,
    seed: int,
) -> list[int]:
    """The places of the new rows that are wanted, in order: the first copy of every row, then the second, and so on.

    >>> wanted_rows([3, 3, 5, 5], 6, "aaabab", {"a": 0, "b": 2}, None, 0)
    [0, 2]

    Args:
        sources: The number of the row that each new row is made of.
        total: The number of rows.
        labels: The class of each row, for limits of classes.
        class_limits: New rows of each class, at most; None is no limit.
        max_rows: New rows at most; None is no limit.
        seed: Of the order of the rows.
    """
    positions = {row: position for position, row in enumerate(_shuffled(total, seed))}
    copy_counts: dict[int, int] = defaultdict(int)
    turns = []
    for index, row in enumerate(sources):
        turns.append((copy_counts[row], positions[row], index))
        copy_counts[row] += 1
    remaining = None if class_limits is None else dict(class_limits)
    chosen_indices: list[int] = []
    for _, _, index in sorted(turns):
        if remaining is not None and labels is not None:
            remaining[labels[sources[index]]] -= 1
            if remaining[labels[sources[index]]] < 0:
                continue
        chosen_indices.append(index)
    return sorted(chosen_indices[:max_rows])


def _shuffled(total: int, seed: int) -> list[int]:
    """The numbers below `total` in random order."""
    order = list(range(total))
    random.Random(seed).shuffle(order)
    return order
