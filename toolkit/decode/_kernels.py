"""Triton's kernels for a GPU, each tried against torch's numbers before it is used."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from toolkit.system.errors import first_line

CAPABILITY = 8, 0  # of a GPU that computes in bfloat16
TOLERANCE = 1e-3  # ours: greatest difference from torch, in nats or of numbers about 1
NARROW = (torch.bfloat16, torch.float16)
ROWS, HEADS, DIM, STEPS, SENTENCES = 40, 4, 64, 21, 3  # ours: of the trial

Kernel = TypeVar("Kernel")


class StepKernels(NamedTuple):
    """What a step of a decoder is computed with beside products of matrices.

    Attributes:
        own_steps: `attend_own_steps` of `_one_query.py`.
        sources: `attend_sources` of the same.
        add_norm: `add_norm` of `_add_norm.py`.
    """

    own_steps: Callable[[Tensor, Tensor, int | Tensor, float], Tensor]
    sources: Callable[[Tensor, Tensor, Tensor, float, Tensor, Tensor | None], Tensor]
    add_norm: Callable[[Tensor, Tensor, nn.LayerNorm, bool], Tensor]


def step_kernels(states: Tensor) -> StepKernels | None:
    """The kernels for such states; None where there are none: off a GPU, and in float64."""
    return _step_kernels(states.device) if states.is_cuda and states.dtype in (*NARROW, torch.float32) else None


@functools.cache
def _step_kernels(device: torch.device) -> StepKernels | None:
    return kernel_after_trial(_try_step, device, "torch computes the attention and the norms")


def _try_step(device: torch.device) -> tuple[StepKernels, float]:
    """The kernels, and their greatest difference from torch in float64, which no setting makes less exact."""
    from toolkit.decode._add_norm import add_norm
    from toolkit.decode._one_query import attend_own_steps, attend_sources

    def random(*size: int) -> Tensor:
        return torch.randn(size, device=device, generator=generator)

    generator, scaling = torch.Generator(device).manual_seed(0), DIM**-0.5
    states, cache = random(3, ROWS, HEADS, DIM), random(2, STEPS, ROWS, HEADS, DIM)
    own = attend_own_steps(states, cache, torch.tensor([STEPS - 1], device=device), scaling)
    query, (all_keys, all_values) = states[0].double(), cache.double()
    weights = (torch.einsum("rhd,trhd->trh", query, all_keys) * scaling).softmax(0)
    differences = [own - torch.einsum("trh,trhd->rhd", weights, all_values)]
    keys, values = random(2, SENTENCES, HEADS, STEPS, DIM)
    sentence = torch.arange(ROWS, device=device) % SENTENCES
    is_padding = torch.arange(STEPS, device=device) > STEPS // 2
    mask = torch.zeros(SENTENCES * HEADS, 1, STEPS, device=device).masked_fill_(is_padding, -torch.inf)
    source = attend_sources(states[0], keys.flatten(0, 1), values.flatten(0, 1), scaling, sentence, mask)
    scores = torch.einsum("rhd,rhtd->rht", query, keys[sentence].double()) * scaling
    weights = scores.masked_fill(is_padding, -torch.inf).softmax(-1)
    differences.append(source - torch.einsum("rht,rhtd->rhd", weights, values[sentence].double()))
    norm, (of_block, residual) = nn.LayerNorm(HEADS * DIM, device=device), states[:2].flatten(2)
    total = of_block.double() + residual.double()
    normed = add_norm(of_block, residual, norm, True)
    exact_norms = nn.functional.layer_norm(total, total.shape[-1:], norm.weight.double(), norm.bias.double(), norm.eps)
    differences += [(normed - exact_norms).view_as(own), (of_block - total).view_as(own)]
    kernels = StepKernels(attend_own_steps, attend_sources, add_norm)
    return kernels, torch.stack(differences).abs().max().item()


def kernel_after_trial(
    trial: Callable[[torch.device], tuple[Kernel, float]], device: torch.device, instead: str
) -> Kernel | None:
    """A kernel, where Triton has one for a GPU and its numbers are right; one line says so where they are not.

    Args:
        trial: Gives the kernel and its greatest difference from torch on a device.
        device: The GPU.
        instead: What happens without it.
    """
    if torch.version.cuda is None or torch.cuda.get_device_capability(device) < CAPABILITY:
        return None
    try:
        with torch.cuda.device(device):
            kernel, difference = trial(device)
        if not difference < TOLERANCE:
            raise ValueError(f"wanted torch's numbers, got a difference of {difference:.2g}")
    except ImportError:
        return None
    except Exception as error:  # a compiler or a driver that Triton cannot use raises what it likes
        print(f"Triton's kernel is not used, {instead}: {first_line(error)}", file=sys.stderr)
        return None
    return kernel
