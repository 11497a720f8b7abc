"""Rows before and after augmentation as a page of HTML, with the words that differ marked."""

from __future__ import annotations

import difflib
import html
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from datasets import ClassLabel, Dataset, DatasetDict

from toolkit.augmentation.parts import _joined
from toolkit.augmentation.settings import PROVENANCE
from toolkit.bitext.words import CHARACTER_WITHOUT_SPACES, continues_word
from toolkit.package.templates import TEMPLATES
from toolkit.system.whole_files import write_whole

JOINERS = "\u200c\u200d"  # between letters of one word, or the parts of one emoji
SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")  # the first and the last
FLAG_LETTERS = ("\U0001f1e6", "\U0001f1ff")  # two of them are a flag
WITHIN_WORDS = "'’-"
ROWS = 20  # ours: as many as a page shows at a glance


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
        lang: The language of the texts (ISO 639-1), by which a list of tokens becomes a text; None takes texts that are
            mostly in characters without spaces for Chinese, and all others for English.

    Raises:
        ValueError: The data has no column of provenance, or no new row.
    """

    def __init__(
        self,
        data: Any,
        columns: str | Sequence[str] | None = None,
        rows: int = ROWS,
        provenance: Sequence[str] = PROVENANCE,
        lang: str | None = None,
    ) -> None:
        column_names = [columns] if isinstance(columns, str) else columns
        table = _as_dataset(data, column_names, provenance)
        self.score_name = provenance[2]
        self.new_rows = len(table) - table.data.column(provenance[0]).null_count
        self.changes = list(islice(_changes(table, column_names, provenance, lang), rows))
        if not self.changes:
            raise ValueError("wanted new rows to show, got none")

    def _repr_html_(self) -> str:
        """A table, as a notebook shows it."""
        has_several_columns = len({change.column for change in self.changes}) > 1
        other_names = list(dict.fromkeys(name for change in self.changes for name in change.others))
        heads = [*(["column"] if has_several_columns else []), "before", "after", *other_names]
        lines = ["".join(_cells(change, has_several_columns, other_names, self.score_name)) for change in self.changes]
        style = (TEMPLATES / "preview.css").read_text(encoding="utf-8")
        caption = (
            f"{len(lines):,} new texts, of {self.new_rows:,} new rows in all. Marked before: words that the new row "
            "lacks or has elsewhere. Marked after: words that are new or stand elsewhere. row: the number of the row "
            f"that the new one is made of, from 0. {html.escape(self.score_name)}: the cosine of both texts, at most 1."
        )
        return (
            f"<style>{style}</style><table class='augmented'><caption>{caption}</caption>"
            f"<tr><th class='number'>row</th>{''.join(f'<th>{html.escape(head)}</th>' for head in heads)}"
            f"<th class='number'>{html.escape(self.score_name)}</th></tr>"
            f"{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
        )

    def save(self, path: str | Path) -> None:
        """Write the table as a page, with a box that filters its rows."""
        text, style = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("preview.html", "page.css"))
        environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
        write_whole(Path(path), environment.from_string(text).render(style=style, table=self._repr_html_()))


def _as_dataset(data: Any, columns: Sequence[str] | None, provenance: Sequence[str]) -> Dataset:
    """The augmented rows, without the other splits.

    Raises:
        ValueError: There are no columns of provenance, or one of the columns is missing.
    """
    if isinstance(data, DatasetDict):
        data = data["train"]
    if not isinstance(data, Dataset):
        data = Dataset.from_pandas(data, preserve_index=False)
    if provenance[0] not in data.column_names:
        raise ValueError(f"wanted the column {provenance[0]!r} of augmented data, got {', '.join(data.column_names)}")
    for column in columns or ():
        if column not in data.column_names:
            raise ValueError(f"wanted column {column!r}, got the columns {', '.join(data.column_names)}")
    return data


def _changes(
    data: Dataset, columns: Sequence[str] | None, provenance: Sequence[str], lang: str | None
) -> Iterator[_Change]:
    """The changed texts of the new rows, in order."""
    source, _, score = provenance
    for new, old in _pairs(data, source):
        names = [name for name in new if name not in provenance]
        texts = [name for name in (columns or names) if _is_text(new[name])]
        for column in texts:
            before, after = (_joined(row[column], column, lang or _lang_of(row[column]))[0] for row in (old, new))
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


def _lang_of(value: str | Sequence[str]) -> str:
    """The language by which a list of tokens becomes a text: Chinese, which has no spaces, or any other.

    >>> _lang_of(["2024", "年", "的", "北京"]), _lang_of(["The", "word", "京"])
    ('zh', 'en')
    """
    letters = [character for token in value for character in token if character.isalpha()]
    without_spaces = [character for character in letters if CHARACTER_WITHOUT_SPACES.match(character)]
    return "zh" if len(without_spaces) > len(letters) / 2 else "en"


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


def _cells(change: _Change, has_several_columns: bool, other_names: Sequence[str], score_name: str) -> Iterator[str]:
    """The cells of a change."""
    before, after = _marked(change.before, change.after)
    yield f"<td class='number' data-name='row'>{change.row}</td>"
    if has_several_columns:
        yield f"<td class='value' data-name='column'>{html.escape(change.column)}</td>"
    yield f"<td class='text' dir='auto'>{before}</td><td class='text' dir='auto'>{after}</td>"
    for name in other_names:
        value = html.escape(str(change.others.get(name, "")))
        yield f"<td class='value' dir='auto' data-name='{html.escape(name)}'>{value}</td>"
    score = "" if change.score is None else f"{change.score:.2f}"
    yield f"<td class='number' data-name='{html.escape(score_name)}'>{score}</td>"


def _marked(before: str, after: str) -> tuple[str, str]:
    """Two texts as HTML, with the words that only one of them has in <del> and <ins>.

    >>> _marked("The lift is broken.", "The elevator is broken.")
    ('The <del>lift</del> is broken.', 'The <ins>elevator</ins> is broken.')
    """
    before_words, after_words = _words(before), _words(after)
    stripped_before, stripped_after = ([word.strip() for word in words] for words in (before_words, after_words))
    left: list[str] = []
    right: list[str] = []
    for kind, begin, end, first, last in difflib.SequenceMatcher(
        None, stripped_before, stripped_after, autojunk=False
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
    """The words and marks of a text, each with the white space after it; of Chinese text each character.

    >>> _words("The lift, it's  broken."), _words("电梯坏了"), _words("हिन्दी 👍🏽!")
    (['The ', 'lift', ', ', "it's  ", 'broken', '.'], ['电', '梯', '坏', '了'], ['हिन्दी ', '👍🏽', '!'])
    """
    words: list[str] = []
    for index, character in enumerate(text):
        if words and _continues(words[-1], character, text[index + 1 : index + 2]):
            words[-1] += character
        else:
            words.append(character)
    return words or [text]


def _continues(word: str, character: str, following: str) -> bool:
    """Whether a character belongs to the word before it, or is the space behind it."""
    last = word[-1]
    if character.isspace() or word.isspace():
        return True
    if last in JOINERS or character in JOINERS or unicodedata.category(character)[0] == "M":
        return not last.isspace()
    if SKIN_TONES[0] <= character <= SKIN_TONES[1]:
        return not last.isspace()
    if FLAG_LETTERS[0] <= character <= FLAG_LETTERS[1]:
        return FLAG_LETTERS[0] <= word <= FLAG_LETTERS[1] and len(word) == 1
    if character in WITHIN_WORDS:
        return continues_word(last) and continues_word(following or " ")
    return continues_word(character) and (
        continues_word(last) or (last in WITHIN_WORDS and len(word) > 1 and continues_word(word[-2]))
    )
