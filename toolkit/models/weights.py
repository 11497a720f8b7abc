"""Whether a model's weights are those of its checkpoint, all of them, and numbers."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence

import torch
from transformers import PreTrainedModel


def check_whole(model: PreTrainedModel, info: dict, name: str) -> None:
    """See that every tensor of a model came from its checkpoint, and that it holds numbers.

    `transformers` fills what is missing at random. Tied weights are not missing where one of them is stored, and tables
    of sines, which Pegasus' checkpoints are without, are computed.

    Args:
        model: As loaded.
        info: What `from_pretrained(..., output_loading_info=True, ignore_mismatched_sizes=True)` says of it.
        name: Of the checkpoint.

    Raises:
        ValueError: A tensor is missing, has another shape, or holds NaN or infinity; the first is named.
    """
    missing = sorted(key for key in info["missing_keys"] if not _computed(model, key))
    mismatched = sorted(info["mismatched_keys"])
    if mismatched:
        tensor, got, wanted = mismatched[0]
        raise ValueError(
            f"wanted {tensor} of shape {tuple(wanted)}, as {name!r}'s config.json says, got {tuple(got)}; save the "
            "model with its own config.json"
        )
    check_tensors(missing, model.state_dict(), name)


def check_tensors(missing: Sequence[str], found: Mapping[str, torch.Tensor], name: str) -> None:
    """Refuse a checkpoint of which tensors are missing or hold no numbers.

    Args:
        missing: Names of those that it should have and has not.
        found: Those that it has, by name.
        name: Of the checkpoint.

    Raises:
        ValueError: There is one of either; the first is named.
    """
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ValueError(
            f"wanted a model with all its tensors, got {name!r} without {missing[0]}{more}; save the whole model again"
        )
    for tensor, values in found.items():
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
def loading() -> Iterator[list[str]]:
    """Load without the report of tensors that `transformers` logs, and learn from it which are missing.

    Where another library calls `transformers`, nothing else is known; what is missing is filled at random.

    Yields:
        Names of missing tensors, complete once all is loaded; what is neither needed nor stored is among them.
    """
    found: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        text = re.sub(r"\x1b\[[0-9;]*m", "", record.getMessage())
        if "LOAD REPORT" not in text:
            return True
        found.extend(re.findall(r"^(\S.*?) +\| MISSING", text, re.M))
        return False

    # The report is a warning, so the library has to log those. With a level of its own, this logger would say more.
    logger, library = logging.getLogger("transformers.modeling_utils"), logging.getLogger("transformers")
    level = library.level
    logger.addFilter(keep)
    library.setLevel(min(level, logging.WARNING))
    try:
        yield found
    finally:
        library.setLevel(level)
        logger.removeFilter(keep)


def without_poolers(missing: Sequence[str]) -> list[str]:
    """Missing tensors but those of BERT's pooler: encoders are saved without one, and a classifier trains a new one.

    >>> without_poolers(["pooler.dense.bias", "bert.pooler.dense.weight", "layer.2.weight"])
    ['layer.2.weight']
    """
    return sorted(tensor for tensor in missing if "pooler" not in tensor.split("."))
