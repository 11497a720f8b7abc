"""Whether a model's weights are those of its checkpoint, all of them, and numbers."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

import torch
from transformers import PreTrainedModel


def check_whole(model: PreTrainedModel, loading: dict, name: str) -> None:
    """See that every tensor of a model came from its checkpoint, and that it holds numbers.

    `transformers` fills what is missing at random. Tied weights are not missing where one of them is stored, and tables
    of sines, which Pegasus' checkpoints are without, are computed.

    Args:
        model: As loaded.
        loading: What `from_pretrained(..., output_loading_info=True, ignore_mismatched_sizes=True)` says of it.
        name: Of the checkpoint.

    Raises:
        ValueError: A tensor is missing, has another shape, or holds NaN or infinity; the first is named.
    """
    missing = sorted(key for key in loading["missing_keys"] if not _computed(model, key))
    mismatched = sorted(loading["mismatched_keys"])
    if missing:
        raise ValueError(
            f"wanted all tensors of a {model.config.model_type} model, got {name!r} without {missing[0]} and "
            f"{len(missing) - 1} more; save the whole model again"
        )
    if mismatched:
        tensor, got, wanted = mismatched[0]
        raise ValueError(
            f"wanted {tensor} of shape {tuple(wanted)}, as {name!r}'s config.json says, got {tuple(got)}; save the "
            "model with its own config.json"
        )
    for tensor, values in model.state_dict().items():
        if values.is_floating_point() and values.numel() and not finite(values):
            raise ValueError(
                f"wanted finite weights, got NaN or infinity in {tensor} of {name!r}; train or save it anew"
            )


def _computed(model: PreTrainedModel, tensor: str) -> bool:
    return "Sinusoidal" in type(model.get_submodule(tensor.rpartition(".")[0])).__name__


def finite(values: torch.Tensor) -> bool:
    """Whether a tensor holds no NaN and no infinity; one pass, without a mask of its size."""
    low, high = torch.aminmax(values)
    return bool(low.isfinite() & high.isfinite())


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Load without the report of tensors that `transformers` logs: `check_whole` makes an error where it is one."""
    logger = logging.getLogger("transformers.modeling_utils")
    logger.addFilter(_no_report)
    try:
        yield
    finally:
        logger.removeFilter(_no_report)


def _no_report(record: logging.LogRecord) -> bool:
    return "LOAD REPORT" not in record.getMessage()
