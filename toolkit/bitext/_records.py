"""The records of CSV and JSON lines as pairs of texts; a record that has not both of them is None."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from toolkit.bitext._sides import Sides
from toolkit.bitext.csv_records import csv_records
from toolkit.bitext.text_file import _Text, lines

Record = tuple[str, str] | None
SAMPLE_RECORDS = 1000  # ours: records that are looked at for the columns, which the first may lack


def no_column(wanted: str, names: list[str], place: object) -> ValueError:
    """The error of data that lacks a column."""
    return ValueError(f"wanted column {wanted!r}, got only {', '.join(names)} in {place}: name the column to read")


def named_columns(sides: Sides, names: list[str], place: object) -> tuple[str, str]:
    """The columns of source and reference.

    Args:
        sides: What tells them.
        names: Of all columns.
        place: Where they are, for the error.

    Raises:
        ValueError: One is not there; the message lists those that are.
    """
    source, reference = sides.among(names)
    if source is None or reference is None:
        number = 0 if source is None else 1
        default = ("source", "reference")[number]
        raise no_column(str(default if sides.columns[number] is None else sides.columns[number]), names, place)
    return source, reference


def columns_of_records(sides: Sides, names: Sequence[list[str]], place: object) -> tuple[str, str]:
    """The columns of source and reference, by the first record that has both.

    Args:
        sides: What tells them.
        names: Of the columns of each of the first records.
        place: Where they are, for the error.

    Raises:
        ValueError: No record has both; the message lists the columns of all.
    """
    whole = next((columns for columns in names if None not in sides.among(columns)), None)
    return named_columns(sides, whole or list(dict.fromkeys(chain.from_iterable(names))), place)


def csv_pairs(text: _Text, sides: Sides) -> Iterator[Record]:
    """The pairs of CSV with a header; bytes that are not UTF-8 are surrogates.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: It has no such columns, the quotes of a record are wrong, or it is damaged.
    """
    records = csv_records((raw.decode("utf-8", "surrogateescape") for raw in lines(*text)), text)
    header = [name.strip() for name in next(records, (0, []))[1]]
    if not header:
        return
    source, reference = (header.index(name) for name in named_columns(sides, header, text))
    for _, record in records:
        yield (record[source], record[reference]) if len(record) == len(header) else None


def json_pairs(text: _Text, sides: Sides) -> Iterator[Record]:
    """The pairs of JSON lines; bytes that are not UTF-8 are surrogates. An empty line has no pair.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The first line with text is no JSON object, none of the first has such columns, or the file is
            damaged.
    """
    raw_lines = iter(lines(*text))
    first = list(islice(raw_lines, SAMPLE_RECORDS))
    if not first:
        return
    raw = next(filter(bytes.strip, first), b"")
    if _json_object(raw) is None:
        raise ValueError(f"wanted a JSON object on each line, got {raw[:60]!r} in {text}: convert it")
    names = [record_names(record) for record in map(_json_object, first) if record is not None]
    columns = columns_of_records(sides, names, text)
    for record in map(_json_object, chain(first, raw_lines)):
        source, reference = (_field(record, name) for name in columns)
        yield None if source is None or reference is None else (source, reference)


def _json_object(raw: bytes) -> dict[str, Any] | None:
    """The object on a line; None if there is none."""
    try:
        value = json.loads(raw.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def record_names(record: dict[str, Any]) -> list[str]:
    """The columns of a record, and those of the objects in it after a dot."""
    return [
        f"{name}.{inner}" if inner is not None else name
        for name, value in record.items()
        for inner in (value if isinstance(value, dict) else [None])
    ]


def _field(record: dict[str, Any] | None, name: str) -> str | None:
    """A text of a record, empty for null; None if it is not there or no text."""
    outer, _, inner = name.partition(".")
    if record is None or (name not in record and not isinstance(record.get(outer), dict)):
        return None
    value = record[name] if name in record else record[outer].get(inner, 0)
    return "" if value is None else value if isinstance(value, str) else None
