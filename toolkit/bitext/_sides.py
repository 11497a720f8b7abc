"""Which column, language or file of a bitext is its source and which its reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolkit.bitext._codes import short_code

# Names of the two columns where neither columns nor languages tell them
NAMES = (("source", "reference"), ("source", "target"), ("src", "tgt"), ("src", "trg"), ("sentence1", "sentence2"))


@dataclass(frozen=True)
class Sides:
    """What tells the sides of a bitext, source and reference.

    Attributes:
        columns: Their columns: numbers from 0 in a TSV file, names, or None.
        langs: Their languages, or None.
    """

    columns: tuple[str | int | None, str | int | None] = (None, None)
    langs: tuple[str | None, str | None] = (None, None)

    def among(self, names: Sequence[str]) -> tuple[str | None, str | None]:
        """The names of both sides among those of columns; None for a side that has none.

        A column that was given is the only one that fits. Otherwise the names are codes of the languages, or `NAMES`.

        >>> Sides(langs=("de", "en")).among(["id", "translation.en", "translation.de"])
        ('translation.de', 'translation.en')
        >>> Sides(columns=("src", None)).among(["src", "tgt", "score"])
        ('src', 'tgt')
        """
        by_name = {name.lower(): name for name in reversed(names)}
        pairs = [(self.of_language(names, 0), self.of_language(names, 1))]
        for source, reference in NAMES:
            pairs.append((self._given(names, 0, by_name.get(source)), self._given(names, 1, by_name.get(reference))))
        differ = None in self.columns  # otherwise both may be one column, as of text in one language
        whole = [pair for pair in pairs if None not in pair and not (differ and pair[0] == pair[1])]
        return (whole or pairs)[0]

    def of_language(self, names: Sequence[str], number: int) -> str | None:
        """The name of a side, 0 or 1, among codes of languages, which may follow a dot; None if it is not there."""
        lang = self.langs[number]
        fitting = [name for name in names if lang is not None and short_code(name.rpartition(".")[2]) == lang]
        exact = (name for name in fitting if name.rpartition(".")[2] == lang)
        return self._given(names, number, next(exact, fitting[0] if fitting else None))

    def wanted(self, number: int) -> str:
        """What was wanted of a side, 0 or 1, for an error."""
        return str(self.columns[number] or self.langs[number] or ("source", "reference")[number])

    def _given(self, names: Sequence[str], number: int, default: str | None) -> str | None:
        """The name that was given as the column of a side; letters may be capitals, and "-" may stand for "_"."""
        if self.columns[number] is None:
            return default
        column = str(self.columns[number])
        return column if column in names else next((name for name in names if _folded(name) == _folded(column)), None)


def _folded(name: str) -> str:
    """A name in small letters, with "-" for "_"."""
    return name.lower().replace("_", "-")
