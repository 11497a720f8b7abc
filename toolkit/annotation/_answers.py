"""The files of a sheet: what annotators see, what they answered, and the key.

    sheet.json     the settings of the sheet
    items.csv      the pages: item, page, reference, paraphrase, an empty column for each question, and the sheet's id
    key.csv        the parabank of each item; annotators must not see it
    answers/       a file for each annotator: item, the answers, time, and the sheet's id

An annotator may fill in a copy of items.csv in a spreadsheet and save it as answers/NAME.csv. The server writes the
same columns without the texts: a line for each answer, of which the last holds. Answers that were given on another
sheet are refused, by its id or by its texts.
"""

from __future__ import annotations

import csv
import io
import os
import re
import time
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolkit.annotation.sheets import SHEETS, Question, Sheet
from toolkit.bitext.normalize import match_key
from toolkit.bitext.text_file import read_text
from toolkit.system.outputs import is_ours
from toolkit.system.whole_files import read_record, write_whole

RECORD, ITEMS, KEY, ANSWERS = "sheet.json", "items.csv", "key.csv", "answers"
LONGEST_NAME = 40  # ours: letters of an annotator's name, which is a file name, too
FORMULA = re.compile(r"'*[=+\-@\t\r]")  # how a cell begins that a spreadsheet program computes, or one made harmless
MARK = "\ufeff"  # a spreadsheet program takes a file for UTF-8 if it begins with this
YES, NO = {"1", "x", "yes", "true"}, {"", "0", "no", "false"}
TIME = "time"  # the column that only the server writes: UTC
SHEET = "sheet"  # the column of the sheet's id
Answers = dict[str, float]  # by question


@dataclass(frozen=True)
class _Item:
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
        remedy = "make one with parabank annotate make"
        raise ValueError(f"wanted the folder of a sheet, got {folder} without {RECORD}: {remedy}")
    record = read_record(folder / RECORD, "make the sheet again")
    if record.get("sheet") not in SHEETS:
        sheet_name = record.get("sheet")
        raise ValueError(
            f"wanted a sheet of {', '.join(SHEETS)}, got {sheet_name!r} in {folder / RECORD}: make it again"
        )
    return record, SHEETS[record["sheet"]]


def read_items(folder: Path) -> list[_Item]:
    """The items of a sheet, in the order of its pages.

    Raises:
        ValueError: The file is missing or damaged.
    """
    rows = read_table(folder / ITEMS, ("item", "page", "reference", "paraphrase"))
    if not all((row["page"] or "").isdecimal() for row in rows):
        raise ValueError(f"wanted the numbers of pages, got {folder / ITEMS} with another text: make the sheet again")
    return [_Item(row["item"], int(row["page"]), row["reference"], row["paraphrase"]) for row in rows]


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
    known_items, item_answers = set(items), {}
    for line, row in enumerate(read_table(file, ("item", *sheet.required)), 2):
        if row["item"] not in known_items:
            raise ValueError(f"wanted an item of the sheet, got {row['item']!r} in {file}, line {line}: correct it")
        try:
            answers = {question.name: value(question, row.get(question.name) or "") for question in sheet.questions}
        except ValueError as error:
            raise ValueError(f"{error} in {file}, line {line}: correct it") from None
        present_answers = {name: answer for name, answer in answers.items() if answer is not None}
        if present_answers.keys() & set(sheet.required) or any(present_answers.values()) or TIME in row:
            item_answers[row["item"]] = present_answers
    return item_answers


def check_sheet(file: Path, sheet_id: str, items: Sequence[_Item]) -> None:
    """Refuse an annotator's file that was filled in on another sheet, as far as its columns say.

    Args:
        file: The annotator's file.
        sheet_id: The id of the sheet.
        items: The items of the sheet.

    Raises:
        ValueError: The file has the id of another sheet, or another text for an item; with the line.
    """
    texts = {item.item: (match_key(item.reference), match_key(item.paraphrase)) for item in items}
    for line, row in enumerate(read_table(file, ("item",)), 2):
        other_id = (row.get(SHEET) or "").strip()
        pairs = zip(("reference", "paraphrase"), texts.get(row["item"], ("", "")), strict=True)
        is_other_text = row["item"] in texts and any(
            name in row and match_key(row[name] or "") != key for name, key in pairs
        )
        if other_id not in ("", sheet_id) or is_other_text:
            actual = f"the text of another for item {row['item']}" if is_other_text else f"those of sheet {other_id!r}"
            raise ValueError(
                f"wanted answers to this sheet ({sheet_id}), got {actual} in {file}, line {line}: take the file away, "
                "or put it into the folder of its sheet"
            )


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
            raise ValueError(f"wanted {question.name} as 1 or nothing, got {text!r}")  # the caller says where
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
    expected = "from 0 to 100" if question.kind == "slider" else f"as one of {', '.join(map(str, question.levels))}"
    raise ValueError(f"wanted {question.name} {expected}, got {text!r}")


