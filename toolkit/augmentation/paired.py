"""Paired comparisons of two ways to train, over the same seeds: is there a difference, and could it have been seen?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

ALPHA, POWER = 0.05, 0.8  # the usual level of a test, and the usual power that is planned for
MOST_SEEDS = 10_000  # ours: nobody trains more often


class Comparison(NamedTuple):
    """A way to train against another, with the same seeds.

    Attributes:
        difference: The mean difference, in points.
        deviation: The standard deviation of the differences over the seeds.
        p: Of the paired t-test, two-sided, corrected for all comparisons of the study.
        seeds: The seeds with which a true difference of this size would be found with probability `POWER`; None if it
            takes more than `MOST_SEEDS`.
    """

    difference: float
    deviation: float
    p: float
    seeds: int | None

    @property
    def verdict(self) -> str:
        """What can be said: "yes", "no", or that it cannot be told apart.

        >>> Comparison(1.2, 0.9, 0.01, 7).verdict, Comparison(0.1, 0.9, 0.6, 638).verdict
        ('yes: +1.2 points', 'no: +0.1 points are not told from chance; 638 seeds would tell')
        """
        points = f"{self.difference:+.1f} points"
        if self.p < ALPHA:
            return f"{'yes' if self.difference > 0 else 'no, it is worse'}: {points}"
        more = f"more than {MOST_SEEDS:,}" if self.seeds is None else f"{self.seeds:,}"
        return f"no: {points} are not told from chance; {more} seeds would tell"


def compare(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[Comparison]:
    """Compare ways to train, each with another, over seeds; Holm's correction counts all comparisons.

    >>> one, = compare([([71.0, 72.5, 71.5, 73.0], [70.0, 71.0, 70.5, 71.0])])
    >>> one.difference, round(one.deviation, 3), round(one.p, 4), one.seeds
    (1.375, 0.479, 0.0105, 4)

    Args:
        pairs: For each comparison the results of both, with equal seeds at equal places.

    Raises:
        ValueError: There are fewer than two seeds, or not equally many of both.

    Source: Holm (1979) for the correction; a paired t-test's power by the noncentral t distribution.
    """
    found = []
    for one, other in pairs:
        if len(one) != len(other) or len(one) < 2:
            raise ValueError(f"wanted two seeds or more, equally many of both, got {len(one)} and {len(other)}")
        differences = np.subtract(one, other)
        mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
        agreed = 1.0 if mean == 0 else 0.0  # of all seeds, which leaves no deviation to divide by
        found.append((mean, deviation, float(stats.ttest_1samp(differences, 0.0).pvalue) if deviation else agreed))
    corrected = holm([p for _, _, p in found])
    return [
        Comparison(round(mean, 6), deviation, p, seeds_needed(mean, deviation))
        for (mean, deviation, _), p in zip(found, corrected, strict=True)
    ]


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's step-down correction of some p-values, in their order.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected, least = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda n: ps[n])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = least
    return corrected


def seeds_needed(difference: float, deviation: float, alpha: float = ALPHA, power: float = POWER) -> int | None:
    """The fewest seeds with which a paired t-test finds a true difference with probability `power`.

    >>> seeds_needed(1.0, 1.0), seeds_needed(0.1, 1.0), seeds_needed(0.0, 1.0)
    (10, 787, None)

    Args:
        difference: The true mean difference.
        deviation: The standard deviation of the differences.
        alpha: The level of the test, two-sided, in (0, 1).
        power: In (0, 1).
    """
    if deviation == 0 or difference == 0:
        return 2 if difference else None
    effect = abs(difference) / deviation
    low, high = 1, 2
    while power_of(effect, high, alpha) < power:
        low, high = high, 2 * high
        if low >= MOST_SEEDS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(effect, middle, alpha) >= power else (middle, high)
    return high if high <= MOST_SEEDS else None


def power_of(effect: float, seeds: int, alpha: float) -> float:
    """The probability that a two-sided paired t-test finds a difference of `effect` standard deviations."""
    limit = stats.t.ppf(1 - alpha / 2, seeds - 1)
    away = effect * math.sqrt(seeds)
    found = stats.nct.sf(limit, seeds - 1, away) + stats.nct.cdf(-limit, seeds - 1, away)
    return 1.0 if math.isnan(found) else float(found)
