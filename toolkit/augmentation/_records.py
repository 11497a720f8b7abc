"""Rows of text files with the records as they stand in the file, so that a row is written back byte for byte."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from datasets import Dataset

from toolkit.bitext.text_file import BUFFER, MARK, TextFile, text_lines

BATCH = 10_000  # ours: rows whose values are Python objects at a time
JSON_LINES = ".jsonl"


@dataclass(frozen=True)
class Records:
    """The records of a file.

    Attributes:
        texts: Each with its line end.
        suffix: Of the form of the file: ".csv", ".tsv" or ".jsonl".
        header: The first record of CSV or TSV.
        delimiter: Between the fields of CSV or TSV.
        names: The columns, in the order of the fields.
        mark: What stands before the first record: the mark of UTF-8, or nothing.
    """

    texts: pa.ChunkedArray
    suffix: str
    header: str = ""
    delimiter: str = ""
    names: tuple[str, ...] = ()
    mark: str = ""

    @property
    def line_end(self) -> str:
        """The line end of the first record."""
        first = self.header or (self.texts[0].as_py() if len(self.texts) else "")
        return first[len(first.rstrip("\r\n")) :] or "\n"


class FileRows(NamedTuple):
    """The rows of a file.

    Attributes:
        rows: Their values.
        records: How they stand in the file; None where it is no text, or a data set.
    """

    rows: Dataset
    records: Records | None


def opened(path: str, newline: str = "") -> io.TextIOWrapper:
    """A text file whose line ends stay as they are; "" is any of them."""
    return io.TextIOWrapper(io.BufferedReader(TextFile(path), BUFFER), "utf-8", newline=newline)


def mark_of(path: str) -> str:
    """The mark of UTF-8 with which a text file begins, such as Excel wants it, or nothing."""
    with TextFile(path, is_text=False) as file:
        return MARK.decode() if file.read(len(MARK)) == MARK else ""


def name_line(path: str) -> None:
    """Refuse a file that is not UTF-8.

    Raises:
        ValueError: It is not; the message names the line.
    """
    for _ in text_lines(path):
        pass
