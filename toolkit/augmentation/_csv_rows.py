"""Rows of CSV and TSV, with the records as they stand: a record is one or more lines with their line ends.

The values of a column become numbers only where the numbers, written again, are the same texts; ids such as 0001 are
texts.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset

from toolkit.augmentation._records import BATCH, FileRows, Records, mark_of, name_line, opened
from toolkit.bitext.csv_records import SAMPLE_LINES, TAB, csv_reader, delimiter_of, not_csv
from toolkit.bitext.text_file import broken, text_lines


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
        padded = [_pad_fields(fields, len(names), f"{path}, line {line}") for line, _, fields in batch]
        parts.append(pa.table([pa.array(column, pa.string()) for column in zip(*padded, strict=True)], list(names)))
    if not parts:
        raise ValueError(f"wanted rows in {path!r}, got {'a header alone' if header else 'an empty file'}")
    table = pa.concat_tables(parts)
    rows = Dataset(pa.table([typed(column) for column in table.columns], list(names)))
    return FileRows(rows, Records(pa.chunked_array(texts), suffix, header, delimiter, names, mark_of(path)))


def _csv_records(path: str, delimiter: str) -> Iterator[tuple[int, str, list[str]]]:
    """The records of a file, each with the number of its last line, as it stands, and its fields."""
    lines: list[str] = []  # of the record
    with opened(path) as file:
        reader = csv_reader(_note_lines(file, lines), delimiter)
        try:
            for fields in reader:
                if fields:
                    yield reader.line_num, "".join(lines), fields
                lines.clear()
        except csv.Error as error:
            raise not_csv(path, reader.line_num, error) from None
        except UnicodeDecodeError:
            name_line(path)
            raise
        except OSError as error:
            raise broken(path, reader.line_num, error) from error


def _note_lines(lines: Iterable[str], notes: list[str]) -> Iterator[str]:
    """Lines, each of which is added to a list before it is read."""
    for line in lines:
        notes.append(line)
        yield line


def fields_of(text: str, delimiter: str) -> list[str]:
    r"""The fields of a record as it stands.

    >>> fields_of('0001,"a, b"\r\n', ",")
    ['0001', 'a, b']
    """
    return next(csv_reader(io.StringIO(text, newline=""), delimiter))


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


def _pad_fields(fields: list[str], width: int, location: str) -> list[str | None]:
    """Fields, empty ones as None, as many as the header has.

    Raises:
        ValueError: There are more.
    """
    if len(fields) > width:
        raise ValueError(
            f"{location}: wanted {width} fields, as the header has, got {len(fields)}: quote the delimiters"
        )
    return [field or None for field in fields] + [None] * (width - len(fields))


def typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as numbers or truth values, if these are the same texts when they are written."""
    known = column.drop_null()
    if not len(known):
        return column
    if all(text in ("True", "False") for text in _values(known)):
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
