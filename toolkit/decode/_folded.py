"""The most probable tokens of each row on a GPU, by a kernel of Triton that reads every logit once.

Torch's `topk` reads the logits of a row some ten times, and their sum of exponentials needs another pass. The kernel
folds a row into columns, and finds in one pass the greatest logit of each column and the sum of exponentials. The k
greatest of the row are in the k columns with the greatest maxima, so that the rest is a search in few numbers.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS = 1024  # ours: into which a row is folded
LEAST = 4  # ours: logits of a column from which on folding saves anything


@triton.jit
def _fold(logits, maxima, totals, stride, never, vocabulary: tl.constexpr, columns: tl.constexpr):
    """Of one row of logits the greatest of each column but `never`, and the log of the sum of all exponentials."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, columns)
    greatest = tl.full((columns,), float("-inf"), tl.float32)
    choice = tl.full((columns,), float("-inf"), tl.float32)
    total = tl.zeros((columns,), tl.float32)
    for first in range(0, vocabulary, columns):
        place = first + column
        logit = tl.load(logits + row * stride + place, mask=place < vocabulary, other=float("-inf")).to(tl.float32)
        choice = tl.maximum(choice, tl.where(place == never, float("-inf"), logit))
        higher = tl.maximum(greatest, logit)
        base = tl.where(higher == float("-inf"), 0.0, higher)  # of a column without any probability
        total = total * tl.exp(greatest - base) + tl.exp(logit - base)
        greatest = higher
    most = tl.max(greatest, 0)
    tl.store(maxima + row * columns + column, choice)
    tl.store(totals + row, most + tl.log(tl.sum(total * tl.exp(greatest - most), 0)))


def most_probable_folded(logits: Tensor, count: int, never: int) -> tuple[Tensor, Tensor]:
    """`most_probable_of` of `_top_k.py` for logits in 16 bits; these are not changed.

    Args:
        logits: (rows, vocabulary), with at least `LEAST` tokens for each of the `COLUMNS`, and more columns than
            `count`.
        count: How many.
        never: A token that is none of them, though it has its share of the probability.

    Returns:
        (rows, count) log-probabilities in nats, falling; their (rows, count) ids.
    """
    rows, vocabulary = logits.shape
    maxima = logits.new_empty(rows, COLUMNS, dtype=torch.float32)
    totals = logits.new_empty(rows, dtype=torch.float32)
    _fold[(rows,)](logits, maxima, totals, logits.stride(0), never, vocabulary=vocabulary, columns=COLUMNS)
    best = maxima.topk(count, -1, sorted=False).indices
    height = -(-vocabulary // COLUMNS)
    ids = (torch.arange(height, device=logits.device)[:, None] * COLUMNS + best[:, None]).flatten(1)
    near = logits.gather(1, ids.clamp(max=vocabulary - 1)).float()
    near.masked_fill_((ids >= vocabulary) | (ids == never), -torch.inf)
    values, at = near.topk(count, -1)
    return values.sub_(totals[:, None]), ids.gather(1, at)
