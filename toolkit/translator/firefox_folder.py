"""A folder of https://github.com/mozilla/firefox-translations-models, whose files are compressed by gzip, unpacked.

The unpacked files go into the cache beside the fetched models, because the checkout is the user's.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import zlib
from pathlib import Path

from huggingface_hub import constants

from toolkit.contents import hash_file
from toolkit.errors import named_line
from toolkit.lock import alone
from toolkit.shards import remove_unfinished
from toolkit.translator.firefox_list import NAMES

DIGITS = 12  # ours: of the hash of a folder's files
POINTER = b"version https://git-lfs"  # what a checkout without git-lfs has in place of a file


def unpacked(folder: Path) -> Path:
    """A folder with the files of a model as Firefox reads them.

    Args:
        folder: A folder of a model, whose files may be compressed by gzip: model.ende.intgemm.alphas.bin.gz.

    Returns:
        The folder itself, if its files are not compressed or are there unpacked, too; else a folder in the cache.

    Raises:
        OSError: The cache cannot be written.
        ValueError: A file is damaged, or is a pointer of git-lfs.
    """
    names = [path.name for path in folder.iterdir() if path.is_file()]
    packed = sorted(name for name in names if name.endswith(".gz") and _is_of_a_model(name[:-3]))
    if not any(name[:-3] not in names for name in packed):
        return folder
    for name in packed:
        _check_no_pointer(folder / name)
    digest = hashlib.sha256("".join(f"{name} {hash_file(folder / name)}\n" for name in packed).encode())
    place = Path(constants.HF_ASSETS_CACHE).expanduser() / "parabank" / "firefox" / digest.hexdigest()[:DIGITS]
    with alone(place):
        remove_unfinished(place)
        for name in packed:
            if not (place / name[:-3]).exists():
                _unpack(folder / name, place / name[:-3])
    return place


def _is_of_a_model(name: str) -> bool:
    """Whether a file is one of a model by its name."""
    return any(pattern.fullmatch(name) for pattern in NAMES.values())


def _check_no_pointer(path: Path) -> None:
    """Refuse what a checkout without git-lfs has in place of a file.

    Raises:
        ValueError: It is that.
    """
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise ValueError(f"wanted a file of a model, got {path}, a pointer of git-lfs: run `git lfs pull` there")


def _unpack(source: Path, path: Path) -> None:
    """Write what a file is compressed from, whole or not at all.

    Raises:
        OSError: It cannot be written.
        ValueError: The file is damaged.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with gzip.open(source) as packed, temporary.open("wb") as target:
            shutil.copyfileobj(packed, target)
        os.replace(temporary, path)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"wanted a whole file of gzip, got {source} ({named_line(error)}): fetch it again; `gzip -t` tests it, and "
            "`gzip -d` unpacks it"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
