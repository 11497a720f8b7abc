"""Which rows get copies, and which of the new rows are wanted: those that keep or balance the classes, and the most."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from math import ceil

SPARE = 3  # ours: so many times as many rows are worked on first as are needed; some give no copy


def class_targets(
    labels: Sequence[Hashable] | None, balance: bool, stratify: bool, max_rows: int | None
) -> dict[Hashable, int] | None:
    """How many new rows of each class are made where not all rows are worked on; None where classes do not count.

    >>> class_targets("aaab", True, False, None), class_targets("aaab", False, True, 2)
    ({'a': 0, 'b': 2}, {'a': 2, 'b': 1})

    Args:
        labels: The class of each row, for balance and stratify.
        balance: Whether only classes that are smaller than the largest get new rows.
        stratify: Whether all classes grow by the same share, so that rows of each are needed.
        max_rows: New rows at most; None is no limit.
    """
    if balance:
        assert labels is not None
        return _lacks(labels)
    if stratify and max_rows is not None:
        assert labels is not None
        share = Fraction(max_rows, len(labels)) if labels else Fraction(0)
        return {label: ceil(share * size) for label, size in Counter(labels).items()}
    return None


def next_rows(
    order: Sequence[int],
    labels: Sequence[Hashable] | None,
    targets: Mapping[Hashable, int] | None,
    max_rows: int | None,
    copies: int,
    earlier_rows: Collection[int],
    sources: Sequence[int],
) -> list[int]:
    """The numbers of the rows that are worked on next, in order; none where enough new rows are made.

    Without targets and a limit these are all rows. Else they are the first of the order, `SPARE` times as many as are
    needed, and after that, as long as new rows are missing, as many as before.

    >>> order = [4, 2, 0, 1, 3]
    >>> next_rows(order, None, None, 1, 1, [], []), next_rows(order, None, None, 1, 1, [4, 2, 0], [])
    ([0, 2, 4], [1, 3])
    >>> next_rows(order, "aaaab", {"a": 0, "b": 3}, None, 1, [], [])
    [4]

    Args:
        order: The numbers of all rows in the order in which they are taken.
        labels: The class of each row, for targets.
        targets: How many new rows of each class are needed (`class_targets`).
        max_rows: How many new rows of all classes are needed; None is no limit.
        copies: New rows for each row, at most.
        earlier_rows: The rows that were worked on.
        sources: The row that each new row was made of.
    """
    worked_on = set(earlier_rows)
    waiting_rows = [row for row in order if row not in worked_on]
    new_count = len(sources)
    if targets is not None:
        assert labels is not None
        row_counts, new_counts = Counter(labels[row] for row in worked_on), Counter(labels[row] for row in sources)
        new_count = sum(min(new_counts[label], target) for label, target in targets.items())
        next_counts = {
            label: max(_needed(target, copies), row_counts[label])
            for label, target in targets.items()
            if new_counts[label] < target
        }
        waiting_rows = _first_of_each(waiting_rows, labels, next_counts)
    if max_rows is None:
        return sorted(waiting_rows)
    return sorted(waiting_rows[: max(_needed(max_rows, copies), len(worked_on))]) if new_count < max_rows else []


def _first_of_each(
    order: Sequence[int], labels: Sequence[Hashable], needed_counts: Mapping[Hashable, int]
) -> list[int]:
    """The first rows of each class, as many as are wanted of it.

    >>> _first_of_each([4, 3, 2, 1, 0], "aabab", {"a": 2, "b": 1})
    [4, 3, 1]
    """
    remaining, chosen_rows = Counter(needed_counts), []
    for row in order:
        remaining[labels[row]] -= 1
        if remaining[labels[row]] >= 0:
            chosen_rows.append(row)
    return chosen_rows


def _needed(new: int, copies: int) -> int:
    """The rows that are worked on first for so many new rows."""
    return SPARE * -(-new // copies)


def _lacks(labels: Sequence[Hashable]) -> dict[Hashable, int]:
    """How many rows each class has less than the largest.

    >>> _lacks("aaab")
    {'a': 0, 'b': 2}
    """
    sizes = Counter(labels)
    largest = max(sizes.values(), default=0)
    return {label: largest - size for label, size in sizes.items()}


def smaller_classes(labels: Sequence[Hashable], sources: Sequence[int]) -> dict[Hashable, int]:
    """How many rows each class has less than the largest with its new rows; only classes that have less.

    >>> smaller_classes("aaaabbc", [4, 6])
    {'b': 1, 'c': 2}

    Args:
        labels: The class of each row.
        sources: The number of the row that each new row is made of.
    """
    return {label: lack for label, lack in _lacks([*labels, *(labels[row] for row in sources)]).items() if lack}


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
    positions = {row: position for position, row in enumerate(shuffled(total, seed))}
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


def shuffled(total: int, seed: int) -> list[int]:
    """The numbers below `total` in random order."""
    order = list(range(total))
    random.Random(seed).shuffle(order)
    return order
