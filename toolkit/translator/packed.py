"""Linear layers whose weights are laid out once for oneDNN, the library of matrix products on x86 processors.

torch hands weights over as they are stored. In bfloat16 oneDNN then lays them out anew at every call. In float32 torch
calls another library, which is slow where a layer has many outputs, as the output layer has. A model that only computes
needs neither.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from toolkit.models.precision import WITHOUT_VECTORS, capped_to, has_bfloat16

CANNOT = "one whose layers were replaced by load_translator; load the checkpoint with transformers instead"
ROWS = 2048  # ours: rows for which the layout is chosen; with it products of few rows lose nothing


class _FrozenLinear(nn.Module):
    """A linear layer that only computes: it has no weight of the usual form.

    Raises:
        RuntimeError: It is to be saved, or moved to another device or dtype.
    """

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.weight = linear.weight.new_empty(0)  # T5 asks for the dtype of its layers' weights

    def _save_to_state_dict(self, *_: object) -> None:
        raise RuntimeError(f"wanted a model to save, got {CANNOT}")

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        moved = fn(self.weight)
        if (moved.dtype, moved.device) != (self.weight.dtype, self.weight.device):
            raise RuntimeError(f"wanted a model to move to {moved.device}, {moved.dtype}, got {CANNOT}")
        return self


class _PackedLinear(_FrozenLinear):
    """A linear layer with packed weights.

    Args:
        linear: The layer that it replaces.
    """

    def __init__(self, linear: nn.Linear):
        super().__init__(linear)
        self.packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), ROWS)
        self.bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (..., outputs) of inputs (..., inputs)."""
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")


def _can_pack(dtype: torch.dtype) -> bool:
    """Whether oneDNN computes products of this dtype here, and at least as fast as torch without it."""
    if platform.machine() not in ("x86_64", "AMD64") or not torch.backends.mkldnn.is_available():
        return False
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT" or capped_to(WITHOUT_VECTORS):
        return False
    return dtype == torch.float32 or (dtype == torch.bfloat16 and has_bfloat16("cpu"))


def pack_layers(part: nn.Module) -> None:
    """Replace all linear layers of a model on a CPU that `_can_pack` allows, in place."""
    for module in part.modules():
        for name, child in module.named_children():
            if type(child) is nn.Linear and _can_pack(child.weight.dtype):
                setattr(module, name, _PackedLinear(child))
