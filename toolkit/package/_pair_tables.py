"""The form of a .tsv or .csv file of pairs, by the names in its first line or by all rows of its first batch.

Rows that do not have the form of their file are refused, counted and named.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.package._pair_rows import PAIRS, labelled_pairs
from toolkit.package.pair_columns import (
    KEEP,
    NAMED,
    NO,
    USUAL_NAMES,
    YES,
    _plain_name,
    check_texts,
    number_of,
    pair_columns,
)

LISTS = "the names reference and paraphrases in the first line"
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
        header: Whether the first row holds names.
        reference: The column of the reference.
        paraphrase: The column of the paraphrase, or of the first of several.
        many: Whether all further fields are paraphrases, too.
        semantic: The column of the paraphrase score, None without one.
        highest: The greatest absolute value of a score.
        label: The column of the label, None without one.
        id: The column of the reference's id, None without one.
    """

    shape: str
    text: str
    least: int
    most: float = math.inf
    header: bool = False
    reference: int = 0
    paraphrase: int = 1
    many: bool = False
    semantic: int | None = None
    highest: float = math.inf
    label: int | None = None
    id: int | None = None

    def fits(self, widths: np.ndarray) -> np.ndarray:
        """Whether rows with so many fields have this form: (N,) of bool."""
        return (widths >= self.least) & (widths <= self.most)


def table_form(rows: pa.ListArray, path: object) -> _TableForm:
    """The form of a table of pairs.

    Args:
        rows: The first rows, (N,) of lists of trimmed fields, N >= 1.
        path: The file, for messages.

    Raises:
        ValueError: The names are not understood, a column of texts holds numbers or ids, or a score is a human one.
    """
    names = rows[0].as_py()
    if pair_columns(names, path) is not None:
        form, rows = _named_form(names, path), rows.slice(1)
    elif _are_names(names):
        raise ValueError(f"wanted names of a reference and a paraphrase, got {', '.join(names)} in {path}: {NAMED}")
    else:
        form = _unnamed_form(rows)
    widths = pc.list_value_length(rows).to_numpy()
    fields, starts = rows.flatten(), np.cumsum(widths) - widths
    last = max(widths, default=0) - 1 if form.many else form.paraphrase
    for column in (form.reference, *range(form.paraphrase, last + 1)):
        name = repr(names[column]) if form.header and column < len(names) else f"{column + 1}"
        check_texts(fields.take(starts[widths > column] + column), f"column {name}", path)
    return form


def _named_form(names: list[str], path: object) -> _TableForm:
    """The form of a table with names in its first line; a last column `paraphrases` may go on in further fields."""
    columns = pair_columns(names, path)
    assert columns is not None
    many = columns.paraphrase.casefold() == "paraphrases" and names[-1] == columns.paraphrase
    positions = {name: names.index(name) for name in names}
    return _TableForm(
        shape=f"{len(names)} columns{' and more' if many else ''}, as in the first line, with a finite score if any",
        text=str(columns),
        least=len(names),
        most=math.inf if many else len(names),
        header=True,
        reference=positions[columns.reference],
        paraphrase=positions[columns.paraphrase],
        many=many,
        semantic=positions[columns.semantic] if columns.semantic else None,
        label=positions[columns.label] if columns.label else None,
        id=positions[columns.id] if columns.id else None,
    )


def _unnamed_form(rows: pa.ListArray) -> _TableForm:
    """The form of a table without names: pairs; pairs with a score or a label; or references with their paraphrases.

    A third field that is a number in at least half of the rows with three is a score, or a label if all are 0 or 1.
    """
    widths = pc.list_value_length(rows).to_numpy()
    third = [row[2].casefold() for row in rows.filter(pa.array(widths == 3)).to_pylist()]
    if third and set(third) <= {*YES, *NO}:
        shape = f"reference TAB paraphrase TAB {'0 or 1' if {*third} & {*NO} else 'score'}"
        return _TableForm(shape, "no names; reference, paraphrase and label: rows with 0 are left out", 3, 3, label=2)
    if third and 2 * sum(not math.isnan(number_of(text)) for text in third) >= len(third):
        return _TableForm(
            "reference TAB paraphrase TAB score", "no names; reference, paraphrase and score", 2, 3, semantic=2,
            highest=HIGHEST,
        )  # fmt: skip
    usual = int(np.bincount(widths).argmax())
    shape = "reference TAB paraphrase [TAB paraphrase ...]"
    if len(rows) >= LEAST_ROWS and (widths == usual).mean() >= USUAL:
        shape += f" in {usual} columns as in the other lines (for lists of any length: {LISTS})"
        return _TableForm(shape, PLAIN, 2, max(2, usual), many=True)
    return _TableForm(shape, PLAIN, 2, many=True)


def _are_names(fields: list[str]) -> bool:
    """Whether all fields of a row are usual names of columns.

    >>> _are_names(["source", "target"]), _are_names(["sent_1", "sent_2", "score"]), _are_names(["Hello!", "Hi!"])
    (True, True, False)
    """
    return all(_plain_name(field) in USUAL_NAMES or WORDS_AND_LINE.fullmatch(field.casefold()) for field in fields)


def form_pairs(
    form: _TableForm, numbers: Sequence[int], rows: pa.ListArray, path: str | Path, refused: Counter[str]
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
        raise _wrong_rows(form, numbers, rows, is_wrong, path)
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


def _wrong_rows(
    form: _TableForm, numbers: Sequence[int], rows: pa.ListArray, is_wrong: np.ndarray, path: str | Path
) -> ValueError:
    """The error of rows that do not have the form of their table."""
    first, count = int(is_wrong.argmax()), int(is_wrong.sum())
    more = f", and {count - 1} more" if count > 1 else ""
    text = "\t".join(rows[first].as_py())[:60]
    return ValueError(f"{path}, line {numbers[first]}: wanted {form.shape}, got {text!r}{more}: correct it")
