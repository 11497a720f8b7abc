"""Write augmented rows into a file: the rows of a file of the same form as they stand in it, others by their values."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import ClassLabel, Dataset, Value

from toolkit.augmentation._csv_rows import fields_of
from toolkit.augmentation._records import JSON_LINES, Records
from toolkit.augmentation._spans import as_in_source

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*DELIMITERS, JSON_LINES, ".parquet")
BATCH = 1000  # ours: rows whose values are Python objects at a time


class Added(NamedTuple):
    """What an augmentation added to the rows of a file.

    Attributes:
        rows: All rows, the new ones after those of the file.
        changed: The columns in which a new row may differ from its source.
        source: The column of the number of that row.
        provenance: The columns that are written after those of the file.
    """

    rows: Dataset
    changed: Sequence[str]
    source: str
    provenance: Sequence[str]


def check_suffix(output: Path) -> None:
    """Refuse a file of another form than those that are written.

    Raises:
        ValueError: Its name has another suffix.
    """
    if output.suffix not in SUFFIXES:
        raise ValueError(f"wanted an output that ends in {', '.join(SUFFIXES)}, got {output}")


def check_fits(rows: Dataset, output: Path) -> None:
    """Refuse values that a table of text cannot hold.

    Raises:
        ValueError: A column has lists or dictionaries, or, of a .tsv file, a text with a tab or a line break.
    """
    for name, kind in rows.features.items():
        if not isinstance(kind, Value | ClassLabel):
            raise ValueError(f"wanted single values in column {name!r} for {output.name}, got lists: write .jsonl")
        if output.suffix == ".tsv" and kind.dtype in ("string", "large_string"):
            broken = pc.match_substring_regex(rows.with_format("arrow")[name][:], r"[\t\n\r]")
            if pc.any(broken).as_py():
                row = broken.to_pylist().index(True)
                raise ValueError(f"row {row}: wanted a text without tabs and line breaks for {output.name}: write .csv")


def write_values(rows: Dataset, path: Path, suffix: str) -> None:
    """Write rows by their values.

    Args:
        rows: Rows.
        path: The file.
        suffix: Of the form: ".csv", ".tsv", ".jsonl" or ".parquet".
    """
    if suffix == ".parquet":
        rows.to_parquet(path)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if suffix in DELIMITERS:
            file.write(_record(rows.column_names, DELIMITERS[suffix]) + "\n")
        float_columns = [name for name, kind in rows.features.items() if getattr(kind, "dtype", None) == "float32"]
        for row in _row_values(rows):
            if suffix == JSON_LINES:
                file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
            else:
                row |= {name: np.float32(row[name]) for name in float_columns if row[name] is not None}
                file.write(_record([_field(value) for value in row.values()], DELIMITERS[suffix]) + "\n")


def _row_values(rows: Dataset) -> Iterator[dict[str, Any]]:
    """The values of each row."""
    for batch in rows.with_format("arrow").iter(BATCH):
        assert isinstance(batch, pa.Table)
        yield from batch.to_pylist()


def _field(value: Any) -> str:
    """A value as the field of a table."""
    return "" if value is None else str(value)


def _record(fields: Sequence[str], delimiter: str) -> str:
    """A record without its line end; between tabs quotes are letters."""
    if delimiter == "\t":
        return delimiter.join(fields)
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerow(fields)  # so that CR and LF are quoted
    return text.getvalue().removesuffix("\r\n")


def write_records(records: Records, added: Added, path: Path) -> None:
    """Write the records of a file as they stand, and after them those of new rows, which are copies with new texts.

    Args:
        records: Those of the file.
        added: The new rows.
        path: The file that is written, of the same form.
    """
    extended = _extended_json if records.suffix == JSON_LINES else _extended_fields
    changed = _changed_json if records.suffix == JSON_LINES else _changed_fields
    nulls = dict.fromkeys(added.provenance)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(records.mark)
        if records.suffix != JSON_LINES:
            names = dict(zip(added.provenance, added.provenance, strict=True))
            file.write(extended(records.header, names, records))
        for chunk in records.texts.chunks:
            file.writelines(extended(text, nulls, records) for text in chunk.to_pylist())
        total = len(records.texts)
        if len(added.rows) == total:
            return
        for new in _row_values(added.rows.select(range(total, len(added.rows)))):
            text = records.texts[new[added.source]].as_py()
            old = added.rows[new[added.source]]
            values = {name: new[name] for name in added.changed if new[name] != old[name]}
            file.write(extended(changed(text, values, records), {name: new[name] for name in nulls}, records))


def _split_end(text: str, records: Records) -> tuple[str, str]:
    """A record and its line end; the last record of a file may have none, and gets that of the others."""
    body = text.rstrip("\r\n")
    return body, text[len(body) :] or records.line_end


def _extended_fields(text: str, extra_values: dict[str, Any], records: Records) -> str:
    """A record of a table with more fields at its end."""
    body, end = _split_end(text, records)
    if not extra_values:
        return body + end
    missing_fields = len(records.names) - len(fields_of(text, records.delimiter))
    fields = [_field(np.float32(value) if isinstance(value, float) else value) for value in extra_values.values()]
    return body + records.delimiter * (missing_fields + 1) + _record(fields, records.delimiter) + end


def _changed_fields(text: str, values: dict[str, Any], records: Records) -> str:
    """A record of a table with other values."""
    fields = fields_of(text, records.delimiter)
    fields += [""] * (len(records.names) - len(fields))
    for name, value in values.items():
        fields[records.names.index(name)] = _field(value)
    return _record(fields, records.delimiter) + records.line_end


def _extended_json(text: str, extra_values: dict[str, Any], records: Records) -> str:
    """An object of JSON with more keys at its end."""
    body, end = _split_end(text, records)
    if not extra_values:
        return body + end
    begin = body.rstrip().removesuffix("}")
    comma = "" if begin.strip() == "{" else ", "
    return begin + comma + json.dumps(extra_values, ensure_ascii=False)[1:] + end


def _changed_json(text: str, values: dict[str, Any], records: Records) -> str:
    """An object of JSON with other values."""
    row = json.loads(text)
    row |= {name: as_in_source(value, row.get(name)) for name, value in values.items()}
    return json.dumps(row, ensure_ascii=False) + _split_end(text, records)[1]
