"""What all trainings share: the processes, the checked folder, the lock, and the record of the finished model."""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState

from toolkit.run.workspace import OUTCOME, Outcome, check_folder, finish, in_folder, is_finished
from toolkit.system.processes import processes

CHECKPOINTS = "checkpoints"  # in a training's folder: those of the library's trainer


@dataclass(frozen=True)
class Session:
    """One launch of a training.

    Attributes:
        folder: Output folder of the training.
        model: Folder of the model: that one, or a folder in it.
        state: The processes of the launch.
        settings_record: Of the training, on the main process; see `toolkit.run.workspace.check_folder`.
        free: Names of settings that may change when the training resumes.
    """

    folder: Path
    model: Path
    state: PartialState
    settings_record: dict
    free: Set[str]

    def is_finished(self) -> bool:
        """Whether nothing is left to do."""
        return is_finished(self.model)

    def in_folder(self) -> AbstractContextManager[None]:
        """Hold the folder for this launch, once the inputs are read; see `toolkit.run.workspace.in_folder`."""
        return in_folder(self.folder, self.settings_record, self.free, self.state)

    def finish(self, record: dict[str, Any], outcome: Outcome | None, *temporary: str) -> None:
        """Record how the saved model was trained, and remove what is no longer needed; for the main process alone.

        Args:
            record: What is recorded beside the outcome.
            outcome: How good the model is; None where it was not measured.
            temporary: Names of files and folders in `folder`; they need not exist.
        """
        measures = {OUTCOME: asdict(outcome)} if outcome else {}
        finish(self.model, record | measures, [self.folder / name for name in temporary])


def begin(settings: Any, texts: Sequence[str], models: Sequence[str], free: Set[str], subfolder: str = "") -> Session:
    """Refuse a folder that a training may not use, before anything is read or written.

    Args:
        settings: The dataclass of the training, with `output_dir`, and with `threads` if it sets them.
        texts: The settings that name files, folders or Hub names of text: a list, one, or None.
        models: The settings that name a model, or None.
        free: Names of settings that may change when the training resumes.
        subfolder: Name of the model's folder in the output folder, where that holds other files, too.

    Raises:
        OSError: See `toolkit.run.workspace.check_folder`.
        ValueError: See there.
        RuntimeError: Another launch works in the folder, or the launcher's processes do not see each other.
    """
    state, folder = processes(), Path(settings.output_dir)
    paths = {name: value for name in texts if (value := getattr(settings, name))}
    files = {name: [value] if isinstance(value, str) else value for name, value in paths.items()}
    model_names = {name: value for name in models if (value := getattr(settings, name))}
    settings_record = check_folder(folder, settings, files, model_names, free, state)
    session = Session(folder, folder / subfolder, state, settings_record, free)
    if hasattr(settings, "threads") and not session.is_finished():
        torch.set_num_threads(settings.threads)
    return session
