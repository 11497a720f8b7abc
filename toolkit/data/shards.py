"""Read and write the shards of a run.

A run keeps its shards in one folder: `input-00000.parquet`, ... hold rows without candidates, `rows-00000.parquet`, ...
the same rows with all their candidates, including refused ones. A row that cleaning has refused stays in its place,
without candidates. A file gets its final name only when it is complete, so a file that exists is finished even if the
process that wrote it was killed.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.data.rows import Row, Scores, from_record, hints_of, schema, to_table
from toolkit.system.errors import MAX_CHARACTERS, first_line
from toolkit.system.whole_files import read_record, write_whole

INPUTS = "inputs.json"  # in a run's folder: the numbers of input shards, of rows, and of refused rows by reason
BATCH_ROWS = 1000  # ours: rows in memory at a time, with all their candidates
RECUT = "delete this file, and the input shards are cut again; finished shards are kept"


def count_rows(path: Path) -> int:
    """The number of rows of a shard that cleaning has not refused.

    Raises:
        ValueError: The file is no shard of rows.
    """
    with named_if_broken(path):
        return pq.read_table(path, columns=["reason"], page_checksum_verification=True)["reason"].null_count


@contextlib.contextmanager
def named_if_broken(*paths: Path) -> Iterator[None]:
    """Turn what a library says of a broken Parquet file in the block into a line that names it and says what to do.

    Args:
        paths: The files of a run that are read in the block.

    Raises:
        ValueError: One of them is broken.
    """
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        broken = next((path for path in paths if not is_whole(path)), None)
        if broken is None:
            raise
        beside = f" and {INPUTS} beside it" if broken.name.startswith("input-") else ""
        raise ValueError(
            f"wanted a shard of rows, got a broken {broken} ({first_line(error)[:MAX_CHARACTERS]}): delete it{beside}, "
            "then run the same command again, which makes it again"
        ) from None


def is_whole(path: Path) -> bool:
    """Whether all of a Parquet file can be read and has the checksums that its pages name."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for _ in file.iter_batches(BATCH_ROWS):
                pass
    except (OSError, ValueError, MemoryError, pa.ArrowException):
        return False
    return True


def write_shard(path: Path, rows: Iterable[Row]) -> None:
    """Write rows to one Parquet file, completely or not at all.

    Raises:
        OSError: The disk is full, or another error of the file system; no file is left behind.
        ValueError: A score is NaN or infinite; the message names the row.
    """
    all_rows = list(rows)
    table = to_table(all_rows)
    _check_scores(table, all_rows)
    write_table(path, table)


def write_table(path: Path, table: pa.Table) -> None:
    """Write the rows of a table (`toolkit.data.rows.schema`) to one Parquet file, completely or not at all.

    Raises:
        OSError: The disk is full, or another error of the file system; no file is left behind.
    """
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_content_defined_chunking=True, write_page_checksum=True)
    write_whole(path, sink.getvalue().to_pybytes())


def _check_scores(table: pa.Table, rows: Sequence[Row]) -> None:
    """Refuse scores that are not finite: no filter can compare NaN, and so decide on the row.

    Args:
        table: The rows as a table.
        rows: The same rows, for the message.

    Raises:
        ValueError: A score of a candidate is NaN or infinite.
    """
    scores = pc.struct_field(pc.list_flatten(table["candidates"]), "scores")
    if all(pc.all(pc.is_finite(score)).as_py() is not False for part in scores.chunks for score in part.flatten()):
        return
    for row in rows:
        for candidate in row.candidates:
            for name in hints_of(Scores):
                score = getattr(candidate.scores, name)
                if score is not None and not math.isfinite(score):
                    raise ValueError(
                        f"row {row.id}: wanted a number as {name}, got {score} for {candidate.text[:80]!r}; another "
                        "--dtype may help, or another model"
                    )


def read_shard(path: Path, batch_rows: int = BATCH_ROWS) -> Iterator[Row]:
    """Read the rows of a shard, a batch at a time.

    Raises:
        ValueError: The file is not a shard of rows.
    """
    for rows in read_tables(path, batch_rows):
        yield from map(from_record, rows.to_pylist())


