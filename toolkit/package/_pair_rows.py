"""Pairs as Arrow tables with one set of columns: what is checked of all of them, whatever they are from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.evaluate.sts import HIGHEST
from toolkit.package.pair_columns import Reading, _is_paraphrase, check_texts

PAIRS = pa.schema(
    [("id", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string()), ("semantic", pa.float64())]
)
# `label` is 0 or 1, or a human score; None without one. `negatives` are no paraphrases of `sentence1`.
ROWS = PAIRS.append(pa.field("label", pa.float64())).append(pa.field("negatives", pa.list_(pa.string())))
TRIPLETS = PAIRS.append(ROWS.field("negatives"))
LABELLED = pa.schema([PAIRS.field("sentence1"), PAIRS.field("sentence2"), ROWS.field("label")])
LABELLED_0 = "label 0"  # the reason of pairs that are no paraphrases by their label
LOW_SCORE = "human score"  # and of those by their human score


def labels_of(values: Iterable[object], numbers: Sequence[int], path: str | Path) -> list[float]:
    """Labels as numbers, 0 or 1.

    Raises:
        ValueError: A label is neither; the message names the line.
    """
    labels: list[float] = []
    for number, value in zip(numbers, values, strict=True):
        try:
            labels.append(float(_is_paraphrase(value)))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}: correct it") from None
    return labels


def wanted_rows(
    rows: pa.Table, has_scores: bool, numbers: Sequence[int], path: str | Path, reading: Reading, refused: Counter[str]
) -> pa.Table:
    """The rows that a reading wants: of training the paraphrases, else all, with a label or score each.

    Args:
        rows: With the columns `ROWS`.
        has_scores: Whether `label` holds human scores.
        numbers: The number of the line of each row.
        path: The file, for messages.
        reading: What is wanted.
        refused: Counts the rows that are left out, by reason.

    Raises:
        ValueError: A human score is missing or out of range; there are scores in place of labels or the reverse.
    """
    labels = rows["label"].to_numpy(zero_copy_only=False)
    if reading.labelled:
        if reading.scored != has_scores:
            wanted = "scores, as --scored says" if reading.scored else "labels 0 and 1"
            raise ValueError(
                f"wanted {wanted}, got neither in {path}: name a column {'score' if reading.scored else 'label'}"
            )
        if reading.scored:
            check_range(labels, numbers, path)
        if rows["label"].null_count == len(rows) > 0 and not _has_negatives(rows):
            raise ValueError(f"wanted labels 0 and 1, or negatives, got neither in {path}: name a column label")
        return _with_negatives(rows)
    if has_scores:
        assert reading.min_score is not None
        is_paraphrase = labels >= reading.min_score  # not without a score, which is NaN
        refused[LOW_SCORE] += int((~is_paraphrase).sum())
    else:
        is_paraphrase = labels != 0
        refused[LABELLED_0] += int((~is_paraphrase).sum())
    return rows if is_paraphrase.all() else rows.filter(pa.array(is_paraphrase))


def check_range(scores: np.ndarray, numbers: Sequence[int], path: str | Path) -> None:
    """Refuse human scores that are missing or not from 0 to 5.

    Raises:
        ValueError: One is; the message names the line.
    """
    is_wrong = ~((scores >= 0) & (scores <= HIGHEST))
    if is_wrong.any():
        first = int(is_wrong.argmax())
        raise ValueError(
            f"{path}, line {numbers[first]}: wanted two sentences and a score from 0 to {HIGHEST:g}, got "
            f"{'none' if np.isnan(scores[first]) else f'{scores[first]:g}'}: correct it"
        )


def _has_negatives(rows: pa.Table) -> bool:
    """Whether any row has a negative."""
    return (pc.sum(pc.list_value_length(rows["negatives"])).as_py() or 0) > 0


def _with_negatives(rows: pa.Table) -> pa.Table:
    """Labelled rows, and after each its negatives with the label 0; rows without a label are paraphrases."""
    rows = rows.set_column(rows.column_names.index("label"), "label", pc.fill_null(rows["label"], 1.0))
    if not _has_negatives(rows):
        return rows
    records: list[dict] = []
    for record in rows.to_pylist():
        records.append(record)
        records += [record | {"sentence2": text, "label": 0.0} for text in record["negatives"] or ()]
    return pa.Table.from_pylist(records, ROWS)


def check_scores(pairs: pa.Table, numbers: Sequence[int], path: str | Path, column: str = "semantic") -> None:
    """Refuse scores that are not finite.

    Raises:
        ValueError: A score is not finite; the message names the line.
    """
    is_wrong = pc.fill_null(pc.invert(pc.is_finite(pairs[column])), False).to_numpy()
    if is_wrong.any():
        first = int(is_wrong.argmax())
        score = pairs[column][first].as_py()
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
