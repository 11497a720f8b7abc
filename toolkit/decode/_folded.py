"""The most probable tokens of each row, and the log-probability of one, by kernels of Triton that read a logit once.

Torch's `topk` reads the logits of a row some ten times, and their sum of exponentials needs another pass. The kernel
folds a row into columns, and finds in one pass the greatest logit of each column and the sum of exponentials. The k
greatest of the row are in the k columns with the greatest maxima, so that the rest is a search in few numbers.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS = 1024  # ours: into which a row is folded; more, where a column would have more than `MOST_ROWS` logits
LEAST = 4  # ours: logits of a column from which on folding saves anything
MOST_ROWS = 64  # ours: of a column
MOST = 64  # ours: tokens that are worth so many searches for a maximum
# ours: stands for no probability beside -inf, which marks what has been chosen already; no 16-bit logit is smaller
LOWEST = tl.constexpr(-3.4e38)


@triton.jit
def _add_logit(logit, greatest, total):
    """The greatest logit of each column with one more, and the sum of exponentials, as shares of the greatest's."""
    higher = tl.maximum(greatest, logit, propagate_nan=tl.PropagateNan.ALL)  # of a broken model
    base = tl.where(higher == float("-inf"), 0.0, higher)  # of a column without any probability
    share = tl.exp(tl.minimum(greatest, logit) - base)  # of the two, the greater has 1
    return higher, tl.where(logit > greatest, total * share + 1.0, total + share)


@triton.jit
def _log_of_sum(greatest, total):
    """The log of the sum of exponentials of all columns."""
    most = tl.max(greatest, 0)
    return most + tl.log(tl.sum(total * tl.exp(greatest - most), 0))


@triton.jit(do_not_specialize=["count", "never"])
def _fold(
    logits, values, ids, stride, never, count, vocabulary: tl.constexpr, columns: tl.constexpr, height: tl.constexpr,
    places: tl.constexpr,
):  # fmt: skip
    """Of one row the `count` greatest log-probabilities and their tokens; `height` and `places` are powers of two."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * stride
    column = tl.arange(0, columns)
    greatest = tl.full((columns,), float("-inf"), tl.float32)
    choice = tl.full((columns,), LOWEST, tl.float32)
    total = tl.zeros((columns,), tl.float32)
    for first in range(0, vocabulary, columns):
        token = first + column
        logit = tl.load(logits + token, mask=token < vocabulary, other=float("-inf")).to(tl.float32)
        choice = tl.maximum(choice, tl.where(token == never, LOWEST, logit))
        greatest, total = _add_logit(logit, greatest, total)
    total_log = _log_of_sum(greatest, total)
    number = tl.arange(0, places)
    best = tl.zeros((places,), tl.int32)
    for n in range(count):
        at = tl.argmax(choice, 0)
        best = tl.where(number == n, at, best)
        choice = tl.where(column == at, float("-inf"), choice)
    token = tl.reshape(tl.arange(0, height)[:, None] * columns + best[None, :], (height * places,))
    entry = tl.arange(0, height * places)
    near = tl.load(logits + token, mask=token < vocabulary, other=float("-inf")).to(tl.float32)
    near = tl.where((token == never) | (token >= vocabulary), LOWEST, tl.maximum(near, LOWEST))
    near = tl.where(entry % places < count, near, float("-inf"))
    for n in range(count):
        at = tl.argmax(near, 0)
        is_it = entry == at
        highest = tl.max(near, 0)
        tl.store(values + row * count + n, tl.where(highest == LOWEST, float("-inf"), highest) - total_log)
        tl.store(ids + row * count + n, tl.sum(tl.where(is_it, token, 0), 0).to(tl.int64))
        near = tl.where(is_it, float("-inf"), near)


@triton.jit
def _pick(logits, ids, values, stride, vocabulary: tl.constexpr, columns: tl.constexpr):
    """Of one row the log-probability of a token."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * stride
    column = tl.arange(0, columns)
    greatest = tl.full((columns,), float("-inf"), tl.float32)
    total = tl.zeros((columns,), tl.float32)
    for first in range(0, vocabulary, columns):
        token = first + column
        logit = tl.load(logits + token, mask=token < vocabulary, other=float("-inf")).to(tl.float32)
        greatest, total = _add_logit(logit, greatest, total)
    picked = tl.load(logits + tl.load(ids + row)).to(tl.float32)
    tl.store(values + row, picked - _log_of_sum(greatest, total))


def folds(logits: Tensor, count: int) -> bool:
    """Whether `best_folded` is for so wide logits, dense within a row, and so many tokens."""
    return logits.shape[1] >= LEAST * COLUMNS and count <= MOST


def best_folded(logits: Tensor, count: int, never: int) -> tuple[Tensor, Tensor]:
    """`most_probable_of` of `_top_k.py` for logits in 16 bits; these are not changed.

    Args:
        logits: (rows, vocabulary), dense within a row, with at least `LEAST` tokens for each of the `COLUMNS`.
        count: How many, at most `MOST`.
        never: A token that is none of them, though it has its share of the probability.

    Returns:
        (rows, count) log-probabilities in nats, falling; their (rows, count) ids.
    """
    rows, vocabulary = logits.shape
    columns = max(COLUMNS, triton.next_power_of_2(triton.cdiv(vocabulary, MOST_ROWS)))
    height, places = (triton.next_power_of_2(n) for n in (triton.cdiv(vocabulary, columns), count))
    values = logits.new_empty(rows, count, dtype=torch.float32)
    ids = logits.new_empty(rows, count, dtype=torch.long)
    with torch.cuda.device_of(logits):
        _fold[(rows,)](logits, values, ids, logits.stride(0), never, count, vocabulary, columns, height, places)
    return values, ids


def log_probabilities_picked(logits: Tensor, ids: Tensor) -> Tensor:
    """`token_log_probabilities` of `_top_k.py` for logits in 16 bits.

    Args:
        logits: (rows, vocabulary), dense within a row.
        ids: (rows,) tokens.

    Returns:
        (rows,) in nats.
    """
    values = torch.empty(len(logits), dtype=torch.float32, device=logits.device)
    with torch.cuda.device_of(logits):
        _pick[(len(logits),)](logits, ids, values, logits.stride(0), logits.shape[1], COLUMNS)
    return values
