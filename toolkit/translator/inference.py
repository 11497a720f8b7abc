"""Make a model that only computes, and is never trained or saved, faster on a CPU."""

from __future__ import annotations

import torch
from torch import nn
from transformers import PreTrainedModel

from toolkit.translator.int8 import _quantize_decoder, _quantize_layers
from toolkit.translator.packed import pack_layers


def prepare_for_cpu(model: PreTrainedModel, int8: bool = False, scoring: bool = False) -> None:
    """Choose the attention, give the output layer its bias, and replace the linear layers, in place.

    Args:
        model: In eval mode, on the CPU.
        int8: Whether its decoder is to compute in 8 bits (`int8.py`).
        scoring: Whether it is to score known outputs, so that `int8` holds for its encoder, too.

    Raises:
        ValueError: The processor has no 8-bit products.
    """
    if model.dtype == torch.bfloat16:
        model.set_attn_implementation("eager")  # of short sentences: scoring takes a tenth less time than with sdpa
    _move_bias(model)
    if int8:
        _quantize_decoder(model)
        if scoring:
            _quantize_layers(model.get_encoder())
    pack_layers(model)


def _move_bias(model: PreTrainedModel) -> None:
    """Move the bias that Marian and BART add to the logits into the output layer, which adds it while it multiplies."""
    bias, head = getattr(model, "final_logits_bias", None), model.get_output_embeddings()
    if bias is not None and bool(bias.any()):
        head.bias = nn.Parameter(bias[0].clone(), requires_grad=False)
        bias.zero_()
