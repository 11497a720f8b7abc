"""The log-probabilities of each row over a vocabulary, and its greatest, faster than torch finds them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from toolkit.decode._kernels import NARROW, kernel_after_trial

COLUMN = 4, 12  # ours: fewest and most numbers of a column
TRIED, COUNT = (8, 4100), 3  # ours: rows and tokens that the kernels are tried on, and how many tokens are found
SORTED_PARTLY = 64  # torch finds the k greatest of n in half the time where k * 64 <= n


def log_probabilities(logits: Tensor) -> Tensor:
    """The log-softmax of (rows, vocabulary) logits, in float32 or more exact.

    It is in their place where they are so exact: new memory would cost more than the computation.
    """
    exact = logits.float() if logits.dtype in NARROW else logits
    return torch.log_softmax(exact, -1, out=exact)


def token_log_probabilities(logits: Tensor, ids: Tensor) -> Tensor:
    """The log-probability of one token of each row; the logits may be overwritten.

    Args:
        logits: (rows, vocabulary).
        ids: (rows,) tokens.

    Returns:
        (rows,) in nats, in float32 or more exact.
    """
    kernels = _folding(logits.device) if _may_fold(logits) else None
    if kernels is None:
        return log_probabilities(logits).gather(1, ids[:, None])[:, 0]
    return kernels.picked(logits, ids)


def most_probable_folded(logits: Tensor, count: int, never: int) -> tuple[Tensor, Tensor] | None:
    """`most_probable_of` by Triton's kernel, whose sums are in float32; None where there is none for such logits."""
    kernels = _folding(logits.device) if _may_fold(logits) else None
    return kernels.best(logits, count, never) if kernels is not None and kernels.fits(logits, count) else None


def _may_fold(logits: Tensor) -> bool:
    return logits.is_cuda and logits.dtype in NARROW and logits.stride(1) == 1


def most_probable_of(logits: Tensor, count: int, never: int) -> tuple[Tensor, Tensor]:
    """The most probable tokens of each row; the logits may be overwritten.

    Args:
        logits: (rows, vocabulary).
        count: How many.
        never: A token that is none of them, though it has its share of the probability.

    Returns:
        (rows, count) log-probabilities in nats, falling; their (rows, count) ids.
    """
    folded = most_probable_folded(logits, count, never)
    if folded is not None:
        return folded
    if logits.dtype in NARROW:
        return _most_probable_of_narrow(logits, count, never)
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


class _Folding(NamedTuple):
    """The kernels of `_folded.py`.

    Attributes:
        best: `best_folded`.
        fits: Whether that one is for such logits and so many tokens.
        picked: `log_probabilities_picked`.
    """

    best: Callable[[Tensor, int, int], tuple[Tensor, Tensor]]
    fits: Callable[[Tensor, int], bool]
    picked: Callable[[Tensor, Tensor], Tensor]


@functools.cache
def _folding(device: torch.device) -> _Folding | None:
    """The kernels of `_folded.py`, where there are any for the GPU, chosen once."""
    return kernel_after_trial(_try_folding, device, "torch finds the best tokens")


def _try_folding(device: torch.device) -> tuple[_Folding, float]:
    from toolkit.decode._folded import best_folded, folds, log_probabilities_picked

    logits = torch.randn(TRIED, device=device, generator=torch.Generator(device).manual_seed(0)).bfloat16()
    values, ids = best_folded(logits, COUNT, 0)
    exact = logits.double().log_softmax(-1)
    differences = [values - exact.gather(1, ids), log_probabilities_picked(logits, ids[:, 0])[:, None] - values[:, :1]]
    exact[:, 0] = -torch.inf
    differences.append(values - exact.topk(COUNT).values)
    difference = torch.cat(differences, 1).abs().max()
    return _Folding(best_folded, folds, log_probabilities_picked), difference.item()


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
