"""What this processor can do in reduced precision."""

import torch


def has_bfloat16() -> bool:
    """Whether bfloat16 matrix products run in hardware here: AVX512-BF16 or AMX on x86, or a GPU that has them."""
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
