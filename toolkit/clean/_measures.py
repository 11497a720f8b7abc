"""The measures of cleaning: each is a number or truth value for every text of one side, and decides nothing."""

from __future__ import annotations

import numpy as np

from toolkit.bitext.normalize import CODECS
from toolkit.clean._batch import SPACE
from toolkit.clean._characters import OTHER, OWN, encodable, letters, match_lengths, wide
from toolkit.clean._scripts import SCRIPTS
from toolkit.clean.texts import Texts


def words(texts: Texts) -> np.ndarray:
    """The number of words between single spaces, at least 1: (N,).

    >>> words(Texts.of(["one", "two words", ""])).tolist()
    [1, 2, 1]
    """
    return 1 + texts.count(texts.points == SPACE)


def widths(texts: Texts, wide_letter: float) -> np.ndarray:
    """The length of each text in Latin characters, of which a Chinese, Japanese or Korean one counts several: (N,).

    >>> widths(Texts.of(["Hello", "你好"]), 3.0).tolist()
    [5.0, 6.0]
    """
    return texts.lengths + (wide_letter - 1) * texts.count(wide()[texts.points])


def script_shares(texts: Texts, lang: str) -> np.ndarray:
    """The share of the letters of each text that are in a script of the language, in [0, 1]; 1 without letters: (N,).

    >>> script_shares(Texts.of(["Привет, Tom", "42!"]), "ru").tolist()
    [0.6666666666666666, 1.0]
    """
    if lang not in SCRIPTS or ("Latin" in SCRIPTS[lang] and texts.is_ascii):
        return np.ones(len(texts.lengths))
    kinds = letters(lang)[texts.points]
    own_letters, other_letters = texts.count(kinds == OWN), texts.count(kinds == OTHER)
    return np.divide(
        own_letters, own_letters + other_letters, out=np.ones(len(own_letters)), where=own_letters + other_letters > 0
    )


def english_shares(texts: Texts) -> np.ndarray:
    """The share of the characters of each text that are English letters, in [0, 1]; 0 for an empty text: (N,).

    >>> english_shares(Texts.of(["我用iPhone", "好"])).tolist()
    [0.75, 0.0]

    Source:
        ParaZh (Hao et al. 2022), section 2.4: "the percentage of English characters in Chinese sentences".
    """
    lower = texts.points | np.uint32(32)  # the bit between "A" and "a"
    english = texts.count((lower >= ord("a")) & (lower <= ord("z")))
    return np.divide(english, texts.lengths, out=np.zeros(len(english)), where=texts.lengths > 0)


def unencodable(texts: Texts, lang: str) -> np.ndarray:
    """The number of characters that the 8-bit alphabet of the language does not have: (N,); 0 where it has none."""
    if lang not in CODECS or texts.is_ascii:
        return np.zeros(len(texts.lengths), np.int64)
    return texts.count(~encodable(lang)[texts.points])


def letters_and_digits(texts: Texts) -> np.ndarray:
    """The length of the `match_key` of each text: (N,)."""
    return texts.count(match_lengths()[texts.points])
