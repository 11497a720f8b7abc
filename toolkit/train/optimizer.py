"""The optimizers of a training, Muon for the matrices inside a transformer and AdamW for the rest; the learning rate.

Muon makes each update of a matrix orthogonal. Measured once on the starter (one core, Tatoeba German-English, the same
batches, 100 steps of warm-up): held-out likelihood after 150 steps 2.82 nats per token at a learning rate of 0.004,
against AdamW's 4.13 at 0.002, for 1.15 times its time per step. No other rates were tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from toolkit.models.precision import has_bfloat16
from toolkit.translator.settings import OPTIMIZERS, TrainingSettings

WARMUP_PART = 6  # ours: the defaults' own part, 1,000 of 6,000 steps


def optimizers(model: nn.Module, learning_rate: float, kind: str) -> list[torch.optim.Optimizer]:
    """The optimizers of all trainable parameters of `model`.

    Args:
        model: Its embeddings, biases and norms go to AdamW, its other matrices to Muon where `kind` says so.
        learning_rate: One for both; Muon's updates are scaled to the size of AdamW's (Liu et al. 2025).
        kind: "muon" or "adamw".

    Raises:
        ValueError: Another kind.
    """
    if kind not in OPTIMIZERS:
        raise ValueError(f"wanted optimizer {' or '.join(OPTIMIZERS)}, got {kind!r}")
    trainable = {id(p): p for p in model.parameters() if p.requires_grad}
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    inner = [p for i, p in trainable.items() if kind == "muon" and p.ndim == 2 and i not in embeddings]
    inner_ids = {id(p) for p in inner}
    rest = [p for i, p in trainable.items() if i not in inner_ids]
    adamw = torch.optim.AdamW(rest, learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    if not inner:
        return [adamw]
    muon = torch.optim.Muon if has_bfloat16(inner[0].device) else _Float32Muon
    return [muon(inner, learning_rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"), adamw]


class _Float32Muon(torch.optim.Muon):
    """torch's Muon with products of float32, and updates as large as AdamW's.

    torch's own are of bfloat16 everywhere. A processor without it takes some hundred times as long for them, so that
    a step of the starter takes 16 seconds, of which the model is one.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step.

        Args:
            closure: Computes the loss anew, as of every optimizer.
        """
        with torch.enable_grad():
            loss = closure() if closure else None
        for group in self.param_groups:
            for weight in (parameter for parameter in group["params"] if parameter.grad is not None):
                momentum = self.state[weight].setdefault("momentum_buffer", torch.zeros_like(weight))
                momentum.lerp_(weight.grad, 1 - group["momentum"])
                direction = weight.grad.lerp(momentum, group["momentum"])
                update = _orthogonal(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(update, alpha=-0.2 * math.sqrt(max(weight.shape)) * group["lr"])
        return loss


def _orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """The orthogonal matrix nearest to a matrix, roughly: its singular values are near 1 (Newton-Schulz, Jordan 2024).

    Args:
        matrix: (rows, columns).
        coefficients: Of the polynomial of a step.
        steps: Number of steps.
        eps: Least norm to divide by.
    """
    a, b, c = coefficients
    wide = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    wide = wide / wide.norm().clamp(min=eps)
    for _ in range(steps):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.T if matrix.shape[0] > matrix.shape[1] else wide


def _learning_rate(step: int, settings: TrainingSettings) -> float:
    """The learning rate of a step: linear warm-up, constant, linear to zero over the last `cooldown_steps`.

    A short training has a shorter warm-up, a sixth of its steps at most, and cools down over no more than the rest.

    >>> s = TrainingSettings([], "", "de", "en", learning_rate=1.0, warmup_steps=10, cooldown_steps=10, max_steps=100)
    >>> [_learning_rate(step, s) for step in (4, 50, 95)]
    [0.5, 1.0, 0.5]
    """
    warmup = min(settings.warmup_steps, settings.max_steps // WARMUP_PART)
    cooldown = min(settings.cooldown_steps, settings.max_steps - warmup)
    warm = (step + 1) / max(1, warmup)
    cool = (settings.max_steps - step) / max(1, cooldown)
    return settings.learning_rate * min(1.0, warm, cool)
