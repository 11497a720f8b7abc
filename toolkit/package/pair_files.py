"""Pairs from single files, as Arrow tables with one set of columns.

The columns of a file are known by their names (`pair_columns.py`): those of a .parquet file, the keys of a .jsonl
file, where the paraphrase may be a list of texts, and the first line of a .tsv or .csv file. A .tsv or .csv file
without names has one of three forms (`pair_tables.py`). Rows with the label 0 are left out and counted.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.bitext.csv_records import csv_records
from toolkit.bitext.read import decode, lines, text_suffix
from toolkit.errors import first_line
from toolkit.files import for_arrow
from toolkit.package.pair_columns import KEEP, PairColumns, check_texts, is_paraphrase, number_of, pair_columns
from toolkit.package.pair_tables import TableForm, table_form

PAIRS = pa.schema(
    [("id", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string()), ("semantic", pa.float64())]
)
BATCH_ROWS = 10_000  # ours: rows in memory at a time
LABELLED_0 = "label 0"  # the reason of pairs that are no paraphrases by their label


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


def parquet_pairs(file: str | Path, refused: Counter[str]) -> Iterator[pa.Table]:
    """Read the pairs of a Parquet file, whose columns are known by their names (`toolkit.package.pair_columns`).

    Raises:
        ValueError: A column is missing or of the wrong type, a score is not finite, or the file is damaged.
    """
    names = parquet_names(file)
    columns, row = parquet_columns(file, names), 1
    for table in file_tables(file, [name for name in names if name not in columns.unread]):
        try:
            texts = {"sentence1": table[columns.reference], "sentence2": table[columns.paraphrase]}
            pairs = pairs_of(pa.table(texts | named_columns(table, columns)))
        except pa.ArrowException as error:
            reason = first_line(error)
            raise ValueError(f"wanted texts and numeric scores, got {file} ({reason}): write it again") from None
        if row == 1:
            check_both_texts(pairs, columns.reference, columns.paraphrase, file)
        check_scores(pairs, range(row, row + len(pairs)), file)
        labels = table[columns.label].to_pylist() if columns.label else None
        yield labelled_pairs(pairs, labels, range(row, row + len(pairs)), file, refused)
        row += len(table)


def parquet_names(file: str | Path) -> list[str]:
    """The names of the columns of a Parquet file.

    Raises:
        ValueError: The file is damaged.
    """
    try:
        return pq.read_schema(for_arrow(file)).names
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"wanted a Parquet file, got {file} ({first_line(error)}): write it again") from None


def parquet_columns(file: str | Path, names: Sequence[str]) -> PairColumns:
    """The columns of a Parquet file of pairs.

    Raises:
        ValueError: It lacks the reference or the paraphrase, or has a human score.
    """
    columns = pair_columns(names, file)
    if columns is None:
        absent = " and ".join(sorted({"sentence1", "sentence2"} - set(names)))
        raise ValueError(f"wanted a Parquet file with sentence1 and sentence2, got {file} without {absent}")
    return columns


def named_columns(table: pa.Table, columns: PairColumns) -> dict[str, pa.ChunkedArray]:
    """The optional columns of pairs that a table has."""
    return {name: table[own] for name, own in (("id", columns.id), ("semantic", columns.semantic)) if own}


def labelled_pairs(
    pairs: pa.Table, labels: Sequence[object] | None, numbers: Sequence[int], path: str | Path, refused: Counter[str]
) -> pa.Table:
    """The pairs that are paraphrases by their labels; all of them without labels. The others are counted.

    Raises:
        ValueError: A label is neither 0 nor 1; the message names the line.
    """
    if labels is None:
        return pairs
    chosen: list[bool] = []
    for number, label in zip(numbers, labels, strict=True):
        try:
            chosen.append(is_paraphrase(label))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}: correct it") from None
    refused[LABELLED_0] += chosen.count(False)
    return pairs.filter(pa.array(chosen, pa.bool_()))


def check_scores(pairs: pa.Table, numbers: Sequence[int], path: str | Path) -> None:
    """Refuse scores that are not finite.

    Raises:
        ValueError: A score is not finite; the message names the line.
    """
    is_wrong = pc.fill_null(pc.invert(pc.is_finite(pairs["semantic"])), False).to_numpy()
    if is_wrong.any():
        first = int(is_wrong.argmax())
        score = pairs["semantic"][first].as_py()
        raise ValueError(
            f"{path}, line {numbers[first]}: wanted a finite score, got {score}: correct it, or leave it out"
        )


def check_both_texts(pairs: pa.Table, reference: str, paraphrase: str, path: str | Path) -> None:
    """Refuse pairs of which a side holds numbers or ids.

    Raises:
        ValueError: One does.
    """
    check_texts(pairs["sentence1"].combine_chunks(), f"column {reference!r}", path)
    check_texts(pairs["sentence2"].combine_chunks(), f"column {paraphrase!r}", path)


def pairs_of(table: pa.Table) -> pa.Table:
    """A table with `sentence1` and `sentence2` as a table with the columns `PAIRS`; null texts become empty."""
    texts = [pc.fill_null(table[name].cast(pa.string()), "") for name in ("sentence1", "sentence2")]
    ids = table["id"] if "id" in table.column_names else texts[0]
    scores = table["semantic"] if "semantic" in table.column_names else pa.nulls(len(table), pa.float64())
    return pa.table([ids, *texts, scores], names=PAIRS.names).cast(PAIRS)


def table_pairs(path: str | Path, refused: Counter[str]) -> Iterator[pa.Table]:
    """Read the pairs of a .tsv or .csv file; `table_form` says which forms it may have.

    Raises:
        ValueError: The columns are not understood; a line does not have the form of the file, or is not UTF-8; the
            compression is damaged.
    """
    batches = row_batches(path)
    first = next(batches, None)
    if first is None:
        return
    form = table_form(first[1], path)
    for position, (numbers, rows) in enumerate(chain([first], batches)):
        names = int(form.header and position == 0)
        yield form_pairs(form, numbers[names:], rows.slice(names), path, refused)


def form_pairs(
    form: TableForm, numbers: Sequence[int], rows: pa.ListArray, path: str | Path, refused: Counter[str]
) -> pa.Table:
    """The pairs of some rows of a table.

    Args:
        form: Of the table.
        numbers: The number of the line of each row.
        rows: (N,) of lists of fields.
        path: The file, for messages.
        refused: Counts the rows that are no paraphrases by their label.

    Raises:
        ValueError: A row does not have the form.
    """
    widths = pc.list_value_length(rows).to_numpy()
    fields, starts = rows.flatten(), np.cumsum(widths) - widths
    is_wrong = ~form.fits(widths)
    semantic = np.full(len(rows), np.nan)
    if form.semantic is not None:
        scored = np.flatnonzero(~is_wrong & (widths > form.semantic))
        texts = fields.take(starts[scored] + form.semantic).to_pylist()
        semantic[scored] = [number_of(text) for text in texts]
        has_score = np.array([bool(text) or not form.header for text in texts], bool)
        is_wrong[scored] |= has_score & ~np.isfinite(semantic[scored])
    if is_wrong.any():
        raise wrong_rows(form, numbers, rows, is_wrong, path)
    if (is_human := np.abs(semantic) > form.highest).any():
        first = int(is_human.argmax())
        raise ValueError(
            f"{path}, line {numbers[first]}: wanted a score from -1 to 1, got {semantic[first]:g}, by which some rows "
            f"may be no paraphrases: {KEEP}"
        )
    counts = widths - form.paraphrase if form.many else np.ones_like(widths)
    indices = np.repeat(np.arange(len(rows)), counts)
    position = np.arange(len(indices)) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = starts[indices]
    references = fields.take(begins + form.reference)
    ids = references if form.id is None else fields.take(begins + form.id)
    scores = pa.array(semantic[indices], pa.float64(), from_pandas=True)
    pairs = pa.table([ids, references, fields.take(begins + form.paraphrase + position), scores], schema=PAIRS)
    labels = None if form.label is None else fields.take(begins + form.label).to_pylist()
    return labelled_pairs(pairs, labels, np.asarray(numbers)[indices].tolist(), path, refused)


def wrong_rows(
    form: TableForm, numbers: Sequence[int], rows: pa.ListArray, is_wrong: np.ndarray, path: str | Path
) -> ValueError:
    """The error of rows that do not have the form of their table."""
    first, count = int(is_wrong.argmax()), int(is_wrong.sum())
    more = f" and {count - 1} others" if count > 1 else ""
    text = "\t".join(rows[first].as_py())[:60]
    return ValueError(f"{path}, line {numbers[first]}{more}: wanted {form.shape}, got {text!r}: correct it")


def row_batches(path: str | Path) -> Iterator[tuple[list[int], pa.ListArray]]:
    """Read the rows of a .tsv or .csv file, `BATCH_ROWS` at a time, as lists of fields, with their line numbers from 1.

    Raises:
        ValueError: A line is not UTF-8, or has wrong quotes; the compression is damaged.
    """
    if text_suffix(str(path)) == ".csv":
        records = csv_records(decoded_lines(path), path)
        while batch := list(islice(records, BATCH_ROWS)):
            numbers, fields = map(list, zip(*batch, strict=True))
            yield numbers, trimmed(pa.array(fields, pa.list_(pa.string())))
    else:
        for numbers, texts in text_batches(path):
            yield numbers, trimmed(pc.split_pattern(texts, "\t"))


def trimmed(rows: pa.ListArray) -> pa.ListArray:
    """The same rows without white space around their fields."""
    return pa.ListArray.from_arrays(rows.offsets, pc.utf8_trim_whitespace(rows.values))


def json_pairs(path: str | Path, refused: Counter[str]) -> Iterator[pa.Table]:
    """Read the pairs of a .jsonl file, whose keys are known by their names (`toolkit.package.pair_columns`).

    Raises:
        ValueError: A line is no JSON, lacks a text, has a value of another type in its place, or is not UTF-8; a score
            is not finite; the compression is damaged.
    """
    is_checked = False
    for numbers, texts in text_batches(path):
        records: list[dict] = []
        for number, line in zip(numbers, texts.to_pylist(), strict=True):
            columns = json_columns(line, number, path)
            try:
                records += json_line(json.loads(line), columns, refused)
            except (ValueError, TypeError):
                raise json_error(line, number, path) from None
        pairs = pa.Table.from_pylist(records, PAIRS)
        if not is_checked and records:
            check_both_texts(pairs, columns.reference, columns.paraphrase, path)
            is_checked = True
        yield pairs


def json_columns(line: str, number: int, path: str | Path) -> PairColumns:
    """The keys of a line of a .jsonl file of pairs.

    Raises:
        ValueError: It is no JSON, lacks a text, or has a human score.
    """
    try:
        names = list(json.loads(line).keys())
    except (ValueError, AttributeError):
        raise json_error(line, number, path) from None
    columns = pair_columns(names, f"{path}, line {number}")
    if columns is None:
        raise json_error(line, number, path)
    return columns


def json_error(line: str, number: int, path: str | Path) -> ValueError:
    """The error of a line that is no pair."""
    return ValueError(
        f"{path}, line {number}: wanted {{'reference': text, 'paraphrases': [texts]}}, with a finite number as "
        f"'semantic' and 0 or 1 as 'label' where they are given, got {line[:60]!r}: correct it"
    )


def json_line(record: dict, columns: PairColumns, refused: Counter[str]) -> list[dict]:
    """The pairs of one line of a .jsonl file.

    >>> record = {"id": 7, "sentence1": "We go.", "sentence2": "We leave.", "semantic": 0.9}
    >>> json_line(record, pair_columns(list(record), ""), Counter())
    [{'id': '7', 'sentence1': 'We go.', 'sentence2': 'We leave.', 'semantic': 0.9}]

    Raises:
        ValueError: The score is no finite number, or the label neither 0 nor 1.
        TypeError: The reference or a paraphrase is not a string.
    """
    reference, texts = record[columns.reference], record[columns.paraphrase]
    texts = texts if isinstance(texts, list) else [texts]
    if not all(isinstance(text, str) for text in (reference, *texts)):
        raise TypeError("wanted texts")
    if columns.label and not is_paraphrase(record[columns.label]):
        refused[LABELLED_0] += 1
        return []
    semantic = record[columns.semantic] if columns.semantic else None
    if semantic is not None and not math.isfinite(semantic):
        raise ValueError("wanted a finite score")
    id_ = str(record[columns.id]) if columns.id else reference
    return [{"id": id_, "sentence1": reference, "sentence2": text, "semantic": semantic} for text in texts]


def decoded_lines(path: str | Path) -> Iterator[str]:
    """The lines of a text file; empty lines, which may be within quotes, are kept.

    Raises:
        ValueError: A line is not UTF-8; the compression is damaged.
    """
    for number, raw in enumerate(lines(str(path)), 1):
        text, fault = decode(raw)
        if fault:
            raise ValueError(f"{path}, line {number}: wanted UTF-8, got {text[:60]!r}: convert the file")
        yield text.removeprefix("\ufeff") if number == 1 else text


def text_batches(path: str | Path) -> Iterator[tuple[list[int], pa.StringArray]]:
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
            raise ValueError(f"{path}, line {number}: wanted UTF-8, got {text[:60]!r}: convert the file") from None


def understood(path: str | Path) -> str | None:
    """What is understood of the columns of a file, for users; None of a file without a row.

    Raises:
        ValueError: The columns are not understood.
    """
    suffix = text_suffix(str(path))
    if suffix == ".parquet":
        return str(parquet_columns(path, parquet_names(path)))
    if suffix == ".jsonl":
        numbers, texts = next(text_batches(path), ([], None))
        return str(json_columns(texts[0].as_py(), numbers[0], path)) if numbers else None
    numbers, rows = next(row_batches(path), ([], None))
    return table_form(rows, path).text if numbers else None


FILE_READERS = {".parquet": parquet_pairs, ".tsv": table_pairs, ".csv": table_pairs, ".jsonl": json_pairs}  # by suffix
