"""What a data set says about itself in parabank.json, which also marks its folder as made by this toolkit."""

from __future__ import annotations

import re
from pathlib import Path

from toolkit.outputs import MANIFEST, is_ours

FIRST_VERSION = "1.0.0"
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)


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
