import pytest

from toolkit.evaluate.tables import mean_and_deviation, table


def test_the_deviation_is_the_samples():
    # 2, 4, 4, 4, 5, 5, 7, 9: squares sum to 32 about the mean 5; 8 values, so 32 / 7
    assert mean_and_deviation([2, 4, 4, 4, 5, 5, 7, 9]) == (5, pytest.approx((32 / 7) ** 0.5))


def test_a_table_has_a_line_for_each_line():
    lines = table(["", "a", "b"], [["one", "1", "2"], ["two", "3", "4"]]).splitlines()
    assert lines[1:] == ["| --- | ---: | ---: |", "| one | 1 | 2 |", "| two | 3 | 4 |"]
