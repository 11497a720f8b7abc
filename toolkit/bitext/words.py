"""The words that a text says: a list against which a sampler's inventions show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

WORD = re.compile(r"[^\W\d_]+")


def words_of(text: str) -> set[str]:
    """The lower-cased words of a text: runs of letters.

    >>> sorted(words_of("Don't go, Tom!"))
    ['don', 'go', 't', 'tom']
    """
    return set(WORD.findall(text.lower()))


def write_words(path: Path, texts: Iterable[str]) -> None:
    """Write the words of a text to a file, one a line, sorted."""
    found: set[str] = set()
    for text in texts:
        found |= words_of(text)
    path.write_text("".join(f"{word}\n" for word in sorted(found)), encoding="utf-8")


def read_words(path: Path) -> frozenset[str]:
    """The words of a file, one a line, lower-cased.

    Raises:
        ValueError: There is no such file, or it has no word.
    """
    if not path.is_file():
        raise ValueError(f"wanted a file with one known word a line, got {path}, which is none")
    words = frozenset(path.read_text(encoding="utf-8").lower().split())
    if not words:
        raise ValueError(f"wanted a file with one known word a line, got {path}, which is empty")
    return words
