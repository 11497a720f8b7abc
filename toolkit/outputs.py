"""What a command may write to: never to an input, and never over files that this toolkit did not make.

Every command asks here before its work begins, so that an output that cannot be written costs nobody an hour.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

MANIFEST = "parabank.json"  # of a packaged parabank
LOCK = ".lock"  # of a folder that a launch works in (`toolkit.lock`)


def check_output_file(
    path: Path, inputs: Iterable[str | Path] = (), made: Callable[[Path], bool] | None = None
) -> None:
    """Refuse a file that cannot be written, that is an input, or that this toolkit did not make.

    Args:
        path: Where the file is to go; missing folders above it are made later.
        inputs: What the command reads: files, folders, Hub names.
        made: Says of an existing file whether the same command wrote it; None refuses every existing file.

    Raises:
        OSError: The path is a folder or an input, it exists and is not this toolkit's, or nothing can be written there.
    """
    for name in inputs:
        if os.path.exists(name) and path.exists() and os.path.samefile(name, path):
            raise FileExistsError(f"wanted an output that is no input, got {path} as both: choose another name")
    if path.is_dir():
        raise IsADirectoryError(f"wanted a file to write, got the folder {path}: add a file name")
    if os.path.lexists(path) and not (path.is_file() and made is not None and made(path)):
        raise FileExistsError(
            f"wanted a new file to write, got {path}, which is there and not known to be of this command: "
            "choose another name, or move it away"
        )
    check_writable(path)


def check_output_folder(folder: Path, record: str, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse a folder that cannot be written, that is or holds an input, or that holds files of somebody else's.

    Args:
        folder: Where the files are to go; new, empty, or one that the toolkit filled before.
        record: The JSON file by which the toolkit knows its own folder: it has the key "toolkit".
        inputs: What the command reads: files, folders, Hub names.

    Raises:
        OSError: One of these.
    """
    for name in inputs:
        if os.path.exists(name) and folder.resolve() in (Path(name).resolve(), *Path(name).resolve().parents):
            raise FileExistsError(f"wanted an output folder apart from the input {name}, got {folder}: choose another")
    if os.path.lexists(folder) and not folder.is_dir():
        raise NotADirectoryError(f"wanted a folder to write to, got the file {folder}: choose another name")
    if folder.is_dir() and any(path.name != LOCK for path in folder.iterdir()) and not is_ours(folder / record):
        found = f"a {record} that is damaged or not" if os.path.lexists(folder / record) else f"files but no {record}"
        raise FileExistsError(
            f"wanted a new folder, or one that this toolkit made, got {folder}, which holds {found} of this toolkit: "
            "choose another folder, or move it away"
        )
    check_writable(folder / record)


def is_ours(record: Path) -> bool:
    """Whether a file is a JSON record of this toolkit, with the key "toolkit"."""
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and "toolkit" in found


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be made: a file stands where a folder should be, or the folder is read-only.

    Raises:
        OSError: Either.
    """
    folder = path.absolute().parent
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(f"wanted a folder for {path}, got the file {folder}: choose another output")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"wanted a folder to write {path} to, got {folder}, which is read-only: choose another")
