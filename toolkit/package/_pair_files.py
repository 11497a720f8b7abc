"""Pairs from single files, as Arrow tables with one set of columns.

The columns of a file are known by their names (`pair_columns.py`): those of a .parquet file, the keys of a .jsonl
file, where the paraphrase may be a list of texts, and the first line of a .tsv or .csv file. A .tsv or .csv file
without names has one of three forms (`pair_tables.py`). Rows with the label 0 are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.bitext.csv_records import csv_records
from toolkit.bitext.read import text_suffix
from toolkit.bitext.text_file import decode, lines, not_utf8, text_lines
from toolkit.package._pair_json import json_error, json_line, json_record
from toolkit.package._pair_rows import PAIRS, check_both_texts, check_scores, labelled_pairs
from toolkit.package._pair_tables import form_pairs, table_form
from toolkit.package.pair_columns import _PairColumns, pair_columns
from toolkit.system.errors import first_line
from toolkit.system.urls import for_arrow

BATCH_ROWS = 10_000  # ours: rows in memory at a time
Say = Callable[[str], None]  # is told what was understood of the columns of a file


def file_tables(file: str | Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Read the rows of a Parquet file, `BATCH_ROWS` at a time.

    Args:
        file: The path or URL of the file.
        columns: The columns to read, if the file has them; None reads all.

    Raises:
        ValueError: The file is damaged.
    """
    try:
        with pq.ParquetFile(for_arrow(file)) as opened:
            names = opened.schema_arrow.names
            for batch in opened.iter_batches(BATCH_ROWS, columns=[n for n in columns or names if n in names]):
                yield pa.Table.from_batches([batch])
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"wanted a Parquet file, got {file} ({first_line(error)}): write it again") from None


def _parquet_pairs(file: str | Path, refused: Counter[str], say: Say) -> Iterator[pa.Table]:
    """Read the pairs of a Parquet file, whose columns are known by their names (`toolkit.package.pair_columns`).

    Raises:
        ValueError: A column is missing or of the wrong type, a score is not finite, or the file is damaged.
    """
    names = _parquet_names(file)
    columns, row = _parquet_columns(file, names), 1
    say(str(columns))
    for table in file_tables(file, [name for name in names if name not in columns.unread]):
        try:
            texts = {"sentence1": table[columns.reference], "sentence2": table[columns.paraphrase]}
            pairs = pairs_of(pa.table(texts | _named_columns(table, columns)))
        except pa.ArrowException as error:
            reason = first_line(error)
            raise ValueError(f"wanted texts and numeric scores, got {file} ({reason}): write it again") from None
        if row == 1:
            check_both_texts(pairs, columns.reference, columns.paraphrase, file)
        check_scores(pairs, range(row, row + len(pairs)), file)
        labels = table[columns.label].to_pylist() if columns.label else None
        yield labelled_pairs(pairs, labels, range(row, row + len(pairs)), file, refused)
        row += len(table)


def _parquet_names(file: str | Path) -> list[str]:
    """The names of the columns of a Parquet file.

    Raises:
        ValueError: The file is damaged.
    """
    try:
        return pq.read_schema(for_arrow(file)).names
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"wanted a Parquet file, got {file} ({first_line(error)}): write it again") from None


def _parquet_columns(file: str | Path, names: Sequence[str]) -> _PairColumns:
    """The columns of a Parquet file of pairs.

    Raises:
        ValueError: It lacks the reference or the paraphrase, or has a human score.
    """
    columns = pair_columns(names, file)
    if columns is None:
        absent = " and ".join(sorted({"sentence1", "sentence2"} - set(names)))
        raise ValueError(f"wanted a Parquet file with sentence1 and sentence2, got {file} without {absent}")
    return columns


def _named_columns(table: pa.Table, columns: _PairColumns) -> dict[str, pa.ChunkedArray]:
    """The optional columns of pairs that a table has."""
    return {name: table[column] for name, column in (("id", columns.id), ("semantic", columns.semantic)) if column}


def pairs_of(table: pa.Table) -> pa.Table:
    """A table with `sentence1` and `sentence2` as a table with the columns `PAIRS`; null texts become empty."""
    texts = [pc.fill_null(table[name].cast(pa.string()), "") for name in ("sentence1", "sentence2")]
    ids = table["id"] if "id" in table.column_names else texts[0]
    scores = table["semantic"] if "semantic" in table.column_names else pa.nulls(len(table), pa.float64())
    return pa.table([ids, *texts, scores], names=PAIRS.names).cast(PAIRS)


