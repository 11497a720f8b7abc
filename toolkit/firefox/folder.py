"""A folder of https://github.com/mozilla/firefox-translations-models, whose files are compressed by gzip, unpacked.

The unpacked files go into the cache beside the fetched models, because the checkout is the user's.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from huggingface_hub import constants

from toolkit.firefox.published import NAMES
from toolkit.system.contents import hash_file
from toolkit.system.errors import named_line
from toolkit.system.lock import alone
from toolkit.system.whole_files import remove_unfinished, whole_file

DIGITS = 12  # ours: of the hash of a folder's files
BLOCK = 1 << 20  # ours: bytes that are read at a time
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
    files = {path.name: path for path in folder.iterdir() if path.is_file()}
    plain = {name: path for name, path in files.items() if _is_of_a_model(name)}
    packed = {name[:-3]: path for name, path in files.items() if name.endswith(".gz") and _is_of_a_model(name[:-3])}
    if packed.keys() <= plain.keys():
        return folder
    sources = dict(sorted((packed | plain).items()))
    for path in sources.values():
        _check_no_pointer(path)
    digest = hashlib.sha256("".join(f"{name} {hash_file(path)}\n" for name, path in sources.items()).encode())
    cache = Path(constants.HF_ASSETS_CACHE).expanduser() / "parabank" / "firefox" / digest.hexdigest()[:DIGITS]
    if not all(_is_unpacked(path, cache / name) for name, path in sources.items()):
        with alone(cache, "set HF_HOME to another folder"):
            remove_unfinished(cache)
            for name, path in sources.items():
                _unpack(path, cache / name)
    return cache


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


def _open_file(source: Path) -> IO[bytes]:
    """What a file is compressed from, or the file."""
    return cast(IO[bytes], gzip.open(source)) if source.suffix == ".gz" else source.open("rb")


@contextlib.contextmanager
def _reading_file(source: Path) -> Iterator[None]:
    """Turn the errors of a damaged file in the block into a line that names it.

    Raises:
        ValueError: The file is damaged.
    """
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"wanted a whole file of gzip, got {source} ({named_line(error)}): fetch it again; `gzip -t` tests it, and "
            "`gzip -d` unpacks it"
        ) from None


def _is_unpacked(source: Path, path: Path) -> bool:
    """Whether a file is what another is compressed from.

    Raises:
        ValueError: The other is damaged.
    """
    if not path.is_file():
        return False
    with _reading_file(source), _open_file(source) as content:
        digest = hashlib.sha256()
        while block := content.read(BLOCK):
            digest.update(block)
    return digest.hexdigest() == hash_file(path)


def _unpack(source: Path, path: Path) -> None:
    """Write what a file is compressed from, whole or not at all.

    Raises:
        OSError: It cannot be written.
        ValueError: The file is damaged.
    """
    with (
        whole_file(path) as temporary,
        _reading_file(source),
        _open_file(source) as content,
        temporary.open("wb") as target,
    ):
        shutil.copyfileobj(content, target, BLOCK)
