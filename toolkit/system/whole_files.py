"""Files that are whole or absent: written under a temporary name, which is then renamed; and the records among them."""

from __future__ import annotations

import json
import os
from pathlib import Path


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file under a temporary name and rename it, so that no incomplete file appears; create its folder.

    Raises:
        OSError: The disk is full, or another error of the file system; the message names the path.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        message = f"{path}, which was not written; every file that was finished is kept"
        raise OSError(error.errno, error.strerror, message) from error
    finally:
        temporary.unlink(missing_ok=True)


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
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink()
