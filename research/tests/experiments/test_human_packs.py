"""How many references tell two systems apart, and what goes into the files of the sheets."""

import random
import statistics

from scipy.stats import ttest_1samp

from research.experiments.human_packs import references_that_tell, write_pairs


def test_as_many_references_as_said_find_the_difference_in_four_of_five_samples():
    count, chance = references_that_tell(20, 4), random.Random(0)
    results = [ttest_1samp([chance.gauss(4, 20) for _ in range(count)], 0).pvalue < 0.05 for _ in range(600)]
    assert 0.75 < statistics.fmean(results) < 0.85
    assert references_that_tell(20, 2) > 3.9 * count


def test_a_text_that_is_missing_is_no_pair(tmp_path):
    path = write_pairs(tmp_path, "system", {"a": "One.", "b": "Two."}, {"a": "1.", "b": " "})
    assert path.read_text(encoding="utf-8") == "One.\t1.\n"
