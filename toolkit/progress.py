"""How far the rows of a shard are: a stage says which rows it has at hand, and the bar of the run moves by them.

A shard takes minutes, and a stage works on batches of its rows, so a bar that counted finished shards would stand
still. Outside of a run nothing is shown.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence

from tqdm import tqdm

from toolkit.rows import Row

FORM = "{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total:.0f} rows [{elapsed}<{remaining}, {rate_fmt}]"
NAMED = 8  # ours: rows that an error names; a batch of samples has no more


class RowsFailed(RuntimeError):
    """Something went wrong with a batch of rows.

    Attributes:
        ids: The rows of the batch.
    """

    def __init__(self, ids: Sequence[str], error: Exception) -> None:
        """Name some of the rows, and say what went wrong."""
        super().__init__(f"row {', '.join(ids[:NAMED])}{' ...' if len(ids) > NAMED else ''}: {error}")
        self.ids = tuple(ids)


class Progress(tqdm):
    """The bar of a run, in rows; a row counts when all stages that report have had it."""

    stages = 1


_bars: list[Progress] = []  # the bar of the run that is under way, if any: one process makes one shard at a time


@contextlib.contextmanager
def rows_bar(total: int, done: int, stages: int, label: str, shown: bool) -> Iterator[Progress]:
    """The bar of a run while its shards are made.

    Args:
        total: Rows of all shards of this process.
        done: Rows of those that are finished.
        stages: How many stages of the recipe report their rows.
        label: What stands before it.
        shown: Whether it is printed.
    """
    interval = 0.5 if sys.stderr.isatty() else 30.0  # a log file gets a line now and then
    bar = Progress(
        total=total, initial=done, unit="row", desc=label, disable=not shown, mininterval=interval, bar_format=FORM
    )
    bar.stages = stages
    _bars.append(bar)
    try:
        yield bar
    finally:
        _bars.remove(bar)
        bar.close()


def advance(rows: float) -> None:
    """Tell the bar that one stage is done with so many rows; a part of a row counts too."""
    for bar in _bars:
        bar.update(rows / bar.stages)


@contextlib.contextmanager
def at_hand(rows: Sequence[Row], counted: float | None = None) -> Iterator[None]:
    """Name these rows in any error inside, and tell the bar afterwards that the stage is done with them.

    Args:
        rows: Those of a batch, a row perhaps several times.
        counted: How many rows the batch is worth, where it holds parts of rows.

    Raises:
        RowsFailed: What went wrong inside, with the ids of the rows.
    """
    try:
        yield
    except (ValueError, RuntimeError, MemoryError) as error:
        raise RowsFailed(list(dict.fromkeys(row.id for row in rows)), error) from error
    advance(len(rows) if counted is None else counted)
