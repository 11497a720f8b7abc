"""Read the paragraphs of books and other running text, in constant memory.

A text is a plain file (.txt, also compressed), a folder or a glob of them, or a dataset with a book in each record. In
a file whose lines are wrapped, empty lines separate paragraphs; in others each line is a paragraph.
"""

from __future__ import annotations

import glob
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from toolkit.bitext._records import no_column
from toolkit.bitext.normalize import OWN_PUNCTUATION, normalize
from toolkit.bitext.read import _field_text, _open_dataset, is_dataset
from toolkit.bitext.text_file import COMPRESSED, checked_path, text_lines
from toolkit.system.urls import files_at, is_url, matching

SAMPLE = 1000  # ours: lines by which wrapped files are known
WRAPPED = 90  # ours: characters of a line; who wraps does it at 60 to 80
SHORT = 0.98  # ours: share of the lines of a wrapped file that are not longer
TEXT_SUFFIXES = (".txt", *(f".txt{suffix}" for suffix in COMPRESSED))
# Lines that Project Gutenberg puts before and after a book.
HEADER = re.compile(r"\*\*\* ?START OF (THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
FOOTER = re.compile(r"(\*\*\* ?)?END OF (THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
HEADER_LINES = 500  # ours: a header is in the first lines of a file


@dataclass(frozen=True)
class _Book:
    """A running text.

    Attributes:
        name: Its name, which no other book of the same call has.
        paragraphs: Its paragraphs, to be read once.
    """

    name: str
    paragraphs: Iterator[str]


def read_books(
    texts: Sequence[str], lang: str, column: str = "text", data_split: str = "train", punctuation: bool = True
) -> Iterator[_Book]:
    """The books of texts, in their order. Every file is read when its paragraphs are.

    Args:
        texts: Files, folders and globs of files, also at URLs; local datasets; or Hub ids ("id:configuration" where it
            has several).
        lang: Their language (ISO 639-1).
        column: The column of the text in a dataset.
        data_split: Which split of a dataset to read.
        punctuation: Whether typographic marks become ASCII (`normalize`), but not in Chinese, Japanese and Korean.

    Raises:
        FileNotFoundError: There is no such text.
        ValueError: Two files have one name; a dataset, its column or its split is not there. While the paragraphs are
            read: a file is damaged, or is no UTF-8.
    """
    ascii_marks = punctuation and lang not in OWN_PUNCTUATION
    files = {text: text_files(text) for text in texts if not _holds_dataset(text)}
    names = book_names([path for paths in files.values() for path in paths])
    dataset_names = _dataset_names([text for text in texts if text not in files], names)
    for text in texts:
        for path in files.get(text, []):
            yield _Book(names[path], _normalize_paragraphs(_read_paragraphs(text_lines(path)), ascii_marks))
        if text not in files:
            yield from _read_dataset(text, dataset_names[text], column, data_split, ascii_marks)


def _dataset_names(addresses: Sequence[str], file_names: Mapping[str, str]) -> dict[str, str]:
    """A name for each dataset: the last part of its address, or all that differs where two have the same.

    >>> _dataset_names(["hub/novels"], {}), _dataset_names(["hub/novels:de", "hub/novels:en"], {})
    ({'hub/novels': 'novels'}, {'hub/novels:de': 'de', 'hub/novels:en': 'en'})

    Raises:
        ValueError: Two datasets, or a record of one and a file, would have the same name.
    """
    names = {address: Path(address.partition(":")[0]).name for address in addresses}
    if len(set(names.values())) < len(names):
        paths = {address: os.path.abspath(address.replace(":", "/")) for address in addresses}
        above = os.path.commonpath([os.path.dirname(path) for path in paths.values()])
        names = {address: os.path.relpath(path, above) for address, path in paths.items()}
    of_files = {
        name.rpartition("-")[0]: path for path, name in file_names.items() if name.rpartition("-")[2].isdecimal()
    }
    if shared := next((name for name in names.values() if name in of_files), None):
        raise ValueError(
            f"wanted a name for each book, got {of_files[shared]} and the records of {shared}: leave one out or rename "
            "the file"
        )
    return names


def _read_dataset(address: str, name: str, column: str, data_split: str, ascii_marks: bool) -> Iterator[_Book]:
    """The books of a dataset; the number of a record, from 1, ends its name."""
    dataset, _, names = _open_dataset(address, data_split, lambda columns: column in columns)
    if not names:
        return
    if column not in names[-1]:
        raise no_column(column, list(dict.fromkeys(chain.from_iterable(names))), address)
    for number, record in enumerate(dataset.select_columns([column.partition(".")[0]]), 1):
        text = _field_text(record, column, address).split("\n")
        yield _Book(f"{name}-{number}", _normalize_paragraphs(_read_paragraphs(iter(text)), ascii_marks))


def _holds_dataset(text: str) -> bool:
    """Whether a text is a dataset: a Hub id, or a folder without text files."""
    if Path(text).is_dir():
        return any(Path(text).iterdir()) and not any(_is_text(path.name) for path in Path(text).rglob("*"))
    return not glob.has_magic(text) and not _is_text(text) and is_dataset(text)


def _is_text(name: str) -> bool:
    """Whether a file is one of text by its name, in small or capital letters."""
    return name.lower().endswith(TEXT_SUFFIXES)


def text_files(text: str) -> list[str]:
    """The files of a text, sorted.

    Raises:
        FileNotFoundError: There are none.
    """
    if Path(text).is_dir():
        paths = [str(path) for path in sorted(Path(text).rglob("*")) if _is_text(path.name)]
    elif is_url(text):
        paths = [str(path) for path in files_at(text) if path == text or _is_text(str(path))]
    elif glob.has_magic(text) and not Path(text).exists():
        paths = matching(text)
    else:
        paths = [str(checked_path(text))]
    if not paths:
        raise FileNotFoundError(
            f"wanted text in {', '.join(TEXT_SUFFIXES)}, got no such file in {text}: check the path"
        )
    return paths


def book_names(paths: Sequence[str]) -> dict[str, str]:
    """A name for each file: that of the file, or its path below their common folder where two files share a name.

    >>> book_names(["novels/Doyle_Hound_1902.txt.gz"])
    {'novels/Doyle_Hound_1902.txt.gz': 'Doyle_Hound_1902'}
    >>> list(book_names(["en/a/1.txt", "en/b/1.txt"]).values())
    ['a/1', 'b/1']

    Raises:
        ValueError: Two files differ in nothing but their suffixes.
    """
    names = {path: _stem(Path(path).name) for path in paths}
    if len(set(names.values())) < len(names):
        above = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
        names = {path: _stem(os.path.relpath(path, above)) for path in paths}
    by_name = {name: path for path, name in names.items()}
    for path, name in names.items():
        if by_name[name] != path:
            raise ValueError(f"wanted a name for each book, got {path} and {by_name[name]}: leave one out or rename it")
    return names


def _stem(path: str) -> str:
    """A path without the suffixes of text files; the file's name up to its first point, if it has others."""
    suffix = next((ending for ending in TEXT_SUFFIXES if path.lower().endswith(ending)), None)
    return path[: -len(suffix)] if suffix else str(Path(path).with_name(Path(path).name.split(".")[0]))


def _normalize_paragraphs(paragraphs: Iterator[str], ascii_marks: bool) -> Iterator[str]:
    """Paragraphs in the toolkit's form of text, without empty ones."""
    for paragraph in paragraphs:
        if text := normalize(paragraph, ascii_marks):
            yield text


def _read_paragraphs(source: Iterator[str]) -> Iterator[str]:
    """The paragraphs of lines, each on one line, without the header and footer of Project Gutenberg."""
    source = _without_frame(source)
    first = list(islice(source, SAMPLE))
    filled = [len(line) for line in first if line.strip()]
    wrapped = sum(length <= WRAPPED for length in filled) >= SHORT * len(filled) and len(filled) < len(first)
    paragraph: list[str] = []
    for line in chain(first, source, [""]):
        if paragraph and (not wrapped or not line.strip()):
            yield _joined_lines(paragraph)
            paragraph = []
        if line.strip():
            paragraph.append(line)


def is_wide(character: str) -> bool:
    """Whether a character is as wide as a Chinese one.

    >>> is_wide("字"), is_wide("。"), is_wide("a")
    (True, True, False)
    """
    return unicodedata.east_asian_width(character) in "WF"


def _joined_lines(lines: Sequence[str]) -> str:
    """Lines as one: with a space between them, but not between two letters or marks of a script without spaces.

    >>> _joined_lines(["He left", "early."]), _joined_lines(["电梯又", "坏了。"])
    ('He left early.', '电梯又坏了。')
    """
    text = ""
    for line in lines:
        wide = text and line and is_wide(text[-1]) and is_wide(line.lstrip()[0])
        text += line.lstrip() if wide else f" {line}" if text else line
    return text


def _without_frame(source: Iterator[str]) -> Iterator[str]:
    """Lines without those before a book and after it."""
    first = list(islice(source, HEADER_LINES))
    begin = next((number for number, line in enumerate(first, 1) if HEADER.search(line)), 0)
    for line in chain(first[begin:], source):
        if FOOTER.match(line.strip()):
            return
        yield line
