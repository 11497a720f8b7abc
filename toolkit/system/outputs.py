"""Checks of output paths: an output must not be an input, and must not replace files that this toolkit did not write.

Every command checks its outputs before its work begins, so that it does not fail after an hour because an output
cannot be written.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from toolkit.system.whole_files import TEMPORARY

CONTAMINATION = "contamination.json"  # of a run and of its data set: the evaluation sets that were searched
MANIFEST = "parabank.json"  # of a packaged parabank
# in a model's folder: its languages, and what was measured when it was published; its key "toolkit" marks our folders
MEASURED = "measured.json"
SCHEME = re.compile(r"[a-z][a-z0-9+]*:/")  # a path that was made of a URL has one slash less
LOCK = ".lock"  # of a folder that a launch works in (`toolkit.system.lock`)


def check_output_file(
    path: Path, inputs: Iterable[str | Path] = (), made: Callable[[Path], bool] | None = None
) -> None:
    """Refuse an output file that cannot be written, is an input, or exists and was not written by the same command.

    Args:
        path: The output file; missing folders above it are created later.
        inputs: The files, folders and Hub names that the command reads, and the other files that it writes.
        made: Tells whether an existing file was written by the same command; None refuses every existing file.

    Raises:
        OSError: The path is a folder or an input, exists and is not this toolkit's, or cannot be written.
        ValueError: It is a URL.
    """
    if SCHEME.match(str(path)):
        raise ValueError(f"wanted a file on the disk, got {path}: only builders write to URLs")
    for name in inputs:
        same_file = os.path.exists(name) and path.exists() and os.path.samefile(name, path)
        if same_file or Path(name).resolve() == path.resolve():
            raise FileExistsError(f"wanted an output that is no input, got {path} as both: choose another name")
    if path.is_dir():
        raise IsADirectoryError(f"wanted a file to write, got the folder {path}: add a file name")
    if path.is_file() and made is None:
        raise FileExistsError(
            f"wanted a new file to write, got {path}, which exists: choose another name; or, to write it anew, for "
            "instance because the input has grown, delete it first"
        )
    if os.path.lexists(path) and not (path.is_file() and made is not None and made(path)):
        raise FileExistsError(
            f"wanted a new file to write, got {path}, which exists and was not written by this command: "
            "choose another name, or move it away"
        )
    _check_writable(path)


def check_output_folder(folder: Path, record: str, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse an output folder that cannot be written, is or contains an input, or holds files of other origin.

    Args:
        folder: The output folder: new, empty, or written by the toolkit before.
        record: The JSON file that marks a folder of the toolkit: it has the key "toolkit".
        inputs: The files, folders and Hub names that the command reads.

    Raises:
        OSError: The folder is refused.
        ValueError: It is a URL.
    """
    if SCHEME.match(str(folder)):
        raise ValueError(f"wanted a folder on the disk, got {folder}: only builders write parabanks to URLs")
    for name in inputs:
        if os.path.exists(name) and folder.resolve() in (Path(name).resolve(), *Path(name).resolve().parents):
            raise FileExistsError(f"wanted an output folder apart from the input {name}, got {folder}: choose another")
    if os.path.lexists(folder) and not folder.is_dir():
        raise NotADirectoryError(f"wanted a folder to write to, got the file {folder}: choose another name")
    if folder.is_dir() and any(map(_is_content, folder.iterdir())) and not is_ours(folder / record):
        content = f"a {record} that is damaged or not" if os.path.lexists(folder / record) else f"files but no {record}"
        raise FileExistsError(
            f"wanted a new folder, or one that this toolkit made, got {folder}, which holds {content} of this toolkit: "
            "choose another folder, or move it away"
        )
    _check_writable(folder / record)


def _is_content(path: Path) -> bool:
    """Whether a file of a folder is more than a lock, or what a killed process left of a file."""
    return path.name != LOCK and not path.match(TEMPORARY)


def is_ours(record: Path) -> bool:
    """Whether a file is a JSON object with the key "toolkit", which every record of this toolkit has."""
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "toolkit" in content


def _check_writable(path: Path) -> None:
    """Refuse a file whose folder is read-only or whose path leads through another file.

    Raises:
        OSError: The file cannot be created.
    """
    folder = path.absolute().parent
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(f"wanted a folder for {path}, got the file {folder}: choose another output")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"wanted a folder to write {path} to, got {folder}, which is read-only: choose another")
