"""The shards of an augmentation: made one after another, kept in a folder if there is one, shared among processes.

A shard is made of `SHARD_ROWS` rows, whatever the number of processes, and no batch crosses shards. Its new rows are an
Arrow file, and beside it a JSON file says what was counted and of which texts it was made; that is written last, so a
shard that has one is finished even if the process that wrote it was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasets import Dataset
from datasets.arrow_writer import ArrowWriter

from toolkit.augmentation._known_rows import KnownRows
from toolkit.augmentation._new_rows import Rows, new_rows
from toolkit.augmentation.label_check import LabelCheck
from toolkit.augmentation.parts import NewRow, _SkippedError, _Tags
from toolkit.augmentation.settings import Augmentation
from toolkit.augmentation.sources import _Source
from toolkit.augmentation.summary import Summary
from toolkit.chat.requests import Submitted
from toolkit.data.progress import Progress
from toolkit.system.errors import one_line
from toolkit.system.lock import held
from toolkit.system.processes import wait
from toolkit.system.settings import SETTINGS, check_record, compare_code
from toolkit.system.whole_files import read_record, whole_file, write_whole

if TYPE_CHECKING:
    from accelerate import PartialState

FREE = {"minutes"}  # may differ between the calls that go on in one folder
SHARD_ROWS = 1000  # ours: a killed process loses at most the work on so many rows

Finish = Callable[[list[NewRow]], Dataset]  # the new rows as they are in the result
Whole = Callable[[Rows], Iterable[Mapping[str, Any]]]  # rows with all their columns


@dataclass(frozen=True)
class Work:
    """What is done with a shard.

    Attributes:
        settings: How rows are augmented.
        source: Where paraphrases come from.
        tags: By column of tokens, how its tags are read.
        check: Refuses new rows whose label may be another.
        known: The rows that no new row may equal; None of a stream.
        features: What the columns of the data hold, in words.
        folder: Where shards are kept; None keeps none.
        state: The processes that share the work.
        record: What must be equal in every call that goes on in the folder.
    """

    settings: Augmentation
    source: _Source
    tags: Mapping[str, _Tags]
    check: LabelCheck | None
    known: KnownRows | None
    features: str
    folder: Path | None
    state: PartialState
    record: dict[str, Any]


def made_shards(
    rounds: Iterable[Iterable[Rows]], work: Work, finish: Finish, whole: Whole, bar: Progress
) -> Iterator[tuple[Dataset, Summary]]:
    """Make the shards of this process that are not finished, and yield all shards in order.

    Args:
        rounds: The rows of each shard, those with the columns that count. A round is asked for when all shards of the
            one before it were yielded, so that it may depend on them, and is the same in each process.
        work: What is done.
        finish: Makes the new rows of a shard a data set.
        whole: Gives rows with all columns, which a finished shard must have been made of.
        bar: Advances with the rows.

    Raises:
        ValueError: A finished shard was made of other rows.
    """
    with _lock_folder(work):
        yield from _shards_in_turn(rounds, work, finish, whole, bar)


@contextlib.contextmanager
def _lock_folder(work: Work) -> Iterator[None]:
    """Lock the folder, if there is one, and record the settings; it stays locked until the block ends.

    Raises:
        RuntimeError: Another launch works in it.
        ValueError: It was begun with other settings.
    """
    if work.folder is None:
        yield
        return
    with held(work.folder, work.state):
        if work.state.is_main_process:
            check_record(work.folder / SETTINGS, work.record, FREE)
        wait(work.state)
        compare_code(work.folder / SETTINGS)
        yield


def _shards_in_turn(
    rounds: Iterable[Iterable[Rows]], work: Work, finish: Finish, whole: Whole, bar: Progress
) -> Iterator[tuple[Dataset, Summary]]:
    """Do the work of `made_shards`."""
    end = time.monotonic() + 60 * work.settings.minutes if work.settings.minutes else float("inf")
    shard_count = row_count = 0
    for shards in rounds:
        shard_starts: dict[int, tuple[int, int]] = {}  # by number of a shard its first row, and how many it has
        waiting = 0  # requests in batches
        for number, rows in enumerate(shards, shard_count):
            shard_starts[number] = rows[0][0], len(rows)
            row_count += len(rows)
            if work.folder is None:
                try:
                    shard = _make(rows, work, finish) if time.monotonic() <= end else None
                except Submitted as submitted:
                    raise RuntimeError(str(submitted)) from None
                yield shard or _empty_shard(*shard_starts[number], work, finish)
            elif number % work.state.num_processes == work.state.process_index:
                path, content = work.folder / f"new-{number:05d}.json", _content_hash(rows, whole(rows), work)
                if path.exists():
                    _check_same(path, content)
                elif time.monotonic() <= end:
                    try:
                        _write_shard(path, content, *_make(rows, work, finish))
                    except Submitted as submitted:
                        waiting += submitted.count
            bar.update(row_count - bar.n)  # stages count texts, some of them twice, and no text that is skipped
        shard_count += len(shard_starts)
        if waiting:
            raise RuntimeError(str(Submitted(waiting)))
        if work.folder is not None:
            wait(work.state)
            for number, (first, count) in shard_starts.items():
                path = work.folder / f"new-{number:05d}.json"
                yield _read_shard(path) if path.exists() else _empty_shard(first, count, work, finish)


def _make(rows: Rows, work: Work, finish: Finish) -> tuple[Dataset, Summary]:
    """The new rows of a shard.

    Raises:
        RuntimeError: The paraphraser failed; the message names the rows of the shard.
    """
    summary = Summary()
    try:
        added_rows = new_rows(rows, work.settings, work.source, work.tags, work.check, summary, work.known)
    except (RuntimeError, MemoryError) as error:
        raise RuntimeError(f"rows {rows[0][0]} to {rows[-1][0]}: {one_line(error)}") from error
    return finish(added_rows), summary


def _empty_shard(first: int, count: int, work: Work, finish: Finish) -> tuple[Dataset, Summary]:
    """What a shard is that was not begun: no new row, and all of its rows counted."""
    summary = Summary(rows=count)
    summary.skip(first, _SkippedError("out_of_time", f"after {work.settings.minutes} minutes"), count)
    return finish([]), summary


def _content_hash(rows: Rows, whole: Iterable[Mapping[str, Any]], work: Work) -> str:
    """A hash of what the new rows of a shard depend on.

    This is where its rows stand in the data, the names, types and values of all their columns, and, unless the data is
    a stream, the texts and labels of all other rows: none of them is made again, and a classifier is trained on them.
    """
    shard_rows = [(number, dict(row)) for (number, _), row in zip(rows, whole, strict=True)]
    all_rows = None if work.known is None else work.known.content
    return hashlib.sha256(repr((shard_rows, work.features, all_rows)).encode()).hexdigest()


def _write_shard(path: Path, content: str, new: Dataset, summary: Summary) -> None:
    """Write a finished shard: an Arrow file, then its record."""
    with (
        whole_file(path.with_suffix(".arrow")) as temporary,
        ArrowWriter(features=new.features, path=str(temporary)) as writer,
    ):
        writer.write_table(new.data.table)
        writer.finalize()
    write_whole(path, json.dumps({"content": content} | summary.record(), indent=1))


def _read_shard(path: Path) -> tuple[Dataset, Summary]:
    """The new rows of a finished shard, mapped from its file."""
    record = read_record(path)
    record.pop("content")
    return Dataset.from_file(str(path.with_suffix(".arrow"))), Summary.of(record)


def _check_same(path: Path, content: str) -> None:
    """Refuse a finished shard that was made of other rows.

    Raises:
        ValueError: It was.
    """
    if read_record(path)["content"] != content:
        raise ValueError(
            f"wanted the data of which {path} was made, got other rows or types: choose another output, or delete "
            "this one"
        )
