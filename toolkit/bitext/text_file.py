"""Open a text file for every reader: the first bytes say what it is, not its name.

Compression (gzip, zstd, xz, bzip2) is recognised whatever the suffix, and a mark of UTF-8 at the beginning is dropped.
A file in a zip archive is read from there, without unpacking it to the disk or to memory.
What is no text in UTF-8 whose lines end at line feeds is refused by its name, with what to do: archives, UTF-16 and
UTF-32, lines that end at carriage returns alone, and pipes, because a text is read more than once.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa

from toolkit.system.errors import without_secrets
from toolkit.system.urls import for_arrow, is_file, is_url

COMPRESSED = (".gz", ".zst", ".xz", ".bz2")  # suffixes that are no part of the form of a file
BUFFER = 1 << 16  # ours: bytes per read of a text file
BLOCK_BYTES = 1 << 20  # ours: of a block of a TSV file; its arrays stay in the cache
LONGEST_FIELD = 1 << 20  # ours: bytes of a text between tabs in a block; what is longer is cut, and refused as too long
LONGEST_LINE = 4 * LONGEST_FIELD  # ours: of a line with many texts; the others are not read, so that it lacks columns
SEVERAL = 8  # ours: carriage returns without a line feed in the first bytes that are no slip
MARK = codecs.BOM_UTF8
GZIP, ZSTD, XZ, BZIP2 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", re.compile(rb"BZh[1-9]1AY&SY")
ARCHIVES = {b"PK\x03\x04": "a zip archive", b"7z\xbc\xaf\x27\x1c": "a 7-zip archive", b"PAR1": "a Parquet file"}
UNICODE = {  # by the mark at the beginning; that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
CONVERT = "convert it with: iconv -f {encoding} -t UTF-8"
DAMAGED = (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)  # gzip and bzip2 also raise OSError


def checked_path(path: str) -> str:
    """The path or URL itself, if it is a file.

    Raises:
        FileNotFoundError: It is not.
        ValueError: It is a pipe or a device.
    """
    if is_file(path):
        return path
    if not is_url(path) and Path(path).exists() and not Path(path).is_dir():
        mode = Path(path).stat().st_mode
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise ValueError(
            f"wanted a regular file, which can be read twice, got {path}, {kind}: write the text to a file first"
        )
    raise FileNotFoundError(f"wanted an existing file, got {path}: check the path")


class _Text(NamedTuple):
    """Where a text is: a file or a URL, and its name in there if that is a zip archive."""

    path: str
    member: str | None = None

    def __str__(self) -> str:
        """The place for messages."""
        return f"{self.member} in {self.path}" if self.member else self.path


def _open_archive(path: str) -> zipfile.ZipFile:
    """A zip archive.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: It is no zip archive, or cut short.
    """
    try:
        return zipfile.ZipFile(cast(Any, for_arrow(checked_path(path))))
    except zipfile.BadZipFile as error:
        raise ValueError(f"wanted a whole zip archive, got {path} ({error}): fetch it again") from error


def _open_member(path: str, name: str) -> Any:
    """A file in a zip archive, for reading.

    Raises:
        FileNotFoundError: The archive does not exist.
        ValueError: It is no whole archive, or the file is encrypted or compressed by another method than usual.
    """
    with _open_archive(path) as archive:  # its file stays open until the member is closed
        try:
            return archive.open(name)
        except (RuntimeError, NotImplementedError) as error:
            raise ValueError(f"wanted a zip archive that can be read, got {path} ({error}): unpack it") from error


class TextFile(io.RawIOBase):
    """The bytes of a text file, decompressed and without a mark at the beginning.

    Args:
        path: A file or a URL.
        member: The name of the text in the file, if that is a zip archive.
        is_text: Whether to refuse what is no text in UTF-8; else the bytes come as they are.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: It is a pipe; while reading, what it holds is no text in UTF-8.
        OSError: While reading, its compression is damaged, or a URL cannot be read.
    """

    def __init__(self, path: str, member: str | None = None, is_text: bool = True):
        self.path = without_secrets(str(_Text(checked_path(path), member)))
        self.raw_file = _open_member(path, member) if member else pa.input_stream(for_arrow(path), compression=None)
        self.is_text = is_text
        self.file: Any = None
        self.head = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer; the number that came, 0 at the end."""
        try:
            if self.file is None:
                self._begin()
            data, self.head = self.head[: len(buffer)], self.head[len(buffer) :]
            data = data or self.file.read(len(buffer))
        except DAMAGED as error:
            raise OSError(str(error) or type(error).__name__) from error
        buffer[: len(data)] = data
        return len(data)

    def _begin(self) -> None:
        """Look at the first bytes."""
        first = self.raw_file.read(16)
        self.raw_file.seek(0)
        self.file = _decompress(self.raw_file, first)
        self.head = _read_whole(self.file, BUFFER)
        if self.is_text:
            self.head = _check_head(self.head, self.path)

    def close(self) -> None:
        """Close the file."""
        if not self.closed and hasattr(self, "raw_file"):
            self.raw_file.close()
        super().close()


