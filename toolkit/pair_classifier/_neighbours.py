"""Exact search of the nearest permitted neighbour of each vector, a block of queries at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import torch
from torch import Tensor

BLOCK = 256  # ours: queries that are compared at once; 100 MB of cosines among 10^5 vectors
NONE = -2.0  # below every cosine


def nearest(
    vectors: Tensor, queries: Sequence[int], forbidden: Sequence[Sequence[int]], max_cosine: float = 1.0
) -> tuple[list[int], list[float]]:
    """The nearest permitted neighbour of each query by cosine.

    >>> vectors = torch.tensor([[1.0, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]])
    >>> neighbours, cosines = nearest(vectors, [0, 3], [[0, 1], [3]])
    >>> neighbours, [round(cosine, 3) for cosine in cosines]
    ([2, 2], [0.6, 0.8])

    Args:
        vectors: (vectors, dimensions), float32, each of length 1 or 0.
        queries: Indices of the vectors whose neighbours are searched.
        forbidden: For each query the indices of vectors that are no neighbours of it, its own among them.
        max_cosine: Vectors with a greater cosine are no neighbours either, in [-1, 1].

    Returns:
        For each query the index of its neighbour and their cosine in [-1, 1]; -1 and -2 if it has none.

    Raises:
        ValueError: A query has no list of forbidden vectors.
    """
    if len(queries) != len(forbidden):
        raise ValueError(f"wanted forbidden vectors of each of {len(queries)} queries, got those of {len(forbidden)}")
    neighbours: list[int] = []
    neighbour_cosines: list[float] = []
    for begin in range(0, len(queries), BLOCK):
        block = torch.tensor(queries[begin : begin + BLOCK], device=vectors.device)
        cosines = (vectors[block] @ vectors.T).clamp(-1, 1)
        cosines[_coordinates(forbidden[begin : begin + BLOCK], vectors.device)] = NONE
        if max_cosine < 1:
            cosines[cosines > max_cosine] = NONE
        best_cosines, best_indices = cosines.max(1)
        neighbours += torch.where(best_cosines > NONE, best_indices, -1).tolist()
        neighbour_cosines += best_cosines.tolist()
    return neighbours, neighbour_cosines


def _coordinates(lists: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """The rows and columns of a matrix that lists of columns name, one list for each row.

    >>> [t.tolist() for t in _coordinates([[7, 8], [], [9]], torch.device("cpu"))]
    [[0, 0, 2], [7, 8, 9]]
    """
    lengths = torch.tensor([len(columns) for columns in lists], dtype=torch.long, device=device)
    rows = torch.arange(len(lists), device=device).repeat_interleave(lengths)
    return rows, torch.tensor(list(chain.from_iterable(lists)), dtype=torch.long, device=device)