def _table_pairs(path: str | Path, refused: Counter[str], say: Say) -> Iterator[pa.Table]:
    """Read the pairs of a .tsv or .csv file; `table_form` says which forms it may have.

    Raises:
        ValueError: The columns are not understood; a line does not have the form of the file, or is not UTF-8; the
            compression is damaged.
    """
    batches = _row_batches(path)
    first = next(batches, None)
    if first is None:
        return
    form = table_form(first[1], path)
    say(form.text)
    for position, (numbers, rows) in enumerate(chain([first], batches)):
        names = int(form.header and position == 0)
        yield form_pairs(form, numbers[names:], rows.slice(names), path, refused)


def _row_batches(path: str | Path) -> Iterator[tuple[list[int], pa.ListArray]]:
    """Read the rows of a .tsv or .csv file, `BATCH_ROWS` at a time, as lists of fields, with their line numbers from 1.

    Raises:
        ValueError: A line is not UTF-8, or has wrong quotes; the compression is damaged.
    """
    if text_suffix(str(path)) == ".csv":
        records = csv_records(text_lines(str(path)), path)
        while batch := list(islice(records, BATCH_ROWS)):
            numbers, fields = map(list, zip(*batch, strict=True))
            yield numbers, _trim_fields(pa.array(fields, pa.list_(pa.string())))
    else:
        for numbers, texts in _text_batches(path):
            yield numbers, _trim_fields(pc.split_pattern(texts, "\t"))


def _trim_fields(rows: pa.ListArray) -> pa.ListArray:
    """The same rows without white space around their fields."""
    return pa.ListArray.from_arrays(rows.offsets, pc.utf8_trim_whitespace(rows.values))


def _json_pairs(path: str | Path, refused: Counter[str], say: Say) -> Iterator[pa.Table]:
    """Read the pairs of a .jsonl file, whose keys are known by their names (`toolkit.package.pair_columns`).

    Raises:
        ValueError: A line is no JSON, lacks a text, has a value of another type in its place, or is not UTF-8; a score
            is not finite; the compression is damaged.
    """
    known: dict[tuple[str, ...], _PairColumns] = {}
    is_checked = False
    for numbers, texts in _text_batches(path):
        records: list[dict] = []
        for number, line in zip(numbers, texts.to_pylist(), strict=True):
            is_first = not known
            record, columns = json_record(line, number, path, known)
            if is_first:
                say(str(columns))
            try:
                records += json_line(record, columns, refused)
            except (ValueError, TypeError):
                raise json_error(line, number, path) from None
        pairs = pa.Table.from_pylist(records, PAIRS)
        if not is_checked and records:
            check_both_texts(pairs, columns.reference, columns.paraphrase, path)
            is_checked = True
        yield pairs


def _text_batches(path: str | Path) -> Iterator[tuple[list[int], pa.StringArray]]:
    """Read the lines of a text file, `BATCH_ROWS` at a time, with their numbers from 1; empty lines are left out.

    Raises:
        ValueError: A line is not UTF-8; the compression is damaged.
    """
    numbered = ((number, raw) for number, raw in enumerate(lines(str(path)), 1) if raw.strip())
    while batch := list(islice(numbered, BATCH_ROWS)):
        numbers, raws = map(list, zip(*batch, strict=True))
        try:
            yield numbers, pa.array(raws, pa.binary()).cast(pa.string())
        except pa.ArrowInvalid:
            number, text = next((n, decode(raw)[0]) for n, raw in batch if decode(raw)[1])
            raise not_utf8(path, number, text) from None


def understood(path: str | Path) -> str | None:
    """What is understood of the columns of a file, for users; None of a file without a row.

    Raises:
        ValueError: The columns are not understood.
    """
    suffix = text_suffix(str(path))
    if suffix == ".parquet":
        return str(_parquet_columns(path, _parquet_names(path)))
    if suffix == ".jsonl":
        first_lines = next(_text_batches(path), None)
        return str(json_record(first_lines[1][0].as_py(), first_lines[0][0], path, {})[1]) if first_lines else None
    first_rows = next(_row_batches(path), None)
    return table_form(first_rows[1], path).text if first_rows else None


FILE_READERS = {
    ".parquet": _parquet_pairs,
    ".tsv": _table_pairs,
    ".csv": _table_pairs,
    ".jsonl": _json_pairs,
}  # by suffix
