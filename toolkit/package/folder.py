"""The folder of a packaged parabank: how it is known, its version, its Parquet files, and whether they are whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from toolkit.errors import first_line
from toolkit.outputs import MANIFEST, is_ours
from toolkit.package.parquet import DATA, SPLITS

FIRST_VERSION = "1.0.0"
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)
AGAIN = "fetch the data set again, or package it again"


def check_version(version: str) -> str:
    """The version itself, if it is MAJOR.MINOR.PATCH, the part of semantic versioning that data sets know.

    >>> check_version("1.2.0")
    '1.2.0'

    Raises:
        ValueError: It is not.
    """
    if not VERSION.fullmatch(version):
        raise ValueError(f"wanted a version MAJOR.MINOR.PATCH, got {version!r}: write {FIRST_VERSION} for the first")
    return version


def is_parabank(folder: Path) -> bool:
    """Whether a folder is a data set that this toolkit packaged.

    >>> is_parabank(Path("/"))
    False
    """
    return is_ours(folder / MANIFEST)


def files_of(folder: Path, config: str, split: str | None = None) -> list[Path]:
    """The Parquet files of a parabank in order: those of a split, or of all splits that it has."""
    splits = SPLITS if split is None else (split,)
    return [file for name in splits for file in sorted((folder / DATA / config).glob(f"{name}-*.parquet"))]


def check_whole(folder: Path, config: str) -> None:
    """Refuse a parabank of whose Parquet files one is cut short or missing: `datasets` would pass over a missing one.

    Raises:
        ValueError: The first such file, or the split that has other rows than were packaged.
    """
    counts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["counts"]
    for split in (split for split in SPLITS if split in counts):
        wanted = counts[split]["pairs" if config == "pairs" else "kept"]
        found = sum(map(rows_of, files_of(folder, config, split)))
        if found != wanted:
            files = folder / DATA / config / f"{split}-*.parquet"
            raise ValueError(f"wanted {wanted:,} rows in {files}, got {found:,}: a file is missing or another; {AGAIN}")


def rows_of(file: Path) -> int:
    """The rows of a Parquet file, as its end says.

    Raises:
        ValueError: The file is cut short.
    """
    try:
        return pq.read_metadata(file).num_rows
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"wanted a whole Parquet file, got {file} ({first_line(error)}): {AGAIN}") from None
