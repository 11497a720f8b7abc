"""Files at addresses: URLs that fsspec opens, such as s3://, hf:// and file://. The only module that knows fsspec.

A path without "://" is no URL; whoever reads both asks `is_url` and reads a path without fsspec. All errors of a file
system, whose libraries have classes of their own, are one line and an OSError, or a ValueError for what is mistyped.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from toolkit.system.errors import FULL, named_line, without_secrets
from toolkit.system.whole_files import temporary_of

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

READ_AHEAD = 8 << 20  # ours: bytes of one request, which are in memory
AT_ONCE = 64  # ours: files that are fetched or sent together
SILENCE = 60.0  # ours: seconds without a byte from an HTTP server, after which it counts as gone
TRIES = 2  # ours: times that a file is fetched which is not whole, so that a fault of the network is none of the file
REQUESTS = 3  # ours: times that a request is sent which fails by a fault that may pass
PAUSE = 1.0  # ours: seconds before the second try; twice as many before every further one
PASSING = (408, 429)  # HTTP statuses below 500 that may pass
BLOCK = 1 << 18  # ours: bytes that are copied at a time
T = TypeVar("T")
CUT = "wanted {url} whole, got {bytes}: check the network, then run the same command again"
# What a file system may say of the content of a file: the first that it has, checksums before times.
TAGS = ("ETag", "etag", "blob_id", "md5Hash", "sha256", "LastModified", "last_modified", "mtime", "created")
# Here a file appears when all of it has arrived, and folders are only parts of names.
BUCKETS = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss")  # of which the first part of a path is a bucket
OBJECT_STORES = (*BUCKETS, "hf", "memory")


def is_url(address: str | Path) -> bool:
    """Whether an address is a URL rather than a path or a Hub id.

    >>> is_url("s3://bucket/corpus.tsv.zst"), is_url("corpus.tsv"), is_url("Helsinki-NLP/opus-100:de-en")
    (True, False, False)
    """
    return "://" in str(address)


def joined_url(folder: str, *names: str) -> str:
    """A URL below another.

    >>> joined_url("s3://bucket/bank/", "data", "pairs")
    's3://bucket/bank/data/pairs'
    """
    return "/".join([folder.rstrip("/"), *names])


@contextlib.contextmanager
def _reached(url: str) -> Iterator[None]:
    """Turn the errors of a file system in the block into ours.

    Raises:
        FileNotFoundError: There is no such file, folder or bucket.
        OSError: The file system cannot be reached, refuses access, or another error.
        ValueError: The URL is none, or no package that is installed opens it; the message names the package.
    """
    url = without_secrets(url)
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"wanted an existing file, got {url}: check the path") from error
    except ImportError as error:  # fsspec says which package
        raise ValueError(f"wanted a package that opens {url}, got none ({error}): install it with pip") from error
    except Exception as error:
        kind = ValueError if isinstance(error, ValueError) else OSError
        raise kind(f"wanted {url}, got {named_line(error)}: check the URL, the credentials and the network") from error


@contextlib.contextmanager
def _convert_write_errors(url: str) -> Iterator[None]:
    """Turn the errors of a file system that writes in the block into ours.

    Raises:
        OSError: The URL cannot be written.
    """
    url = without_secrets(url)
    try:
        yield
    except Exception as error:
        raise OSError(
            f"wanted a URL to write to, got {url} ({named_line(error)}): check the URL, the credentials and the network"
        ) from error


def _open_url(url: str) -> tuple[AbstractFileSystem, str]:
    """The file system of a URL, and the path of the URL in it.

    Raises:
        ValueError: As `_reached`.
    """
    import fsspec  # imported here because most files are on the disk

    with _reached(url):
        return fsspec.core.url_to_fs(url, **(_client() if url.startswith(("http://", "https://")) else {}))


def _client() -> dict:
    """How fsspec asks HTTP servers: by the proxies of the environment; a file may take any time, but not in silence."""
    from aiohttp import ClientTimeout

    timeout = ClientTimeout(total=None, sock_connect=SILENCE, sock_read=SILENCE)
    return {"client_kwargs": {"timeout": timeout, "trust_env": True}}


class _Readable(io.RawIOBase):
    """A file at a URL, for reading; it asks for `READ_AHEAD` bytes at a time.

    Raises:
        OSError: The file cannot be read; so do all methods.
    """

    def __init__(self, url: str):
        self.url = url
        system, path = _open_url(url)
        with _reached(url):
            self.file = system.open(path, "rb", block_size=READ_AHEAD)

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is, which Parquet needs."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer; the number that came, 0 at the end."""
        with _reached(self.url):
            data = self.file.read(len(buffer))
            size, position = getattr(self.file, "size", None), self.file.tell()
        if len(buffer) and not data and size is not None and position < size:
            raise OSError(CUT.format(url=without_secrets(self.url), bytes=f"{position:,} of {size:,} bytes"))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        with _reached(self.url):
            return self.file.seek(offset, whence)

    def tell(self) -> int:
        """The place."""
        return self.file.tell()

    def close(self) -> None:
        """Close the file."""
        if not self.closed and hasattr(self, "file"):
            self.file.close()
        super().close()


