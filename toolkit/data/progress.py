"""The progress bar of a run, which stages advance as they finish rows, and errors that name the rows of a batch.

A shard takes minutes, so a bar that counted finished shards would rarely move; instead each stage advances the bar
after every batch of rows. Outside of a run there is no bar.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence

from tqdm import tqdm

from toolkit.data.rows import Row

FORM = "{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total:.0f} rows [{elapsed}<{remaining}, {rate_fmt}{postfix}]"
MAX_NAMED = 8  # ours: the most rows that an error names; a batch of samples has no more


class RowsFailed(RuntimeError):
    """An error while a batch of rows was processed.

    Attributes:
        ids: The ids of the rows of the batch.
    """

    def __init__(self, ids: Sequence[str], error: Exception) -> None:
        """Make the message: the ids of the first rows, and the error."""
        super().__init__(f"row {', '.join(ids[:MAX_NAMED])}{' ...' if len(ids) > MAX_NAMED else ''}: {error}")
        self.ids = tuple(ids)


class Progress(tqdm):
    """The progress bar of a run, in rows; a row is complete when every reporting stage has finished it."""

    stages = 1


_bars: list[Progress] = []  # the bar of the current run, if any: a process works on one shard at a time


@contextlib.contextmanager
def rows_bar(total: int | None, done: int, stages: int, label: str, shown: bool) -> Iterator[Progress]:
    """Show the progress bar of a run while its shards are made.

    Args:
        total: The rows of all shards of this process; None where nobody knows.
        done: The rows of its finished shards.
        stages: The number of stages of the recipe that report their rows.
        label: The text before the bar.
        shown: Whether the bar is printed.
    """
    interval = 0.5 if sys.stderr.isatty() else 30.0  # a log file gets a line now and then
    form = None if total is None else FORM
    bar = Progress(
        total=total, initial=done, unit="row", desc=label, disable=not shown, mininterval=interval, bar_format=form
    )
    bar.stages = stages
    _bars.append(bar)
    try:
        yield bar
    finally:
        _bars.remove(bar)
        bar.close()


def _advance(rows: float) -> None:
    """Advance the bar by a number of rows that one stage has finished, to its end at most; fractions are allowed."""
    for bar in _bars:
        step = rows / bar.stages
        bar.update(step if bar.total is None else min(step, bar.total - bar.n))  # tqdm has no form beyond the end


def note(text: str) -> None:
    """Show a text behind the bar, such as what the rows so far have cost."""
    for bar in _bars:
        bar.set_postfix_str(text, refresh=False)


@contextlib.contextmanager
def at_hand(rows: Sequence[Row], row_count: float | None = None) -> Iterator[None]:
    """Name the rows of a batch in any error of the block, and advance the bar when the block ends.

    Args:
        rows: The rows of the batch; a row may occur several times.
        row_count: The number of rows to advance by, where the batch holds only parts of rows; None takes len(rows).

    Raises:
        RowsFailed: The block failed; the error has the ids of the rows.
    """
    try:
        yield
    except (ValueError, RuntimeError, MemoryError) as error:
        raise RowsFailed(list(dict.fromkeys(row.id for row in rows)), error) from error
    _advance(len(rows) if row_count is None else row_count)


def parts_at_hand(
    rows: Sequence[Row], owners: Sequence[Row], parts: int
) -> Callable[[Sequence[int]], contextlib.AbstractContextManager[None]]:
    """`at_hand` for work on parts of rows, such as their candidates: all parts together count as all rows.

    Args:
        rows: All rows of the shard.
        owners: Rows by number; several numbers may have the same.
        parts: How many parts there are in all.

    Returns:
        A function of a batch, which is the number of the owner of each of its parts.
    """
    return lambda batch: at_hand([owners[n] for n in batch], len(batch) * len(rows) / parts)
