"""Rows before and after augmentation as a page of HTML, with the words that differ marked."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from datasets import ClassLabel, Dataset, DatasetDict

from toolkit.augmentation.parts import _joined
from toolkit.augmentation.settings import PROVENANCE
from toolkit.bitext.words import WITHOUT_SPACES
from toolkit.system.whole_files import write_whole

LETTER = rf"[^\W{WITHOUT_SPACES}]"
WORD = re.compile(rf"(?:[{WITHOUT_SPACES}]|{LETTER}+(?:['’-]{LETTER}+)*|[^\w\s])\s*")  # as a reader sees words
ROWS = 20  # ours: as many as a page shows at a glance
STYLE = """
.augmented { border-collapse: collapse; font: 14px/1.45 system-ui, sans-serif; color: #1b1b1f; background: #fff }
.augmented caption { text-align: left; padding: 4px 10px 10px; color: #5b5d66 }
.augmented th, .augmented td { text-align: left; vertical-align: top; padding: 6px 10px }
.augmented th { border-bottom: 2px solid #c9ccd6; font-weight: 600 }
.augmented td { border-bottom: 1px solid #e4e6ec; overflow-wrap: anywhere }
.augmented td.text { width: 42% }
.augmented td.number { color: #5b5d66; text-align: right; font-variant-numeric: tabular-nums }
.augmented td.value { color: #5b5d66 }
.augmented del { background: #ffe1de; color: #7a1c12; text-decoration: none; border-radius: 3px; padding: 0 1px }
.augmented ins { background: #d9f2dd; color: #0e5224; text-decoration: none; border-radius: 3px; padding: 0 1px }
"""


class _Change(NamedTuple):
    """One column of a new row.

    Attributes:
        row: The number of the row that it is made of.
        column: The column.
        before: The text of that row.
        after: The text of the new row.
        others: Values that both rows have, by column, such as the label.
        score: The cosine of both texts, where it was measured.
    """

    row: int
    column: str
    before: str
    after: str
    others: dict[str, Any]
    score: float | None


class Preview:
    """New rows beside those that they are made of; a notebook shows it as a table.

    Args:
        data: A `Dataset`, `DatasetDict` or `DataFrame` that `toolkit.augment` returned, with its columns of provenance.
        columns: The columns of the texts; None is all columns of texts in which a row differs from its source.
        rows: New rows that are shown.
        provenance: The names of the columns of provenance, if they are others than the default.

    Raises:
        ValueError: The data has no column of provenance, or no new row.
    """

    def __init__(
        self,
        data: Any,
        columns: str | Sequence[str] | None = None,
        rows: int = ROWS,
        provenance: Sequence[str] = PROVENANCE,
    ) -> None:
        column_names = [columns] if isinstance(columns, str) else columns
        self.changes = list(islice(_changes(data, column_names, provenance), rows))
        if not self.changes:
            raise ValueError("wanted new rows to show, got none")

    def _repr_html_(self) -> str:
        """A table, as a notebook shows it."""
        has_several_columns = len({change.column for change in self.changes}) > 1
        other_names = list(dict.fromkeys(name for change in self.changes for name in change.others))
        heads = ["row", *(["column"] if has_several_columns else []), "before", "after", *other_names, "cosine"]
        lines = ["".join(_cells(change, has_several_columns, other_names)) for change in self.changes]
        return (
            f"<style>{STYLE}</style><table class='augmented'>"
            "<caption>Left: words that the new row no longer has. Right: words that are new.</caption>"
            f"<tr>{''.join(f'<th>{html.escape(head)}</th>' for head in heads)}</tr>"
            f"{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
        )

    def save(self, path: str | Path) -> None:
        """Write the table as a page."""
        head = "<!doctype html><html lang='en'><meta charset='utf-8'><title>Augmented rows</title>"
        body = f"<body style='margin: 24px; background: #fff'>{self._repr_html_()}</body></html>"
        write_whole(Path(path), head + body)


def _changes(data: Any, columns: Sequence[str] | None, provenance: Sequence[str]) -> Iterator[_Change]:
    """The changed texts of the new rows, in order.

    Raises:
        ValueError: There are no columns of provenance.
    """
    source, _, score = provenance
    if isinstance(data, DatasetDict):
        data = data["train"]
    if not isinstance(data, Dataset):
        data = Dataset.from_pandas(data, preserve_index=False)
    if source not in data.column_names:
        raise ValueError(f"wanted the column {source!r} of augmented data, got {', '.join(data.column_names)}")
    for column in columns or ():
        if column not in data.column_names:
            raise ValueError(f"wanted column {column!r}, got the columns {', '.join(data.column_names)}")
    for new, old in _pairs(data, source):
        names = [name for name in new if name not in provenance]
        texts = [name for name in (columns or names) if _is_text(new[name])]
        for column in texts:
            before, after = (_joined(row[column], column, "en")[0] for row in (old, new))
            if before != after:
                other_values = {
                    name: _readable_value(new[name], data.features[name])
                    for name in names
                    if name not in texts and _is_short(new[name])
                }
                yield _Change(int(new[source]), column, before, after, other_values, new.get(score))


def _pairs(data: Dataset, source: str) -> Iterator[tuple[dict, dict]]:
    """The new rows, and of each the row that it is made of."""
    data = data.with_format(None)
    numbers = data.select_columns([source])[:][source]
    for new in (n for n, number in enumerate(numbers) if number is not None):
        yield data[new], data[int(numbers[new])]  # pandas may have made it a float


def _is_text(value: Any) -> bool:
    """Whether a value is a text or a list of tokens."""
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(token, str) for token in value))


def _is_short(value: Any) -> bool:
    """Whether a value fits into a cell: a number, or few characters."""
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= 20)


def _readable_value(value: Any, feature: Any) -> Any:
    """A value as a reader knows it: the name of a class instead of its number."""
    is_class_number = isinstance(feature, ClassLabel) and value is not None and 0 <= value < feature.num_classes
    return feature.int2str(value) if is_class_number else value


def _cells(change: _Change, has_several_columns: bool, other_names: Sequence[str]) -> Iterator[str]:
    """The cells of a change."""
    before, after = _marked(change.before, change.after)
    yield f"<td class='number'>{change.row}</td>"
    if has_several_columns:
        yield f"<td class='value'>{html.escape(change.column)}</td>"
    yield f"<td class='text'>{before}</td><td class='text'>{after}</td>"
    for name in other_names:
        yield f"<td class='value'>{html.escape(str(change.others.get(name, '')))}</td>"
    yield f"<td class='number'>{'' if change.score is None else f'{change.score:.2f}'}</td>"


def _marked(before: str, after: str) -> tuple[str, str]:
    """Two texts as HTML, with the words that only one of them has in <del> and <ins>.

    >>> _marked("The lift is broken.", "The elevator is broken.")
    ('The <del>lift</del> is broken.', 'The <ins>elevator</ins> is broken.')
    """
    before_words, after_words = _words(before), _words(after)
    left: list[str] = []
    right: list[str] = []
    for kind, begin, end, first, last in difflib.SequenceMatcher(
        None, before_words, after_words, autojunk=False
    ).get_opcodes():
        for side, tag, segment in ((left, "del", before_words[begin:end]), (right, "ins", after_words[first:last])):
            text = html.escape("".join(segment), quote=False)
            body = text.strip()
            if kind == "equal" or not body:
                side.append(text)
            else:
                index = text.index(body)
                side.append(f"{text[:index]}<{tag}>{body}</{tag}>{text[index + len(body) :]}")
    return "".join(left), "".join(right)


def _words(text: str) -> list[str]:
    """The words and marks of a text, each with the white space after it.

    >>> _words("The lift, it's  broken."), _words("电梯坏了")
    (['The ', 'lift', ', ', "it's  ", 'broken', '.'], ['电', '梯', '坏', '了'])
    """
    matches = WORD.findall(text.lstrip())
    return [text[: len(text) - len(text.lstrip())] + matches[0], *matches[1:]] if matches else [text]
