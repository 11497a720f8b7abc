"""Paired comparisons of two ways to train, over the same seeds: is there a difference, and could it have been seen?"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from toolkit.system.extras import require

ALPHA, POWER = 0.05, 0.8  # the usual level of a test, and the usual power that is planned for
MOST_SEEDS = 10_000  # ours: nobody trains more often
ROUNDING = 1e-6  # ours: points; far above the rounding of an accuracy, far below a row of any test


class _Comparison(NamedTuple):
    """A way to train against another, with the same seeds.

    Attributes:
        difference: The mean difference, in points.
        deviation: The standard deviation of the differences over the seeds.
        p: Of the paired t-test, two-sided, corrected for all comparisons of the study; None if nothing was tested,
            because all seeds trained on the same rows.
        seeds: The seeds with which a true difference of this size would be found with probability `POWER`; None if it
            takes more than `MOST_SEEDS`.
        row: The points of one row of the test. A difference that is not greater is never called one; 0 if unknown.
    """

    difference: float
    deviation: float
    p: float | None
    seeds: int | None
    row: float = 0.0

    @property
    def verdict(self) -> str:
        """What can be said: "yes", "no", or that the difference is not significant.

        >>> _Comparison(1.2, 0.9, 0.01, 7).verdict, _Comparison(0.1, 0.9, 0.6, 638).verdict
        ('yes: +1.2 points', 'no: +0.1 points are not significant; 638 seeds would be needed to decide')
        >>> _Comparison(-1 / 3, 0.1, 0.001, 4, row=1 / 3).verdict
        'no: -0.3 points are at most one row of the test, 0.3 points; more test rows would be needed to decide'
        >>> _Comparison(2.0, 0.0, None, None).verdict
        'not tested, because all seeds trained on the same rows: +2.0 points'
        """
        points = f"{self.difference:+.1f} points"
        if self.p is None:
            return f"not tested, because all seeds trained on the same rows: {points}"
        if self.row and abs(self.difference) <= self.row + ROUNDING:
            one_row = f"at most one row of the test, {self.row:.1f} points"
            return f"no: {points} are {one_row}; more test rows would be needed to decide"
        if self.p < ALPHA:
            return f"{'yes' if self.difference > 0 else 'no, it is worse'}: {points}"
        more = f"more than {MOST_SEEDS:,}" if self.seeds is None else f"{self.seeds:,}"
        return f"no: {points} are not significant; {more} seeds would be needed to decide"


def compare(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], row: float = 0.0, untested: Collection[int] = ()
) -> list[_Comparison]:
    """Compare ways to train, each with another, over seeds; Holm's correction counts all comparisons that are tested.

    Where all differences are equal, a t-test has no deviation to divide by, and the sign test is taken instead.

    >>> one, = compare([([71.0, 72.5, 71.5, 73.0], [70.0, 71.0, 70.5, 71.0])])
    >>> one.difference, round(one.deviation, 3), round(one.p, 4), one.seeds
    (1.375, 0.479, 0.0105, 4)

    Args:
        pairs: For each comparison the results of both, with equal seeds at equal places.
        row: The points of one row of the test; 0 if unknown.
        untested: The places of comparisons whose seeds all trained on the same rows, so that nothing can be tested.

    Raises:
        ValueError: There are fewer than two seeds, or not equally many of both.

    Source: Holm (1979) for the correction; a paired t-test's power by the noncentral t distribution.
    """
    summaries = []
    for results, baseline_results in pairs:
        if len(results) != len(baseline_results) or len(results) < 2:
            raise ValueError(
                f"wanted two seeds or more, equally many of both, got {len(results)} and {len(baseline_results)}"
            )
        differences = np.subtract(results, baseline_results)
        mean, deviation = round(float(differences.mean()), 6), float(differences.std(ddof=1))
        summaries.append((mean, deviation if deviation > ROUNDING else 0.0, differences))
    tested_numbers = [n for n in range(len(summaries)) if n not in untested]
    corrected_ps = dict(zip(tested_numbers, _holm([_p_value(*summaries[n]) for n in tested_numbers]), strict=True))
    return [
        _Comparison(
            mean, deviation, corrected_ps.get(n), _seeds_needed(mean, deviation) if n in corrected_ps else None, row
        )
        for n, (mean, deviation, _) in enumerate(summaries)
    ]


def _p_value(mean: float, deviation: float, differences: np.ndarray) -> float:
    """The p-value of a paired t-test, or of a sign test where all seeds have the same difference."""
    if deviation:
        return float(require("scipy.stats").ttest_1samp(differences, 0.0).pvalue)
    return 1.0 if mean == 0 else 2.0 ** (1 - len(differences))


def _holm(ps: Sequence[float]) -> list[float]:
    """Holm's step-down correction of some p-values, in their order.

    >>> [round(p, 4) for p in _holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected_ps, running_maximum = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda n: ps[n])):
        running_maximum = max(running_maximum, min(1.0, (len(ps) - rank) * ps[index]))
        corrected_ps[index] = running_maximum
    return corrected_ps


def _seeds_needed(difference: float, deviation: float, alpha: float = ALPHA, power: float = POWER) -> int | None:
    """The fewest seeds with which a paired t-test finds a true difference with probability `power`.

    >>> _seeds_needed(1.0, 1.0), _seeds_needed(0.1, 1.0), _seeds_needed(0.0, 1.0)
    (10, 787, None)

    Args:
        difference: The true mean difference.
        deviation: The standard deviation of the differences.
        alpha: The level of the test, two-sided, in (0, 1).
        power: In (0, 1).
    """
    if deviation == 0 or difference == 0:  # without a deviation, the sign test needs so many
        return 2 + math.floor(-math.log2(alpha)) if difference else None
    effect = abs(difference) / deviation
    low, high = 1, 2
    while _power_of(effect, high, alpha) < power:
        low, high = high, 2 * high
        if low >= MOST_SEEDS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power_of(effect, middle, alpha) >= power else (middle, high)
    return high if high <= MOST_SEEDS else None


def _power_of(effect: float, seeds: int, alpha: float) -> float:
    """The probability that a two-sided paired t-test finds a difference of `effect` standard deviations."""
    stats = require("scipy.stats")
    limit = stats.t.ppf(1 - alpha / 2, seeds - 1)
    away = effect * math.sqrt(seeds)
    power = stats.nct.sf(limit, seeds - 1, away) + stats.nct.cdf(-limit, seeds - 1, away)
    return 1.0 if math.isnan(power) else float(power)
