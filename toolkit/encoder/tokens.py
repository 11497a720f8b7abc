"""Tokenize whole batches of texts and compute keys of words and character trigrams, without a Python object per word.

A batch becomes one array of code points. Word boundaries come from a comparison of neighbours; the key of a word is a
sum over its letters, the key of a trigram its three code points side by side. `toolkit.encoder.vocabulary` maps keys to
rows of a table.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from toolkit.bitext.words import spaced
from toolkit.encoder.settings import CHARACTERS

BETWEEN_TEXTS = "\0"
SPACE, LETTER, ALONE = 0, 1, 2  # classes of code points: between words, part of a word, a word by itself
APOSTROPHES = ("'", "\N{RIGHT SINGLE QUOTATION MARK}")
KANA, HAN = (0x3040, 0x30FF), ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
FACTOR = 0x9E3779B97F4A7C15  # ours: odd, so that its powers never vanish modulo 2^64
LETTER_BITS = 21  # a Unicode code point
LONGEST_WORD = 1024  # ours: from here on all letters of a word have one factor


class _Tokens(NamedTuple):
    """The words of a batch of texts, lower-cased: "Don't stop!" is "don", "'t", "stop", "!".

    Attributes:
        codes: (letters,) uint32 code points of all words, without the space between them.
        starts: (words + 1,) where each word begins in `codes`; the last entry is the end.
        offsets: (texts + 1,) where each text begins among the words; the last entry is the end.
    """

    codes: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray


@cache
def _classes(chinese: str) -> np.ndarray:
    """The class of every code point, (code points,) uint8; it takes 20 ms, once.

    Args:
        chinese: See `tokenize`.
    """
    points = np.arange(0x110000, dtype=np.uint32)
    points[0xD800:0xE000] = 0  # surrogates are no characters
    letters = points.view("<U1")
    kinds = np.where(np.char.isalnum(letters), LETTER, ALONE).astype(np.uint8)
    kinds[np.char.isspace(letters) | (points < 0x20)] = SPACE
    for first, last in (KANA, *(HAN if chinese == CHARACTERS else ())):
        kinds[first : last + 1] = ALONE
    return kinds


def _code_points(texts: Sequence[str]) -> np.ndarray:
    """The texts joined by NUL, normalised to NFC and lower-cased, as uint32 code points."""
    if any(BETWEEN_TEXTS in text for text in texts):
        texts = [text.replace(BETWEEN_TEXTS, " ") for text in texts]
    joined_text = BETWEEN_TEXTS.join(texts)
    if not joined_text.isascii():
        joined_text = unicodedata.normalize("NFC", joined_text)
    return np.frombuffer(joined_text.lower().encode("utf-32-le", "surrogatepass"), np.uint32)


def tokenize(texts: Sequence[str], chinese: str = CHARACTERS) -> _Tokens:
    """Split texts into words.

    >>> tokens = tokenize(["Don't stop!", "", "你好 2"])
    >>> _spell(tokens), tokens.offsets.tolist()
    (['don', "'t", 'stop', '!', '你', '好', '2'], [0, 4, 4, 7])
    >>> _spell(tokenize(["你好 2"], "words"))
    ['你好', '2']

    Args:
        texts: Any texts; an empty one has no words.
        chinese: What a word of Chinese text is: each of its "characters", or the "words" that jieba cuts.

    Returns:
        The words: sequences of letters and digits; an apostrophe after a letter begins a word; any other mark, and any
        letter of a script without spaces, is a word by itself.
    """
    if not len(texts):
        return _Tokens(np.zeros(0, np.uint32), np.zeros(1, np.int64), np.zeros(1, np.int64))
    codes = _code_points(texts if chinese == CHARACTERS else [spaced(text) for text in texts])
    kind = _classes(chinese)[codes]
    before = np.empty_like(kind)
    before[:1], before[1:] = SPACE, kind[:-1]
    apostrophe = ((codes == ord(APOSTROPHES[0])) | (codes == ord(APOSTROPHES[1]))) & (before == LETTER)
    kind = np.where(apostrophe, LETTER, kind)
    before[1:] = kind[:-1]
    begins = (kind != SPACE) & ((before != LETTER) | (kind == ALONE) | apostrophe)
    words_before = np.cumsum(begins)
    ends = np.flatnonzero(codes == 0)
    offsets = np.concatenate([[0], words_before[ends], words_before[-1:]] if len(codes) else [[0] * (len(texts) + 1)])
    inside = kind != SPACE
    starts = np.append((np.cumsum(inside) - 1)[begins], np.count_nonzero(inside))
    codes = np.where(apostrophe, np.uint32(ord(APOSTROPHES[0])), codes)[inside]
    return _Tokens(codes, starts, offsets.astype(np.int64))


def _spell(tokens: _Tokens) -> list[str]:
    """The words as strings."""
    text = tokens.codes.tobytes().decode("utf-32-le", "surrogatepass")
    return [text[a:b] for a, b in zip(tokens.starts[:-1], tokens.starts[1:], strict=True)]


@cache
def _powers() -> np.ndarray:
    """The powers of FACTOR modulo 2^64, (LONGEST_WORD,)."""
    return np.multiply.accumulate(np.full(LONGEST_WORD, FACTOR, np.uint64))


def _word_keys(tokens: _Tokens) -> np.ndarray:
    """A 64-bit key of every word: the sum of its letters times powers of a constant, (words,) uint64."""
    if len(tokens.starts) == 1:
        return np.zeros(0, np.uint64)
    positions = np.arange(len(tokens.codes)) - np.repeat(tokens.starts[:-1], np.diff(tokens.starts))
    terms = _powers()[np.minimum(positions, LONGEST_WORD - 1)] * (tokens.codes.astype(np.uint64) + np.uint64(1))
    return np.add.reduceat(terms, tokens.starts[:-1])


def _trigrams(tokens: _Tokens) -> tuple[np.ndarray, np.ndarray]:
    """The character trigrams of every text, with single spaces between, before and after its words.

    Args:
        tokens: The words of a batch of texts.

    Returns:
        The keys, (trigrams,) uint64, which `_spell_trigram` decodes; and (texts + 1,) where each text begins
            among them.

    Source: Huang et al. 2013 and Wieting et al. 2016a, as used in ParaNMT-50M (section 4).
    """
    letters = np.diff(tokens.starts)
    words = np.diff(tokens.offsets)
    lengths = np.diff(tokens.starts[tokens.offsets]) + words + 1  # a space before each word, and one at the end
    texts_before = np.repeat(np.arange(len(words)), words)
    positions = np.arange(len(tokens.codes)) + np.repeat(np.arange(1, len(letters) + 1) + texts_before, letters)
    codes = np.full(lengths.sum(), ord(" "), np.uint64)
    codes[positions] = tokens.codes
    complete = np.arange(2, len(codes)) < np.repeat(np.cumsum(lengths), lengths)[:-2]  # ends in the text it begins in
    keys = codes[:-2] | codes[1:-1] << np.uint64(LETTER_BITS) | codes[2:] << np.uint64(2 * LETTER_BITS)
    return keys[complete], np.append(0, np.cumsum(np.maximum(lengths - 2, 0)))


def _spell_trigram(key: int) -> str:
    """The three letters of a key.

    >>> _spell_trigram(int(_trigrams(tokenize(["oh"]))[0][0]))
    ' oh'
    """
    mask = (1 << LETTER_BITS) - 1
    return "".join(chr(key >> (LETTER_BITS * position) & mask) for position in range(3))
