"""What is kept in the folder of an experiment was made with which settings; a run with others is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from toolkit.models.checkpoint import fingerprint
from toolkit.paraphraser.names import ENCODER, installed_critic, models_of
from toolkit.starters import shown_name
from toolkit.system.lock import alone
from toolkit.system.outputs import check_output_folder
from toolkit.system.whole_files import read_record, write_whole
from toolkit.version import VERSION

RECORD = "work.json"  # in the folder: the settings by what is kept there


def check_work(
    work: Path,
    part: str,
    settings: Mapping[str, Any],
    inputs: Mapping[str, Iterable[str | Path]] = MappingProxyType({}),
) -> None:
    """Record the settings of what is kept in a folder when it is first used, and refuse a run with others.

    Args:
        work: The folder, which is created; several experiments may share it.
        part: What is kept there: each has settings of its own.
        settings: All that changes it and is not in its file names; paths are told apart by where they lead.
        inputs: Models and files that change it, by setting; they are told apart by their names and their content.

    Raises:
        OSError: The folder holds files but no record, or cannot be written.
        ValueError: The part was made with other settings; the message names them.
    """
    check_output_folder(work, RECORD)
    identities = {name: [_identity(str(path)) for path in paths] for name, paths in inputs.items()}
    file, current = work / RECORD, json.loads(json.dumps({**settings, **identities}, default=_absolute))
    with alone(work, "choose another folder"):
        record = read_record(file) if file.exists() else {"toolkit": VERSION}
        earlier = record.setdefault(part, current)
        if earlier == current:
            write_whole(file, json.dumps(record, indent=1) + "\n")
            return
    changes = [
        f"{name} {earlier.get(name)!r}, now {current.get(name)!r}"
        for name in earlier | current
        if earlier.get(name) != current.get(name)
    ]
    raise ValueError(
        f"wanted an empty folder or one of the same settings, got {work}, which holds {part} of {'; '.join(changes)}: "
        "choose another folder"
    )


def _absolute(path: Path) -> str:
    """A path as it is recorded."""
    return str(path.resolve())


def _identity(name: str) -> str:
    """The name of a model or a file with the hash of its content."""
    return f"{shown_name(name)} {fingerprint(name)}"


def models_read(paraphraser: str) -> list[str]:
    """The models that a paraphraser reads by default: its own, and those that choose among its outputs."""
    critic = installed_critic()
    return [*models_of(paraphraser), ENCODER, *([critic] if critic else [])]
