"""8-bit matrix products for a decoder on processors with VNNI: twice the rate of bfloat16, four times that of float32.

Weights are rounded once, with a scale for each output; activations at every call, with one scale for the tensor. The
sums are exact 32-bit integers. The output layer gives float32 logits. Embeddings, norms and attention are not changed.
The encoder of a translator that samples is not changed either, because it reads a sentence once. A model that scores
spends half of its time in its encoder, which then has 8-bit layers, too.

Accuracy: every product has an error of about 1.3 % (relative norm), so scores are those of the rounded model, not of
the stored one. The scale of a tensor depends on all its rows, and so do the last digits of a sample's scores.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from toolkit.models.precision import WITHOUT_INT8, capped_to, has_bfloat16
from toolkit.translator.packed import _FrozenLinear

ZERO = 128  # activations are unsigned: torch's kernel for signed ones is a slow reference


class _Int8Linear(_FrozenLinear):
    """A linear layer with 8-bit weights and activations.

    Args:
        linear: The layer that it replaces.
        out: Dtype of its output.
    """

    def __init__(self, linear: nn.Linear, out: torch.dtype):
        super().__init__(linear)
        weight = linear.weight.detach().float()
        self.scales = (weight.abs().amax(1) / 127).clamp_min(1e-12)
        rounded = (weight / self.scales[:, None]).round().to(torch.int8)
        self.packed = torch.ops.onednn.qlinear_prepack(rounded, None)
        self.zeros = torch.zeros(len(weight), dtype=torch.long)
        self.bias = None if linear.bias is None else linear.bias.detach().float()
        self.out = out

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (..., outputs) of inputs (..., inputs)."""
        low, high = torch.aminmax(x)
        scale = max(-low.item(), high.item(), 1e-12) / 127
        flat = x.reshape(-1, x.shape[-1]).to(torch.float32, copy=True)
        # By way of 16 bits, for which torch has vector instructions: a fifth of the time.
        flat = flat.mul_(1 / scale).add_(ZERO + 0.5).to(torch.int16).to(torch.uint8)
        y = torch.ops.onednn.qlinear_pointwise(
            flat, scale, ZERO, self.packed, self.scales, self.zeros, self.bias, 1.0, 0, self.out, "none", [], ""
        )
        return y.view(*x.shape[:-1], -1)


def has_int8() -> bool:
    """Whether this processor has 8-bit products (AVX512-VNNI); on others the sums overflow."""
    has = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.cpu._is_vnni_supported()
    return bool(has) and not capped_to(WITHOUT_INT8)


def advice(dtype: str, device: torch.device) -> str | None:
    """One line that recommends another dtype for decoding on this processor; None where the dtype is suitable.

    Args:
        dtype: As given to `load_translator`.
        device: Device of the model.
    """
    if device.type != "cpu" or has_bfloat16(device):
        return None
    if dtype == "auto" and has_int8():
        return (
            "this processor has no bfloat16, so the translator decodes in float32; --dtype int8 makes large ones faster"
        )
    if dtype == "bfloat16":
        return "this processor has no bfloat16 and only imitates it; --dtype auto is faster here"
    return None


def _quantize_decoder(model: PreTrainedModel) -> None:
    """Replace the linear layers of the decoder and the output layer, in place.

    Raises:
        ValueError: The processor has no 8-bit products.
    """
    _quantize_layers(model.get_decoder())
    model.set_output_embeddings(_Int8Linear(model.get_output_embeddings(), torch.float32))


def _quantize_layers(part: nn.Module) -> None:
    """Replace all linear layers of a part of a model, in place.

    Raises:
        ValueError: The processor has no 8-bit products.
    """
    if not has_int8():
        raise ValueError("wanted a processor with AVX512-VNNI for int8, got none; use dtype auto")
    for module in part.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.Linear):
                setattr(module, name, _Int8Linear(child, child.weight.dtype))
