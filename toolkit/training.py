"""The folder of a training: whose it is, what it began with, and one launch at a time in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.contents import contents_of, with_contents
from toolkit.lock import check_free, held
from toolkit.models.checkpoint import fingerprint
from toolkit.outputs import check_output_folder
from toolkit.settings import SETTINGS, check_record, compare_record

if TYPE_CHECKING:
    from accelerate import PartialState


def check_folder(
    folder: Path,
    settings: Any,
    files: Mapping[str, Sequence[str]],
    models: Mapping[str, str],
    free: Set[str],
    state: PartialState,
) -> dict:
    """Refuse, before anything is read or written, a folder that this training may not use.

    Args:
        folder: Where the model is to go.
        settings: The dataclass of the training.
        files: The files, folders and Hub names of text that it reads, by setting.
        models: The models that it reads, folders or Hub ids, by setting.
        free: Names of settings that may change when a training goes on.
        state: The processes, of which the main one looks.

    Returns:
        The record of the training, on the main process: its settings, and the content of what they name.

    Raises:
        OSError: The folder is or holds an input, or it holds files that the toolkit did not make.
        ValueError: It holds a training with other settings, files or models; or a model is none.
        RuntimeError: Another launch works in it.
    """
    if not state.is_main_process:
        return {}
    check_output_folder(folder, SETTINGS, [*(path for paths in files.values() for path in paths), *models.values()])
    contents = contents_of(files) | {name: fingerprint(model) for name, model in models.items()}
    record = with_contents(asdict(settings), contents)
    compare_record(folder / SETTINGS, record, free)
    check_free(folder)
    return record


@contextlib.contextmanager
def in_folder(folder: Path, record: dict, free: Set[str], state: PartialState) -> Iterator[None]:
    """Work alone in the folder of a training, its record written; enter once the inputs are known to be good.

    Args:
        folder: Where the model is to go; it is made if it is not there.
        record: What `check_folder` returned.
        free: As of `check_folder`.
        state: The processes, all of which enter.

    Raises:
        RuntimeError: Another launch works in it.
        ValueError: Another launch has begun a training with other settings there.
    """
    with held(folder, state):
        if state.is_main_process:
            check_record(folder / SETTINGS, record, free)
        state.wait_for_everyone()
        yield
