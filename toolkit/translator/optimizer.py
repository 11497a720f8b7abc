"""Muon for the matrices inside a transformer, AdamW for the rest.

Muon makes each update of a matrix orthogonal. Measured once on the starter (one core, Tatoeba German-English, the same
batches, 100 steps of warm-up): held-out likelihood after 150 steps 2.82 nats per token at a learning rate of 0.004,
against AdamW's 4.13 at 0.002, for 1.15 times its time per step. No other rates were tried.
"""

from __future__ import annotations

import torch
from torch import nn

from toolkit.translator.settings import OPTIMIZERS


def optimizers(model: nn.Module, learning_rate: float, kind: str) -> list[torch.optim.Optimizer]:
    """The optimisers of all trainable parameters of `model`.

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
    taken = {id(p) for p in inner}
    rest = [p for i, p in trainable.items() if i not in taken]
    adamw = torch.optim.AdamW(rest, learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    if not inner:
        return [adamw]
    return [torch.optim.Muon(inner, learning_rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"), adamw]
