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
    return _step_kernels() if states.is_cuda and states.dtype in (*NARROW, torch.float32) else None


@functools.cache
def _step_kernels() -> StepKernels | None:
    return tried(_try_step, "torch computes the attention and the norms")


def _try_step() -> tuple[StepKernels, float]:
    from toolkit.decode._add_norm import add_norm
    from toolkit.decode._one_query import attend_own_steps, attend_sources

    def random(*size: int) -> Tensor:
        return torch.randn(size, device="cuda", generator=generator)

    generator, scaling = torch.Generator("cuda").manual_seed(0), DIM**-0.5
    states, cache = random(3, ROWS, HEADS, DIM), random(2, STEPS, ROWS, HEADS, DIM)
    own = attend_own_steps(states, cache, STEPS - 1, scaling)
    weights = (torch.einsum("rhd,trhd->trh", states[0], cache[0]) * scaling).softmax(0)
    differences = [own - torch.einsum("trh,trhd->rhd", weights, cache[1])]
    keys, values = random(2, SENTENCES, HEADS, STEPS, DIM)
    sentence = torch.arange(ROWS, device="cuda") % SENTENCES
    source = attend_sources(states[0], keys.flatten(0, 1), values.flatten(0, 1), scaling, sentence, None)
    weights = (torch.einsum("rhd,rhtd->rht", states[0], keys[sentence]) * scaling).softmax(-1)
    differences.append(source - torch.einsum("rht,rhtd->rhd", weights, values[sentence]))
    norm, (given, added) = nn.LayerNorm(HEADS * DIM, device="cuda"), states[:2].flatten(2)
    wanted = norm(given + added)
    differences.append((add_norm(given, added, norm, False) - wanted).view_as(own))
    kernels = StepKernels(attend_own_steps, attend_sources, add_norm)
    return kernels, torch.stack(differences).abs().max().item()


def tried(trial: Callable[[], tuple[Kernel, float]], instead: str) -> Kernel | None:
    """A kernel, where Triton has one for the GPU and its numbers are right; one line says so where they are not.

    Args:
        trial: Gives the kernel and its greatest difference from torch.
        instead: What happens without it.
    """
    if torch.version.cuda is None or torch.cuda.get_device_capability() < CAPABILITY:
        return None
    try:
        kernel, difference = trial()
        if not difference < TOLERANCE:
            raise ValueError(f"wanted torch's numbers, got a difference of {difference:.2g}")
    except ImportError:
        return None
    except Exception as error:  # a compiler or a driver that Triton cannot use raises what it likes
        print(f"Triton's kernel is not used, {instead}: {first_line(error)}", file=sys.stderr)
        return None
    return kernel
