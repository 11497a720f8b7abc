"""A shard in, a shard out; what is done stays done.

A run keeps its shards in one folder: `input-00000.parquet`, ... hold rows without candidates, `rows-00000.parquet`, ...
the same rows with all their candidates, also the refused ones. A row that cleaning has refused stays in its place,
without candidates. A file appears under its final name only when it is whole, so a file that is there is done, whatever
happened to the process that wrote it.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from toolkit.rows import Row, from_record, schema, to_table

INPUTS = "inputs.json"  # of a run's folder: how many input shards and rows there are, what was refused
RECUT = "delete this file, and the input shards are cut again; finished shards are kept"


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file under a temporary name and rename it, so that it is never half there; its folder is made.

    Raises:
        OSError: The disk is full, or another fault of the file system; it names the path.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        kept = f"{path}, which was not written; every file that was finished is kept"
        raise OSError(error.errno, error.strerror, kept) from error
    finally:
        temporary.unlink(missing_ok=True)


def read_record(file: Path, remedy: str = "delete its folder") -> dict:
    """A JSON record that the toolkit wrote.

    Args:
        file: The record.
        remedy: What to do where it is damaged, for the error.

    Raises:
        ValueError: It is damaged.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"wanted a record in JSON, got {file}, which is damaged ({error}): {remedy}") from None
    if not isinstance(found, dict):
        raise ValueError(f"wanted a record in JSON, got {file}, which holds no settings: {remedy}")
    return found


def remove_unfinished(folder: Path) -> None:
    """Delete the temporary files that killed processes left; the folder is held, so no living process has any."""
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink()


def count_rows(path: Path) -> int:
    """The rows of a shard that cleaning has left in.

    Raises:
        ValueError: It is no shard of rows.
    """
    try:
        return pq.read_table(path, columns=["reason"])["reason"].null_count
    except (pa.ArrowException, KeyError) as error:
        raise ValueError(f"{path}: wanted a shard of rows, got a damaged file ({error}); delete it") from None


def write_shard(path: Path, rows: Iterable[Row]) -> None:
    """Write rows to one Parquet file, whole or not at all.

    Raises:
        OSError: The disk is full, or another fault of the file system; no file is left behind.
        ValueError: A score is NaN or infinite; the row is named.
    """
    sink = pa.BufferOutputStream()
    pq.write_table(to_table(map(with_finite_scores, rows)), sink, compression="zstd", use_content_defined_chunking=True)
    write_whole(path, sink.getvalue().to_pybytes())


def with_finite_scores(row: Row) -> Row:
    """The row itself: no filter can compare a score that is no number, so such a row is neither kept nor refused.

    Raises:
        ValueError: A score of a candidate is NaN or infinite.
    """
    for candidate in row.candidates:
        for name, score in vars(candidate.scores).items():
            if score is not None and not math.isfinite(score):
                raise ValueError(
                    f"row {row.id}: wanted a number as {name}, got {score} for {candidate.text[:80]!r}; another "
                    "--dtype may help, or another model"
                )
    return row


def read_shard(path: Path, batch_rows: int = 1000) -> Iterator[Row]:
    """The rows of a shard, read a batch at a time.

    Raises:
        ValueError: The file is not a shard of rows.
    """
    with pq.ParquetFile(path) as file:
        missing = set(schema().names) - set(file.schema_arrow.names)
        if missing:
            raise ValueError(f"{path}: wanted a shard of rows, got a table without {sorted(missing)}; rebuild it")
        for batch in file.iter_batches(batch_rows):
            yield from map(from_record, batch.to_pylist())


def write_inputs(folder: Path, rows: Iterable[Row], shard_rows: int) -> list[Path]:
    """Cut a stream of rows into input shards; `inputs.json`, written last, says that all are there.

    Args:
        folder: The run's folder.
        rows: Rows without candidates, in order, also those that cleaning has refused.
        shard_rows: Rows of a shard that are still in; the last may have fewer.

    Returns:
        The paths of the input shards, in order; none, and no `inputs.json`, if there was no row left.
    """
    done = folder / INPUTS
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        number, total, refused = 0, 0, Counter[str]()
        for number, shard in enumerate(cut(rows, shard_rows)):
            write_shard(folder / f"input-{number:05d}.parquet", shard)
            reasons = [row.reason for row in shard]
            total += reasons.count(None)
            refused.update(filter(None, reasons))
        if not total:
            for path in folder.glob("input-*.parquet"):
                path.unlink()
            return []
        record = {"shards": number + 1, "rows": total, "refused": dict(sorted(refused.items()))}
        write_whole(done, json.dumps(record, indent=1))
    return input_shards(folder)


def cut(rows: Iterable[Row], shard_rows: int) -> Iterator[list[Row]]:
    """Lists of rows with so many each that are still in; what is refused stays where it stands."""
    shard: list[Row] = []
    left = shard_rows
    for row in rows:
        if row.reason is None and not left:
            yield shard
            shard, left = [], shard_rows
        shard.append(row)
        left -= row.reason is None
    if shard:
        yield shard


def input_shards(folder: Path) -> list[Path]:
    """The paths of a run's input shards, in order; all are there."""
    return [folder / f"input-{i:05d}.parquet" for i in range(read_inputs(folder)["shards"])]


def read_inputs(folder: Path) -> dict:
    """The record of a run's input shards: `shards`, `rows` and `refused`, the refusals by reason.

    Raises:
        FileNotFoundError: There is none: the folder is not a run's.
        ValueError: It is damaged.
    """
    if not (folder / INPUTS).is_file():
        raise FileNotFoundError(f"wanted a run's folder with {INPUTS}, got {folder}: build the shards first")
    found = read_record(folder / INPUTS, RECUT)
    refused = found.get("refused")
    numbers = [found.get("shards"), found.get("rows"), *(refused.values() if isinstance(refused, dict) else [None])]
    if not all(isinstance(number, int) for number in numbers):
        got = json.dumps(found)[:80]
        raise ValueError(f"wanted shards, rows and refused in {folder / INPUTS}, got {got}: {RECUT}")
    return found


def output_of(path: Path) -> Path:
    """Where the shard made from an input shard goes.

    >>> output_of(Path("run/input-00003.parquet")).as_posix()
    'run/rows-00003.parquet'
    """
    return path.with_name(path.name.replace("input-", "rows-"))
