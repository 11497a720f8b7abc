"""Mega-batching: the nearest wrong sentence of many mini-batches (ParaNMT-50M, section 4)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

BLOCK = 1000  # ours: sentences that are compared with all others at a time


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


def nearest(
    vectors: Tensor, no_negatives: tuple[np.ndarray, np.ndarray], first: int, last: int, dtype: torch.dtype
) -> np.ndarray:
    """The nearest allowed sentence of some sentences, by cosine.

    The sentences of a mega-batch are compared with each other in blocks; a block never leaves the cache for long.

    Args:
        vectors: (sentences, dimensions).
        no_negatives: What `excluded` returned.
        first: The first sentence whose nearest one is wanted.
        last: The one after the last.
        dtype: What cosines are computed in; in bfloat16 a sentence that is 0.4 % less near may win.

    Returns:
        (last - first,) places; where no sentence is allowed, any.
    """
    unit = normalize(vectors, dim=1).to(dtype)
    rows, columns = no_negatives
    found = [np.zeros(0, np.int64)]
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        cosines = unit[begin:end] @ unit.T
        a, b = np.searchsorted(rows, [begin, end])
        where = torch.from_numpy(rows[a:b] - begin), torch.from_numpy(columns[a:b])
        cosines[where[0].to(unit.device), where[1].to(unit.device)] = -2
        found.append(largest(cosines))
    return np.concatenate(found)


def largest(cosines: Tensor) -> np.ndarray:
    """The column of each row's largest number, (rows,).

    On a CPU numpy finds it many times faster than torch. Of bfloat16 it is given the bits: as whole numbers they have
    the order of the numbers themselves, negative ones reversed.
    """
    if cosines.device.type != "cpu":
        return cosines.argmax(1).cpu().numpy()
    if cosines.dtype != torch.bfloat16:
        return cosines.numpy().argmax(1)
    bits = cosines.view(torch.int16)
    best = bits.numpy().argmax(1)
    negative = np.flatnonzero(bits.numpy()[np.arange(len(best)), best] < 0)
    best[negative] = cosines[torch.from_numpy(negative)].float().numpy().argmax(1)
    return best
