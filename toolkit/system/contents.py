"""Files by their content: hashes by which a run or a training that resumes finds an input that has changed.

A file at a URL is not read for this: what its file system says of it is hashed, such as the ETag of S3.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from toolkit.system.errors import public_record
from toolkit.system.urls import _tag_hash, files_at, is_url

STANDARD_INPUT = "-"  # in place of a file
CONTENT = "content of "  # prefix, in a record, of the name of a setting that names files


def contents_of(files: Mapping[str, Iterable[str | Path]]) -> dict[str, str]:
    """Describe the content of the files that settings name.

    Args:
        files: By setting: files, globs and folders, also at URLs; a Hub name has no content here.

    Returns:
        By setting, the size and the hash of its files; "" if there are none.
    """
    existing_files = {
        name: [file for path in paths for file in files_at(standard_input_file() if path == STANDARD_INPUT else path)]
        for name, paths in files.items()
    }
    return {name: content_of(sorted(paths, key=Path)) if paths else "" for name, paths in existing_files.items()}


@cache
def standard_input_file() -> Path:
    """A temporary file with what comes from the standard input, which is read once; it is gone when this process ends.

    Raises:
        OSError: It cannot be written.
        ValueError: Several processes share the work, of which only one would get the text.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError("wanted a file with several processes, got '-': write the standard input to a file first")
    folder = tempfile.mkdtemp(prefix="parabank-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "stdin.tsv")
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    print(f"standard input: {path.stat().st_size / 1e6:,.1f} MB, kept in {path} until the end", file=sys.stderr)
    return path


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
