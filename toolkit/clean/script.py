"""Texts in another script than their language is written in, which no model of that language can read."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from toolkit.bitext.languages import SAMPLE
from toolkit.clean._scripts import OTHER_LETTERS

REFUSED_SHARE = 0.8  # ours: of letters; data of several languages may have more of another script than half


def check_script(texts: Iterable[str], lang: str, remedy: str) -> None:
    """Refuse texts most of which are written in another script than their language, such as Chinese ones for English.

    Nothing is known of their language from a script, so that nothing is said of texts in the script of the language.

    Args:
        texts: The texts; the first `SAMPLE` of them are read.
        lang: Their language (ISO 639-1).
        remedy: What to do, for the error.

    Raises:
        ValueError: More than `REFUSED_SHARE` of their letters are of another script.
    """
    sample = list(islice(texts, SAMPLE))
    if in_other_script(sample, lang, REFUSED_SHARE):
        example = next(text for text in sample if in_other_script([text], lang))
        raise ValueError(f"wanted texts in {lang}, got most of them in another script ({example[:20]!r}): {remedy}")


def in_other_script(texts: Iterable[str], lang: str, share: float = 0.5) -> bool:
    """Whether most letters of some texts are of a script that their language is not written in.

    >>> in_other_script(["电梯又坏了。"], "en"), in_other_script(["我喜欢用Java。"], "zh")
    (True, False)
    """
    if lang not in OTHER_LETTERS:
        return False
    text = " ".join(texts)
    other_count = sum(map(len, OTHER_LETTERS[lang].findall(text)))
    return other_count > share * sum(map(str.isalpha, text))
