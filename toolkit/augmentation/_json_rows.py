"""Rows of JSON lines, with the lines as they stand, and of files that are one JSON value; dates are texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from datasets import Dataset

from toolkit.augmentation._records import BATCH, JSON_LINES, FileRows, Records, mark_of, name_line, opened
from toolkit.bitext.text_file import broken, read_text, text_lines
from toolkit.system.errors import named_line

HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a character of two units of UTF-16


def read_json_rows(path: str, suffix: str) -> FileRows:
    """The rows of JSON lines, or of one list of objects, or of one object of columns; a key that lacks is None.

    Args:
        path: The file.
        suffix: ".jsonl" or ".json", which may also hold one object of columns.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not UTF-8, has no row, a line is no object, or a column holds texts and other values.
    """
    texts, parts, json_columns = [], [], set[str]()
    rows = _json_document(path) if _is_document(path, suffix) else _json_lines(path)
    try:
        while batch := list(islice(rows, BATCH)):
            texts.append(pa.array([text for text, _ in batch], pa.large_string()))
            parts.append(_json_table([row for _, row in batch], json_columns))
        if json_columns := json_columns | _unlike_columns(parts):
            parts = [_with_json(part, text, json_columns) for part, text in zip(parts, texts, strict=True)]
        table = pa.concat_tables(parts, promote_options="permissive") if parts else None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"wanted rows in {path!r}, got {named_line(error)}") from None
    if table is None:
        raise ValueError(f"wanted rows in {path!r}, got none")
    names, mark = tuple(table.column_names), mark_of(path)
    return FileRows(Dataset(table), Records(pa.chunked_array(texts), JSON_LINES, names=names, mark=mark))


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
        text = read_text(path)
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"wanted rows in {path!r}, got what is no JSON ({error})") from None
    if _is_columns(value):
        value = [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ValueError(f"wanted rows in {path!r}, got another JSON value than a list of objects")
    if HALF.search(text):
        for number, row in enumerate(value):
            _check_characters(row, f"row {number}", path)
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
        ValueError: It is none, or has a character that no text has.
    """
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"wanted rows in {path!r}, got {location}, which is no JSON ({error})") from None
    if not isinstance(row, dict):
        raise ValueError(f"wanted rows in {path!r}, got {location}, which is no object of JSON")
    if HALF.search(line):
        _check_characters(row, location, path)
    return row


def _check_characters(row: dict[str, Any], location: str, path: str) -> None:
    r"""Refuse half of a character, such as a text has that was cut within an emoji ("\\ud83d" alone).

    Raises:
        ValueError: A column has one.
    """
    for name, value in row.items():
        try:
            json.dumps([name, value], ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start].encode("unicode_escape").decode()
            raise ValueError(
                f"wanted rows in {path!r}, got {location}, with {half}, half of a character, in column {name!r}: "
                "remove it"
            ) from None


def _json_table(rows: Sequence[dict[str, Any]], json_columns: set[str]) -> pa.Table:
    """Rows as a table with the keys of all of them.

    Args:
        rows: Rows.
        json_columns: Is given the columns whose values only JSON holds, such as large numbers; they are null.

    Raises:
        pyarrow.ArrowInvalid: A column holds texts and other values.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
            _check_no_text(name, values)
            json_columns.add(name)
            columns[name] = pa.nulls(len(values))
    return pa.table(columns)


def _check_no_text(name: str, values: Sequence[Any]) -> None:
    """Refuse texts in a column that is written as JSON because of its other values.

    Raises:
        pyarrow.ArrowInvalid: There is one.
    """
    if any(isinstance(value, str) for value in values):
        raise pa.ArrowInvalid(f"texts and other values in column {name!r}")


def _unlike_columns(parts: Sequence[pa.Table]) -> set[str]:
    """The columns whose values have no common type in some tables."""
    names = set()
    for name in dict.fromkeys(name for part in parts for name in part.column_names):
        schemas = [pa.schema([part.schema.field(name)]) for part in parts if name in part.column_names]
        try:
            pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            names.add(name)
    return names


def _with_json(part: pa.Table, texts: pa.Array, json_columns: set[str]) -> pa.Table:
    """A table whose values in some columns are texts, their JSON.

    Args:
        part: The table.
        texts: Its rows as lines of JSON.
        json_columns: The columns.

    Raises:
        pyarrow.ArrowInvalid: One of them holds a text.
    """
    rows = [json.loads(text) for text in texts.to_pylist()]
    for name in json_columns.intersection(part.column_names):
        values = [row.get(name) for row in rows]
        _check_no_text(name, values)
        json_values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
        part = part.set_column(part.column_names.index(name), name, pa.array(json_values, pa.string()))
    return part
