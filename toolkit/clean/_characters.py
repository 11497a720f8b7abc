"""What each code point is, in tables over all of Unicode; `texts.Texts` looks its characters up in them.

A table is computed once in a process, in some tens of milliseconds.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

import numpy as np

from toolkit.bitext.normalize import CODECS, PUNCTUATION, match_key
from toolkit.bitext.words import SIGNS
from toolkit.clean._scripts import OTHER_LETTERS, OWN_LETTERS
from toolkit.clean.normal_form import FULL_WIDTH, _NormalForm, _traditional
from toolkit.clean.texts import _code_points, _text_of

POINTS = sys.maxunicode + 1
OWN, OTHER = 1, 2  # a letter in a script of the language, and another letter
BESIDE, ALONE = 1, 2  # a sign of a wrong codec beside another, and one alone
# the characters of ftfy's pattern that its categories do not have
BESIDE_TOO = "°œŠšŸžŽ\xa0\xad®©·»–—´×²³àµ¹¼½¾√±∂†≠™≤≥¥ø≈¢‚ÄìîïòôúùûπâóäêвЂГўВРСβ€ΆΒΓΞΟāØÙ"
WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+")


@cache
def all_characters() -> str:
    """The code points that may be characters, in order, without planes that are empty or for private use."""
    points = np.arange(POINTS, dtype=np.uint32)
    return _text_of(points[(points < 0x40000) | ((points >= 0xE0000) & (points < 0xE0200))])


def _matching(pattern: re.Pattern[str]) -> np.ndarray:
    """Whether each code point matches a pattern of one character, or of runs of characters: (POINTS,) of bool."""
    table, points = np.zeros(POINTS, bool), _code_points(all_characters())
    for run in pattern.finditer(all_characters()):
        table[points[run.start() : run.end()]] = True
    return table


@cache
def letters(lang: str) -> np.ndarray:
    """`OWN`, `OTHER` or 0 for every code point: the letters of a language's scripts, other letters, all else."""
    table = np.zeros(POINTS, np.uint8)
    table[_matching(OTHER_LETTERS[lang])] = OTHER
    table[_matching(OWN_LETTERS[lang])] = OWN
    return table


@cache
def encodable(lang: str) -> np.ndarray:
    """Whether the codec of a language (`CODECS`) has each code point."""
    table = np.zeros(POINTS, bool)
    table[[ord(character) for character in bytes(range(256)).decode(CODECS[lang], "ignore")]] = True
    return table


@cache
def wide() -> np.ndarray:
    """Whether each code point is as wide as a Chinese character, and says as much."""
    return _matching(WIDE)


@cache
def match_lengths() -> np.ndarray:
    """The number of letters and digits that `match_key` leaves of each code point: (POINTS,) of uint8."""
    table = np.zeros(POINTS, np.uint8)
    for character in all_characters():
        if character.isalnum() or character in SIGNS or not unicodedata.is_normalized("NFKC", character):
            table[ord(character)] = len(match_key(character))
    return table


@cache
def replaced(form: _NormalForm) -> np.ndarray:
    """The code point that stands for each in normal form, where it is one for one: (POINTS,) of uint32."""
    table, marks = np.arange(POINTS, dtype=np.uint32), np.arange(POINTS, dtype=np.uint32)
    if form.half_width:
        table[list(FULL_WIDTH)] = list(FULL_WIDTH.values())
    if form.punctuation:
        single = {
            ord(mark): ord(replacement)
            for mark, replacement in PUNCTUATION.items()
            if len(mark) == len(replacement) == 1
        }
        marks[list(single)] = list(single.values())
    return marks[table]  # a half-width mark may be typographic, too


@cache
def unstable() -> np.ndarray:
    """Whether each code point is not printable, or may be composed or decomposed in NFC: (POINTS,) of bool."""
    printable = [c for c in all_characters() if c.isprintable()]
    stable = [c for c in printable if not unicodedata.combining(c) and unicodedata.is_normalized("NFC", c)]
    pairs = [pair for c in printable if len(pair := unicodedata.decomposition(c).split()) == 2 and pair[0][0] != "<"]
    table = np.ones(POINTS, bool)
    table[_code_points("".join(stable))] = False
    table[[int(second, 16) for _, second in pairs]] = True  # what may compose with the character before it
    table[0x1161:0x1200] = True  # likewise the vowels and finals of Hangul
    return table


@cache
def abnormal(form: _NormalForm) -> np.ndarray:
    """Whether text with a code point may differ from its normal form, after `replaced`: (POINTS,) of bool."""
    table = unstable().copy()
    if form.punctuation:
        table[[ord(mark) for mark, replacement in PUNCTUATION.items() if len(mark) == 1 < len(replacement)]] = True
    if form.entities:
        table[ord("&")] = True
    if form.simplified:
        table[[ord(character) for character in _traditional()]] = True
    return table


@cache
def misread() -> np.ndarray:
    """What each code point says of text that may have been decoded by a wrong codec: (POINTS,) of uint8.

    ftfy's pattern has nearly always two characters of its categories side by side, `BESIDE`; few are found `ALONE`.
    """
    from ftfy.badness import MOJIBAKE_CATEGORIES

    table = np.zeros(POINTS, np.uint8)
    table[_matching(re.compile(f"[{''.join(MOJIBAKE_CATEGORIES.values())}{BESIDE_TOO}]"))] = BESIDE
    table[_matching(re.compile(f"[{MOJIBAKE_CATEGORIES['c1']}ŒœÃÂ]"))] = ALONE
    return table
