"""The bar moves within a shard, counts a row once whatever the number of stages, and an error names its rows."""

import pytest
from accelerate import PartialState

from tests.conftest import demo_rows
from toolkit.data.progress import RowsFailed, _advance, at_hand, rows_bar
from toolkit.data.shards import write_shard
from toolkit.run.shard_runs import make_shards


def test_rows_count_when_all_stages_have_had_them(capsys):
    with rows_bar(total=10, done=4, stages=2, label="rows", shown=True) as bar:
        rows = demo_rows()[:4]
        with at_hand(rows[:2]):
            pass
        assert bar.n == 5
        with at_hand(rows[2:]):
            assert bar.n == 5
        _advance(4)
        assert bar.n == 8
    assert "8/10 rows" in capsys.readouterr().err


def test_outside_of_a_run_nothing_is_shown(capsys):
    with at_hand(demo_rows()):
        _advance(3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("error", [ValueError("bad"), RuntimeError("bad"), MemoryError("bad")])
def test_an_error_names_the_rows_at_hand(error):
    failure = pytest.raises(RowsFailed, match="row demo-0, demo-1: bad")
    with rows_bar(10, 0, 1, "rows", False) as bar, failure, at_hand(demo_rows()[:2]):
        raise error
    assert bar.n == 0


def test_a_bar_ends_with_its_run():
    with pytest.raises(ZeroDivisionError), rows_bar(10, 0, 1, "rows", False):
        raise ZeroDivisionError
    with rows_bar(10, 0, 1, "rows", True) as bar:
        _advance(1)
    assert bar.n == 1


@pytest.mark.parametrize(
    ("failing", "together", "message"),
    [
        ({"demo-1"}, 1, "input-00000.parquet: row demo-1: bad"),
        ({"demo-0", "demo-2"}, 1, "input-00000.parquet: row demo-0, demo-2: bad"),
        ({"demo-0", "demo-1", "demo-2"}, 1, "input-00000.parquet: row demo-0, demo-1, demo-2: bad"),
        ({"demo-1"}, 2, "input-00000.parquet: row demo-0, demo-1, demo-2: bad"),
    ],
)
def test_a_shard_names_the_rows_that_fail_alone(failing, together, message, tmp_path):
    """Rows in `failing` fail in a batch of at least `together`; those that fail only in company are named together."""
    write_shard(tmp_path / "input-00000.parquet", demo_rows()[:3])

    def recipe(rows):
        shard = list(rows)
        with at_hand(shard):
            if len(shard) >= together and failing & {row.id for row in shard}:
                raise MemoryError("bad")
        yield from shard

    with pytest.raises(RuntimeError) as error:
        make_shards([tmp_path / "input-00000.parquet"], recipe, PartialState(cpu=True))
    assert str(error.value) == message
    assert not (tmp_path / "rows-00000.parquet").exists()


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["forward_logprob", "semantic", "judgment"])
def test_a_score_that_is_no_number_stops_its_shard(score, name, tmp_path):
    rows = demo_rows()
    setattr(rows[1].candidates[0].scores, name, score)
    with pytest.raises(ValueError, match=rf"row {rows[1].id}: wanted a number as {name}, got {score} for "):
        write_shard(tmp_path / "rows-00000.parquet", rows)
    assert not list(tmp_path.iterdir())


def test_a_stage_that_reports_more_leaves_the_bar_at_its_end(capsys):
    with rows_bar(total=3, done=0, stages=1, label="rows", shown=True) as bar:
        for _ in range(5):
            _advance(1)
        assert bar.n == 3
    assert "3/3 rows" in capsys.readouterr().err
