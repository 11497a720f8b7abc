"""Files by their content: hashes by which a run or a training that resumes finds an input that has changed."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

CONTENT = "content of "  # prefix, in a record, of the name of a setting that names files


def contents_of(files: Mapping[str, Iterable[str | Path]]) -> dict[str, str]:
    """Describe the content of the files that settings name.

    Args:
        files: By setting: files, globs and folders; a Hub name has no content here.

    Returns:
        By setting, the size and the hash of its files; "" if there are none.
    """
    return {name: content_of(existing) if (existing := files_at(paths)) else "" for name, paths in files.items()}


def files_at(paths: Iterable[str | Path]) -> list[Path]:
    """The files that paths and globs name, including those in folders, in a fixed order."""
    expanded = [Path(name) for path in map(str, paths) for name in (glob.glob(path) or [path])]
    inside = [file for path in expanded for file in (path.rglob("*") if path.is_dir() else [path])]
    return sorted(file for file in inside if file.is_file())


def content_of(paths: Sequence[Path]) -> str:
    """The total size of some files and a hash of their bytes, as text; it takes about a second per gigabyte."""
    digest, size = hashlib.sha256(), 0
    for path in paths:
        digest.update(bytes.fromhex(hash_file(path)))
        size += path.stat().st_size
    return f"{size} bytes, sha256 {digest.hexdigest()}"


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def with_contents(settings: dict, contents: Mapping[str, str]) -> dict:
    """Settings as they are recorded: with the content of the files and models that they name."""
    return settings | {CONTENT + name: text for name, text in contents.items()}
