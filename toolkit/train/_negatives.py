"""Mega-batching: the nearest negative among the sentences of many mini-batches (ParaNMT-50M, section 4)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

BLOCK = 500  # ours: sentences that are compared with all others at once
BLOCK_CUDA = 4096  # ours: likewise on a GPU; with 80,000 sentences the cosines take 1.3 GB in float32


def excluded(keys: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of sentences of a mega-batch that are no negatives of each other, because they share a key.

    >>> rows, columns = excluded([np.array([7, 8, 7])])
    >>> list(zip(rows.tolist(), columns.tolist()))
    [(0, 0), (0, 2), (1, 1), (2, 0), (2, 2)]

    Args:
        keys: Arrays (sentences,), for instance the index of the reference and the index of the text.

    Returns:
        Rows and columns of all such pairs, also of a sentence with itself, ordered by row; a pair may occur twice.
    """
    pairs = [_same_key_pairs(key) for key in keys]
    rows, columns = (np.concatenate(side) for side in zip(*pairs, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], columns[order]


def _same_key_pairs(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of all pairs of indices that have the same key, ordered by row."""
    order = np.argsort(key, kind="stable")
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    starts = np.append(0, np.cumsum(counts))[inverse]  # where the group of an index begins in `order`
    sizes = counts[inverse]
    rows = np.repeat(np.arange(len(key)), sizes)
    within = np.arange(len(rows)) - np.repeat(np.append(0, np.cumsum(sizes))[:-1], sizes)
    return rows, order[np.repeat(starts, sizes) + within]


def no_negatives(references: np.ndarray, anchors: np.ndarray, positives: np.ndarray, hard: np.ndarray) -> np.ndarray:
    """Which positives and hard negatives of a batch are no negatives of an anchor.

    >>> no_negatives(np.array([7, 8, 8]), np.array([0, 1, 1]), np.array([2, 3, 4]), np.array([4, 5])).astype(int)
    array([[1, 0, 0, 0, 0],
           [0, 1, 1, 1, 0],
           [0, 1, 1, 1, 0]])

    Args:
        references: (pairs,) indices of the references; the texts of one reference are no negatives of each other.
        anchors: (pairs,) indices of the texts.
        positives: (pairs,) indices of the texts; nor is a text that equals the anchor or its positive.
        hard: (negatives,) indices of the texts.

    Returns:
        (pairs, pairs + negatives) bool, the positives first; a pair's own positive is among them.
    """
    count = len(references)
    forbidden = np.zeros((count, count + len(hard)), bool)
    forbidden[:, :count] = references[:, None] == references
    forbidden[:, :count] |= anchors[:, None] == positives
    forbidden[:, :count] |= positives[:, None] == positives
    texts = np.concatenate([anchors, positives])
    order = np.argsort(texts, kind="stable")
    begins, ends = (np.searchsorted(texts[order], hard, side) for side in ("left", "right"))
    for negative in np.flatnonzero(ends > begins).tolist():  # which few of a batch's hard negatives are
        sharing = references[order[begins[negative] : ends[negative]] % count]
        forbidden[np.isin(references, sharing), count + negative] = True
    return forbidden


class _Excluded:
    """`excluded` as a mask for blocks of a matrix of cosines."""

    def __init__(self, keys: list[np.ndarray]) -> None:
        """Compute the pairs; for `keys` see `excluded`."""
        self.rows, self.columns = excluded(keys)

    def mask(self, cosines: Tensor, first_row: int, first_column: int) -> None:
        """Set the cosines of excluded pairs to -2.

        Args:
            cosines: A block of the matrix of cosines, changed in place.
            first_row: Index of its first row in the matrix.
            first_column: Index of its first column.
        """
        a, b = np.searchsorted(self.rows, [first_row, first_row + len(cosines)])
        rows, columns = self.rows[a:b] - first_row, self.columns[a:b] - first_column
        rows, columns = rows[columns >= 0], columns[columns >= 0]
        cosines[torch.from_numpy(rows).to(cosines.device), torch.from_numpy(columns).to(cosines.device)] = -2


def nearest(vectors: Tensor, keys: list[np.ndarray], first: int, last: int, dtype: torch.dtype) -> np.ndarray:
    """The nearest sentence by cosine that is not excluded, for a range of sentences.

    Args:
        vectors: (sentences, dimensions).
        keys: See `excluded`.
        first: The first sentence of the range.
        last: The end of the range, exclusive.
        dtype: Dtype of the cosines; in bfloat16 the result may be a sentence whose cosine is 0.4 % smaller.

    Returns:
        (last - first,) indices; an arbitrary one where all sentences are excluded.
    """
    unit, pairs = normalize(vectors, dim=1).to(dtype), _Excluded(keys)
    if first == 0 and last == len(unit) and unit.device.type == "cpu":
        return _nearest_of_all(unit, pairs)
    if unit.is_cuda:
        blocks = [torch.zeros(0, dtype=torch.long, device=unit.device)]
        for begin in range(first, last, BLOCK_CUDA):
            cosines = unit[begin : min(begin + BLOCK_CUDA, last)] @ unit.T
            pairs.mask(cosines, begin, 0)
            blocks.append(cosines.argmax(1))
        return torch.cat(blocks).cpu().numpy()
    indices = [np.zeros(0, np.int64)]
    for begin in range(first, last, BLOCK):
        cosines = unit[begin : min(begin + BLOCK, last)] @ unit.T
        pairs.mask(cosines, begin, 0)
        indices.append(cosines.float().numpy().argmax(1))
    return np.concatenate(indices)


def _nearest_of_all(unit: Tensor, pairs: _Excluded) -> np.ndarray:
    """`nearest` for all sentences of a mega-batch on a CPU, with half the products.

    The matrix of cosines is symmetric, so a block of rows from the diagonal on serves its rows and its columns. The
    bits of bfloat16, read as integers, have the order of the numbers where these are not negative; a sentence that has
    only negative cosines is computed again.
    """
    count, has_bits = len(unit), unit.dtype == torch.bfloat16
    best: np.ndarray = np.full(count, -np.inf, np.float32)
    if has_bits:
        best = np.full(count, np.iinfo(np.int16).min, np.int16)
    best_positions = np.zeros(count, np.int64)
    for begin in range(0, count, BLOCK):
        cosines = unit[begin : begin + BLOCK] @ unit[begin:].T
        pairs.mask(cosines, begin, begin)
        values = cosines.view(torch.int16).numpy() if has_bits else cosines.numpy()
        rows = slice(begin, begin + len(values))
        positions = values.argmax(1)
        row_best = np.take_along_axis(values, positions[:, None], 1)[:, 0]
        _keep_larger(best[rows], best_positions[rows], row_best, positions + begin)
        column_best = values.max(0)
        columns = np.flatnonzero(column_best > best[begin:])
        best[begin + columns] = column_best[columns]
        best_positions[begin + columns] = values[:, columns].argmax(0) + begin
    for sentence in np.flatnonzero(best < 0).tolist() if has_bits else ():
        cosines = unit[sentence : sentence + 1] @ unit.T
        pairs.mask(cosines, sentence, 0)
        best_positions[sentence] = cosines.float().argmax()
    return best_positions


def _keep_larger(best: np.ndarray, best_positions: np.ndarray, values: np.ndarray, positions: np.ndarray) -> None:
    """Replace the best values so far, and their positions, by larger ones."""
    is_larger = values > best
    best[is_larger], best_positions[is_larger] = values[is_larger], positions[is_larger]
