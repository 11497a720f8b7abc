"""Rows of text files with the records as they stand in the file, so that a row is written back byte for byte.

A record of CSV or TSV is one or more lines, one of JSON lines is a line; each keeps its line end. The values of a
column become numbers only where the numbers, written again, are the same texts; ids such as 0001 and dates are texts.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset

from toolkit.bitext.csv_records import LONGEST_FIELD, SAMPLE_LINES, TAB, delimiter_of
from toolkit.bitext.text_file import BUFFER, TextFile, broken, read_text, text_lines
from toolkit.errors import named_line

BATCH = 10_000  # ours: rows whose values are Python objects at a time
JSON_LINES = ".jsonl"


@dataclass(frozen=True)
class Records:
    """The records of a file.

    Attributes:
        texts: Each with its line end.
        suffix: Of the form of the file: ".csv", ".tsv" or ".jsonl".
        header: The first record of CSV or TSV.
        delimiter: Between the fields of CSV or TSV.
        names: The columns, in the order of the fields.
    """

    texts: pa.ChunkedArray
    suffix: str
    header: str = ""
    delimiter: str = ""
    names: tuple[str, ...] = ()


class FileRows(NamedTuple):
    """The rows of a file.

    Attributes:
        rows: Their values.
        records: How they stand in the file; None where it is no text, or a data set.
    """

    rows: Dataset
    records: Records | None


def read_csv_rows(path: str, suffix: str) -> FileRows:
    """The rows of a CSV or TSV file with a header; an empty field is None.

    Args:
        path: The file.
        suffix: ".csv" or ".tsv", where quotes are letters.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not UTF-8, has no row, or a record has more fields than the header.
    """
    delimiter = TAB if suffix == ".tsv" else delimiter_of(list(islice(text_lines(path), SAMPLE_LINES)))
    records = _csv_records(path, delimiter)
    _, header, fields = next(records, (0, "", []))
    names = _distinct_names(fields)
    texts, parts = [], []
    while batch := list(islice(records, BATCH)):
        texts.append(pa.array([text for _, text, _ in batch], pa.large_string()))
        padded = [_padded(fields, len(names), f"{path}, line {line}") for line, _, fields in batch]
        parts.append(pa.table([pa.array(column, pa.string()) for column in zip(*padded, strict=True)], list(names)))
    if not parts:
        raise ValueError(f"wanted rows in {path!r}, got {'a header alone' if header else 'an empty file'}")
    table = pa.concat_tables(parts)
    rows = Dataset(pa.table([typed(column) for column in table.columns], list(names)))
    return FileRows(rows, Records(pa.chunked_array(texts), suffix, header, delimiter, names))


def _csv_records(path: str, delimiter: str) -> Iterator[tuple[int, str, list[str]]]:
    """The records of a file, each with the number of its last line, as it stands, and its fields."""
    csv.field_size_limit(LONGEST_FIELD)
    lines: list[str] = []  # of the record
    with _opened(path) as file:
        reader = _reader(_noted(file, lines), delimiter)
        try:
            for fields in reader:
                if fields:
                    yield reader.line_num, "".join(lines), fields
                lines.clear()
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: wanted records of CSV, got others ({error})") from None
        except UnicodeDecodeError:
            _name_line(path)
            raise
        except OSError as error:
            raise broken(path, reader.line_num, error) from error


def _opened(path: str, newline: str = "") -> io.TextIOWrapper:
    """A text file whose line ends stay as they are; "" is any of them."""
    return io.TextIOWrapper(io.BufferedReader(TextFile(path), BUFFER), "utf-8", newline=newline)


def _name_line(path: str) -> None:
    """Refuse a file that is not UTF-8.

    Raises:
        ValueError: It is not; the message names the line.
    """
    for _ in text_lines(path):
        pass


def _noted(lines: Iterable[str], notes: list[str]) -> Iterator[str]:
    """Lines, each of which is added to a list before it is read."""
    for line in lines:
        notes.append(line)
        yield line


def _reader(lines: Iterable[str], delimiter: str) -> Any:
    """A reader of CSV; between tabs quotes are letters."""
    if delimiter == TAB:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def fields_of(text: str, delimiter: str) -> list[str]:
    r"""The fields of a record as it stands.

    >>> fields_of('0001,"a, b"\r\n', ",")
    ['0001', 'a, b']
    """
    return next(_reader(io.StringIO(text, newline=""), delimiter))


def _distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns, with a number where a name comes again, as pandas gives it.

    >>> _distinct_names(["text", "a", "a"])
    ('text', 'a', 'a.1')
    """
    times: Counter[str] = Counter()
    distinct: list[str] = []
    for name in names:
        new = name
        while new in distinct or (new != name and new in names):
            times[name] += 1
            new = f"{name}.{times[name]}"
        distinct.append(new)
    return tuple(distinct)


