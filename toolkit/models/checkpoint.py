"""Checkpoints of trainings and models: which one to go on from, and how one fails to load or to be written."""

from __future__ import annotations

import contextlib
import errno
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError

if TYPE_CHECKING:
    import torch

# what loading a folder or a Hub id raises that is no checkpoint, or none of the wanted kind
NOT_A_CHECKPOINT = (OSError, TypeError, KeyError, ValueError, RuntimeError, ImportError, SafetensorError)
# what loading a file of torch raises that is damaged or none
DAMAGED = (OSError, EOFError, KeyError, ValueError, RuntimeError, pickle.UnpicklingError, zipfile.BadZipFile)
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FULL_WORDS = ("inline_container", "I/O error")  # in what torch and safetensors raise where a file is cut short


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


def read_state(path: Path, device: torch.device | str = "cpu") -> dict:
    """A checkpoint of a training, which `torch.save` wrote.

    Raises:
        ValueError: It is damaged.
    """
    import torch  # here and not above: publishing reads only names from this module

    try:
        found = torch.load(path, map_location=device, weights_only=True)
        if not isinstance(found, dict):
            raise ValueError(f"it holds a {type(found).__name__}")
        return found
    except DAMAGED as error:
        raise ValueError(
            f"wanted a checkpoint, got {path}, which is damaged ({type(error).__name__}): delete it, and the training "
            "begins again"
        ) from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say which file or folder a library could not write, and that nothing else is lost.

    Args:
        path: What is written inside of this context.

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
            f"wanted to write {path}, got a full disk ({said(error)}): make room; what was finished before is "
            "kept, and the same command goes on from it"
        ) from error