def for_arrow(address: str | Path) -> str | Path | _Readable:
    """What Arrow opens: a path as it is, and a URL as an open file."""
    return _Readable(str(address)) if is_url(address) else address


def _info_of(url: str) -> dict | None:
    """What the file system says of a file or a folder; None if there is none.

    Raises:
        OSError: It cannot be asked.
    """
    system, path = _open_url(url)
    with _reached(url):
        try:
            system.invalidate_cache()
            return system.info(path)
        except FileNotFoundError:
            return None


def check_bucket(url: str) -> None:
    """Refuse a URL in a bucket that does not exist.

    Raises:
        OSError: There is no such bucket, or it cannot be asked for.
    """
    scheme, _, path = url.partition("://")
    bucket = f"{scheme}://{path.partition('/')[0]}"
    if scheme in BUCKETS and _info_of(bucket) is None:
        raise FileNotFoundError(
            f"wanted an existing bucket, got {without_secrets(bucket)}: create it, or check the name"
        )


def is_file(address: str | Path) -> bool:
    """Whether there is a file at a path or URL.

    Raises:
        OSError: The file system of a URL cannot be asked.
    """
    if not is_url(address):
        return Path(address).is_file()
    info = _info_of(str(address))
    return info is not None and info["type"] == "file"


def matching(pattern: str) -> list[str]:
    """The paths that a glob names, or the files at URLs that one names, sorted.

    Raises:
        OSError: The file system of a URL cannot be asked.
    """
    if not is_url(pattern):
        return sorted(glob.glob(pattern, recursive=True))
    system, path = _open_url(pattern)
    with _reached(pattern):
        system.invalidate_cache()
        entries = system.glob(path, detail=True)
    return sorted(system.unstrip_protocol(name) for name, info in entries.items() if info["type"] == "file")


def below(folder: str) -> dict[str, int]:
    """The size of each file below a URL, by its path from there, sorted; none if there is no such folder.

    Raises:
        OSError: The file system cannot be asked.
    """
    system, path = _open_url(folder)
    with _reached(folder):
        system.invalidate_cache()
        try:
            entries = system.find(path, detail=True)
        except FileNotFoundError:
            return {}
    root = path.rstrip("/") + "/"
    return {name.removeprefix(root): info["size"] for name, info in sorted(entries.items()) if name.startswith(root)}


def files_at(address: str | Path) -> list[str | Path]:
    """The files that a path, a URL or a glob names, including those in folders, in a fixed order; none for a Hub id.

    Raises:
        OSError: The file system of a URL cannot be asked.
    """
    if not is_url(address):
        paths = [Path(address)] if Path(address).exists() else [Path(name) for name in matching(str(address))]
        inside = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
        return [*sorted(file for file in inside if file.is_file())]
    url = str(address)
    if is_file(url):
        return [url]
    return [*(matching(url) if glob.has_magic(url) else (joined_url(url, name) for name in below(url)))]


