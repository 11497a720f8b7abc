"""The figures of the seeds that chose nothing follow from those of the first seeds and of all."""

from __future__ import annotations

import random
import re
from statistics import fmean, stdev

import pytest
from scipy.stats import ttest_1samp

from reports import figures_augmentation


def test_difference_and_p_value_of_the_last_seeds_are_those_of_their_values():
    chance = random.Random(1)
    values = [chance.gauss(1.5, 3) for _ in range(20)]
    chosen, all_seeds = (
        {"against_none": {"difference": fmean(some), "deviation": stdev(some)}} for some in (values[:10], values)
    )
    found = figures_augmentation._on_new_seeds(chosen, all_seeds, 10)
    difference, p = map(float, re.fullmatch(r"([+-][0-9.]+), p ([0-9.]+)", found).groups())
    assert difference == pytest.approx(fmean(values[10:]), abs=0.06)
    assert p == pytest.approx(ttest_1samp(values[10:], 0).pvalue, abs=0.006)


def test_the_table_has_only_arms_of_both_studies():
    lines = figures_augmentation.augmentation_new_seeds().splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:6]] == [
        "none",
        "round trip",
        "starter",
        "ParaNMT",
    ]
