"""The classes of the rows of a study: each row has one, and those of train and test are written in the same way."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from datasets import ClassLabel, Dataset

from toolkit.augmentation.containers import lacks_class


def check_labels(train: Dataset, test: Dataset, label: str) -> None:
    """Refuse rows whose label is no class, and a test whose classes are written in another way than those of train.

    Raises:
        ValueError: A row has no label, or one that is no single value; a label of the test is a text and those of train
            are not, or the other way round; or a number means another class there.
    """
    train_labels, test_labels = _classes(train, label, "train"), _classes(test, label, "test")
    if train_labels and test_labels and (expected := _kind(train_labels[0])) != _kind(test_labels[0]):
        written = set(map(str, train_labels))
        row = next((row for row, row_label in enumerate(test_labels) if str(row_label) not in written), 0)
        raise ValueError(
            f"row {row} of test: wanted {expected} in column {label!r}, as in train, got {test_labels[row]!r:.80} in a "
            f"column of {_kind(test_labels[0])}: write the classes of both in the same way"
        )
    train_kind, test_kind = train.features[label], test.features[label]
    if isinstance(train_kind, ClassLabel) and isinstance(test_kind, ClassLabel):
        for expected, actual in zip(train_kind.names, test_kind.names, strict=False):
            if expected != actual:
                raise ValueError(
                    f"wanted the classes of column {label!r} in the same order in train and test, got {expected!r} and "
                    f"{actual!r} with the same number: cast the column of the test"
                )


def _classes(rows: Dataset, label: str, split: str) -> list[Any]:
    """The class of each row.

    Raises:
        ValueError: A row has none, or several values.
    """
    kind, labels = rows.features[label], list(rows.with_format(None)[label])
    for row, row_label in enumerate(labels):
        if lacks_class(row_label, kind) or isinstance(row_label, list | dict):
            raise ValueError(f"row {row} of {split}: wanted a class in column {label!r}, got {row_label!r:.80}")
    return labels


def _kind(value: Any) -> str:
    """What a label is, in a word: numbers of all types are compared as numbers."""
    return "numbers" if isinstance(value, int | float) else "texts" if isinstance(value, str) else type(value).__name__


def tell_unknown_classes(train_labels: Sequence[Hashable], test_labels: Sequence[Hashable]) -> None:
    """Say which classes of the test no row of train has, and how many rows of the test have one of them."""
    classes = set(train_labels)
    if rows_of_class := Counter(row_label for row_label in test_labels if row_label not in classes):
        print(
            f"class {', '.join(map(repr, rows_of_class)):.200} of the test: no row of train has it, so that "
            f"{rows_of_class.total():,} of {len(test_labels):,} rows count as wrong in every arm",
            file=sys.stderr,
        )
