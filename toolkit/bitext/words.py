"""The tokens of a text, as papers count them, and its words: a list against which a sampler's inventions show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PARANMT_TOKENS = 30  # ParaNMT-50M, section 5.4 and A.1: the most tokens of either sentence of a pair
WORD = re.compile(r"[^\W\d_]+")

# What one token is, the first that fits. English contractions are cut as spaCy and the Penn Treebank cut them.
WITHOUT_SPACES = "\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana and Han: each alone
LETTER = rf"[^\W_{WITHOUT_SPACES}]"
NOT = r"(?i:n['’]t)\b"
CLITIC = r"['’](?i:s|ll|re|ve|d|m)\b"
TOKEN = re.compile(
    rf"{LETTER}+(?!{LETTER}|['’.]|[,:/]\d)"  # most words; what follows is for the rest
    rf"|{NOT}|{CLITIC}"
    rf"|(?i:mrs?|ms|dr)\.|(?:(?!\d){LETTER}\.)+(?!\.)"  # "Mr.", "P.", "a.m."
    r"|\d+(?:[.,:/]\d+)+"  # "4.7", "91/440"
    rf"|{LETTER}+?(?={NOT})|{LETTER}+(?:(?!{CLITIC})['’]{LETTER}+)*"  # the "ca" of "can't"; "o'clock"
    r"|\.\.+|--+"
    r"|[^\s\0-\x1f]"  # any other mark
)


def token_spans(text: str) -> list[tuple[int, int]]:
    """Where each token of a text begins and ends; see `tokens`."""
    return [match.span() for match in TOKEN.finditer(text)]


def tokens(text: str) -> list[str]:
    """The tokens of a text: words, numbers and marks, a contraction in its parts.

    What a paper means by "tokens" is this: ParaBank's are spaCy's, of which this is the part that needs no list of
    exceptions, and ParaNMT's limit of 30 tokens is of tokenized text.

    >>> tokens("Didn't the dog's owner say 4.7 o'clock?")
    ['Did', "n't", 'the', 'dog', "'s", 'owner', 'say', '4.7', "o'clock", '?']
    """
    return TOKEN.findall(text)


def token_count(text: str) -> int:
    """How many tokens a text has.

    >>> token_count("No, I can't."), token_count("你好!"), token_count("  ")
    (6, 3, 0)
    """
    return len(TOKEN.findall(text))


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
