"""The paired test, its correction, and its power against a simulation."""

import numpy as np
import pytest
from scipy import stats

from toolkit.study.significance import _holm, _power_of, _seeds_needed, compare


def test_the_test_is_scipys():
    first, second = [71.0, 72.5, 71.5, 73.0], [70.0, 71.0, 70.5, 71.0]
    (comparison,) = compare([(first, second)])
    assert comparison.p == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert comparison.verdict == "yes: +1.4 points"
    (worse,) = compare([(second, first)])
    assert worse.verdict == "no, it is worse: -1.4 points"


def test_more_comparisons_make_a_finding_harder():
    rng = np.random.default_rng(0)
    base = rng.normal(70, 1, 6)
    good = base + rng.normal(1.0, 0.6, 6)
    alone = compare([(good, base)])[0].p
    among = compare([(good, base)] + [(base + rng.normal(0, 0.6, 6), base) for _ in range(9)])[0]
    assert alone < 0.05 < among.p == pytest.approx(10 * alone)
    assert "not significant" in among.verdict


def test_no_spread():
    equal, better, _ = compare([([1, 1], [1, 1]), ([3, 3], [1, 1]), ([1, 2], [2, 1])])
    assert (equal.p, equal.seeds) == (1.0, None) and "more than 10,000 seeds would be needed" in equal.verdict
    assert better.p == 1.0 and better.seeds == 6, "equal differences are judged by their signs"
    (better,) = compare([([3.0] * 8, [1.0] * 8)])
    assert better.p == pytest.approx(stats.binomtest(8, 8).pvalue) and better.verdict == "yes: +2.0 points"
    with pytest.raises(ValueError, match="wanted two seeds or more, equally many of both, got 1 and 1"):
        compare([([1.0], [2.0])])


def test_holm_is_monotone_and_at_most_one():
    assert _holm([0.5, 0.001, 0.6]) == [1.0, 0.003, 1.0]
    assert _holm([]) == []


@pytest.mark.parametrize(("effect", "seeds"), [(0.5, 10), (1.0, 6), (0.2, 40)])
def test_the_power_is_that_of_a_simulation(effect, seeds):
    draws = np.random.default_rng(1).normal(effect, 1.0, (20_000, seeds))
    power = (stats.ttest_1samp(draws, 0.0, axis=1).pvalue < 0.05).mean()
    assert _power_of(effect, seeds, 0.05) == pytest.approx(power, abs=0.015)


def test_the_seeds_are_the_fewest():
    for effect in (0.3, 0.8, 2.5):
        seeds = _seeds_needed(effect, 1.0)
        assert _power_of(effect, seeds, 0.05) >= 0.8 > _power_of(effect, seeds - 1, 0.05)
    assert _seeds_needed(-0.3, 1.0) == _seeds_needed(0.3, 1.0)
    assert _seeds_needed(1e-9, 1.0) is None


def test_one_row_of_the_test_is_no_difference():
    row = 100 / 300
    (comparison,) = compare([([50.0 + row] * 10, [50.0] * 10)], row)
    assert comparison.p < 0.05 and comparison.verdict.startswith("no: +0.3 points are at most one row of the test")
    rng = np.random.default_rng(0)
    (spread,) = compare([(50.2 + rng.normal(0, 0.05, 10), [50.0] * 10)], row)
    assert spread.p < 0.001 and spread.verdict.startswith("no: +0.2 points are at most one row of the test")
    (larger,) = compare([([50.0 + 2 * row] * 10, [50.0] * 10)], row)
    assert larger.verdict == "yes: +0.7 points"


def test_what_is_not_tested_does_not_count_in_the_correction():
    rng = np.random.default_rng(0)
    base = rng.normal(70, 1, 6)
    good = base + rng.normal(1.0, 0.6, 6)
    comparisons = compare([(good, base), ([80.0] * 6, [70.0] * 6)], untested=[1])
    assert comparisons[0].p == compare([(good, base)])[0].p
    assert comparisons[1].p is None and comparisons[1].seeds is None
    assert comparisons[1].verdict == "not tested, because all seeds trained on the same rows: +10.0 points"
