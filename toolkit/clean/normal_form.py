"""The normal form of a side of a bitext: what `bitext/normalize.py` does, and what crawled text needs beside it.

Every step is a replacement that leaves text in normal form alone, so that normalising again changes nothing.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from toolkit.bitext.normalize import OWN_PUNCTUATION, normalize
from toolkit.system.extras import require

# ParaZh, section 2.2, step 2: the letters, digits and marks of ASCII as wide as a Chinese character, and their space
FULL_WIDTH = {**{point: point - 0xFEE0 for point in range(0xFF01, 0xFF5F)}, 0x3000: ord(" ")}
# marks that change the direction of text without being seen; letters of right-to-left scripts do not need them
# a name without ";" may be part of a URL: "?a=1&copy=2"
ENTITY = re.compile(r"&(?:#\d+;?|#[xX][0-9a-fA-F]+;?|\w+;)")
DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
RIGHT_TO_LEFT = ("ar", "fa", "he", "ps", "ur", "yi")  # ours: languages whose text keeps these marks
CHINESE = "zh"


@dataclass(frozen=True)
class _NormalForm:
    """What the normal form of one side is.

    Attributes:
        punctuation: Typographic marks are ASCII marks (`PUNCTUATION`).
        entities: HTML references are characters.
        half_width: Full-width forms of ASCII are ASCII.
        simplified: Traditional Chinese characters are simplified ones.
        direction: Marks of direction stay.
    """

    punctuation: bool = True
    entities: bool = True
    half_width: bool = False
    simplified: bool = False
    direction: bool = False


def form_of(lang: str, punctuation: bool, entities: bool, half_width: bool, simplified: bool) -> _NormalForm:
    """The normal form of text in a language.

    Chinese, Japanese and Korean have typographic marks of their own, as wide as a letter, and keep them unless
    full-width marks become ASCII, too.

    Args:
        lang: The language (ISO 639-1).
        punctuation: As in `_NormalForm`, likewise the others.
        entities: Likewise.
        half_width: Likewise.
        simplified: Likewise; only for Chinese.
    """
    own_marks = lang in OWN_PUNCTUATION and not half_width
    return _NormalForm(
        punctuation and not own_marks, entities, half_width, simplified and lang == CHINESE, lang in RIGHT_TO_LEFT
    )


def normal(text: str, form: _NormalForm) -> str:
    r"""A text in normal form.

    >>> normal("Ｑ＆amp；A：　&lt;“漢語”&gt;", _NormalForm(half_width=True, simplified=True))
    'Q&A: <"汉语">'
    >>> normal("a\u202eb", _NormalForm()), normal("&amp;lt;", _NormalForm())
    ('ab', '<')

    Args:
        text: Any text.
        form: What the normal form is.

    Returns:
        The text; "" if nothing is left. Normalising again changes nothing.

    Source:
        ParaZh (Hao et al. 2022), section 2.2, steps 2 to 5; what `html.unescape` and OpenCC take for references and for
        Traditional characters.
    """
    before = None
    while text != before:  # "&amp;lt;" needs a round for each level; no step can undo another, so that it ends
        before = text
        if form.half_width:
            text = text.translate(FULL_WIDTH)
        if form.entities and "&" in text:
            text = ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
        if not form.direction:
            text = DIRECTION.sub("", text)
        text = normalize(text, form.punctuation)  # without lone surrogates, which OpenCC does not read
        if form.simplified and not _traditional().isdisjoint(text):
            text = _simplifier()(text)
    return text


@cache
def _simplifier() -> Callable[[str], str]:
    """OpenCC's conversion of Traditional to Simplified characters."""
    return require("opencc").OpenCC("t2s").convert


@cache
def _traditional() -> frozenset[str]:
    """The characters that OpenCC converts wherever they stand.

    Text without one is not converted: OpenCC takes all text for Traditional, and in Simplified text it would take 坏,
    "bad", for the potter's clay 坯.
    """
    characters = [
        chr(point)
        for first, last in ((0x2E80, 0x2FFF), (0x3000, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
        for point in range(first, last + 1)
    ]
    converted = _simplifier()("\n".join(characters)).split("\n")
    return frozenset(
        character for character, simplified in zip(characters, converted, strict=True) if character != simplified
    )
