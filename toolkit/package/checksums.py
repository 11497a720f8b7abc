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


def verify_checksums(folder: Path) -> int:
    """Check every file that SHA256SUMS lists; files that it does not list are not looked at.

    Returns:
        The number of files, all as they were.

    Raises:
        FileNotFoundError: There is no SHA256SUMS.
        ValueError: A file is missing or differs, or a line is no checksum.
    """
    listing = folder / CHECKSUMS
    if not listing.is_file():
        raise FileNotFoundError(f"wanted {CHECKSUMS} in {folder}, got none: package the data set again")
    lines = listing.read_text(encoding="utf-8").splitlines()
    for line in lines:
        wanted, _, name = line.partition("  ")
        if len(wanted) != 64 or not name:
            raise ValueError(f"wanted 'checksum  path' in {listing}, got {line[:80]!r}: fetch the data set again")
        path = folder / name
        got = checksum(path) if path.is_file() else "no file"
        if got != wanted:
            raise ValueError(f"wanted {path} with SHA-256 {wanted}, got {got}: fetch the data set again")
    return len(lines)
