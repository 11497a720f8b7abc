"""The rows that a new row may not equal: those of the data, with another label perhaps, and of its evaluation sets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from datasets import Dataset

from toolkit.bitext.normalize import match_key

BATCH = 1000  # ours: rows whose values are Python objects at a time


@dataclass(frozen=True)
class KnownRows:
    """The rows of a data set and of its other splits, as far as new rows depend on them.

    Attributes:
        columns: The columns of texts; a row equals another if all of them do.
        keys: (keys,) uint64, sorted: one for each row with other texts (`match_key`).
        content: A hash of the columns of the data set that are read, and of the keys of its other splits.
    """

    columns: tuple[str, ...]
    keys: np.ndarray
    content: str

    def have(self, row: Mapping[str, Any]) -> bool:
        """Whether a row has the texts of one of them, but for case, punctuation and spaces."""
        key = np.uint64(_row_key([row[column] for column in self.columns]))
        index = int(np.searchsorted(self.keys, key))
        return index < len(self.keys) and self.keys[index] == key


def known_rows(rows: Dataset, splits: Sequence[Dataset], columns: Sequence[str]) -> KnownRows:
    """Read the rows of a data set, and those of its other splits that have these columns.

    Args:
        rows: The columns that are read of the data set.
        splits: The other splits.
        columns: The columns of texts.
    """
    content, keys = hashlib.sha256(), [np.empty(0, np.uint64)]
    for batch in rows.with_format(None).iter(BATCH):
        content.update(repr(batch).encode())
        keys.append(_keys(batch, columns))
    for split in splits:
        if set(columns) <= set(split.column_names):
            for batch in split.with_format(None).select_columns(list(columns)).iter(BATCH):
                keys.append(_keys(batch, columns))
                content.update(keys[-1].tobytes())
    return KnownRows(tuple(columns), np.unique(np.concatenate(keys)), content.hexdigest())


def _keys(batch: Mapping[str, Sequence[Any]], columns: Sequence[str]) -> np.ndarray:
    """The keys of the rows of a batch, (rows,) uint64."""
    return np.fromiter(map(_row_key, zip(*(batch[column] for column in columns), strict=True)), np.uint64)


def _row_key(values: Sequence[Any]) -> int:
    """A number of 64 bits: that of rows whose texts, or joined tokens, differ in case, punctuation and spaces only."""
    texts = ("".join(value) if isinstance(value, Sequence) else "" for value in values)  # a text, tokens, None or NaN
    content = "\n".join(match_key(text) or text.strip() for text in texts)
    return int.from_bytes(hashlib.blake2b(content.encode(errors="replace"), digest_size=8).digest(), "little")
