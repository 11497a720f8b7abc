"""SHA256SUMS: the checksums of the files of a data set or a model when it was packaged, for `sha256sum -c`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from pathlib import Path

from toolkit.system.contents import hash_file
from toolkit.system.whole_files import write_whole

CHECKSUMS = "SHA256SUMS"


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files in a folder, by path, into its SHA256SUMS."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    sums = {name: hash_file(path) for name, path in files.items() if name != CHECKSUMS}
    write_whole(folder / CHECKSUMS, checksum_lines(sums, {}))


def check_checksums(folder: Path, may_differ: Set[str] = frozenset()) -> dict[str, str]:
    """The checksums of the files of a packaged folder by path, after they were compared with the files.

    Args:
        folder: The packaged folder.
        may_differ: Paths of files that a user may have changed; they must exist.

    Raises:
        ValueError: A file is missing, or it has changed since it was packaged.
    """
    sums = {}
    for line in (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines():
        sums[line[66:]] = line[:64]
    for name, expected in sums.items():
        if not (folder / name).is_file() or (name not in may_differ and hash_file(folder / name) != expected):
            state = "another" if (folder / name).is_file() else "none"
            raise ValueError(f"wanted {folder / name} as it was packaged, got {state}: package it again")
    return sums


def checksum_lines(sums: Mapping[str, str], contents: Mapping[str, bytes]) -> bytes:
    """The content of SHA256SUMS for files with known checksums, and for others, whose content takes their place.

    >>> checksum_lines({"a": "0" * 64, "b": "1" * 64}, {"b": b""}).decode().splitlines()[1]
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b'
    """
    checksums = {**sums, **{name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}}
    return "".join(f"{checksum}  {name}\n" for name, checksum in sorted(checksums.items())).encode()