def _decompress(file: Any, first: bytes) -> Any:
    """A file as it is, or the file that its first bytes say it is compressed from.

    Zeros after the data of gzip are padding, as of tapes and of some file systems.
    """
    if first.startswith(GZIP):
        return gzip.GzipFile(fileobj=cast(BinaryIO, file), mode="rb")
    if first.startswith(ZSTD):
        return pa.CompressedInputStream(file, "zstd")
    if first.startswith(XZ):
        return lzma.LZMAFile(cast(BinaryIO, file))
    return bz2.BZ2File(cast(BinaryIO, file)) if BZIP2.match(first) else file


def _read_whole(file: Any, size: int) -> bytes:
    """So many bytes of a file; fewer at its end, or where it breaks off."""
    parts = b""
    while len(parts) < size and (part := file.read(size - len(parts))):
        parts += part
    return parts


def _check_head(head: bytes, path: str) -> bytes:
    """The first bytes of a text, without a mark of UTF-8.

    Args:
        head: Some thousands of bytes, or the whole text.
        path: The file, for messages.

    Raises:
        ValueError: They are none of a text in UTF-8 whose lines end at line feeds.
    """
    for magic, kind in ARCHIVES.items():
        if head.startswith(magic):
            remedy = "give it the suffix .parquet" if magic == b"PAR1" else "unpack it"
            raise ValueError(f"wanted a text file, got {path}, {kind}: {remedy}")
    encoding = next((name for mark, name in UNICODE.items() if head.startswith(mark)), _without_mark(head))
    if encoding:
        raise ValueError(f"wanted text in UTF-8, got {path} in {encoding}: {CONVERT.format(encoding=encoding)}")
    minimum = SEVERAL if len(head) >= BUFFER else 1
    if b"\n" not in head and head.rstrip(b"\r").count(b"\r") >= minimum:
        raise ValueError(
            f"wanted lines that end at a line feed, got {path}, where a carriage return (CR) alone ends them: "
            "convert it with: tr '\\r' '\\n'"
        )
    return head.removeprefix(MARK)


def _without_mark(head: bytes) -> str | None:
    """UTF-16 where every other byte of most of the first characters is zero; None of any other text.

    >>> [_without_mark("Hallo!".encode(encoding)) for encoding in ("utf-16-le", "utf-16-be", "utf-8")]
    ['UTF-16LE', 'UTF-16BE', None]
    """
    pairs = len(head) // 2
    if pairs and head[1::2].count(0) * 2 > pairs and not head[::2].count(0) * 2 > pairs:
        return "UTF-16LE"
    if pairs and head[::2].count(0) * 2 > pairs and not head[1::2].count(0) * 2 > pairs:
        return "UTF-16BE"
    return None


def _whole_lines(path: str, member: str | None = None) -> Iterator[bytes]:
    """A text file, or one in a zip archive, in blocks of whole lines; the last line ends at a line feed, too.

    Of a text between tabs that is longer than `LONGEST_FIELD` only the beginning is kept, so that a line without end
    costs no memory.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: What it holds is no text in UTF-8; the compression is damaged or cut short.
    """
    with TextFile(path, member) as file:
        number, partial_line, error = 0, b"", None
        while error is None:
            block, error = _next_bytes(file)
            end = block.rfind(b"\n") + 1
            if end:
                yield _cut_lines(partial_line + block[:end], _cut)
                number, partial_line = number + block.count(b"\n"), b""
            if len(partial_line) < LONGEST_LINE:
                partial_line = _cut_lines(partial_line + block[end:], _cut_begun)
            if not block:
                break
    if error is not None:
        raise broken(str(_Text(path, member)), number, error) from error
    if partial_line:
        yield _cut_lines(partial_line + b"\n", _cut)


