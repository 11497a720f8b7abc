"""The lexical constraints of one text, in words: phrases that it must say and phrases that it must not.

A phrase is said where its words stand in a row (`toolkit.bitext.words.constraint_words`). What is here reads finished
text; `lexical.py` turns the constraints into tensors, and `_constraint_state.py` follows them while text is decoded.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

from toolkit.bitext.words import constraint_words, continues_word
from toolkit.system.errors import check_lists

RECENT = 1024  # ours: a text is compared with many phrases, and a phrase with many texts, one after another


@dataclass(frozen=True)
class ConstraintSet:
    """The lexical constraints of one search, in words of running text.

    Attributes:
        positive: Phrases that the text must say, the first word with a capital or not. A phrase that is listed twice
            must be said twice.
        negative: Phrases that the text must not say, neither as given nor with a capital.
        not_first: Phrases that the text must not begin with, whatever the case of their first letter: "<BOS> w1 [w2
            [w3]]" in ParaBank's table 3.
    """

    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    not_first: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a text for a tuple of phrases, and constraints that no text can meet."""
        check_lists(self)
        for field in fields(self):
            for phrase in getattr(self, field.name):
                if not any(constraint_words(phrase)):
                    raise ValueError(f"wanted words in every {field.name} phrase, got {phrase!r}; drop it")
        for required in self.positive:
            for forbidden in self.negative:
                if times_said(required, forbidden):
                    raise ValueError(
                        f"wanted phrases that are required or forbidden, got {required!r} required and {forbidden!r} "
                        "forbidden; drop one of them"
                    )

    def unmet(self, text: str) -> list[str]:
        """The constraints that a text does not meet, each as a phrase in English.

        >>> ConstraintSet(("often",), ("do",), ("How",)).unmet("How do they?")
        ['says no "often"', 'says "do"', 'begins with "How"']
        """
        missing = {p for p in self.positive if times_said(text, p) < self.positive.count(p)}
        return [
            *(f'says no "{p}"' for p in dict.fromkeys(self.positive) if p in missing),
            *(f'says "{p}"' for p in self.negative if times_said(text, p)),
            *(f'begins with "{p}"' for p in self.not_first if _begins_with(text, p)),
        ]


def times_said(text: str, phrase: str) -> int:
    """How often a text says a phrase: the words of the phrase in a row, the first also with a capital.

    >>> times_said("For me? No, for fortune!", "for"), times_said("New York", "new york"), times_said("a a a", "a a")
    (2, 0, 2)
    """
    words, forms = list(_words(text)), _phrase_forms(phrase)
    return sum(words[i : i + len(forms[0])] in forms for i in range(len(words)))


def _begins_with(text: str, phrase: str) -> bool:
    """Whether a text begins with the words of a phrase; the case of the first letter does not count.

    >>> _begins_with("How often?", "how"), _begins_with("However", "how")
    (True, False)
    """
    words, forms = list(_words(text)), _anchored_forms(phrase)
    return words[: len(forms[0])] in forms


@lru_cache(RECENT)
def _words(text: str) -> tuple[str, ...]:
    """The words of a text in order."""
    return tuple(constraint_words(text))


def _phrase_forms(phrase: str) -> tuple[list[str], list[str]]:
    """The words of a phrase as given, and with the first letter of the first word in upper case."""
    words = list(_words(phrase))
    return words, [_capitalized(words[0]), *words[1:]] if words else []


def _anchored_forms(phrase: str) -> tuple[list[str], list[str]]:
    """The words of a phrase with its first letter in lower case, and in upper case; marks may stand before that letter.

    >>> _anchored_forms('"For me')
    (['"', 'for', 'me'], ['"', 'For', 'me'])
    """
    words = list(_words(phrase))
    at = next((n for n, word in enumerate(words) if continues_word(word[0])), None)
    if at is None:
        return words, words
    before, first, after = words[:at], words[at], words[at + 1 :]
    return [*before, first[0].lower() + first[1:], *after], [*before, _capitalized(first), *after]


def _capitalized(word: str) -> str:
    """A word with its first letter in upper case; unlike `str.capitalize`, the other letters stay."""
    return word[0].upper() + word[1:]