def _padded(fields: list[str], width: int, place: str) -> list[str | None]:
    """Fields, empty ones as None, as many as the header has.

    Raises:
        ValueError: There are more.
    """
    if len(fields) > width:
        raise ValueError(f"{place}: wanted {width} fields, as the header has, got {len(fields)}: quote the delimiters")
    return [field or None for field in fields] + [None] * (width - len(fields))


def typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as numbers or truth values, if these are the same texts when they are written."""
    known = column.drop_null()
    if not len(known):
        return column
    if set(known.unique().to_pylist()) <= {"True", "False"}:
        return pc.equal(column, "True")
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = known.cast(kind)
        except pa.ArrowInvalid:
            continue
        if all(str(number) == text for number, text in zip(_values(numbers), _values(known), strict=True)):
            return column.cast(kind)
    return column


def _values(column: pa.ChunkedArray) -> Iterator[Any]:
    """The values of a column, with those of one chunk in memory."""
    return (value for chunk in column.chunks for value in chunk.to_pylist())


def read_json_rows(path: str, suffix: str) -> FileRows:
    """The rows of JSON lines, or of one list of objects, or of one object of columns; a key that lacks is None.

    Args:
        path: The file.
        suffix: ".jsonl" or ".json", which may also hold one object of columns.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not UTF-8, has no row, a line is no object, or a column holds values of several types.
    """
    texts, parts = [], []
    rows = _json_document(path) if _is_document(path, suffix) else _json_lines(path)
    try:
        while batch := list(islice(rows, BATCH)):
            texts.append(pa.array([text for text, _ in batch], pa.large_string()))
            parts.append(_json_table([row for _, row in batch]))
        table = pa.concat_tables(parts, promote_options="permissive") if parts else None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"wanted rows in {path!r}, got {named_line(error)}") from None
    if table is None:
        raise ValueError(f"wanted rows in {path!r}, got none")
    return FileRows(Dataset(table), Records(pa.chunked_array(texts), JSON_LINES, names=tuple(table.column_names)))


def _is_document(path: str, suffix: str) -> bool:
    """Whether a file is one JSON value and not JSON lines."""
    first = next((line for line in text_lines(path) if line.strip()), "")
    if first.lstrip().startswith("["):
        return True
    try:
        value = json.loads(first)
    except json.JSONDecodeError:
        return suffix == ".json"
    return suffix == ".json" and _is_columns(value)


def _is_columns(value: Any) -> bool:
    """Whether a JSON value is an object of columns: of lists that are equally long."""
    lists = isinstance(value, dict) and all(isinstance(column, list) for column in value.values())
    return bool(value) and lists and len({len(column) for column in value.values()}) == 1


def _json_document(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a file that is one JSON value, each as a line and as an object.

    Raises:
        ValueError: It is none, or neither a list of objects nor an object of columns.
    """
    try:
        value = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ValueError(f"wanted rows in {path!r}, got what is no JSON ({error})") from None
    if _is_columns(value):
        value = [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ValueError(f"wanted rows in {path!r}, got another JSON value than a list of objects")
    return ((json.dumps(row, ensure_ascii=False) + "\n", row) for row in value)


def _json_lines(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines that are not empty, each as it stands and as an object.

    Raises:
        ValueError: One is no object.
    """
    number = 0
    with _opened(path, "\n") as file:
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield line, _object(line, f"line {number}, {line.strip()!r:.80}", path)
        except UnicodeDecodeError:
            _name_line(path)
            raise
        except OSError as error:
            raise broken(path, number, error) from error


def _object(line: str, place: str, path: str) -> dict[str, Any]:
    """The object that a line of JSON is.

    Raises:
        ValueError: It is none.
    """
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"wanted rows in {path!r}, got {place}, which is no JSON ({error})") from None
    if not isinstance(row, dict):
        raise ValueError(f"wanted rows in {path!r}, got {place}, which is no object of JSON")
    return row


def _json_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows as a table with the keys of all of them; values that only JSON holds, such as large numbers, as their JSON.

    Raises:
        pyarrow.ArrowInvalid: A column holds texts and other values.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _array([row.get(name) for row in rows]) for name in names})


def _array(values: list[Any]) -> pa.Array:
    """The values of a column."""
    try:
        return pa.array(values)
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
        if any(isinstance(value, str) for value in values):
            raise
        return pa.array([None if value is None else json.dumps(value, ensure_ascii=False) for value in values])