def _cut_lines(text: bytes, cut_field: Callable[[bytes], bytes]) -> bytes:
    """Lines of which each text between tabs is cut; only the first line can be longer than a block."""
    end = text.find(b"\n") if b"\n" in text else len(text)
    if end <= LONGEST_FIELD:
        return text
    return b"\t".join(map(cut_field, text[:end].split(b"\t"))) + text[end:]


def _cut_begun(text: bytes) -> bytes:
    """The begin of a text that goes on: as much as `_cut` needs of it."""
    return text[: LONGEST_FIELD + 1]


def _cut(text: bytes) -> bytes:
    r"""The first `LONGEST_FIELD` bytes of a text, without the begin of a character at their end.

    >>> _cut("Größe".encode()).decode()
    'Größe'
    """
    if len(text) <= LONGEST_FIELD:
        return text
    ends = (position for position in range(LONGEST_FIELD, 0, -1) if text[position] & 0xC0 != 0x80)
    return text[: next(ends, LONGEST_FIELD)]


def _next_bytes(file: TextFile) -> tuple[bytes, OSError | None]:
    """The next `BLOCK_BYTES` of a file, less at its end; and the error that stopped reading before that, if one did."""
    parts: list[bytes] = []
    try:
        while len(parts) < BLOCK_BYTES // BUFFER and (part := file.read(BUFFER)):
            parts.append(part)
    except OSError as error:
        return b"".join(parts), error
    return b"".join(parts), None


def lines(path: str, member: str | None = None) -> Iterator[bytes]:
    """The lines of a text file without their line ends.

    Args:
        path: A file or a URL.
        member: The name of the text in the file, if that is a zip archive.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: What it holds is no text in UTF-8; the compression is damaged or cut short.
    """
    number = 0
    text = TextFile(path, member)
    try:
        with io.BufferedReader(text, BUFFER) as file:
            for number, raw in enumerate(file, 1):  # noqa: B007 - the error names it
                yield raw.rstrip(b"\r\n")
    except OSError as error:
        raise broken(str(_Text(path, member)), number, error) from error


def text_lines(path: str) -> Iterator[str]:
    """The lines of a text file in UTF-8 without their line ends.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: A line is not UTF-8; as `lines`.
    """
    for number, raw in enumerate(lines(path), 1):
        text, fault = decode(raw)
        if fault:
            raise not_utf8(path, number, text)
        yield text


def readable_lines(path: str) -> Iterator[str]:
    """The lines of a text file without their line ends, with U+FFFD in place of what is not UTF-8.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: As `lines`.
    """
    return (decode(raw)[0] for raw in lines(path))


def read_text(path: str) -> str:
    """A whole text file in UTF-8, with its line ends as they are.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: It is not UTF-8, or another file than of text; the compression is damaged or cut short.
    """
    try:
        with TextFile(path) as file:
            raw = file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise broken(path, 0, error) from error
    text, fault = decode(raw)
    if fault:
        raise not_utf8(path, *next((n, line) for n, line in enumerate(text.split("\n"), 1) if "\ufffd" in line))
    return text


def not_utf8(path: object, number: int, text: str) -> ValueError:
    """The error of a file with a line that is not UTF-8."""
    return ValueError(
        f"{path}, line {number}: wanted UTF-8, got {text[:60]!r}: convert the file, from Latin-1 with: "
        "iconv -f LATIN1 -t UTF-8, from a Chinese one, as Excel writes it, with: iconv -f GB18030 -t UTF-8"
    )


def broken(path: str, number: int, error: OSError) -> ValueError:
    """The error of a file that breaks off after a number of lines."""
    return ValueError(f"wanted a whole file, got {path}, broken after line {number} ({error}): fetch it again")


def decode(raw: bytes) -> tuple[str, str | None]:
    r"""Bytes as text, with the fault if they are not UTF-8.

    >>> decode(b"caf\xe9")
    ('caf\ufffd', 'invalid_utf8')
    """
    try:
        return raw.decode("utf-8"), None
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), "invalid_utf8"
