"""Checkpoints of trainings and models: the newest one, fingerprints of models, errors of loading and of writing."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from huggingface_hub import hf_hub_download
from safetensors import SafetensorError

from toolkit.starters import SAVED, resolve
from toolkit.system.contents import hash_file
from toolkit.system.errors import named_line
from toolkit.system.whole_files import read_record

if TYPE_CHECKING:
    import torch

# suffixes of the files that a model and its tokenizer are loaded from; not a trainer's optimizer.pt, not a card
READ = (".safetensors", ".bin", ".npz", ".json", ".spm", ".model", ".txt", ".tiktoken", ".gguf", ".bin.gz", ".spm.gz")
# errors of loading a damaged file with torch
DAMAGED = (OSError, EOFError, KeyError, ValueError, RuntimeError, pickle.UnpicklingError, zipfile.BadZipFile)
ADAPTER = "adapter_config.json"  # the file of PEFT that marks the folder of an adapter
NEITHER = "which is neither a starter/NAME,"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FULL_WORDS = ("inline_container", "I/O error")  # in the errors of torch and safetensors where a disk is full


@contextlib.contextmanager
def reading_model(name: str, expected: str, actual: str) -> Iterator[None]:
    """Turn any error of a library that reads the files of a model into one line.

    What libraries raise for a truncated, wrong or missing file is any class, also `Exception` itself and
    `AssertionError`, so all but a lack of memory is caught. Only calls of libraries belong inside of this context.

    Args:
        name: Name of the model, as the user gave it.
        expected: What it should be, for the error: "a translator".
        actual: What it is instead: "which is neither a starter/NAME, a folder with a whole model, nor a Hub id ...".

    Raises:
        ValueError: The files cannot be read, or are of another kind of model.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"wanted {expected}, got {name!r}{actual and ', '}{actual} ({named_line(error)})") from error


def whole_checkpoints(folder: Path) -> list[str]:
    """The complete checkpoints of transformers' Trainer, which writes its state last; the newest is last."""
    whole = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json")]
    return list(map(str, sorted(whole, key=lambda path: int(path.name.rpartition("-")[2]))))


def last_checkpoint(folder: Path) -> str | None:
    """The newest complete checkpoint of transformers' Trainer; None without any."""
    return next(reversed(whole_checkpoints(folder)), None)


def read_state(path: Path, device: torch.device | str = "cpu") -> dict:
    """Load a checkpoint of a training, which `torch.save` wrote.

    Raises:
        ValueError: It is damaged.
    """
    import torch  # here and not above: most importers of this module do not need it

    try:
        state = torch.load(path, map_location=device, weights_only=True)
        if not isinstance(state, dict):
            raise ValueError(f"it holds a {type(state).__name__}")
        return state
    except DAMAGED as error:
        raise ValueError(
            f"wanted a checkpoint, got {path}, which is damaged ({type(error).__name__}): delete it, and the training "
            "begins again"
        ) from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file or folder that could not be written when the disk is full.

    Args:
        path: The file or folder that is written inside of this context.

    Raises:
        OSError: The disk is full. All other errors stay as they are.
    """
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        full = error.errno in FULL if isinstance(error, OSError) else any(word in str(error) for word in FULL_WORDS)
        if not full:
            raise
        raise OSError(
            f"wanted to write {path}, got a full disk ({named_line(error)}): make room; what was finished before is "
            "kept, and the same command goes on from it"
        ) from error


def fingerprint(name: str) -> str:
    """A hash by which a model is known: the same as long as no file that it is loaded from has changed.

    Args:
        name: A local path, "starter/de-en", or a Hub id.

    Returns:
        "sha256:..." over the names and bytes of a folder's files, or of a file, or "commit:..." of the snapshot of a
        Hub id.

    Raises:
        ValueError: There is no such folder or starter, and no Hub id of this name in the cache or in reach.
    """
    folder = Path(resolve(name))
    if name and folder.is_file():
        return f"sha256:{hash_file(folder)}"
    if not name or not folder.is_dir():
        return f"commit:{_commit(name)}"
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.name.endswith(READ) and path.is_file()):
        inside = path.relative_to(folder)
        if not any(part.startswith((".", "checkpoint-")) for part in inside.parts):
            digest.update(f"{inside.as_posix()} {hash_file(path)}\n".encode())
    if (folder / ADAPTER).is_file():
        digest.update(_fingerprint_of_base(folder / ADAPTER).encode())
    return f"sha256:{digest.hexdigest()}"


def _fingerprint_of_base(adapter: Path) -> str:
    """The fingerprint of the model that an adapter changes; its name where it is not here."""
    base = str(read_record(adapter).get("base_model_name_or_path"))
    try:
        return fingerprint(base)
    except ValueError:
        return base


def _commit(name: str) -> str:
    """The current commit of a Hub id: from the Hub, or without a network from the cache."""
    errors = []
    for file in SAVED:
        try:
            return Path(hf_hub_download(name, file)).parent.name
        except Exception as error:  # of huggingface_hub and of the network, which have no class in common
            errors.append(error)
    raise ValueError(
        f"wanted a model, got {name!r}, which is neither a starter/NAME, a folder, nor a Hub id that can be reached "
        f"({named_line(errors[0])})"
    ) from errors[0]
