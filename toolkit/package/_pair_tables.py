"""The form of a .tsv or .csv file of pairs, by the names in its first line or by all rows of its first batch.

Rows that do not have the form of their file are refused, counted and named. A table with names becomes one of named
columns, as a Parquet file is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.package._pair_rows import ROWS, labels_of
from toolkit.package.pair_columns import (
    KEEP,
    KNOWN,
    NAMED,
    NO,
    USUAL_NAMES,
    YES,
    Reading,
    _PairColumns,
    _plain_name,
    check_texts,
    number_of,
    pair_columns,
)

NAMED_LISTS = "the names reference and paraphrases in the first line"
WORDS_AND_LINE = re.compile(r"[a-z]+(_[a-z0-9]+)+")
PLAIN = "no names; reference and paraphrases"
USUAL = 0.75  # ours: if so many rows are equally wide, a wider one has a delimiter within a text
LEAST_ROWS = 5  # ours: fewer rows do not say how wide rows are
HIGHEST = 1.001  # ours: a cosine of 1 with its rounding; scores beyond are human ones, from 0 to 5


@dataclass(frozen=True)
class _TableForm:
    """Where the parts of a pair are in the fields of a row; columns count from 0.

    Attributes:
        shape: What a row should look like, for messages.
        text: What was understood, for users.
        least: The least number of fields of a row.
        most: The greatest.
        names: The names of the columns; None without names.
        header: Whether the first row holds them.
        columns: What the named columns are.
        many: Whether all further fields are paraphrases, too.
        semantic: The column of the paraphrase score, of a table without names, None without one.
        highest: The greatest absolute value of a score.
        label: The column of the label, of a table without names, None without one.
        similarity: The column of the human score, likewise.
    """

    shape: str
    text: str
    least: int
    most: float = math.inf
    names: tuple[str, ...] | None = None
    header: bool = False
    columns: _PairColumns | None = None
    many: bool = False
    semantic: int | None = None
    highest: float = math.inf
    label: int | None = None
    similarity: int | None = None

    def fits(self, widths: np.ndarray) -> np.ndarray:
        """Whether rows with so many fields have this form: (N,) of bool."""
        return (widths >= self.least) & (widths <= self.most)


def table_form(rows: pa.ListArray, path: object, reading: Reading) -> _TableForm:
    """The form of a table of pairs.

    Args:
        rows: The first rows, (N,) of lists of trimmed fields, N >= 1.
        path: The file, for messages.
        reading: What is wanted.

    Raises:
        ValueError: The names are not understood, a column of texts holds numbers or ids, or a score is a human one.
    """
    names = rows[0].as_py()
    if reading.columns is not None and all(column.isdecimal() for column in reading.columns):
        width = 1 + max(map(int, reading.columns))
        form = _named_form([str(number) for number in range(width)], path, reading, header=False)
    elif reading.columns is not None or pair_columns(names, path, reading) is not None:
        form, rows = _named_form(names, path, reading, header=True), rows.slice(1)
    elif _are_names(names):
        raise ValueError(
            f"wanted names of a reference and a paraphrase, got {', '.join(names)} in {path}: {NAMED} (understood are "
            f"{KNOWN})"
        )
    else:
        form = _unnamed_form(rows, reading)
    if form.columns is None:
        widths = pc.list_value_length(rows).to_numpy()
        fields, starts = rows.flatten(), np.cumsum(widths) - widths
        for column in range(max(widths, default=0) if form.many else 2):
            check_texts(fields.take(starts[widths > column] + column), f"column {column + 1}", path)
    return form


def _named_form(names: list[str], path: object, reading: Reading, header: bool) -> _TableForm:
    """The form of a table with names; a last column `paraphrases` may go on in further fields.

    Args:
        names: Of all columns, or the numbers of the first ones.
        path: The file, for messages.
        reading: What is wanted.
        header: Whether the names stand in the first line.
    """
    columns = pair_columns(names, path, reading)
    assert columns is not None
    many = columns.paraphrase.casefold() == "paraphrases" and names[-1] == columns.paraphrase
    more = " and more" if many or not header else ""
    return _TableForm(
        shape=f"{len(names)} columns{more}{', as in the first line' if header else ''}, with a finite score if any",
        text=columns.described(reading),
        least=len(names),
        most=math.inf if more else len(names),
        names=tuple(names),
        header=header,
        columns=columns,
        many=many,
    )


def _unnamed_form(rows: pa.ListArray, reading: Reading) -> _TableForm:
    """The form of a table without names: pairs; pairs with a score or a label; or references with their paraphrases.

    A third field that is a number in at least half of the rows with three is a score, or a label if all are 0 or 1.
    With a least human score, and where human scores are wanted, such a score is one.
    """
    widths = pc.list_value_length(rows).to_numpy()
    third = [row[2].casefold() for row in rows.filter(pa.array(widths == 3)).to_pylist()]
    if third and reading.scored:
        return _TableForm(
            "reference TAB paraphrase TAB score", "no names; two sentences and a score", 3, 3, similarity=2
        )
    if third and set(third) <= {*YES, *NO}:
        shape = f"reference TAB paraphrase TAB {'0 or 1' if {*third} & {*NO} else 'score'}"
        return _TableForm(shape, "no names; reference, paraphrase and label: rows with 0 are left out", 3, 3, label=2)
    is_number = bool(third) and 2 * sum(not math.isnan(number_of(text)) for text in third) >= len(third)
    if is_number and reading.min_score is not None:
        return _TableForm(
            "reference TAB paraphrase TAB score", "no names; two sentences and a score", 3, 3, similarity=2
        )
    if is_number:
        return _TableForm(
            "reference TAB paraphrase TAB score", "no names; reference, paraphrase and score", 2, 3, semantic=2,
            highest=HIGHEST,
        )  # fmt: skip
    usual = int(np.bincount(widths).argmax())
    shape = "reference TAB paraphrase [TAB paraphrase ...]"
    if len(rows) >= LEAST_ROWS and (widths == usual).mean() >= USUAL:
        shape += f" in {usual} columns as in the other lines (for lists of any length: {NAMED_LISTS})"
        return _TableForm(shape, PLAIN, 2, max(2, usual), many=True)
    return _TableForm(shape, PLAIN, 2, many=True)


def _are_names(fields: list[str]) -> bool:
    """Whether all fields of a row are usual names of columns.

    >>> _are_names(["source", "target"]), _are_names(["sent_1", "sent_2", "score"]), _are_names(["Hello!", "Hi!"])
    (True, True, False)
    """
    return all(_plain_name(field) in USUAL_NAMES or WORDS_AND_LINE.fullmatch(field.casefold()) for field in fields)


def form_rows(form: _TableForm, numbers: Sequence[int], rows: pa.ListArray, path: str | Path) -> pa.Table:
    """The pairs of some rows of a table without names, with the columns `ROWS`.

    Args:
        form: Of the table.
        numbers: The number of the line of each row.
        rows: (N,) of lists of fields.
        path: The file, for messages.

    Returns:
        The pairs, and the number of the line of each as a last column, `line`.

    Raises:
        ValueError: A row does not have the form.
    """
    widths = pc.list_value_length(rows).to_numpy()
    fields, starts = rows.flatten(), np.cumsum(widths) - widths
    is_wrong = ~form.fits(widths)
    scores, column = np.full(len(rows), np.nan), form.similarity if form.semantic is None else form.semantic
    if column is not None:
        scored = np.flatnonzero(~is_wrong & (widths > column))
        scores[scored] = [number_of(text) for text in fields.take(starts[scored] + column).to_pylist()]
        is_wrong[scored] |= ~np.isfinite(scores[scored])
    if is_wrong.any():
        raise _wrong_rows(form, numbers, rows, is_wrong, path)
    if (is_human := np.abs(scores) > form.highest).any():
        first = int(is_human.argmax())
        raise ValueError(
            f"{path}, line {numbers[first]}: wanted a score from -1 to 1, got {scores[first]:g}, by which some rows "
            f"may be no paraphrases: {KEEP}"
        )
    counts = widths - 1 if form.many else np.ones_like(widths)
    indices = np.repeat(np.arange(len(rows)), counts)
    position = np.arange(len(indices)) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = starts[indices]
    references = fields.take(begins)
    lines = np.asarray(numbers)[indices]
    none = pa.nulls(len(indices), pa.float64())
    score_column = pa.array(scores[indices], pa.float64(), from_pandas=True)
    labels = score_column if form.similarity is not None else none
    if form.label is not None:
        labels = pa.array(labels_of(fields.take(begins + form.label).to_pylist(), lines.tolist(), path))
    semantic = none if form.semantic is None else score_column
    columns = [references, references, fields.take(begins + 1 + position), semantic, labels]
    table = pa.table([*columns, pa.nulls(len(indices), ROWS.field("negatives").type)], schema=ROWS)
    return table.append_column("line", pa.array(lines, pa.int64()))


def named_table(form: _TableForm, numbers: Sequence[int], rows: pa.ListArray, path: str | Path) -> pa.Table:
    """Some rows of a table with names as a table with named columns of strings, those that are read.

    Further fields of a last column `paraphrases` are a list with its own.

    Raises:
        ValueError: A row is wider or narrower than the names.
    """
    assert form.columns is not None and form.names is not None
    widths = pc.list_value_length(rows).to_numpy()
    if (is_wrong := ~form.fits(widths)).any():
        raise _wrong_rows(form, numbers, rows, is_wrong, path)
    fields, starts = rows.flatten(), np.cumsum(widths) - widths
    columns = {name: fields.take(starts + form.names.index(name)) for name in form.columns.read}
    if form.many and (widths > len(form.names)).any():
        counts = widths - len(form.names) + 1
        places = np.repeat(starts + len(form.names) - 1 - (np.cumsum(counts) - counts), counts) + np.arange(
            counts.sum()
        )
        offsets = np.append(0, np.cumsum(counts)).astype(np.int32)
        columns[form.columns.paraphrase] = pa.ListArray.from_arrays(pa.array(offsets), fields.take(places))
    return pa.table(columns)


def _wrong_rows(
    form: _TableForm, numbers: Sequence[int], rows: pa.ListArray, is_wrong: np.ndarray, path: str | Path
) -> ValueError:
    """The error of rows that do not have the form of their table."""
    first, count = int(is_wrong.argmax()), int(is_wrong.sum())
    more = f", and {count - 1} more" if count > 1 else ""
    text = "\t".join(rows[first].as_py())[:60]
    return ValueError(f"{path}, line {numbers[first]}: wanted {form.shape}, got {text!r}{more}: correct it")
