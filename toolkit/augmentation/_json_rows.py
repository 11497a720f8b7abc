"""Rows of JSON lines, with the lines as they stand, and of files that are one JSON value; dates are texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from datasets import Dataset

from toolkit.augmentation._records import BATCH, JSON_LINES, FileRows, Records, name_line, opened
from toolkit.bitext.text_file import broken, read_text, text_lines
from toolkit.system.errors import named_line


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
    with opened(path, "\n") as file:
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield line, _object(line, f"line {number}, {line.strip()!r:.80}", path)
        except UnicodeDecodeError:
            name_line(path)
            raise
        except OSError as error:
            raise broken(path, number, error) from error


def _object(line: str, location: str, path: str) -> dict[str, Any]:
    """The object that a line of JSON is.

    Raises:
        ValueError: It is none.
    """
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"wanted rows in {path!r}, got {location}, which is no JSON ({error})") from None
    if not isinstance(row, dict):
        raise ValueError(f"wanted rows in {path!r}, got {location}, which is no object of JSON")
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
