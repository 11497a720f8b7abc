"""What this machine can compute on, and in reduced precision."""

import torch


def has_bfloat16() -> bool:
    """Whether bfloat16 matrix products run in hardware here: AVX512-BF16 or AMX on x86, or a GPU that has them."""
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def check_device(name: str) -> None:
    """Refuse a device that torch does not know, or that this machine has not.

    Args:
        name: As torch names it: "cpu", "cuda", "cuda:1".

    Raises:
        ValueError: It is no such name, or nothing can be computed there.
    """
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(f"wanted a device of this machine, got {name!r} ({reason[:120]}): give cpu or cuda") from None