def _size_and_tag(url: str) -> tuple[int, str]:
    """The size of a file, and what its file system says of its content: a checksum, else a time, else nothing.

    Raises:
        OSError: There is no such file, or the file system cannot be asked.
    """
    info = _info_of(url)
    if info is None:
        raise FileNotFoundError(f"wanted an existing file, got {without_secrets(url)}: check the path")
    tag = next((f"{name} {info[name]}" for name in TAGS if info.get(name) is not None), "")
    return info["size"] or 0, tag


def _tag_hash(url: str) -> tuple[int, str]:
    """The size of a file, and the SHA-256 of its size and tag in hexadecimal."""
    size, tag = _size_and_tag(url)
    return size, hashlib.sha256(f"{size} {tag}".encode()).hexdigest()


def read_bytes(url: str) -> bytes | None:
    """A small file; None if there is none.

    Raises:
        OSError: The file system cannot be asked.
    """
    if not is_file(url):
        return None
    with _Readable(url) as file:
        return file.readall()


def answer_of(url: str) -> bytes:
    """What a server answers to one request, such as a small file or a list.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: It cannot be read.
        ValueError: The URL is none.
    """
    system, path = _open_url(url)
    with _reached(url):
        return system.cat_file(path)


def download(url: str, path: Path) -> None:
    """Copy a file to the disk by one request; what has come when it fails stays.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: It cannot be read or written, or breaks off.
        ValueError: The URL is none.
    """
    system, source = _open_url(url)
    with _reached(url):
        system.get_file(source, str(path))


def download_rest(
    url: str, path: Path, check: Callable[[str], object], report: Callable[[int, int | None], object]
) -> None:
    """Copy a file from an HTTP server to the disk by one request, which goes on where the copy on the disk ends.

    What has come when it fails stays, for the next call. If the server sends no parts, the copy begins anew.

    Args:
        url: The file.
        path: The copy.
        check: Refuses an address by a ValueError; called with the one that the server redirects to.
        report: Called with the size of the copy and of the file, None where the server does not say it.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: It cannot be read or written, or breaks off.
        ValueError: As `check`.
    """
    from fsspec.asyn import sync

    system: Any = _open_url(url)[0]
    start = max(path.stat().st_size - 1, 0) if path.exists() else 0  # so that there is a part, if all of it is there
    headers = {"Range": f"bytes={start}-"} if start else {}

    async def copy_rest() -> None:
        session = await system.set_session()
        async with session.get(system.encode_url(url), headers=headers, **system.kwargs) as answer:
            check(str(answer.url))
            if answer.status == 404:
                raise FileNotFoundError(url)
            answer.raise_for_status()
            position = start if answer.status == 206 else 0  # otherwise the server sends the whole
            size = None if answer.content_length is None else position + answer.content_length
            with path.open("r+b" if path.exists() else "wb") as copy:
                copy.seek(position)
                copy.truncate()
                report(position, size)
                async for block in answer.content.iter_chunked(BLOCK):
                    copy.write(block)
                    report(copy.tell(), size)

    with _reached(url):
        sync(system.loop, copy_rest)


def retry(request: Callable[[], T]) -> T:
    """The result of a request, which is sent again after a pause if it fails by a fault that may pass.

    Raises:
        OSError: It fails every time, or by another fault.
    """
    for number in range(REQUESTS):
        try:
            return request()
        except OSError as error:
            status = getattr(error.__cause__, "status", 500)
            lasting = isinstance(error, FileNotFoundError) or is_full(error) or (status < 500 and status not in PASSING)
            if lasting or number == REQUESTS - 1:
                raise
        time.sleep(PAUSE * 2**number)
    raise AssertionError("the last try returns or raises")


def is_full(error: OSError) -> bool:
    """Whether a disk is full, which a file system may say in the cause of its error."""
    return any(getattr(cause, "errno", None) in FULL for cause in (error, error.__cause__))


