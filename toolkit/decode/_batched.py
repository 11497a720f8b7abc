"""Attention of few kernels, for a GPU: each block is two batched matrix products with a softmax between them.

The batch is that of the heads: of every row for its own steps, of every sentence for its source. There the rows of a
sentence are queries of one product. They stand in a grid of (sentences, heads, queries), where a place without a row
computes what nobody reads.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Grid(NamedTuple):
    """Where the heads of the rows stand among the queries of the sentences.

    Attributes:
        rows: (sentences * heads * queries,) the number of the row's head, row * heads + head, at each place.
        places: (rows * heads,) the place of each row's head.
        keys: (sentences * heads,) which keys and values each has, where these are others than its own; None otherwise.
    """

    rows: Tensor
    places: Tensor
    keys: Tensor | None = None

    @classmethod
    def of(cls, place: Tensor, width: int, sentences: int, heads: int) -> Grid:
        """The grid of some rows.

        >>> Grid.of(torch.tensor([2, 0]), 2, 2, 2).places.tolist()
        [4, 6, 0, 2]

        Args:
            place: (rows,) sentence * width + number of the row among the rows of its sentence.
            width: Queries of a sentence.
            sentences: How many there are.
            heads: Of the attention.
        """
        head = torch.arange(heads, device=place.device) * width
        number = place % width
        places = ((place - number) * heads + number)[:, None] + head
        rows = place.new_zeros(sentences * heads * width)
        return cls(
            rows.index_copy_(0, places.flatten(), torch.arange(places.numel(), device=place.device)), places.flatten()
        )


def attend(queries: Tensor, keys: Tensor, values: Tensor, scaling: float, added: Tensor | None) -> Tensor:
    """Attention of a batch of heads.

    Args:
        queries: (batch, queries, dim).
        keys: (batch, dim, steps).
        values: (batch, steps, dim).
        scaling: Factor of the scores.
        added: Added to the scores, of a shape that expands to theirs, (batch, queries, steps); None for nothing.

    Returns:
        (batch, queries, dim).
    """
    if added is None:
        scores = torch.baddbmm(queries.new_empty(1, 1, 1), queries, keys, beta=0, alpha=scaling)
    else:
        scores = torch.baddbmm(added, queries, keys, alpha=scaling)
    return torch.bmm(torch.softmax(scores, -1), values)


def attend_grid(
    queries: Tensor, keys: Tensor, values: Tensor, scaling: float, grid: Grid, mask: Tensor | None
) -> Tensor:
    """Attention of rows to the sources of their sentences.

    Args:
        queries: (rows * heads, dim).
        keys: (sentences * heads, dim, source steps), or those that the grid chooses from.
        values: (sentences * heads, source steps, dim), likewise.
        scaling: Factor of the scores.
        grid: Of the rows.
        mask: Added to the scores, (sentences * heads, 1, source steps); None without padding.

    Returns:
        (rows * heads, dim).
    """
    if grid.keys is not None:
        keys, values = keys.index_select(0, grid.keys), values.index_select(0, grid.keys)
    spread = queries.index_select(0, grid.rows).view(len(keys), -1, queries.shape[1])
    return attend(spread, keys, values, scaling, mask).flatten(0, 1).index_select(0, grid.places)
