"""The folder of a training: whose it is, which settings it began with, and one launch at a time in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Set
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.lock import check_free, held
from toolkit.outputs import check_output_folder
from toolkit.settings import check_record, compare_record

if TYPE_CHECKING:
    from accelerate import PartialState

SETTINGS = "settings.json"


def check_folder(
    folder: Path, settings: Any, inputs: Iterable[str | None], free: Set[str], state: PartialState
) -> None:
    """Refuse, before anything is read or written, a folder that this training may not use.

    Args:
        folder: Where the model is to go.
        settings: The dataclass of the training.
        inputs: Files, folders and Hub names that it reads.
        free: Names of settings that may change when a training goes on.
        state: The processes, of which the main one looks.

    Raises:
        OSError: The folder is or holds an input, or it holds files that the toolkit did not make.
        ValueError: It holds a training with other settings.
        RuntimeError: Another launch works in it.
    """
    if state.is_main_process:
        check_output_folder(folder, SETTINGS, [name for name in inputs if name])
        compare_record(folder / SETTINGS, asdict(settings), free)
        check_free(folder)


@contextlib.contextmanager
def in_folder(folder: Path, settings: Any, free: Set[str], state: PartialState) -> Iterator[None]:
    """Work alone in the folder of a training, its settings recorded; enter once the inputs are known to be good.

    Args:
        folder: Where the model is to go; it is made if it is not there.
        settings: As of `check_folder`.
        free: As of `check_folder`.
        state: The processes, all of which enter.

    Raises:
        RuntimeError: Another launch works in it.
        ValueError: Another launch has begun a training with other settings there.
    """
    with held(folder, state):
        if state.is_main_process:
            check_record(folder / SETTINGS, asdict(settings), free)
        state.wait_for_everyone()
        yield
