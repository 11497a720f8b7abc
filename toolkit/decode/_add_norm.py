"""The residual connection of a block and its norm by one kernel of Triton, which reads and writes every number once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

WIDTH_OF_WARP = 256  # ours: numbers of a row for each warp of a program


@triton.jit
def _add_norm(
    states, x, weight, bias, output, epsilon, width: tl.constexpr, padded: tl.constexpr, keep: tl.constexpr,
    has_bias: tl.constexpr,
):  # fmt: skip
    """The norm of the sum of a row of `states` and of `x`."""
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, padded)
    inside = place < width
    total = tl.load(states + row * width + place, mask=inside, other=0.0).to(tl.float32)
    total += tl.load(x + row * width + place, mask=inside, other=0.0).to(tl.float32)
    if keep:
        tl.store(states + row * width + place, total, mask=inside)
    centred = tl.where(inside, total - tl.sum(total, 0) / width, 0.0)
    normed = centred * tl.rsqrt(tl.sum(centred * centred, 0) / width + epsilon)
    normed *= tl.load(weight + place, mask=inside, other=0.0).to(tl.float32)
    if has_bias:
        normed += tl.load(bias + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(output + row * width + place, normed, mask=inside)


def add_norm(states: Tensor, x: Tensor, norm: nn.LayerNorm, keep: bool) -> Tensor:
    """The norm of the sum of what a block gives and of what it was given.

    Args:
        states: (rows, width) what the block gives, contiguous; overwritten by the sum if `keep`.
        x: (rows, width) what it was given, contiguous.
        norm: Of the last dimension, with weights.
        keep: Whether the caller needs the sum.

    Returns:
        (rows, width).
    """
    rows, width = states.shape
    output = torch.empty_like(states)
    padded = triton.next_power_of_2(width)
    weight, bias = norm.weight, norm.bias
    with torch.cuda.device_of(states):
        _add_norm[(rows,)](
            states, x, weight, weight if bias is None else bias, output, norm.eps, width, padded, keep,
            bias is not None, num_warps=max(1, min(8, padded // WIDTH_OF_WARP)),
        )  # fmt: skip
    return output
