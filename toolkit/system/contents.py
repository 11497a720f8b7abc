"""Files by their content: hashes by which a run or a training that resumes finds an input that has changed.

A file at a URL is not read for this: what its file system says of it is hashed, such as the ETag of S3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from toolkit.system.errors import public_record
from toolkit.system.urls import _tag_hash, files_at, is_url

CONTENT = "content of "  # prefix, in a record, of the name of a setting that names files


def contents_of(files: Mapping[str, Iterable[str | Path]]) -> dict[str, str]:
    """Describe the content of the files that settings name.

    Args:
        files: By setting: files, globs and folders, also at URLs; a Hub name has no content here.

    Returns:
        By setting, the size and the hash of its files; "" if there are none.
    """
    existing_files = {name: [file for path in paths for file in files_at(path)] for name, paths in files.items()}
    return {name: content_of(sorted(paths, key=Path)) if paths else "" for name, paths in existing_files.items()}


def content_of(paths: Sequence[str | Path]) -> str:
    """The total size of some files and a hash of their bytes, as text; it takes about a second per gigabyte.

    Of a file at a URL, size and tag are hashed, and the text says so.
    """
    digest, total = hashlib.sha256(), 0
    for path in paths:
        size, file_hash = _tag_hash(str(path)) if is_url(path) else (Path(path).stat().st_size, hash_file(Path(path)))
        digest.update(bytes.fromhex(file_hash))
        total += size
    kind = "sha256 of sizes and tags" if any(map(is_url, paths)) else "sha256"
    return f"{total} bytes, {kind} {digest.hexdigest()}"


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def with_contents(settings: dict, contents: Mapping[str, str]) -> dict:
    """Settings as they are recorded: with the content of the files and models that they name."""
    return public_record(settings) | {CONTENT + name: text for name, text in contents.items()}
