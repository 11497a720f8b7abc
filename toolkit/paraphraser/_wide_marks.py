"""Marks of Chinese and Japanese text, which are as wide as a letter there: what a model reads, and what comes back."""

from __future__ import annotations

import re
from itertools import cycle

from toolkit.bitext.normalize import normalize
from toolkit.bitext.words import WITHOUT_SPACES
from toolkit.clean.normal_form import FULL_WIDTH

FULL, HALF = "，？！：；", ",?!:;"
TO_FULL, TO_HALF = str.maketrans(HALF, FULL), str.maketrans(FULL + "（）", HALF + "()")
AFTER = rf"(?<=[{WITHOUT_SPACES}”’）》])"
HALF_MARK = re.compile(rf"{AFTER}[{HALF}] ?")
HALF_STOP = re.compile(rf"{AFTER}\.(?=[\"”」』]?$)")
HALF_BRACKETS = re.compile(rf"\(([^()]*[{WITHOUT_SPACES}][^()]*)\)")
CORNERS = ("「」", "『』")  # of Traditional text, and the quotes of Simplified text in their place
CURLED = ("“”", "‘’")
TO_CURLED = str.maketrans("".join(CORNERS), "".join(CURLED))
TO_CORNERS = str.maketrans("".join(CURLED), "".join(CORNERS))


def narrowed(text: str) -> str:
    """A text with the marks of one that was cleaned with `half_width`.

    >>> narrowed("“你好，世界！”他说。")
    '"你好,世界!"他说。'
    """
    return normalize(text.translate(FULL_WIDTH))


def width_of(text: str) -> str:
    """The width of the marks of a text: "half" if one of ASCII follows a wide letter and none is wide, else "full".

    >>> width_of("你好,世界!"), width_of("你好，世界!"), width_of("你好")
    ('half', 'full', 'full')
    """
    is_half = HALF_MARK.search(text) is not None and not any(mark in text for mark in FULL)
    return "half" if is_half else "full"


def with_width(text: str, width: str) -> str:
    """A text with marks of one width after its wide letters; those of Latin words and of numbers stay.

    >>> with_width("你好,世界!3:00 (大概)见.", "full"), with_width("你好，世界！", "half")
    ('你好，世界！3:00 （大概）见。', '你好,世界!')
    """
    if width == "half":
        return text.translate(TO_HALF)
    text = HALF_MARK.sub(lambda mark: mark[0].strip().translate(TO_FULL), text)
    return HALF_STOP.sub("。", HALF_BRACKETS.sub(r"（\1）", text))


def cornered(text: str) -> str:
    """A text with corner brackets in the place of quotes.

    >>> cornered("“我不走。”他说。"), cornered('"好"')
    ('「我不走。」他说。', '「好」')
    """
    pair = cycle(CORNERS[0])
    return re.sub('"', lambda _: next(pair), text.translate(TO_CORNERS))
