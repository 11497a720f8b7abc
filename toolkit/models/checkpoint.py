"""Checkpoints of the libraries' trainers and models: which one to go on from, and how one fails to load."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError

# what loading a folder or a Hub id raises that is no checkpoint, or none of the wanted kind
NOT_A_CHECKPOINT = (OSError, TypeError, KeyError, ValueError, RuntimeError, ImportError, SafetensorError)


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
