"""The batch sizes of a run, where its settings leave them open: chosen when it begins, recorded, and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from toolkit.system.processes import from_main
from toolkit.system.ranges import Settings
from toolkit.system.settings import SETTINGS
from toolkit.system.whole_files import read_record

if TYPE_CHECKING:
    from accelerate import PartialState

S = TypeVar("S", bound=Settings)


def settled(
    settings: S, folder: Path, models: Iterable[str], state: PartialState, room: Callable[[], int | None] | None = None
) -> S:
    """The settings of a run with its batch sizes: those that it has recorded, else by the device.

    All processes of a launch call this, and get what the main process finds. The run then goes on with these sizes on
    any device, because they may change the last bits of a number.

    Args:
        settings: The settings of the run, which are those that its record has, if there is one.
        folder: The folder of the run.
        models: Names of the models that it loads.
        state: The processes.
        room: Returns what `toolkit.models.batch_sizes.room` returns of the processes that compute; None if they are
            those of `state`.
    """
    from toolkit.models import batch_sizes  # here, because it loads torch

    if not (sizes := batch_sizes.open_sizes(settings)):
        return settings
    if state.is_main_process:
        record = read_record(folder / SETTINGS) if (folder / SETTINGS).exists() else {}
        settings = replace(settings, **{name: record.get(name) for name in sizes})
        if batch_sizes.open_sizes(settings):
            dtype = getattr(settings, "dtype", "auto")
            numbers = room() if room else batch_sizes.room(state.device, dtype)
            settings = batch_sizes.with_batches(settings, numbers, models)
    return replace(settings, **from_main({name: getattr(settings, name) for name in sizes}, state))
