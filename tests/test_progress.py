"""The bar moves within a shard, counts a row once whatever the number of stages, and an error names its rows."""

import pytest

from tests.conftest import demo_rows
from toolkit.progress import advance, at_hand, rows_bar


def test_rows_count_when_all_stages_have_had_them(capsys):
    with rows_bar(total=10, done=4, stages=2, label="rows", shown=True) as bar:
        rows = demo_rows()[:4]
        with at_hand(rows[:2]):
            pass
        assert bar.n == 5
        with at_hand(rows[2:]):
            assert bar.n == 5
        advance(4)
        assert bar.n == 8
    assert "8/10 rows" in capsys.readouterr().err


def test_outside_of_a_run_nothing_is_shown(capsys):
    with at_hand(demo_rows()):
        advance(3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("error", [ValueError("bad"), RuntimeError("bad"), MemoryError("bad")])
def test_an_error_names_the_rows_at_hand(error):
    refused = pytest.raises(RuntimeError, match="row demo-0, demo-1: bad")
    with rows_bar(10, 0, 1, "rows", False) as bar, refused, at_hand(demo_rows()[:2]):
        raise error
    assert bar.n == 0


def test_a_bar_ends_with_its_run():
    with pytest.raises(ZeroDivisionError), rows_bar(10, 0, 1, "rows", False):
        raise ZeroDivisionError
    with rows_bar(10, 0, 1, "rows", True) as bar:
        advance(1)
    assert bar.n == 1
