"""How large a batch is where a setting leaves it open: a fixed size on a CPU, by the free memory on a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch

from toolkit.models.config import read_config
from toolkit.models.precision import in_bfloat16
from toolkit.system.memory import free_gpu_bytes
from toolkit.system.ranges import Settings

S = TypeVar("S", bound=Settings)
SHARE = 0.5  # ours: of the free memory; the rest is for weights that are loaded later, for kernels, and for gaps
MOST = {"batch_rows": 16_384, "batch_tokens": 65_536}  # ours: from there on a fast GPU gains nothing by more
STEPS = 74  # of the longest output of a source for which a batch is not made smaller (`generate.merge.LONG`)
SLICE = 8192  # rows whose logits are there at a time (`decode.shared.SLICE`)
LOGIT = 6  # ours: numbers of 2 bytes for a logit: the product, its float32, and the log-probability or the search's
ACTIVATION = 24  # ours: numbers for each token and dimension of a layer that scores: 2 x 4 of the inner one, attention


@dataclass(frozen=True)
class _Shape:
    """What of a seq2seq model decides how much memory a row of a batch takes.

    Attributes:
        layers: Of the decoder.
        width: Dimensions of the keys of a layer.
        vocabulary: Number of pieces.
    """

    layers: int
    width: int
    vocabulary: int


LARGE = _Shape(12, 1024, 65_536)  # ours: taken where no configuration says it, larger than all of Firefox's


def room(device: torch.device | str, dtype: str = "auto", sharing: int | None = None) -> int | None:
    """How many numbers of a model's dtype may be in the batches of one process; None on a device that is no GPU.

    Args:
        device: Where the models compute.
        dtype: See `load_translator`.
        sharing: Processes that share the GPU; None is what the launcher's number of processes on this machine says.
    """
    if torch.device(device).type != "cuda":
        return None
    if sharing is None:
        sharing = -(-int(os.environ.get("LOCAL_WORLD_SIZE", "1")) // torch.cuda.device_count())
    return int(SHARE * free_gpu_bytes(device) / sharing) // (2 if in_bfloat16(dtype, device) else 4)


def with_batches(settings: S, numbers: int | None, models: Iterable[str]) -> S:
    """Settings whose batch sizes that are None are numbers.

    Args:
        settings: Its `CPU_BATCHES` has the sizes on a CPU.
        numbers: What `room` returns: for its own sizes on a CPU.
        models: Names of the models; those that are not seq2seq models, or whose configuration nobody knows, count
            where there is no other.
    """
    if not (sizes := open_sizes(settings)):
        return settings
    if numbers is None:
        return replace(settings, **{name: settings.CPU_BATCHES[name] for name in sizes})
    shapes = [shape for shape in map(_shape, models) if shape] or [LARGE]
    fitting = {
        "batch_rows": min(_fitting_rows(numbers, shape) for shape in shapes),
        "batch_tokens": min(_fitting_tokens(numbers, shape) for shape in shapes),
    }
    return replace(settings, **{name: max(1, min(MOST[name], fitting[name])) for name in sizes})


def batches_of(settings: S, *models: Any) -> S:
    """`with_batches` for loaded models, such as translators; the first one's device and dtype count."""
    if not open_sizes(settings):
        return settings
    model = models[0].model
    dtype = "float32" if model.dtype == torch.float32 else "bfloat16"
    return with_batches(settings, room(model.device, dtype), [model.name for model in models])


def open_sizes(settings: Settings) -> list[str]:
    """The batch sizes that settings leave open."""
    return [name for name in settings.CPU_BATCHES if getattr(settings, name) is None]


def _fitting_rows(numbers: int, shape: _Shape) -> int:
    """How many rows of a decoder fit: the keys and values of each, and the logits of those in a slice."""
    cache, logits = 2 * shape.layers * shape.width * STEPS, LOGIT * shape.vocabulary
    rows = numbers // (cache + logits)
    return rows if rows <= SLICE else (numbers - SLICE * logits) // cache


def _fitting_tokens(numbers: int, shape: _Shape) -> int:
    """How many tokens fit that are scored together: what a layer makes of each, and the logits of those in a slice."""
    activations, logits = ACTIVATION * shape.width, LOGIT * shape.vocabulary
    tokens = numbers // (activations + logits)
    return tokens if tokens <= SLICE else (numbers - SLICE * logits) // activations


def _shape(name: str) -> _Shape | None:
    """The shape of a seq2seq model; None of others, and where there is no configuration of transformers."""
    try:
        config: Any = read_config(name, "a model")
    except ValueError:
        return None
    if not config.is_encoder_decoder:
        return None
    layers = next(
        layers
        for key in ("decoder_layers", "num_decoder_layers", "num_hidden_layers")
        if (layers := getattr(config, key, None))
    )
    of_keys = getattr(config, "d_kv", None)  # T5: its heads may be wider or narrower than the model
    return _Shape(layers, config.num_heads * of_keys if of_keys else config.d_model, config.vocab_size)
