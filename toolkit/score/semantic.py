"""The paraphrase score: the cosine of reference and candidate by a sentence encoder (ParaNMT-50M, section 3.1).

The paper averages PARAGRAM-PHRASE word embeddings; here it is any SentenceTransformer, of `toolkit.encoder` or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from toolkit.data.rows import Row
from toolkit.starters import shown_name

if TYPE_CHECKING:
    import torch

Measure = Callable[[Sequence[tuple[str, str]]], list[float]]
DECIMALS = 6  # ours: the precision of float32 vectors; further digits differ from batch to batch


class Embedder(Protocol):
    """What gives vectors of texts: a SentenceTransformer, or `toolkit.encoder.network` without that library."""

    @property
    def max_seq_length(self) -> Any:
        """The most tokens that are read of a text."""

    def parameters(self) -> Iterator[torch.Tensor]:
        """The weights."""

    def encode(self, texts: list[str], /, *, batch_size: int, show_progress_bar: bool) -> np.ndarray:
        """The vectors of texts, (texts, size) float32."""


def semantic_signature(encoder: Embedder, name: str) -> str:
    """The settings of the paraphrase score: the encoder, its size, and the most tokens that it reads of a text.

    Args:
        encoder: A sentence encoder.
        name: Its name.
    """
    size = sum(p.numel() for p in encoder.parameters()) / 1e6
    tokens = "all" if encoder.max_seq_length == math.inf else encoder.max_seq_length
    return f"cosine|encoder:{shown_name(name)}|{size:.1f}M|tokens:{tokens}|decimals:{DECIMALS}|v:1.0.0"


def semantic_rows(rows: Iterable[Row], encoder: Embedder, batch_size: int) -> Iterator[Row]:
    """Fill `semantic` of every candidate without a reason: its cosine with the reference.

    Distinct texts of a shard are encoded once, batched by length. The encoder truncates texts that are too long for it.

    Args:
        rows: Rows with candidates; all of a shard are held at a time.
        encoder: A sentence encoder.
        batch_size: Texts that are encoded at a time.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 3.1.
    """
    yield from measured_rows(rows, lambda pairs: pair_cosines(pairs, encoder, batch_size))


def measured_rows(rows: Iterable[Row], measure: Measure) -> Iterator[Row]:
    """Fill `semantic` of every candidate without a reason by any measure of pairs, such as BERTScore.

    Args:
        rows: Rows with candidates; all of a shard are held at a time.
        measure: The number of each pair of a reference and a candidate.

    Source: ParaNet (Liu et al. 2022), section 3.3.1.
    """
    shard = list(rows)
    row_pairs = [(row.reference, c) for row in shard for c in row.candidates if c.reason is None]
    scores = measure([(reference, c.text) for reference, c in row_pairs])
    for (_, candidate), score in zip(row_pairs, scores, strict=True):
        candidate.scores.semantic = score
    yield from shard


def pair_cosines(pairs: Sequence[tuple[str, str]], encoder: Embedder, batch_size: int = 256) -> list[float]:
    """The cosine of each pair of texts; each distinct text is encoded once.

    Args:
        pairs: Two texts each.
        encoder: A sentence encoder.
        batch_size: Texts that are encoded at a time.
    """
    positions = {text: n for n, text in enumerate(dict.fromkeys(text for pair in pairs for text in pair))}
    if not positions:
        return []
    vectors = encoder.encode(list(positions), batch_size=batch_size, show_progress_bar=False)
    return cosines(vectors, np.array([(positions[first], positions[second]) for first, second in pairs]))


def cosines(vectors: np.ndarray, pairs: np.ndarray) -> list[float]:
    """The cosine of each pair of vectors; 0 where a vector is zero, as that of a text without known words is.

    >>> cosines(np.array([[1, 0], [3, 4], [0, 0]], np.float32), np.array([[0, 1], [1, 1], [0, 2]]))
    [0.6, 1.0, 0.0]

    Args:
        vectors: (texts, dimensions), float32.
        pairs: (pairs, 2) numbers of texts.

    Returns:
        `pairs` numbers in [-1, 1], computed in float64.
    """
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    first, second = pairs.T
    products, length_products = (wide[first] * wide[second]).sum(1), lengths[first] * lengths[second]
    ratios = np.divide(products, length_products, out=np.zeros(len(pairs)), where=length_products > 0)
    return np.clip(np.round(ratios, DECIMALS), -1, 1).tolist()
