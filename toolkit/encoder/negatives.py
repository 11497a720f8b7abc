"""Mega-batching: the nearest negative among the sentences of many mini-batches (ParaNMT-50M, section 4)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

BLOCK = 500  # ours: sentences that are compared with all others at a time


def excluded(keys: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Which sentences of a mega-batch are no negatives of each other: those that share a key.

    >>> rows, columns = excluded([np.array([7, 8, 7])])
    >>> list(zip(rows.tolist(), columns.tolist()))
    [(0, 0), (0, 2), (1, 1), (2, 0), (2, 2)]

    Args:
        keys: Some arrays (sentences,), for instance the number of the reference and the number of the text.

    Returns:
        Rows and columns of all such pairs, the sentence itself among them, by rows; a pair may stand there twice.
    """
    found = [same(key) for key in keys]
    rows, columns = (np.concatenate(side) for side in zip(*found, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], columns[order]


def same(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of places that have the same key, by rows."""
    order = np.argsort(key, kind="stable")
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    starts = np.append(0, np.cumsum(counts))[inverse]  # where a place's group begins in `order`
    sizes = counts[inverse]
    rows = np.repeat(np.arange(len(key)), sizes)
    within = np.arange(len(rows)) - np.repeat(np.append(0, np.cumsum(sizes))[:-1], sizes)
    return rows, order[np.repeat(starts, sizes) + within]


class Excluded:
    """`excluded` as a mask for blocks of a matrix of cosines."""

    def __init__(self, keys: list[np.ndarray]) -> None:
        """Sort the pairs by rows."""
        self.rows, self.columns = excluded(keys)

    def bar(self, cosines: Tensor, first_row: int, first_column: int) -> None:
        """Put -2 where no negative is, in a block that begins at a row and a column."""
        a, b = np.searchsorted(self.rows, [first_row, first_row + len(cosines)])
        rows, columns = self.rows[a:b] - first_row, self.columns[a:b] - first_column
        rows, columns = rows[columns >= 0], columns[columns >= 0]
        cosines[torch.from_numpy(rows).to(cosines.device), torch.from_numpy(columns).to(cosines.device)] = -2


def nearest(vectors: Tensor, keys: list[np.ndarray], first: int, last: int, dtype: torch.dtype) -> np.ndarray:
    """The nearest allowed sentence of some sentences, by cosine.

    Args:
        vectors: (sentences, dimensions).
        keys: As of `excluded`.
        first: The first sentence whose nearest one is wanted.
        last: The one after the last.
        dtype: What cosines are computed in; in bfloat16 a sentence that is 0.4 % less near may win.

    Returns:
        (last - first,) places; where no sentence is allowed, any.
    """
    unit, barred = normalize(vectors, dim=1).to(dtype), Excluded(keys)
    if first == 0 and last == len(unit) and unit.device.type == "cpu" and dtype == torch.bfloat16:
        return nearest_of_all(unit, barred)
    found = [np.zeros(0, np.int64)]
    for begin in range(first, last, BLOCK):
        cosines = unit[begin : min(begin + BLOCK, last)] @ unit.T
        barred.bar(cosines, begin, 0)
        found.append(cosines.float().argmax(1).cpu().numpy() if cosines.is_cuda else cosines.float().numpy().argmax(1))
    return np.concatenate(found)


def nearest_of_all(unit: Tensor, barred: Excluded) -> np.ndarray:
    """`nearest` of all sentences of a mega-batch in bfloat16 on a CPU: half the products, and whole numbers to compare.

    The matrix of cosines is symmetric, so a block gives its rows their nearest among the sentences from there on, and
    these their nearest among its rows. The bits of bfloat16 are, as whole numbers, in the order of the numbers
    themselves if these are not negative; a sentence that is near to none is done again.
    """
    count = len(unit)
    best, place = np.full(count, np.iinfo(np.int16).min), np.zeros(count, np.int64)
    for begin in range(0, count, BLOCK):
        cosines = unit[begin : begin + BLOCK] @ unit[begin:].T
        barred.bar(cosines, begin, begin)
        bits = cosines.view(torch.int16).numpy()
        rows = slice(begin, begin + len(bits))
        keep(best[rows], place[rows], bits.max(1), bits.argmax(1) + begin)
        column_best, column_place = bits.max(0), np.zeros(count - begin, np.int64)
        row, column = np.divmod(np.flatnonzero(bits == column_best), count - begin)
        column_place[column] = row + begin
        keep(best[begin:], place[begin:], column_best, column_place)
    for sentence in np.flatnonzero(best < 0).tolist():
        cosines = unit[sentence : sentence + 1] @ unit.T
        barred.bar(cosines, sentence, 0)
        place[sentence] = cosines.float().argmax()
    return place


def keep(best: np.ndarray, place: np.ndarray, found: np.ndarray, where: np.ndarray) -> None:
    """Put down what was found where it is larger than the best so far."""
    better = found > best
    best[better], place[better] = found[better], where[better]
