"""What files are by their content, so that one that has changed is found when a run or a training goes on."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

CONTENT = "content of "  # what stands in a record before the name of a setting that names files


def contents_of(files: Mapping[str, Iterable[str | Path]]) -> dict[str, str]:
    """What the files that settings name are by their content.

    Args:
        files: By setting: files, globs and folders; a Hub name has no content here.

    Returns:
        By setting, the size and the hash of its files; "" without any.
    """
    return {name: content_of(found) if (found := files_at(paths)) else "" for name, paths in files.items()}


def files_at(paths: Iterable[str | Path]) -> list[Path]:
    """The files that paths and globs name, those inside of folders too, in a fixed order."""
    found = [Path(name) for path in map(str, paths) for name in (glob.glob(path) or [path])]
    inside = [file for path in found for file in (path.rglob("*") if path.is_dir() else [path])]
    return sorted(file for file in inside if file.is_file())


def content_of(paths: Sequence[Path]) -> str:
    """The size of some files together and a hash of their bytes, in words; it takes about a second a gigabyte."""
    digest, size = hashlib.sha256(), 0
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
        size += path.stat().st_size
    return f"{size} bytes, sha256 {digest.hexdigest()}"


def with_contents(settings: dict, contents: Mapping[str, str]) -> dict:
    """Settings as they are recorded: beside them, what the files and models that they name are by their content."""
    return settings | {CONTENT + name: text for name, text in contents.items()}
