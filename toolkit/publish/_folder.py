"""The folder of a published model, made beside its destination, and the record of the model's training."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolkit.models.checkpoint import writing
from toolkit.package.checksums import write_checksums
from toolkit.run.workspace import RECORD
from toolkit.system.outputs import MEASURED


def read_training(model: str, command: str, private: Sequence[str]) -> dict:
    """The record of the training of a model, without the settings that describe the machine it ran on.

    Args:
        model: Folder of the model.
        command: The command that makes such a folder, for the error.
        private: Names of the settings to leave out.

    Raises:
        ValueError: There is no record, or it is damaged.
    """
    record = Path(model, RECORD)
    if not record.is_file():
        raise ValueError(f"wanted a folder that {command} made, got {model} without {RECORD}: check the path")
    try:
        training = json.loads(record.read_text(encoding="utf-8"))
        if not isinstance(training["settings"], dict):
            raise TypeError("settings are no mapping")
        public_settings = {name: value for name, value in training["settings"].items() if name not in private}
        return training | {"settings": public_settings}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"wanted the record of a training by `{command}`, got {record}, which is damaged "
            f"({type(error).__name__}): train again"
        ) from None


@contextlib.contextmanager
def made_beside(folder: Path) -> Iterator[Path]:
    """A temporary folder, whose files move to a folder at the end of the block; `MEASURED` is the first to move.

    The checksums of the files are added to them. After an error in the block nothing in `folder` has changed, and the
    temporary folder is gone.

    Args:
        folder: Destination; files of the same names are replaced, others stay.

    Yields:
        The temporary folder, beside the destination.

    Raises:
        OSError: The disk is full.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(writing(folder))
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary_folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent))
        )
        yield temporary_folder
        write_checksums(temporary_folder)
        folder.mkdir(exist_ok=True)
        for file in sorted(temporary_folder.iterdir(), key=lambda file: file.name != MEASURED):
            os.replace(file, folder / file.name)
