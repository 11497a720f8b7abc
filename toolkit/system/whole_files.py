"""Files that are whole or absent: written under a temporary name, which is then renamed; and the records among them."""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

TEMPORARY = ".*.tmp"  # the names of files that are being written, see `temporary_of`


def temporary_of(path: Path) -> Path:
    """The hidden name beside a file under which this process writes it; a process of another machine has another name.

    >>> temporary = temporary_of(Path("build/words.txt"))
    >>> temporary.name == f".words.txt.{platform.node()}.{os.getpid()}.tmp" and temporary.match(TEMPORARY)
    True
    """
    return path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}.tmp")


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file that appears whole or not at all: the block writes it under a temporary name, and then it is renamed.

    After an error in the block the temporary file is gone, and an older file of the name is as it was. What a killed
    process leaves is removed by `remove_unfinished`.

    Args:
        path: The file; its folder is created.

    Yields:
        The temporary name.

    Raises:
        OSError: The folder cannot be created, or the file cannot be renamed.
    """
    temporary = temporary_of(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):  # so that the error of the block is raised
            temporary.unlink()


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file under a temporary name and rename it, so that no incomplete file appears; create its folder.

    Raises:
        OSError: The disk is full, or another error of the file system; the message names the path.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        with whole_file(path) as temporary, temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        message = f"{path}, which was not written; every file that was finished is kept"
        raise OSError(error.errno, error.strerror, message) from error


def read_record(file: Path, remedy: str = "delete its folder") -> dict:
    """Read a JSON record that the toolkit wrote.

    Args:
        file: The record.
        remedy: What the user should do if it is damaged, for the error message.

    Raises:
        ValueError: The record is damaged.
    """
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"wanted a record in JSON, got {file}, which is damaged ({error}): {remedy}") from None
    if not isinstance(record, dict):
        raise ValueError(f"wanted a record in JSON, got {file}, which holds no settings: {remedy}")
    return record


def remove_unfinished(folder: Path) -> None:
    """Delete the temporary files of killed processes; the caller has locked the folder, so no other process writes."""
    for leftover in folder.glob(TEMPORARY):
        leftover.unlink()
