"""The folder of a published model: made beside its place, whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from toolkit.models.checkpoint import writing

MEASURED = "measured.json"  # of a published model; by its key "toolkit" the toolkit knows its own folder
TRAINING = "training.json"  # how a model was trained


def read_training(model: str, script: str) -> dict:
    """The record of a training beside a model.

    Args:
        model: Folder of the model.
        script: What makes such a folder, for the error.

    Raises:
        ValueError: There is none, or it is damaged.
    """
    record = Path(model, TRAINING)
    if not record.is_file():
        raise ValueError(f"wanted a folder that scripts/{script} made, got {model} without {TRAINING}: check the path")
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
        if not isinstance(found["settings"], dict):
            raise TypeError("settings are no mapping")
        return found
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"wanted the record of a training by scripts/{script}, got {record}, which is damaged "
            f"({type(error).__name__}): train again"
        ) from None


@contextlib.contextmanager
def made_beside(folder: Path) -> Iterator[Path]:
    """A temporary folder whose files go to a folder once they are all there; `MEASURED` goes first.

    Args:
        folder: Where they go; files of the same names are replaced, others stay.

    Raises:
        OSError: The disk is full; nothing in `folder` has changed.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(writing(folder))
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent)))
        yield work
        folder.mkdir(exist_ok=True)
        for file in sorted(work.iterdir(), key=lambda file: file.name != MEASURED):
            os.replace(file, folder / file.name)
