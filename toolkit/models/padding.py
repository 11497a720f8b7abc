"""Lists of ids of unequal length as one tensor, and what attention must not see of it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def pad(sequences: Sequence[Sequence[int]], fill: int) -> Tensor:
    """The sequences as the rows of a tensor, filled up on the right.

    >>> pad([[5, 6, 0], [7]], fill=2).tolist()
    [[5, 6, 0], [7, 2, 2]]

    Args:
        sequences: Ids of each row; a sequence may be empty.
        fill: What stands behind the end of a shorter sequence.

    Returns:
        (sequences, longest) 64-bit integers on the CPU; (0, 0) of no sequences.
    """
    rows = torch.full((len(sequences), max(map(len, sequences), default=0)), fill)
    for row, ids in zip(rows, sequences, strict=True):
        row[: len(ids)] = torch.tensor(ids, dtype=torch.long)
    return rows


def padding_mask(is_token: Tensor) -> Tensor:
    """What attention adds to its weights so that it sees tokens alone.

    >>> padding_mask(torch.tensor([[True, False]])).tolist()
    [[[[0.0, -inf]]]]

    Args:
        is_token: (sentences, tokens) booleans, False for padding.

    Returns:
        (sentences, 1, 1, tokens) 32-bit floats: 0 for a token, minus infinity for padding.
    """
    return torch.zeros_like(is_token, dtype=torch.float32).masked_fill_(~is_token, -torch.inf)[:, None, None]