def fetch(urls: Mapping[str, Path], is_whole: Callable[[Path, str], bool] = lambda path, url: True) -> list[str]:
    """Copy files to the disk, each whole or not at all; what arrives damaged is fetched once more.

    Args:
        urls: The path of each URL's copy, in a folder that exists; all are of one file system.
        is_whole: Whether a copy, of the size that it should have, is whole; it gets the copy's temporary path and URL.

    Returns:
        The URLs whose files are not whole where they are, of which there is no copy.

    Raises:
        OSError: A file cannot be read, arrives cut every time, or the disk is full; those before it are there.
    """
    url_paths, damaged = list(urls.items()), list[str]()
    for first in range(0, len(url_paths), AT_ONCE):
        batch = dict(url_paths[first : first + AT_ONCE])
        for _ in range(TRIES):
            batch = _fetch_batch(batch, is_whole)
        damaged += batch
    return damaged


def _fetch_batch(urls: Mapping[str, Path], is_whole: Callable[[Path, str], bool]) -> dict[str, Path]:
    """Copy files to the disk; return those that are not whole.

    Raises:
        OSError: A file cannot be read or has another size than it should; the disk is full.
    """
    copies = {url: temporary_of(path) for url, path in urls.items()}
    try:
        _get(copies)
        for url in [url for url in copies if _lacks(url, copies[url])]:
            _get({url: copies[url]})
            if lacks := _lacks(url, copies[url]):
                raise OSError(CUT.format(url=without_secrets(url), bytes=lacks))
        whole = [url for url in urls if is_whole(copies[url], url)]
        for url in whole:
            os.replace(copies[url], urls[url])
    finally:
        for copy in copies.values():
            copy.unlink(missing_ok=True)
    return {url: path for url, path in urls.items() if url not in whole}


def _get(copies: Mapping[str, Path]) -> None:
    """Have a file system copy files to the disk, many at a time; if that fails, one after the other.

    Raises:
        OSError: A file cannot be read; the message names it.
    """
    if not copies:
        return
    system, _ = _open_url(next(iter(copies)))
    try:
        system.get([_open_url(url)[1] for url in copies], [str(copy) for copy in copies.values()])
    except Exception:  # it does not say which file it was
        for url, copy in copies.items():
            with _reached(url):
                system.get_file(_open_url(url)[1], str(copy))


def _lacks(url: str, copy: Path) -> str:
    """What a copy has of the bytes of its URL, if it is not all of them; else nothing."""
    system, path = _open_url(url)
    with _reached(url):
        size = system.info(path).get("size")
    actual_size = copy.stat().st_size if copy.exists() else 0
    return "" if size in (None, actual_size) else f"{actual_size:,} of {size:,} bytes"


def send(path: Path, url: str) -> None:
    """Copy a file from the disk to a URL, where it appears whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    system, target = _open_url(url)
    with _convert_write_errors(url):
        if url.partition("://")[0] in OBJECT_STORES:
            system.put_file(str(path), target)
            return
        folder, _, name = target.rpartition("/")
        system.makedirs(folder, exist_ok=True)
        temporary = f"{folder}/{temporary_of(Path(name))}"
        system.put_file(str(path), temporary)
        system.mv(temporary, target)


def send_together(urls: Mapping[str, Path]) -> None:
    """Copy files to URLs, each whole or not at all and in no order; to an object store many at a time.

    Args:
        urls: The file for each URL; all are of one file system.

    Raises:
        OSError: One cannot be written; others may be there.
    """
    url_paths = list(urls.items())
    for first in range(0, len(url_paths), AT_ONCE):
        batch = url_paths[first : first + AT_ONCE]
        if batch[0][0].partition("://")[0] in OBJECT_STORES:
            system, _ = _open_url(batch[0][0])
            with _convert_write_errors(batch[0][0]):
                system.put([str(path) for _, path in batch], [_open_url(url)[1] for url, _ in batch])
        else:
            for url, path in batch:
                send(path, url)


def remove(urls: Sequence[str]) -> None:
    """Delete files; all are of one file system.

    Raises:
        OSError: One cannot be deleted.
    """
    for url in urls:
        system, path = _open_url(url)
        with _convert_write_errors(url):
            system.rm_file(path)