def read_tables(shard: Path, batch_rows: int = BATCH_ROWS, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Read the rows of a shard as Arrow tables, a batch at a time.

    Args:
        shard: A Parquet file of rows.
        batch_rows: The rows of a batch.
        columns: The columns to read, as Parquet names them; None reads all.

    Raises:
        ValueError: The file is not a shard of rows.
    """
    with named_if_broken(shard), pq.ParquetFile(shard, page_checksum_verification=True) as file:
        _check_columns(file.schema_arrow, shard)
        for batch in file.iter_batches(batch_rows, columns=columns):
            yield pa.Table.from_batches([batch])


def _check_columns(columns: pa.Schema, shard: Path) -> None:
    """Refuse a table that lacks a column of rows, or has one that rows do not have, also within its candidates.

    Raises:
        ValueError: It is refused.
    """
    if missing := set(schema().names) - set(columns.names):
        raise ValueError(f"{shard}: wanted a shard of rows, got a table without {sorted(missing)}; rebuild it")
    if unknown := _names(columns) - _names(schema()):
        raise ValueError(f"{shard}: wanted a shard of rows, got a table with {sorted(unknown)}; delete it, run again")


def _names(fields: Iterable[pa.Field]) -> set[str]:
    """The names of fields and of the fields within them, without those that Parquet gives the elements of lists."""
    names = set()
    for field in fields:
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        names |= {field.name} | (_names(kind.fields) if pa.types.is_struct(kind) else set())
    return names


def candidates_of(rows: pa.Table) -> pa.ListArray:
    """The column of candidates as one contiguous array."""
    column = rows["candidates"]
    return pa.concat_arrays(column.chunks) if rows.num_rows else column.combine_chunks()


def with_candidates(rows: pa.Table, values: pa.Table) -> pa.Table:
    """Rows whose candidates have other values.

    Args:
        rows: Rows (`toolkit.data.rows.schema`).
        values: All their candidates, in order, a column for each field.
    """
    offsets = np.concatenate([[0], np.cumsum(pc.list_value_length(candidates_of(rows)))])
    structs = values.combine_chunks().to_struct_array().combine_chunks()
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)
    position = rows.column_names.index("candidates")
    return rows.set_column(position, rows.schema.field(position), lists.cast(rows.schema.field(position).type))


def write_inputs(folder: Path, rows: Iterable[Row], shard_rows: int) -> list[Path]:
    """Write a stream of rows as input shards, then `inputs.json`; do nothing if `inputs.json` exists.

    Args:
        folder: The run's folder.
        rows: Rows without candidates, in order, including rows that cleaning has refused.
        shard_rows: The number of rows of a shard that are not refused; the last shard may have fewer.

    Returns:
        The paths of the input shards, in order.

    Raises:
        ValueError: Cleaning has refused all rows.
    """
    record_path = folder / INPUTS
    if not record_path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        number, total, refused = 0, 0, Counter[str]()
        for number, shard in enumerate(split_rows(rows, shard_rows)):
            write_shard(folder / f"input-{number:05d}.parquet", shard)
            reasons = [row.reason for row in shard]
            total += reasons.count(None)
            refused.update(filter(None, reasons))
        if not total:
            for path in folder.glob("input-*.parquet"):
                path.unlink()
            reason_counts = ", ".join(f"{count:,} as {reason}" for reason, count in refused.most_common())
            raise ValueError(
                f"wanted a line that no rule refuses, got none of {refused.total():,} ({reason_counts}): "
                f"change the settings or the input, and delete {folder}"
            )
        record = {"shards": number + 1, "rows": total, "refused": dict(sorted(refused.items()))}
        write_whole(record_path, json.dumps(record, indent=1))
    return input_shards(folder)


def split_rows(rows: Iterable[Row], shard_rows: int) -> Iterator[list[Row]]:
    """Divide rows into lists with `shard_rows` rows each that are not refused; refused rows keep their places."""
    shard: list[Row] = []
    remaining = shard_rows
    for row in rows:
        if row.reason is None and not remaining:
            yield shard
            shard, remaining = [], shard_rows
        shard.append(row)
        remaining -= row.reason is None
    if shard:
        yield shard


def input_shards(folder: Path) -> list[Path]:
    """The paths of a run's input shards, in order."""
    return [folder / f"input-{i:05d}.parquet" for i in range(read_inputs(folder)["shards"])]


def all_made(folder: Path) -> bool:
    """Whether the input of a run is cut into shards, and all of these are made."""
    return (folder / INPUTS).exists() and all(output_of(path).exists() for path in input_shards(folder))


def read_inputs(folder: Path) -> dict:
    """The record of a run's input shards: the numbers `shards` and `rows`, and `refused`, the refused rows by reason.

    Raises:
        FileNotFoundError: The folder has no record, so it is no run's folder.
        ValueError: The record is damaged.
    """
    if not (folder / INPUTS).is_file():
        raise FileNotFoundError(f"wanted a run's folder with {INPUTS}, got {folder}: build the shards first")
    record = read_record(folder / INPUTS, RECUT)
    refused = record.get("refused")
    numbers = [record.get("shards"), record.get("rows"), *(refused.values() if isinstance(refused, dict) else [None])]
    if not all(isinstance(number, int) for number in numbers):
        content = json.dumps(record)[:80]
        raise ValueError(f"wanted shards, rows and refused in {folder / INPUTS}, got {content}: {RECUT}")
    return record


def output_of(path: Path) -> Path:
    """The path of the finished shard that is made from an input shard.

    >>> output_of(Path("run/input-00003.parquet")).as_posix()
    'run/rows-00003.parquet'
    """
    return path.with_name(path.name.replace("input-", "rows-"))


def dropped_of(path: Path) -> Path:
    """The path of the counts of those candidates that a finished shard no longer has (`toolkit.package.counts`).

    >>> dropped_of(Path("run/rows-00003.parquet")).as_posix()
    'run/dropped-00003.parquet'
    """
    return path.with_name(path.name.replace("rows-", "dropped-"))


def shard_number(path: Path) -> int:
    """The number of a shard of a run.

    >>> shard_number(Path("run/rows-00003.parquet"))
    3
    """
    return int(path.stem.rpartition("-")[2])
