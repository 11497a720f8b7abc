"""The clock of the pipeline benchmark puts every second down to one stage."""

import time
from importlib import import_module

import pytest

from research.benchmarks.stages import ALL_ELSE, PIPELINE, STAGES, WARMING, WATCHED, Clock
from toolkit.data.rows import Row

ROWS = [Row(f"a-{n}", "a", "s", "de", "r", "en", "test") for n in range(6)]


@pytest.fixture
def clock(monkeypatch):
    """A clock of a day in which only `sleep` takes time."""
    now = [0.0]
    monkeypatch.setattr(time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return Clock(lambda: now[0])


def slow(rows, seconds):
    """A stage that takes so long for each row."""
    for row in rows:
        time.sleep(seconds)
        yield row


def test_stages_that_wait_for_one_another_have_their_own_seconds(clock):
    first, second = clock.watched("sampling", slow), clock.watched("clustering", slow)
    time.sleep(5)
    with clock.span("writing"):
        assert list(second(first(iter(ROWS), 1), seconds=2)) == ROWS
        time.sleep(3)
    clock.count()
    assert dict(clock.seconds) == {ALL_ELSE: 5, "writing": 3, "sampling": 6, "clustering": 12}


def test_a_function_that_yields_nothing_is_timed_too(clock):
    clock.watched("packaging", time.sleep)(4)
    assert clock.seconds["packaging"] == 4


def test_rows_that_warm_up_count_for_no_stage_and_stay_as_they_were(clock):
    copies = []

    def pipeline(rows, seconds):
        for row in clock.watched("sampling", slow)(iter(rows), seconds):
            copies.append(row)
            yield row

    warmed = clock.warmed(pipeline)
    assert list(warmed(ROWS, 1)) == ROWS and list(warmed(ROWS[:2], 1)) == ROWS[:2]
    assert clock.seconds["sampling"] == 8 and clock.seconds[WARMING] == 4
    assert not any(copy is row for copy, row in zip(copies[:4], ROWS, strict=False)), "warmed up on the rows themselves"


def test_every_function_that_is_watched_is_there():
    for name in [*WATCHED, PIPELINE]:
        module, _, function = name.rpartition(".")
        assert callable(getattr(import_module(module), function))
    assert set(STAGES) < set(WATCHED.values())
