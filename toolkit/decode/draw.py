"""One step of sampling without its bookkeeping: what each sample may say, and what it draws of that."""

from __future__ import annotations

import torch
from torch import Tensor

from toolkit.decode._top_k import most_probable_of
from toolkit.decode.engine import Engine
from toolkit.decode.forbidden import _Forbidden
from toolkit.decode.words import _signed

LONGER = 4  # ours: how many times as long the next list is, where too little of a list may be said


def _allowed(
    engine: Engine, hidden: Tensor, row: Tensor, forbidden: _Forbidden | None, top_k: int, more: int = 0
) -> tuple[Tensor, Tensor]:
    """The most probable tokens of each sample; among them are the `top_k` most probable ones that it may say.

    The most probable tokens of each row are found once, with some more than `top_k`, and each sample's mask is applied
    to that short list. Samples that have too few tokens left look at longer lists.

    Args:
        engine: For the logits.
        hidden: (rows, width).
        row: (samples,) the row of each sample.
        forbidden: What each sample must not say; None if it may say all.
        top_k: How many tokens are left to draw from.
        more: The length of a list is at least this number and `top_k`.

    Returns:
        (samples, n) log-probabilities in nats, -inf of what must not be said, the others falling; their (samples, n)
        ids.
    """
    if forbidden is None:
        values, ids = most_probable(engine, hidden, top_k)
        return values[row], ids[row]
    count = top_k + max(more, forbidden.more)
    values, ids = (tensor[row] for tensor in most_probable(engine, hidden, count))
    values = values.masked_fill_(forbidden.among(ids), -torch.inf)
    if forbidden.more_is_bound:
        return values, ids
    short_samples = torch.nonzero((values > -torch.inf).sum(1) < top_k).flatten()
    if len(short_samples) and ids.shape[1] == count:  # fewer are the whole vocabulary
        rows, row_index = row[short_samples].unique(return_inverse=True)
        longer, at = _allowed(engine, hidden[rows], row_index, forbidden.keep(short_samples), top_k, LONGER * count)
        values[short_samples] = -torch.inf
        values[short_samples, :top_k], best = longer.topk(top_k)
        ids[short_samples, :top_k] = at.gather(1, best)
    return values, ids


def most_probable(engine: Engine, hidden: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The most probable tokens of each row.

    Args:
        engine: For the logits.
        hidden: (rows, width).
        count: How many.

    Returns:
        (rows, count) log-probabilities in nats, falling; their (rows, count) ids.
    """
    values, ids = [], []
    for _, logits in engine.logits(hidden):
        greatest, at = most_probable_of(logits, count, engine.pad)
        values.append(greatest)
        ids.append(at)
    return torch.cat(values), torch.cat(ids)


def draw(
    values: Tensor, ids: Tensor, top_k: int, chance: Tensor, min_p: float = 0.0, top_p: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Draw the next token of each sample: take the top k of what it may say, renormalise, draw.

    Args:
        values: (samples, n) log-probabilities as `_allowed` gives them.
        ids: (samples, n) their ids.
        top_k: How many tokens are left to draw from.
        chance: (samples,) random numbers in [0, 1).
        min_p: See `sample`.
        top_p: See `sample`.

    Returns:
        (samples,) ids; (samples,) log p before the mask and the cut, in nats.
    """
    if values.shape[1] > top_k:
        values = values.masked_fill((values > -torch.inf).cumsum(1) > top_k, -torch.inf)
    weights = torch.softmax(values.double(), -1)
    if top_p < 1:
        weights = weights.where(weights.cumsum(-1) - weights < top_p, 0.0)
    mass = weights.where(weights >= min_p * weights.amax(1, keepdim=True), 0.0).cumsum(-1)
    total = mass[:, -1:]
    # The first token whose mass exceeds the random share; rounding must not lead behind the last one with any weight.
    at = torch.minimum((chance[:, None] * total >= mass).sum(1), (mass < total).sum(1))[:, None]
    return ids.gather(1, at)[:, 0], values.gather(1, at)[:, 0].double()


def uniform(key: Tensor, step: int) -> Tensor:
    """Random numbers in [0, 1), as good as independent for every (key, step): SplitMix64 (Steele et al. 2014).

    Args:
        key: (rows,) sample keys, 64-bit integers.
        step: The number of the token that they are for, from 0.

    Returns:
        (rows,) float64.
    """
    z = key + _signed((step + 1) * 0x9E3779B97F4A7C15)
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * _signed(0x94D049BB133111EB)
    z = z ^ ((z >> 31) & 0x1FFFFFFFF)
    return ((z >> 11) & ((1 << 53) - 1)).double() * 2.0**-53
