"""The devices and the reduced precisions of this machine."""

import os
from collections.abc import Container

import torch

from toolkit.system.processes import stays_on_cpu, tell_idle_gpus

# oneDNN's names of instruction sets without fast float32 products, without 8-bit products (they overflow 16 bits
# there), and without bfloat16
WITHOUT_VECTORS = ("SSE41", "AVX")
WITHOUT_INT8 = (*WITHOUT_VECTORS, "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE")
WITHOUT_BFLOAT16 = (*WITHOUT_INT8, "AVX512_CORE_VNNI")
AMPERE = 8  # compute capability of the first NVIDIA GPUs with bfloat16


def capped_to(names: Container[str]) -> bool:
    """Whether the environment limits oneDNN, which computes the products, to one of these instruction sets.

    torch reports the instruction sets of the processor without that limit.
    """
    cap = os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA") or "ALL"
    return cap.upper() in names


def has_bfloat16(device: torch.device | str) -> bool:
    """Whether a device computes bfloat16 matrix products in hardware: AVX512-BF16 or AMX on x86, or a GPU that does.

    Args:
        device: Where the model computes. A machine's GPU says nothing about its processor, nor the other way round.
    """
    if torch.device(device).type == "cuda":
        return torch.version.hip is not None or torch.cuda.get_device_properties(device).major >= AMPERE
    has = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return bool(has) and not capped_to(WITHOUT_BFLOAT16)


def default_device() -> torch.device:
    """The device of a model where nobody names one: the process's GPU; without one, the processor.

    It is also the processor where Accelerate's variable ACCELERATE_USE_CPU asks for that. Where a process without a
    launcher leaves other GPUs idle, a line on stderr says so, once.
    """
    if stays_on_cpu() or not torch.cuda.is_available():
        return torch.device("cpu")
    tell_idle_gpus()
    return torch.device("cuda")


def check_device(device: torch.device | str | None) -> torch.device:
    """A device that can compute.

    Args:
        device: A device, or the name that torch gives it: "cpu", "cuda", "cuda:1". None is `default_device`.

    Raises:
        ValueError: torch does not know it, or this machine does not have it.
    """
    name = default_device() if device is None else device
    try:
        torch.zeros(1, device=name).item()
        return torch.device(name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(
            f"wanted a device of this machine, got {str(name)!r} ({reason[:120]}): give cpu or cuda"
        ) from None


def in_bfloat16(dtype: str, device: torch.device | str) -> bool:
    """Whether a setting `dtype` means bfloat16: it says so, or it leaves the choice to a device that has hardware.

    Args:
        dtype: The setting.
        device: Where the model computes.
    """
    return dtype == "bfloat16" or (dtype != "float32" and has_bfloat16(device))