def checked_name(annotator: str) -> str:
    """The name of an annotator in the spelling that is saved: "Anna" and "anna" are one.

    >>> checked_name("Anna-2")
    'anna-2'

    Raises:
        ValueError: It is no file name.
    """
    name = unicodedata.normalize("NFC", annotator).casefold()
    if not 0 < len(name) <= LONGEST_NAME or not all(c in "-_" or unicodedata.category(c)[0] in "LMN" for c in name):
        raise ValueError(
            f"wanted a name of up to {LONGEST_NAME} letters, digits, - and _, got {annotator!r}: choose another"
        )
    return name


def answer_files(folder: Path) -> dict[str, Path]:
    """The file of each annotator, by name; hidden files are left out.

    Raises:
        ValueError: A file is named otherwise, or two are of one annotator.
    """
    files: dict[str, Path] = {}
    for file in sorted((folder / ANSWERS).iterdir()):
        if file.name.startswith((".", "~")):
            continue
        try:
            name = checked_name(file.stem)
        except ValueError:
            name = ""
        if not name or file.suffix.lower() != ".csv" or name in files:
            raise ValueError(f"wanted a file NAME.csv for each annotator, got {file}: rename it, or take it away")
        files[name] = file
    return files


def append_answers(
    file: Path, sheet: Sheet, item: str, answers: Mapping[str, float], sheet_id: str | None = None
) -> None:
    """Append the answers to an item to an annotator's file, and wait until the disk has them.

    Args:
        file: The annotator's file; it is created if it does not exist.
        sheet: The sheet.
        item: The item.
        answers: The answers, by question.
        sheet_id: The id of the sheet; None writes none. A file that was begun without goes on without.

    Raises:
        OSError: The disk is full, or another error of the file system; nothing is appended then.
        ValueError: Another program wrote the file.
    """
    columns = ["item", *(question.name for question in sheet.questions), TIME]
    record = {name: f"{answer:g}" for name, answer in answers.items()}
    record |= {"item": item, TIME: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    is_without_id = file.exists() and file.read_bytes().startswith(table_text(columns, []).encode())
    if sheet_id is not None and not is_without_id:
        columns, record = [*columns, SHEET], record | {SHEET: sheet_id}
    head = table_text(columns, []).encode()
    if not file.exists() or b"\n" not in file.read_bytes():  # a full disk or a kill may have left it empty
        write_whole(file, head)
        folder = os.open(file.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    with file.open("r+b") as stream:
        content = stream.read()
        if not content.startswith(head):
            raise ValueError(f"wanted a new name, got that of {file.name}, which another program wrote: choose another")
        end = content.rfind(b"\n") + 1  # a killed server may not have finished the last line
        try:
            stream.truncate(end)
            stream.seek(end)
            stream.write(_table_lines(columns, [record]).encode())
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            stream.truncate(end)
            raise


def read_table(file: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file with a header; a last line that the server did not finish is left out.

    Args:
        file: UTF-8 with commas, semicolons or tabs between the fields.
        columns: The columns that it must have.

    Raises:
        ValueError: The file is missing, is no UTF-8, or lacks a column.

    Returns:
        The rows; none of a file without a whole line.
    """
    try:
        text = read_text(str(file))
    except FileNotFoundError:
        raise ValueError(f"wanted the file {file}, got none: check the folder") from None
    head, end, _ = text.partition("\n")
    if not end:
        return []
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise ValueError(f"wanted a CSV file, got {file} ({error}, line {reader.line_num}): write it again") from None
    if missing_columns := [name for name in columns if name not in (reader.fieldnames or ())]:
        raise ValueError(
            f"wanted the columns {', '.join(columns)}, got {file} without {', '.join(missing_columns)}: add them"
        )
    if rows and TIME in rows[0] and not text.endswith("\n"):
        rows.pop()
    return [{name: _from_cell(cell) if isinstance(cell, str) else cell for name, cell in row.items()} for row in rows]


def _to_cell(cell: object) -> object:
    """A cell that no spreadsheet program takes for a formula; a text of strangers may be one.

    >>> _to_cell("=HYPERLINK(A1)"), _to_cell("'- No."), _to_cell("No."), _to_cell(-0.5)
    ("'=HYPERLINK(A1)", "''- No.", 'No.', -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def _from_cell(cell: str) -> str:
    """The text of a cell of `_to_cell`.

    >>> _from_cell("'=HYPERLINK(A1)"), _from_cell("'Tis."), _from_cell("-0.5")
    ('=HYPERLINK(A1)', "'Tis.", '-0.5')
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def table_text(columns: Sequence[str], rows: Iterable[Mapping]) -> str:
    """A CSV file as spreadsheet programs read it."""
    return MARK + _table_lines(columns, [dict(zip(columns, columns, strict=True)), *rows])


def _table_lines(columns: Sequence[str], rows: Iterable[Mapping]) -> str:
    """Lines of a CSV file."""
    return "".join(
        _table_line(columns, {name: _to_cell(cell) for name, cell in row.items()}).removesuffix("\r\n") + "\n"
        for row in rows
    )


def _table_line(columns: Sequence[str], cells: Mapping) -> str:
    """A record that ends in CR and LF, so that a cell with either is quoted."""
    text = io.StringIO(newline="")
    csv.DictWriter(text, columns, lineterminator="\r\n").writerow(cells)
    return text.getvalue()
