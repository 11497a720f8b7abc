"""Read the records of CSV with quotes, whatever its delimiter."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Literal

TAB = "\t"
DELIMITERS = ",;\t|"
SAMPLE_LINES = 100  # ours: lines that are looked at for the delimiter
LONGEST_FIELD = (1 << 31) - 1  # characters of a field; Python's limit is 131,072


def csv_records(lines: Iterable[str], path: object) -> Iterator[tuple[int, list[str]]]:
    r"""The records of CSV, each with the number of its last line, from 1; empty lines are left out.

    Between tabs quotes are letters, as in TSV.

    >>> list(csv_records(["a;b", '"x; y";3,5'], "a.csv"))
    [(1, ['a', 'b']), (2, ['x; y', '3,5'])]

    Args:
        lines: Without their line ends; a quoted field may have several.
        path: The file, for messages.

    Raises:
        ValueError: The quotes of a record are wrong; the message names the line.
    """
    lines = iter(lines)
    first = list(islice(lines, SAMPLE_LINES))
    reader = csv_reader((line + "\n" for line in chain(first, lines)), delimiter_of(first))
    try:
        for record in reader:
            if record:
                yield reader.line_num, record
    except csv.Error as error:
        raise not_csv(path, reader.line_num, error) from None


def not_csv(path: object, number: int, error: csv.Error) -> ValueError:
    """The error of a file with a line whose quotes are wrong."""
    return ValueError(f"{path}, line {number}: wanted records of CSV, got others ({error})")


def delimiter_of(lines: list[str]) -> str:
    """The delimiter of CSV: by which all records have equally many fields, or the first record has the most.

    >>> delimiter_of(["a;b", "Well, I see.;3,5"]), delimiter_of(["text"]), delimiter_of(["a,b", "Well; no,2"])
    (';', ',', ',')

    Args:
        lines: The first lines.
    """
    widths = {delimiter: [len(record) for record in _whole_records(lines, delimiter)] for delimiter in DELIMITERS}
    first = {delimiter: sizes[0] if sizes else 1 for delimiter, sizes in widths.items()}
    even = [delimiter for delimiter, sizes in widths.items() if len(set(sizes)) == 1 and sizes[0] > 1]
    return max(even or DELIMITERS, key=lambda delimiter: first[delimiter])


def _whole_records(lines: list[str], delimiter: str) -> list[list[str]]:
    """The records that begin and end within some lines."""
    records = []
    try:
        lines_with_ends = (line + "\n" for line in lines)
        for record in csv_reader(lines_with_ends, delimiter):
            if record:
                records.append(record)
    except csv.Error:  # a quoted field goes on beyond these lines, or the delimiter is another
        pass
    return records


def csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    """A reader of `csv` for fields of any length; between tabs quotes are letters, as in the files of STS.

    Args:
        lines: With their line ends.
        delimiter: Between the fields of a record.
    """
    csv.field_size_limit(LONGEST_FIELD)
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == TAB else csv.QUOTE_MINIMAL
    return csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
