"""SHA256SUMS: what a data set's files were when they were packaged, in the format of `sha256sum -c`."""

from __future__ import annotations

import hashlib
from pathlib import Path

from toolkit.shards import write_whole

CHECKSUMS = "SHA256SUMS"


def checksum(path: Path) -> str:
    """A file's SHA-256, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files in a folder, by path, into its SHA256SUMS."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = [f"{checksum(folder / name)}  {name}\n" for name in files if name != CHECKSUMS]
    write_whole(folder / CHECKSUMS, "".join(lines))
