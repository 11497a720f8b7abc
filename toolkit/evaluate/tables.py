"""Markdown tables, and means with standard deviations as their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table with the first column aligned left and the others aligned right.

    >>> print(table(["", "ours"], [["BLEU", "41.0"]]))
    |  | ours |
    | --- | ---: |
    | BLEU | 41.0 |

    Args:
        head: The headings of the columns.
        lines: The cells of each line, as many as there are headings.
    """
    rows = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in rows)


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and the sample standard deviation, the root of sum((x - mean)^2) / (n - 1); None for a single value.

    >>> mean_and_deviation([1.0, 2.0, 3.0]), mean_and_deviation([2.0])
    ((2.0, 1.0), (2.0, None))

    Args:
        values: One or more numbers.
    """
    return fmean(values), stdev(values) if len(values) > 1 else None


def with_spread(values: Sequence[float], places: int) -> str:
    """The mean and, of several values, the sample standard deviation, with `places` decimals each.

    >>> with_spread([80.0, 82.0], 1), with_spread([80.0], 1)
    ('81.0 ± 1.4', '80.0')
    """
    mean, deviation = mean_and_deviation(values)
    return f"{mean:,.{places}f}" + ("" if deviation is None else f" ± {deviation:.{places}f}")


def cell(values: Sequence[float], whole: bool) -> str:
    """The values of runs or samples as a cell: mean and standard deviation, only the mean for counts, a dash if empty.

    >>> cell([75.0, 76.0], whole=False), cell([3], whole=True), cell([], whole=False)
    ('75.50 ± 0.71', '3', '-')
    """
    if not values:
        return "-"
    return f"{fmean(values):,.0f}" if whole else with_spread(values, 2)
