"""Pairs from single files, as Arrow tables with one set of columns.

The columns of a file are known by their names (`pair_columns.py`): those of a .parquet file, the keys of a .jsonl
file, and the first line of a .tsv or .csv file. A .tsv or .csv file without names has one of three forms
(`pair_tables.py`). `named_pairs` reads all tables with names, those of data sets too (`pair_sets.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.bitext.csv_records import csv_records
from toolkit.bitext.read import text_suffix
from toolkit.bitext.text_file import decode, lines, not_utf8, text_lines
from toolkit.package._pair_records import json_error, json_record, record_rows, score_of
from toolkit.package._pair_rows import PAIRS, ROWS, check_both_texts, check_scores, labels_of, wanted_rows
from toolkit.package._pair_tables import form_rows, named_table, table_form
from toolkit.package.pair_columns import KNOWN, LISTS, Reading, _PairColumns, _plain_name, pair_columns
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


def _parquet_pairs(file: str | Path, reading: Reading, refused: Counter[str], say: Say) -> Iterator[pa.Table]:
    """Read the pairs of a Parquet file, whose columns are known by their names (`toolkit.package.pair_columns`).

    Raises:
        ValueError: A column is missing or of the wrong type, a score is not finite, or the file is damaged.
    """
    columns = named_columns(_parquet_names(file), "a Parquet file", file, reading)
    say(columns.described(reading))
    yield from named_pairs(file_tables(file, columns.read), columns, file, reading, refused)


def named_pairs(
    tables: Iterable[pa.Table], columns: _PairColumns, path: str | Path, reading: Reading, refused: Counter[str]
) -> Iterator[pa.Table]:
    """The pairs of tables with named columns.

    Args:
        tables: The tables; rows are counted over all of them, from 1.
        columns: What their columns are.
        path: What they are of, for messages.
        reading: What is wanted.
        refused: Counts the rows that are left out, by reason.

    Yields:
        Tables with the columns `ROWS`.

    Raises:
        ValueError: A value is of the wrong type, a score is not finite, or a label is neither 0 nor 1.
    """
    number, is_checked = 1, False
    for table in tables:
        numbers = range(number, number + len(table))
        rows = _rows_of(table, columns, numbers, path)
        if not is_checked and len(rows):
            check_both_texts(rows, columns.reference, columns.paraphrase, path)
            is_checked = True
        lines = rows["line"].to_pylist()
        yield wanted_rows(rows.select(ROWS.names), columns.similarity is not None, lines, path, reading, refused)
        number += len(table)


def _rows_of(table: pa.Table, columns: _PairColumns, numbers: Sequence[int], path: str | Path) -> pa.Table:
    """The pairs of a table with named columns, with the columns `ROWS` and `line`.

    Raises:
        ValueError: A value is of the wrong type, a score is not finite, or a label is neither 0 nor 1.
    """
    texts = [columns.reference, columns.paraphrase, *columns.negatives]
    if any(_plain_name(name) in LISTS or not _is_flat(table[name].type) for name in texts):
        return _rows_of_records(table.select(columns.read).to_pylist(), columns, numbers, path)
    try:
        first, second, *negatives = (pc.fill_null(table[name].cast(pa.string()), "") for name in texts)
        scores = {
            name: _numbers(table[column], numbers, path) if column else pa.nulls(len(table), pa.float64())
            for name, column in (("semantic", columns.semantic), ("label", columns.similarity))
        }
        ids = table[columns.id].cast(pa.string()) if columns.id else first
        sides = [pa.chunked_array(side) if isinstance(side, pa.Array) else side for side in (ids, first, second)]
        rows = pa.table([*sides, scores["semantic"], scores["label"], _lists_of(negatives, len(table))], schema=ROWS)
    except pa.ArrowException as error:
        reason = first_line(error)
        raise ValueError(f"wanted texts and numeric scores, got {path} ({reason}): write it again") from None
    for name in scores:
        check_scores(rows, numbers, path, name)
    if columns.label:
        labels = labels_of(table[columns.label].to_pylist(), numbers, path)
        rows = rows.set_column(ROWS.names.index("label"), ROWS.field("label"), pa.array(labels, pa.float64()))
    return rows.append_column("line", pa.array(numbers, pa.int64()))


def _is_flat(kind: pa.DataType) -> bool:
    """Whether the values of a column are single ones, no lists or records."""
    return not pa.types.is_nested(kind)


def _numbers(column: pa.ChunkedArray, numbers: Sequence[int], path: str | Path) -> pa.ChunkedArray:
    """A column as numbers; in texts, they may have a decimal comma, and an empty text is none.

    Raises:
        ValueError: A text is no finite number; the message names the line.
    """
    if not pa.types.is_string(column.type):
        return column.cast(pa.float64())
    scores: list[float | None] = []
    for number, text in zip(numbers, column.to_pylist(), strict=True):
        try:
            scores.append(score_of(text))
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: {error}, got {text[:60]!r}: correct it, or leave it out"
            ) from None
    return pa.chunked_array([pa.array(scores, pa.float64())])


def _lists_of(columns: Sequence[pa.ChunkedArray], count: int) -> pa.Array:
    """Columns of texts as one column of lists, without empty texts; of nothing where there are no columns."""
    if not columns:
        return pa.nulls(count, ROWS.field("negatives").type)
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return pa.array([[text for text in texts if text] for texts in rows], ROWS.field("negatives").type)


def _rows_of_records(
    records: Sequence[dict], columns: _PairColumns, numbers: Sequence[int], path: str | Path
) -> pa.Table:
    """The same of records, whose values may be lists.

    Raises:
        ValueError: A value is of the wrong type; the message names the line.
    """
    rows: list[dict] = []
    for number, record in zip(numbers, records, strict=True):
        try:
            rows += [row | {"line": number} for row in record_rows(record, columns)]
        except (ValueError, TypeError) as error:
            text = str({name: record[name] for name in columns.read})[:80]
            raise ValueError(f"{path}, line {number}: {error}, got {text}: correct it") from None
    return pa.Table.from_pylist(rows, ROWS.append(pa.field("line", pa.int64())))


def _parquet_names(file: str | Path) -> list[str]:
    """The names of the columns of a Parquet file.

    Raises:
        ValueError: The file is damaged.
    """
    try:
        return pq.read_schema(for_arrow(file)).names
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"wanted a Parquet file, got {file} ({first_line(error)}): write it again") from None


def named_columns(names: Sequence[str], kind: str, path: str | Path, reading: Reading) -> _PairColumns:
    """The columns of a table of pairs that always has names.

    Args:
        names: The names.
        kind: What the table is, for messages.
        path: Its file, for messages.
        reading: What is wanted.

    Raises:
        ValueError: It lacks the reference or the paraphrase, or has a human score.
    """
    columns = pair_columns(names, path, reading)
    if columns is None:
        absent = " and ".join(sorted({"sentence1", "sentence2"} - set(names)))
        raise ValueError(
            f"wanted {kind} with sentence1 and sentence2, got {path} with {', '.join(names) or 'nothing'} and without "
            f"{absent} (understood are {KNOWN}): rename its columns"
        )
    return columns


def pairs_of(table: pa.Table) -> pa.Table:
    """A table with `sentence1` and `sentence2` as a table with the columns `PAIRS`; null texts become empty."""
    texts = [pc.fill_null(table[name].cast(pa.string()), "") for name in ("sentence1", "sentence2")]
    ids = table["id"] if "id" in table.column_names else texts[0]
    scores = table["semantic"] if "semantic" in table.column_names else pa.nulls(len(table), pa.float64())
    return pa.table([ids, *texts, scores], names=PAIRS.names).cast(PAIRS)


def _table_pairs(path: str | Path, reading: Reading, refused: Counter[str], say: Say) -> Iterator[pa.Table]:
    """Read the pairs of a .tsv or .csv file; `table_form` says which forms it may have.

    Raises:
        ValueError: The columns are not understood; a line does not have the form of the file, or is not UTF-8; the
            compression is damaged.
    """
    batches = _row_batches(path)
    first = next(batches, None)
    if first is None:
        return
    form = table_form(first[1], path, reading)
    say(form.text)
    is_checked = False
    for position, (numbers, fields) in enumerate(chain([first], batches)):
        names = int(form.header and position == 0)
        numbers, fields = numbers[names:], fields.slice(names)
        if form.columns is None:
            rows = form_rows(form, numbers, fields, path)
        else:
            rows = _rows_of(named_table(form, numbers, fields, path), form.columns, numbers, path)
            if not is_checked and len(rows):
                check_both_texts(rows, form.columns.reference, form.columns.paraphrase, path)
                is_checked = True
        has_scores = form.similarity is not None or bool(form.columns and form.columns.similarity)
        yield wanted_rows(rows.select(ROWS.names), has_scores, rows["line"].to_pylist(), path, reading, refused)


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


def _json_pairs(path: str | Path, reading: Reading, refused: Counter[str], say: Say) -> Iterator[pa.Table]:
    """Read the pairs of a .jsonl file, whose keys are known by their names (`toolkit.package.pair_columns`).

    Raises:
        ValueError: A line is no JSON, lacks a text, has a value of another type in its place, or is not UTF-8; a score
            is not finite; the compression is damaged.
    """
    known: dict[tuple[str, ...], _PairColumns] = {}
    is_checked = False
    for numbers, texts in _text_batches(path):
        records: dict[bool, list[dict]] = {False: [], True: []}  # without human scores, and with
        for number, line in zip(numbers, texts.to_pylist(), strict=True):
            is_first = not known
            record, columns = json_record(line, number, path, reading, known)
            if is_first:
                say(columns.described(reading))
            try:
                rows = record_rows(record, columns)
            except (ValueError, TypeError):
                raise json_error(line, number, path) from None
            records[columns.similarity is not None] += [row | {"line": number} for row in rows]
        for has_scores, found in records.items():
            if found or (not has_scores and not any(records.values())):
                rows_table = pa.Table.from_pylist(found, ROWS.append(pa.field("line", pa.int64())))
                if not is_checked and found:
                    check_both_texts(rows_table, columns.reference, columns.paraphrase, path)
                    is_checked = True
                lines = rows_table["line"].to_pylist()
                yield wanted_rows(rows_table.select(ROWS.names), has_scores, lines, path, reading, refused)


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


def understood(path: str | Path, reading: Reading) -> str | None:
    """What is understood of the columns of a file, for users; None of a file without a row.

    Raises:
        ValueError: The columns are not understood.
    """
    suffix = text_suffix(str(path))
    if suffix == ".parquet":
        return named_columns(_parquet_names(path), "a Parquet file", path, reading).described(reading)
    if suffix == ".jsonl":
        first_lines = next(_text_batches(path), None)
        if first_lines is None:
            return None
        return json_record(first_lines[1][0].as_py(), first_lines[0][0], path, reading, {})[1].described(reading)
    first_rows = next(_row_batches(path), None)
    return table_form(first_rows[1], path, reading).text if first_rows else None


FILE_READERS = {
    ".parquet": _parquet_pairs,
    ".tsv": _table_pairs,
    ".csv": _table_pairs,
    ".jsonl": _json_pairs,
}  # by suffix
