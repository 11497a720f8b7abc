"""Guards: what a paraphrase may not do to its reference. A candidate that breaks one is refused with the guard's name.

They are ours; the papers' builders have them off, but for those of `ALWAYS`: a text without a letter, or without a
placeholder of its reference, is a paraphrase for nobody. The others read words, not meanings, so they refuse some good
candidates: docs/results/judgments.md has how many, measured on human judgments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from toolkit.clean.marks import lacks_letters, loses_mark
from toolkit.data.rows import Row
from toolkit.models.coverage import PARTS
from toolkit.score._persons import changes_person
from toolkit.score._quantities import changes_number
from toolkit.score.names import _changes_name
from toolkit.score.negation import _changes_negation

ALWAYS = ("empty", "mark")  # asked of every candidate in any language
GUARDS = ("negation", "number", "name", "person")  # asked where they are wanted
BROKEN = {
    "empty": lacks_letters,
    "mark": loses_mark,
    "negation": _changes_negation,
    "number": changes_number,
    "name": _changes_name,
    "person": changes_person,
}
LANGUAGES = PARTS["the guards"].languages


def broken_guard(reference: str, candidate: str, lang: str, guards: Sequence[str] = (*ALWAYS, *GUARDS)) -> str | None:
    """The first guard that a candidate breaks; None if it keeps all.

    >>> broken_guard("He didn't come to our party.", "He came to our party because he was sick.", "en")
    'negation'
    >>> broken_guard("Tom bought 3 books.", "Tom has bought three books.", "en")

    Args:
        reference: A text.
        candidate: What should mean the same.
        lang: Of both (ISO 639-1), one of `LANGUAGES` where a guard of `GUARDS` is asked.
        guards: Which are asked, in this order, of `ALWAYS` and `GUARDS`.
    """
    return next((guard for guard in guards if BROKEN[guard](reference, candidate, lang)), None)


def check_guards(guards: Sequence[str], lang: str) -> None:
    """Refuse guards that there are not, or a language whose words they do not know.

    Raises:
        ValueError: A guard is unknown, or there are guards and no words of the language.
    """
    if unknown := [guard for guard in guards if guard not in GUARDS]:
        raise ValueError(f"wanted guards of {', '.join(GUARDS)}, got {', '.join(unknown)}")
    if guards and lang not in LANGUAGES:
        raise ValueError(
            f"wanted no guards for language {lang!r}, got {', '.join(guards)}: they know {', '.join(LANGUAGES)}"
        )


def guard_rows(rows: Iterable[Row], guards: Sequence[str] = GUARDS) -> Iterator[Row]:
    """Refuse candidates that break a guard; the reason is the guard.

    Args:
        rows: Rows with candidates, in a language of `LANGUAGES` where there are guards.
        guards: Of `GUARDS`, besides those of `ALWAYS`.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                candidate.reason = broken_guard(row.reference, candidate.text, row.lang, (*ALWAYS, *guards))
        yield row
