"""Pairs from single files, as Arrow tables with one set of columns.

A text file has one reference on each line. In a .tsv file the reference is followed by its paraphrases, best first, or
by one paraphrase and its paraphrase score, as ParaNMT-50M is published. In a .jsonl file the key of the reference is
`reference` or `sentence1`, and `paraphrases`, `paraphrase` or `sentence2` holds a text or a list of texts; the keys
`id` and `semantic` are optional. A .parquet file has the columns of config `pairs`, of which only the two texts must be
there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.bitext.read import decode, lines
from toolkit.errors import first_line
from toolkit.files import for_arrow

PAIRS = pa.schema(
    [("id", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string()), ("semantic", pa.float64())]
)
BATCH_ROWS = 10_000  # ours: rows in memory at a time
REFERENCE_KEYS = ("reference", "sentence1")
PARAPHRASE_KEYS = ("paraphrases", "paraphrase", "sentence2")


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


def parquet_pairs(file: str | Path) -> Iterator[pa.Table]:
    """Read the pairs of a Parquet file with `sentence1` and `sentence2`, and optionally `id` and `semantic`.

    Raises:
        ValueError: A column is missing or of the wrong type, or the file is damaged.
    """
    for table in file_tables(file, PAIRS.names):
        if missing := sorted({"sentence1", "sentence2"} - set(table.column_names)):
            absent = " and ".join(missing)
            raise ValueError(f"wanted a Parquet file with sentence1 and sentence2, got {file} without {absent}")
        try:
            yield pairs_of(table)
        except pa.ArrowException as error:
            reason = first_line(error)
            raise ValueError(f"wanted texts and numeric scores, got {file} ({reason}): write it again") from None


def pairs_of(table: pa.Table) -> pa.Table:
    """A table with `sentence1` and `sentence2` as a table with the columns `PAIRS`; null texts become empty."""
    texts = [pc.fill_null(table[name].cast(pa.string()), "") for name in ("sentence1", "sentence2")]
    ids = table["id"] if "id" in table.column_names else texts[0]
    scores = table["semantic"] if "semantic" in table.column_names else pa.nulls(len(table), pa.float64())
    return pa.table([ids, *texts, scores], names=PAIRS.names).cast(PAIRS)


def table_pairs(path: str | Path) -> Iterator[pa.Table]:
    """Read the pairs of a .tsv file.

    The first line with more than two columns determines the form of the file: if it has three columns and the third is
    a number, the third column is a score; else all columns after the first are paraphrases.

    Raises:
        ValueError: A line has no second column, does not have the form of the file, or is not UTF-8; the compression is
            damaged.
    """
    scored: bool | None = None
    for numbers, texts in text_batches(path):
        columns = pc.split_pattern(texts, "\t")
        widths = pc.list_value_length(columns).to_numpy()
        fields, starts = pc.utf8_trim_whitespace(columns.flatten()), np.cumsum(widths) - widths
        if scored is None and (widths > 2).any():
            first = int((widths > 2).argmax())
            scored = widths[first] == 3 and not math.isnan(as_number(fields[starts[first] + 2].as_py()))
        scores = np.full(len(texts), np.nan)
        if scored:
            scores[widths == 3] = [as_number(text) for text in fields.take(starts[widths == 3] + 2).to_pylist()]
        is_wrong = (widths < 2) | (bool(scored) & ((widths > 3) | ((widths == 3) & ~np.isfinite(scores))))
        if is_wrong.any():
            first = int(is_wrong.argmax())
            form = "reference TAB paraphrase TAB score" if scored else "reference TAB paraphrase [TAB paraphrase ...]"
            text = texts[first].as_py()[:60]
            raise ValueError(f"{path}, line {numbers[first]}: wanted {form}, got {text!r}: correct it")
        paraphrase_counts = np.ones_like(widths) if scored else widths - 1
        line_indices = np.repeat(np.arange(len(texts)), paraphrase_counts)
        position = np.arange(len(line_indices)) - np.repeat(
            np.cumsum(paraphrase_counts) - paraphrase_counts, paraphrase_counts
        )
        references = fields.take(starts[line_indices])
        semantic = pa.array(scores[line_indices], pa.float64(), from_pandas=True)
        yield pa.table(
            [references, references, fields.take(starts[line_indices] + 1 + position), semantic], schema=PAIRS
        )


def as_number(text: str) -> float:
    """A text as a number, or NaN if it is not a number.

    >>> as_number("0.85"), as_number("two")
    (0.85, nan)
    """
    try:
        return float(text)
    except ValueError:
        return math.nan


def json_pairs(path: str | Path) -> Iterator[pa.Table]:
    """Read the pairs of a .jsonl file.

    Raises:
        ValueError: A line is no JSON, lacks a text, has a value of another type in its place, or is not UTF-8; the
            compression is damaged.
    """
    for numbers, texts in text_batches(path):
        records: list[dict] = []
        for number, line in zip(numbers, texts.to_pylist(), strict=True):
            try:
                records += json_line(json.loads(line))
            except (ValueError, TypeError, StopIteration):
                raise ValueError(
                    f"{path}, line {number}: wanted {{'reference': text, 'paraphrases': [texts]}}, got {line[:60]!r}: "
                    "correct it"
                ) from None
        yield pa.Table.from_pylist(records, PAIRS)


def json_line(record: dict) -> list[dict]:
    """The pairs of one line of a .jsonl file.

    >>> json_line({"id": 7, "sentence1": "We go.", "sentence2": "We leave.", "semantic": 0.9})
    [{'id': '7', 'sentence1': 'We go.', 'sentence2': 'We leave.', 'semantic': 0.9}]

    Raises:
        ValueError: The score is no finite number.
        TypeError: The reference or a paraphrase is not a string.
        StopIteration: The reference or the paraphrases are missing.
    """
    reference = next(record[key] for key in REFERENCE_KEYS if key in record)
    texts = next(record[key] for key in PARAPHRASE_KEYS if key in record)
    texts = texts if isinstance(texts, list) else [texts]
    if not all(isinstance(text, str) for text in (reference, *texts)):
        raise TypeError("wanted texts")
    semantic = record.get("semantic")
    if semantic is not None and not math.isfinite(semantic):
        raise ValueError("wanted a finite score")
    id_ = str(record.get("id", reference))
    return [{"id": id_, "sentence1": reference, "sentence2": text, "semantic": semantic} for text in texts]


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


FILE_READERS = {".parquet": parquet_pairs, ".tsv": table_pairs, ".jsonl": json_pairs}  # by suffix
