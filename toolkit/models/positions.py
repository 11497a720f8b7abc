"""The tables of sines by which Marian and Pegasus models know positions, computed for all positions at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.pegasus.modeling_pegasus import PegasusSinusoidalPositionalEmbedding

KINDS: tuple[Any, ...] = (MarianSinusoidalPositionalEmbedding, PegasusSinusoidalPositionalEmbedding)
PERIOD = 10_000  # Vaswani et al. (2017), section 3.5


def sines_of_positions(embedding: torch.nn.Embedding) -> torch.Tensor:
    """The table of sines of a model: that of `transformers`, bit by bit.

    Args:
        embedding: Its weight has the shape (positions, width) of the table.

    Returns:
        The table, in the type of that weight: first the sines of the even dimensions, then the cosines of the odd ones.
    """
    positions, width = embedding.weight.shape
    divisors = np.array([np.power(PERIOD, 2 * (dimension // 2) / width) for dimension in range(width)])
    angles = np.arange(positions)[:, None] / divisors
    table = np.concatenate([np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])], axis=1)
    return torch.from_numpy(table.astype(np.float32)).to(embedding.weight.dtype)


@contextmanager
def fast_positions() -> Iterator[None]:
    """Let `transformers` compute these tables at once; its loop takes longer than the rest of loading a small model."""
    originals = {kind: kind.create_weight for kind in KINDS}
    for kind in KINDS:
        kind.create_weight = sines_of_positions
    try:
        yield
    finally:
        for kind, original in originals.items():
            kind.create_weight = original
