"""Checkpoints of the libraries' trainers and models: whether they are whole, which bytes they are, how one fails."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import torch
from huggingface_hub import hf_hub_download
from safetensors import SafetensorError
from transformers import PreTrainedModel

from toolkit.models.starter import SAVED, resolve

# what loading a folder or a Hub id raises that is no checkpoint, or none of the wanted kind
NOT_A_CHECKPOINT = (OSError, TypeError, KeyError, ValueError, RuntimeError, ImportError, SafetensorError)
# what a checkpoint's model and tokenizer are read from; not a trainer's optimizer.pt, not a card
READ = (".safetensors", ".bin", ".json", ".spm", ".model", ".txt", ".tiktoken")


def said(error: Exception) -> str:
    r"""An error in one line.

    >>> said(TypeError("it has no\n  modules.json"))
    'TypeError: it has no modules.json'
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def last_checkpoint(folder: Path) -> str | None:
    """The newest checkpoint of transformers' Trainer that is whole; it writes its state last."""
    whole = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json")]
    return str(max(whole, key=lambda path: int(path.name.rpartition("-")[2]))) if whole else None


def check_whole(model: PreTrainedModel, loading: dict, name: str) -> None:
    """See that every tensor of a model came from its checkpoint, and that it holds numbers.

    `transformers` fills what is missing at random. Tied weights and tables of positions, which are not stored, are not
    missing.

    Args:
        model: As loaded.
        loading: What `from_pretrained(..., output_loading_info=True, ignore_mismatched_sizes=True)` says of it.
        name: Of the checkpoint.

    Raises:
        ValueError: A tensor is missing, has another shape, or holds NaN or infinity; the first is named.
    """
    missing, mismatched = sorted(loading["missing_keys"]), sorted(loading["mismatched_keys"])
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


def fingerprint(name: str) -> str:
    """What a model's bytes are known by: the same as long as no file that it is read from has changed.

    Args:
        name: A local path, "starter/de-en", or a Hub id.

    Returns:
        "sha256:..." over the names and bytes of a folder's files, or "commit:..." of a Hub id's snapshot.

    Raises:
        ValueError: There is no such folder or starter, and no Hub id of this name in the cache or in reach.
    """
    folder = Path(resolve(name))
    if not name or not folder.is_dir():
        return f"commit:{_commit(name)}"
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in READ and path.is_file()):
        inside = path.relative_to(folder)
        if not any(part.startswith((".", "checkpoint-")) for part in inside.parts):
            with path.open("rb") as file:
                digest.update(f"{inside.as_posix()} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _commit(name: str) -> str:
    """The commit that a Hub id stands for now: from the Hub, or without a network from the cache."""
    errors = []
    for file in SAVED:
        try:
            return Path(hf_hub_download(name, file)).parent.name
        except NOT_A_CHECKPOINT as error:
            errors.append(error)
    raise ValueError(
        f"wanted a model, got {name!r}, which is neither a starter/NAME, a folder, nor a Hub id that can be reached "
        f"({said(errors[0])})"
    ) from errors[0]
