"""The log-probabilities of each row over a vocabulary, and its greatest, faster than torch finds them."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from toolkit.decode._kernels import NARROW, tried

COLUMN = 4, 12  # ours: fewest and most numbers of a column
TRIED = 8, 4100  # ours: rows and tokens that a kernel is tried on
SORTED_PARTLY = 64  # torch finds the k greatest of n in half the time where k * 64 <= n


def log_probabilities(logits: Tensor) -> Tensor:
    """The log-softmax of (rows, vocabulary) logits, in float32 or more exact.

    It is in their place where they are so exact: new memory would cost more than the computation.
    """
    exact = logits.float() if logits.dtype in NARROW else logits
    return torch.log_softmax(exact, -1, out=exact)


def most_probable_of(logits: Tensor, count: int, never: int) -> tuple[Tensor, Tensor]:
    """The most probable tokens of each row; the logits are overwritten.

    Args:
        logits: (rows, vocabulary).
        count: How many.
        never: A token that is none of them, though it has its share of the probability.

    Returns:
        (rows, count) log-probabilities in nats, falling; their (rows, count) ids.
    """
    if logits.dtype in NARROW:
        folded = _folding() if logits.is_cuda else None
        return (folded or _most_probable_of_narrow)(logits, count, never)
    logprobs = log_probabilities(logits)
    logprobs[:, never] = -torch.inf
    return top(logprobs, count)


def _most_probable_of_narrow(logits: Tensor, count: int, never: int) -> tuple[Tensor, Tensor]:
    """`most_probable_of` for logits in 16 bits, without a copy in float32: a GPU moves a third of the bytes.

    The greatest logits are exact. The terms of the sum of exponentials are rounded to 16 bits, each by itself, and are
    added up in float32, so that the error of the sum is far below that of the logits.
    """
    omitted = logits[:, never].clone()
    logits[:, never] = -torch.inf
    values, ids = logits.topk(min(count, logits.shape[1]), -1)
    highest = torch.maximum(values[:, 0], omitted)
    rest = omitted.float().sub_(highest).exp_()
    total = logits.sub_(highest[:, None]).exp_().sum(-1, dtype=torch.float32).add_(rest).log_().add_(highest)
    return values.float().sub_(total[:, None]), ids


@functools.cache
def _folding() -> Callable[[Tensor, int, int], tuple[Tensor, Tensor]] | None:
    """The kernel of `_folded.py`, where there is one for the GPU, chosen once."""
    return tried(_try_folding, "torch finds the best tokens")


def _try_folding() -> tuple[Callable[[Tensor, int, int], tuple[Tensor, Tensor]], float]:
    from toolkit.decode._folded import COLUMNS, LEAST, MOST, most_probable_folded

    def chosen(logits: Tensor, count: int, never: int) -> tuple[Tensor, Tensor]:
        fits = logits.shape[1] >= LEAST * COLUMNS and count <= MOST and logits.stride(1) == 1
        return (most_probable_folded if fits else _most_probable_of_narrow)(logits, count, never)

    logits = torch.randn(TRIED, device="cuda", generator=torch.Generator("cuda").manual_seed(0)).bfloat16()
    values, _ = most_probable_folded(logits, 1, 0)
    return chosen, (values - _most_probable_of_narrow(logits, 1, 0)[0]).abs().max().item()


def top(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k greatest of each row, in falling order, as `scores.topk(k)` but in half its time on a CPU.

    The row is folded into columns of a few numbers. The k greatest are in the k columns with the greatest maxima.

    Args:
        scores: (rows, vocabulary).
        k: How many.

    Returns:
        (rows, k) values and their (rows, k) indices.
    """
    minimum, maximum = COLUMN
    high = max(minimum, min(maximum, scores.shape[1] // (SORTED_PARTLY * k)))
    width = scores.shape[1] // high
    if width <= 4 * k or scores.device.type != "cpu":
        return scores.topk(min(k, scores.shape[1]), -1)
    folded, rest = scores[:, : high * width].unflatten(1, (high, width)), scores[:, high * width :]
    columns = folded.amax(1).topk(k, -1, sorted=False).indices
    near = folded.gather(2, columns[:, None].expand(-1, high, -1)).flatten(1)
    indices = (torch.arange(high)[:, None] * width + columns[:, None]).flatten(1)
    if rest.shape[1]:
        tail = torch.arange(high * width, scores.shape[1]).expand(len(scores), -1)
        near, indices = torch.cat([near, rest], 1), torch.cat([indices, tail], 1)
    values, at = near.topk(k, -1)
    return values, indices.gather(1, at)
