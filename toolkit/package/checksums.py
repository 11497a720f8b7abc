"""SHA256SUMS: the checksums of a data set's files when they were packaged, in the format of `sha256sum -c`."""

from __future__ import annotations

from pathlib import Path

from toolkit.contents import hash_file
from toolkit.shards import write_whole

CHECKSUMS = "SHA256SUMS"


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files in a folder, by path, into its SHA256SUMS."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = [f"{hash_file(folder / name)}  {name}\n" for name in files if name != CHECKSUMS]
    write_whole(folder / CHECKSUMS, "".join(lines))
