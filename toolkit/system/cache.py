"""The folder for what can be made again."""

from __future__ import annotations

import os
from pathlib import Path

CACHE = "PARABANK_CACHE"  # environment variable: the folder of all runs whose output is a URL, and of unpacked models


def cache_folder() -> Path:
    """The folder of this user for what can be made again."""
    return Path(os.environ.get(CACHE) or "~/.cache/parabank").expanduser()
