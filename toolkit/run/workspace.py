"""The folder of a training: what it may hold, one launch at a time in it, and the record that says it is finished.

A training calls `check_folder` before it reads anything; returns if `is_finished`; trains and saves the model inside of
`in_folder`; and calls `finish` on the main process. Its record has an `Outcome`, whose lines its command prints last.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.data.shards import all_made
from toolkit.models.checkpoint import fingerprint, writing
from toolkit.system.contents import contents_of, with_contents
from toolkit.system.errors import public_record
from toolkit.system.lock import check_free, held
from toolkit.system.outputs import CONTAMINATION, check_output_folder
from toolkit.system.processes import wait
from toolkit.system.settings import SETTINGS, check_record, compare_code, compare_record
from toolkit.system.whole_files import write_whole

if TYPE_CHECKING:
    from accelerate import PartialState

RECORD = "training.json"  # in a model's folder: how it was trained; written after the model
OUTCOME = "outcome"  # key of that record


@dataclass(frozen=True)
class Outcome:
    """How good a trained model is on text that it was not trained on, beside what it should be better than.

    Attributes:
        measure: What was measured, such as "held-out iBLEU".
        count: How many were held out.
        what: What they are: "texts", "pairs", "sentences".
        model: The figure of the model; None if none was held out.
        others: The figures of others, by name: of the base model, of a copy of the text.
        lower_is_better: Whether the model should be below them.
    """

    measure: str
    count: int
    what: str
    model: float | None
    others: dict[str, float]
    lower_is_better: bool = False

    def lines(self) -> list[str]:
        """What was measured in one line, and a warning if another is better.

        >>> for line in Outcome("held-out iBLEU", 50, "texts", 21.25, {"a copy": 25.0, "its base": 20.5}).lines():
        ...     print(line)
        held-out iBLEU, 50 texts: 21.25; a copy 25.00; its base 20.50
        warning: a copy is better than this model: train it on more or cleaner pairs, longer, or from another base model
        """
        if self.model is None:
            return [f"{self.measure}: no {self.what} were held out, so nothing says how good this model is"]
        figures = "".join(f"; {name} {figure:.2f}" for name, figure in self.others.items())
        better = [name for name, figure in self.others.items() if self._is_better(figure)]
        report_lines = [f"{self.measure}, {self.count:,} {self.what}: {self.model:.2f}{figures}"]
        if better:
            report_lines.append(
                f"warning: {' and '.join(better)} {'are' if len(better) > 1 else 'is'} better than this model: "
                "train it on more or cleaner pairs, longer, or from another base model"
            )
        return report_lines

    def _is_better(self, figure: float) -> bool:
        """Whether a figure is better than the model's."""
        assert self.model is not None
        return figure < self.model if self.lower_is_better else figure > self.model


def outcome_lines(model: Path) -> list[str]:
    """The lines of the outcome of a finished training; none of a training of an earlier version.

    Args:
        model: Folder of the model.
    """
    record = json.loads((model / RECORD).read_text(encoding="utf-8"))
    return Outcome(**record[OUTCOME]).lines() if record.get(OUTCOME) else []


def check_folder(
    folder: Path,
    settings: Any,
    files: Mapping[str, Sequence[str]],
    models: Mapping[str, str],
    free: Set[str],
    state: PartialState,
) -> dict:
    """Refuse a folder that this training may not use, before anything is read or written.

    Args:
        folder: Output folder of the training.
        settings: The dataclass of the training.
        files: The files, folders and Hub names of text that it reads, by setting.
        models: The models that it reads, folders or Hub ids, by setting.
        free: Names of settings that may change when a training resumes.
        state: The processes; only the main one checks.

    Returns:
        The record of the training, on the main process: its settings, and the content of the files that they name.

    Raises:
        OSError: The folder is or holds an input, or it holds files that the toolkit did not make.
        ValueError: It holds a training with other settings, files, models or code; or a name of `models` is no model.
        RuntimeError: Another launch works in it.
    """
    if not state.is_main_process:
        return {}
    check_output_folder(folder, SETTINGS, [*(path for paths in files.values() for path in paths), *models.values()])
    contents = contents_of(files) | {name: fingerprint(model) for name, model in models.items()}
    record = with_contents(asdict(settings), contents)
    compare_record(folder / SETTINGS, record, free, _nothing_left(folder))
    check_free(folder)
    return record


def is_finished(model: Path) -> bool:
    """Whether a training has finished the model in this folder, so that nothing is left to do."""
    return (model / RECORD).is_file()


def _nothing_left(folder: Path) -> bool:
    """Whether the model in a folder or below it is finished, or all shards of a run in it are made."""
    return is_finished(folder) or is_finished(folder / "model") or all_made(folder)


@contextlib.contextmanager
def in_folder(folder: Path, record: dict, free: Set[str], state: PartialState) -> Iterator[None]:
    """Hold the folder of a training for this launch, with the settings recorded; enter once the inputs are checked.

    At the end of the block all processes wait for each other.

    Args:
        folder: Output folder of the training; it is made if it does not exist.
        record: Return value of `check_folder`.
        free: See `check_folder`.
        state: The processes, all of which enter.

    Raises:
        RuntimeError: Another launch works in the folder.
        ValueError: Another launch has begun a training with other settings there.
        OSError: The disk is full; the message names the folder.
    """
    with held(folder, state):
        if state.is_main_process:
            check_record(folder / SETTINGS, record, free, _nothing_left(folder))
        wait(state)
        compare_code(folder / SETTINGS, _nothing_left(folder))
        with writing(folder):
            yield
        wait(state)


def write_record(model: Path, record: dict) -> None:
    """Write the record of a training to the folder of its model; which evaluation sets were searched, beside it, too.

    Raises:
        OSError: It cannot be written.
    """
    if record.get("contamination"):
        write_whole(model / CONTAMINATION, json.dumps(public_record(record["contamination"]), indent=1) + "\n")
    write_whole(model / RECORD, json.dumps(public_record(record), indent=1) + "\n")


def finish(model: Path, record: dict, checkpoints: Sequence[Path] = ()) -> None:
    """Record how a saved model was trained, and remove the checkpoints; for the main process alone.

    Args:
        model: Folder of the model; all its other files are there.
        record: The content of its `RECORD`.
        checkpoints: Files and folders that are no longer needed; they need not exist.

    Raises:
        OSError: The record cannot be written.
    """
    write_record(model, record)
    for path in checkpoints:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
