"""Attention of one query for each row on a GPU, by kernels of Triton: one for a row's own steps, one for its source.

A batched matrix product wastes most of a tile on one query, and scores and weights go through the device's memory. Here
a program has one head of one row. It reads the head's keys and values once, a few steps at a time, and keeps the
softmax as it goes (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3). The rows of
a sentence read the keys of the same source, which stay in the device's cache, so that no row has to be moved to those
of its sentence.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 16  # ours: steps that are read at a time
DIM_OF_WARP = 64  # ours: dimensions of a head for each warp of a program


@triton.jit
def _take(query, keys, values, scores_added, highest, total, attended):
    """Attend to some more steps: the new greatest score, sum of weights and sum of weighted values.

    Args: query (dim,) times its scaling; keys and values (steps, dim); scores_added (steps,); the three so far.
    """
    scores = tl.sum(keys.to(tl.float32) * query[None, :], 1) + scores_added
    higher = tl.maximum(highest, tl.max(scores, 0))
    weights = tl.exp(scores - higher)
    shrunk = tl.exp(highest - higher)
    attended = attended * shrunk + tl.sum(weights[:, None] * values.to(tl.float32), 0)
    return higher, total * shrunk + tl.sum(weights, 0), attended


@triton.jit(do_not_specialize=["step"])
def _own_steps(
    states, cache, output, step, half, stride, scaling, read: tl.constexpr, dim: tl.constexpr, tile: tl.constexpr,
    padded: tl.constexpr,
):  # fmt: skip
    """Write the keys and values of a step, and attend to it and to all before it."""
    line = tl.program_id(0).to(tl.int64)  # row * heads + head
    size = tl.num_programs(0).to(tl.int64) * dim
    place = tl.arange(0, padded)
    inside = place < dim
    begin = line * dim + place
    query = tl.load(states + begin, mask=inside, other=0.0).to(tl.float32) * scaling
    key = tl.load(states + size + begin, mask=inside, other=0.0)
    value = tl.load(states + 2 * size + begin, mask=inside, other=0.0)
    used = (tl.load(step) if read else step).to(tl.int64)
    cache += begin
    tl.store(cache + used * stride, key, mask=inside)
    tl.store(cache + half + used * stride, value, mask=inside)
    highest = tl.sum(query * key.to(tl.float32), 0)
    total = tl.full((), 1.0, tl.float32)
    attended = value.to(tl.float32)
    for first in range(0, used, tile):
        number = first + tl.arange(0, tile)
        mask = (number < used)[:, None] & inside[None, :]
        at = cache[None, :] + number[:, None] * stride
        keys = tl.load(at, mask=mask, other=0.0)
        values = tl.load(at + half, mask=mask, other=0.0)
        added = tl.where(number < used, 0.0, float("-inf"))
        highest, total, attended = _take(query, keys, values, added, highest, total, attended)
    tl.store(output + begin, attended / total, mask=inside)


@triton.jit(do_not_specialize=["steps"])
def _source(
    queries, source_keys, source_values, added, sentence, output, heads, steps, scaling, dim: tl.constexpr,
    tile: tl.constexpr, padded: tl.constexpr, is_masked: tl.constexpr,
):  # fmt: skip
    """Attend to the source of the row's sentence."""
    line = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, padded)
    inside = place < dim
    query = tl.load(queries + line * dim + place, mask=inside, other=0.0).to(tl.float32) * scaling
    first_step = (tl.load(sentence + line // heads) * heads + line % heads) * steps
    highest = tl.full((), float("-inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    attended = tl.zeros((padded,), tl.float32)
    for first in range(0, steps, tile):
        number = first + tl.arange(0, tile)
        mask = (number < steps)[:, None] & inside[None, :]
        at = (first_step + number)[:, None] * dim + place[None, :]
        keys = tl.load(source_keys + at, mask=mask, other=0.0)
        values = tl.load(source_values + at, mask=mask, other=0.0)
        if is_masked:
            score = tl.load(added + first_step + number, mask=number < steps, other=float("-inf")).to(tl.float32)
        else:
            score = tl.where(number < steps, 0.0, float("-inf"))
        highest, total, attended = _take(query, keys, values, score, highest, total, attended)
    tl.store(output + line * dim + place, attended / total, mask=inside)


def attend_own_steps(states: Tensor, cache: Tensor, step: int | Tensor, scaling: float) -> Tensor:
    """Attention of every row to its own steps, the present one included, whose keys and values are written to a cache.

    Args:
        states: (3, rows, heads, dim) queries, keys and values of the step, contiguous.
        cache: (2, steps, at least so many rows, heads, dim) keys and values, with dense rows.
        step: The number of the step, from 0; a tensor (1,) where a device is to read it.
        scaling: Factor of the scores.

    Returns:
        (rows, heads, dim).
    """
    _, rows, heads, dim = states.shape
    output = torch.empty_like(states[0])
    padded, warps = _size(dim)
    with torch.cuda.device_of(states):
        _own_steps[(rows * heads,)](
            states, cache, output, step, cache.stride(0), cache.stride(1), scaling, isinstance(step, Tensor), dim, TILE,
            padded, num_warps=warps,
        )  # fmt: skip
    return output


def attend_sources(
    query: Tensor, keys: Tensor, values: Tensor, scaling: float, sentence: Tensor, mask: Tensor | None
) -> Tensor:
    """Attention of every row to the source of its sentence.

    Args:
        query: (rows, heads, dim), contiguous.
        keys: (sentences * heads, source steps, dim), contiguous.
        values: As `keys`.
        scaling: Factor of the scores.
        sentence: (rows,) the number of each row's sentence.
        mask: Added to the scores, (sentences * heads, 1, source steps), contiguous; the first step of each has a number
            above -inf. None without padding.

    Returns:
        (rows, heads, dim).
    """
    rows, heads, dim = query.shape
    output = torch.empty_like(query)
    padded, warps = _size(dim)
    with torch.cuda.device_of(query):
        _source[(rows * heads,)](
            query, keys, values, keys if mask is None else mask, sentence, output, heads, keys.shape[1], scaling, dim,
            TILE, padded, mask is not None, num_warps=warps,
        )  # fmt: skip
    return output


def _size(dim: int) -> tuple[int, int]:
    """The next power of two, and the warps of a program."""
    padded = triton.next_power_of_2(dim)
    return padded, max(1, padded // DIM_OF_WARP)
