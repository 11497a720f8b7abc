"""The files of a sheet: what annotators see, what they answered, and the key.

    sheet.json     the settings of the sheet
    items.csv      the pages: item, page, reference, paraphrase, and an empty column for each question
    key.csv        the parabank of each item; annotators must not see it
    answers/       a file for each annotator: item, the answers, time

An annotator may fill in a copy of items.csv in a spreadsheet and save it as answers/NAME.csv. The server writes the
same columns without the texts: a line for each answer, of which the last holds.
"""

from __future__ import annotations

import csv
import io
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolkit.annotation.sheets import SHEETS, Question, Sheet
from toolkit.outputs import is_ours
from toolkit.shards import read_record

RECORD, ITEMS, KEY, ANSWERS = "sheet.json", "items.csv", "key.csv", "answers"
NAME = re.compile(r"[\w-]{1,40}")  # of an annotator, which is a file name, too
MARK = "\ufeff"  # a spreadsheet program takes a file for UTF-8 if it begins with this
YES, NO = {"1", "x", "yes", "true"}, {"", "0", "no", "false"}
TIME = "time"  # the column that only the server writes: UTC
Answers = dict[str, float]  # by question


@dataclass(frozen=True)
class Item:
    """A paraphrase as an annotator sees it.

    Attributes:
        item: Its number, as text.
        page: The page that it is on.
        reference: The reference.
        paraphrase: The paraphrase, or a copy of the reference.
    """

    item: str
    page: int
    reference: str
    paraphrase: str


def open_sheet(folder: Path) -> tuple[dict, Sheet]:
    """The record of a sheet, and how its paper asked.

    Raises:
        ValueError: The folder holds no sheet, or another version's.
    """
    if not is_ours(folder / RECORD):
        raise ValueError(f"wanted the folder of a sheet, got {folder} without {RECORD}: make one with annotate.py make")
    record = read_record(folder / RECORD, "make the sheet again")
    if record.get("sheet") not in SHEETS:
        raise ValueError(f"wanted a sheet of {', '.join(SHEETS)}, got {record.get('sheet')!r} in {folder / RECORD}")
    return record, SHEETS[record["sheet"]]


def read_items(folder: Path) -> list[Item]:
    """The items of a sheet, in the order of its pages.

    Raises:
        ValueError: The file is missing or damaged.
    """
    rows = read_table(folder / ITEMS, ("item", "page", "reference", "paraphrase"))
    return [Item(row["item"], int(row["page"]), row["reference"], row["paraphrase"]) for row in rows]


def read_answers(file: Path, sheet: Sheet, items: Iterable[str]) -> dict[str, Answers]:
    """What one annotator answered, by item; items without an answer are left out.

    Args:
        file: The annotator's file.
        sheet: The sheet.
        items: The items of the sheet.

    Returns:
        The last answers to each item. A question without an answer has none, but a flag that is not set is 0.

    Raises:
        ValueError: A column is missing, an item is not of this sheet, or an answer is out of its range; with the line.
    """
    known, found = set(items), {}
    for line, row in enumerate(read_table(file, ("item", *sheet.required)), 2):
        if row["item"] not in known:
            raise ValueError(f"wanted an item of the sheet, got {row['item']!r} in {file}, line {line}")
        try:
            answers = {question.name: value(question, row.get(question.name) or "") for question in sheet.questions}
        except ValueError as error:
            raise ValueError(f"{error} in {file}, line {line}: correct it") from None
        given = {name: answer for name, answer in answers.items() if answer is not None}
        if given.keys() & set(sheet.required) or any(given.values()) or TIME in row:
            found[row["item"]] = given
    return found


def value(question: Question, text: str) -> float | None:
    """An answer as a number; None if there is none.

    >>> from toolkit.annotation.sheets import PARABANK
    >>> [value(question, text) for question, text in zip(PARABANK.questions, ("80", "x", ""))]
    [80.0, 1.0, 0.0]

    Raises:
        ValueError: The answer is out of its range.
    """
    text = text.strip().lower()
    if question.kind == "flag":
        if text not in YES | NO:
            raise ValueError(f"wanted {question.name} as 1 or nothing, got {text!r}")
        return float(text in YES)
    if not text:
        return None
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = float("nan")
    if question.kind == "slider" and 0 <= number <= 100:
        return number
    if question.kind == "levels" and number in question.levels:
        return number
    wanted = "from 0 to 100" if question.kind == "slider" else f"as one of {', '.join(map(str, question.levels))}"
    raise ValueError(f"wanted {question.name} {wanted}, got {text!r}")


def answers_file(folder: Path, annotator: str) -> Path:
    """The file of an annotator.

    Raises:
        ValueError: The name is no file name.
    """
    if not NAME.fullmatch(annotator):
        raise ValueError(f"wanted a name of letters, digits, - and _, got {annotator!r}: choose another")
    return folder / ANSWERS / f"{annotator}.csv"


def append_answers(file: Path, sheet: Sheet, item: str, answers: Mapping[str, float]) -> None:
    """Append the answers to an item to an annotator's file, and wait until the disk has them.

    Args:
        file: The annotator's file; it is created if it does not exist.
        sheet: The sheet.
        item: The item.
        answers: The answers, by question.

    Raises:
        OSError: The disk is full, or another error of the file system.
    """
    columns = ["item", *(question.name for question in sheet.questions), TIME]
    record = {name: f"{answer:g}" for name, answer in answers.items()}
    record |= {"item": item, TIME: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    with file.open("a+b") as opened:
        cut_unfinished(opened)
        new = opened.seek(0, os.SEEK_END) == 0
        text = table_text(columns, [record]) if new else table_lines(columns, [record])
        opened.write(text.encode())
        opened.flush()
        os.fsync(opened.fileno())


def cut_unfinished(file: io.BufferedRandom) -> None:
    """Cut off a last line that a killed server did not finish."""
    file.seek(0)
    content = file.read()
    if content and not content.endswith(b"\n"):
        file.truncate(content.rfind(b"\n") + 1)


def read_table(file: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file with a header; a last line that the server did not finish is left out.

    Args:
        file: UTF-8 with commas, semicolons or tabs between the fields.
        columns: The columns that it must have.

    Raises:
        ValueError: The file is missing, is no UTF-8, or lacks a column.
    """
    try:
        text = file.read_text(encoding="utf-8").removeprefix(MARK)
    except FileNotFoundError:
        raise ValueError(f"wanted the file {file}, got none: check the folder") from None
    except UnicodeDecodeError:
        raise ValueError(f"wanted UTF-8, got {file} in another encoding: save it as CSV UTF-8") from None
    head = text.partition("\n")[0]
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    try:
        found = list(rows)
    except csv.Error as error:
        raise ValueError(f"wanted a CSV file, got {file} ({error}, line {rows.line_num}): write it again") from None
    if missing := [name for name in columns if name not in (rows.fieldnames or ())]:
        raise ValueError(f"wanted the columns {', '.join(columns)}, got {file} without {', '.join(missing)}")
    if found and TIME in found[0] and not text.endswith("\n"):
        found.pop()
    return found


def table_text(columns: Sequence[str], rows: Iterable[Mapping]) -> str:
    """A CSV file as spreadsheet programs read it."""
    return MARK + table_lines(columns, [dict(zip(columns, columns, strict=True)), *rows])


def table_lines(columns: Sequence[str], rows: Iterable[Mapping]) -> str:
    """Lines of a CSV file."""
    text = io.StringIO(newline="")
    csv.DictWriter(text, columns, lineterminator="\n").writerows(rows)
    return text.getvalue()
