"""Checks that a loaded model has all the tensors of its checkpoint, and that they are finite."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import torch
from transformers import PreTrainedModel

from toolkit.models.checkpoint import reading_model

Model = TypeVar("Model", bound=torch.nn.Module)
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)


def check_whole(model: PreTrainedModel, info: dict, name: str) -> None:
    """Check that every tensor of a model came from its checkpoint and is finite.

    `transformers` fills missing tensors with random numbers. Tied weights are not missing where one of them is stored.
    Tables of sines, which Pegasus' checkpoints do not store, are computed.

    Args:
        model: The loaded model.
        info: The second result of `from_pretrained(..., output_loading_info=True, ignore_mismatched_sizes=True)`.
        name: Name of the checkpoint, for the error.

    Raises:
        ValueError: A tensor is missing, has another shape, or holds NaN or infinity; the first is named.
    """
    missing = sorted(key for key in info["missing_keys"] if not _is_computed(model, key))
    mismatched = sorted(info["mismatched_keys"])
    if mismatched:
        tensor, actual_shape, expected_shape = mismatched[0]
        raise ValueError(
            f"wanted {tensor} of shape {tuple(expected_shape)}, as {name!r}'s config.json says, got "
            f"{tuple(actual_shape)}; save the model with its own config.json"
        )
    _check_tensors(missing, model.state_dict(), name)


def load_whole(
    load: Callable[[], Model],
    name: str,
    expected: str,
    alternatives: str,
    pretrained_of: Callable[[Model], PreTrainedModel] | None = None,
) -> Model:
    """Load a model with a library that calls `transformers`, and check that it is whole.

    BERT's pooler may be missing: encoders are saved without one, and a classifier trains a new one.

    Args:
        load: Loads the model; it may raise any error.
        name: Name of the checkpoint, for the error.
        expected: What the checkpoint should be, for the error: "a sentence encoder".
        alternatives: What `name` is not, for the error: "no folder or Hub id of one".
        pretrained_of: Gives the part of the model of which only the base model must be whole, because its output layer
            may be new; without it all of the model must be whole.

    Returns:
        The model, its tensors complete and finite.

    Raises:
        ValueError: It cannot be loaded, or a tensor is missing, or holds NaN or infinity.
    """
    with reading_model(name, expected, f"which is {alternatives}"), loading() as missing:
        model = load()
    if pretrained_of is None:
        _check_tensors(_without_poolers(missing), model.state_dict(), name)
    else:
        pretrained = pretrained_of(model)
        required = [tensor for tensor in missing if tensor.startswith(f"{pretrained.base_model_prefix}.")]
        _check_tensors(_without_poolers(required), pretrained.base_model.state_dict(), name)
    return model


def _check_tensors(missing: Sequence[str], tensors: Mapping[str, torch.Tensor], name: str) -> None:
    """Refuse a checkpoint of which a tensor is missing or not finite.

    Args:
        missing: Names of the tensors that the checkpoint lacks.
        tensors: The tensors that it has, by name.
        name: Name of the checkpoint, for the error.

    Raises:
        ValueError: A tensor is missing, or holds NaN or infinity; the first is named.
    """
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ValueError(
            f"wanted a model with all its tensors, got {name!r} without {missing[0]}{more}; save the whole model again"
        )
    for tensor, values in tensors.items():
        if values.is_floating_point() and values.numel() and not _finite(values):
            raise ValueError(
                f"wanted finite weights, got NaN or infinity in {tensor} of {name!r}; train or save it anew"
            )


def check_token_ids(model: PreTrainedModel, max_source_id: int, max_output_id: int, name: str) -> None:
    """Refuse an encoder-decoder model whose tokenizer or configuration names tokens that it has no embedding for.

    Args:
        model: The loaded model.
        max_source_id: The greatest id of the tokens that its tokenizer has for a source.
        max_output_id: The greatest id of those that it has for an output.
        name: Name of the checkpoint, for the error.

    Raises:
        ValueError: An id is missing or not below the size of the vocabulary; it is named.
    """
    config, generation = model.config, model.generation_config
    sources, outputs = config.vocab_size, getattr(config, "decoder_vocab_size", None) or config.vocab_size
    for side, greatest, size in (("source", max_source_id, sources), ("target", max_output_id, outputs)):
        if greatest >= size:
            raise ValueError(
                f"wanted an embedding for every token of {name!r}'s tokenizer, got {size} and the {side} token "
                f"{greatest}: call model.resize_token_embeddings and save the model with its tokenizer"
            )
    start = generation.decoder_start_token_id
    token_ids = {
        "decoder_start_token_id": config.decoder_start_token_id if start is None else start,
        "eos_token_id": generation.eos_token_id,
        "pad_token_id": config.pad_token_id,
    }
    for key, ids in token_ids.items():
        if any(i is None or not 0 <= i < outputs for i in (ids if isinstance(ids, list) else [ids])):
            raise ValueError(
                f"wanted {key} below {outputs}, the size of {name!r}'s vocabulary, got {ids}: give it in its "
                "config.json and generation_config.json"
            )


def _is_computed(model: PreTrainedModel, tensor: str) -> bool:
    """Whether a tensor is a table of sines, which no checkpoint has to store."""
    return "Sinusoidal" in type(model.get_submodule(tensor.rpartition(".")[0])).__name__


def _finite(values: torch.Tensor) -> bool:
    """Whether a tensor holds neither NaN nor infinity; without a mask of the tensor's size."""
    if values.dtype in FLOAT8:  # torch.aminmax has no kernel for it
        values = values.bfloat16()
    low, high = torch.aminmax(values)
    return bool(low.isfinite() & high.isfinite())


@contextlib.contextmanager
def loading() -> Iterator[list[str]]:
    """Suppress the report of tensors that `transformers` logs, and read from it which tensors are missing.

    Where another library calls `transformers`, the report is the only source; missing tensors are filled with random
    numbers.

    Yields:
        Names of missing tensors, complete at the end of the block; tensors that the model does not need are among them.
    """
    missing: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        text = re.sub(r"\x1b\[[0-9;]*m", "", record.getMessage())
        if "LOAD REPORT" not in text:
            return True
        missing.extend(re.findall(r"^(\S.*?) +\| MISSING", text, re.M))
        return False

    # The report is a warning, so the library has to log warnings. A level of its own would make this logger verbose.
    logger, library = logging.getLogger("transformers.modeling_utils"), logging.getLogger("transformers")
    level = library.level
    logger.addFilter(keep)
    library.setLevel(min(level, logging.WARNING))
    try:
        yield missing
    finally:
        library.setLevel(level)
        logger.removeFilter(keep)


def _without_poolers(missing: Sequence[str]) -> list[str]:
    """The names of missing tensors, sorted, without those of BERT's pooler.

    >>> _without_poolers(["pooler.dense.bias", "bert.pooler.dense.weight", "layer.2.weight"])
    ['layer.2.weight']
    """
    return sorted(tensor for tensor in missing if "pooler" not in tensor.split("."))
