"""A batch of pairs as the rules of cleaning see it: both sides in normal form, as strings and as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from toolkit.clean._characters import ALONE, abnormal, misread, replaced
from toolkit.clean.normal_form import _NormalForm, normal
from toolkit.clean.texts import LINE_FEED, Texts, _text_of, _utf8_lengths

SPACE = 32


@dataclass(frozen=True)
class Side:
    """One side of a batch.

    Attributes:
        lang: Its language (ISO 639-1).
        texts: Its texts in normal form, as lines; in one that is much too long for any rule, only characters that one
            other stands for are replaced.
        misread: Whether the bytes of each text were decoded by a wrong codec before they came here: (N,) of bool.
    """

    lang: str
    texts: Texts
    misread: np.ndarray

    @cached_property
    def strings(self) -> list[str]:
        """The texts as strings."""
        return self.texts.strings()

    @property
    def column(self) -> pa.LargeStringArray:
        """The texts as an Arrow array: (N,)."""
        points = self.texts.points
        sizes = self.texts.lengths if self.texts.is_ascii else self.texts.count(_utf8_lengths(points))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        data = _text_of(points[points != LINE_FEED]).encode()
        return pa.LargeStringArray.from_buffers(len(sizes), pa.py_buffer(offsets), pa.py_buffer(data))


@dataclass(frozen=True)
class Batch:
    """Pairs of a bitext.

    Attributes:
        source: The foreign side.
        reference: The side that will be paraphrased.
    """

    source: Side
    reference: Side

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both sides."""
        return self.source, self.reference


def normal_side(texts: Texts, lang: str, form: _NormalForm, max_chars: int, find_misread: bool) -> Side:
    """A side of a batch in normal form.

    Characters that become one other are replaced in all texts at once; only texts with a character or spaces that the
    normal form does not have are then normalised one by one.

    Args:
        texts: As they were read.
        lang: Their language.
        form: What the normal form is.
        max_chars: Texts with more characters than this are not normalised: a rule refuses them.
        find_misread: Whether to look for texts that were decoded by a wrong codec.
    """
    texts = texts.alone
    as_read = Texts(replaced(form)[texts.points], texts.bounds)
    spaces = as_read.points == SPACE
    odd = abnormal(form)[as_read.points]
    odd[1:] |= spaces[1:] & spaces[:-1]
    begins, ends = texts.bounds[::2], texts.bounds[1::2]
    flagged = (texts.count(odd) > 0) | spaces[begins] | spaces[ends - 1]
    flagged &= (texts.lengths > 0) & (texts.lengths <= max_chars)
    is_misread = misread_texts(texts) if find_misread else np.zeros(len(flagged), bool)
    return Side(
        lang, _normalize_texts(texts, as_read, np.flatnonzero(flagged), form) if flagged.any() else as_read, is_misread
    )


def _normalize_texts(texts: Texts, replaced_texts: Texts, flagged: np.ndarray, form: _NormalForm) -> Texts:
    """Lines of which some are normalised one by one, and the others are those of `replaced_texts`."""
    text, position = _text_of(texts.points), 0
    replaced_text, parts = _text_of(replaced_texts.points), []
    for begin, end in texts.bounds.reshape(-1, 2)[flagged].tolist():
        parts += [replaced_text[position:begin], normal(text[begin:end], form)]
        position = end
    return Texts.of_lines("".join([*parts, replaced_text[position:]]))


def misread_texts(texts: Texts) -> np.ndarray:
    """Whether each text looks like bytes that were decoded by a wrong codec, such as "CafÃ©": (N,) of bool.

    Source: ParaZh (Hao et al. 2022), section 2.2, step 1; the test is that of ftfy.
    """
    from ftfy.badness import is_bad

    signs = misread()[texts.points]
    suspect = signs == ALONE
    suspect[1:] |= (signs[1:] > 0) & (signs[:-1] > 0)
    is_misread = texts.count(suspect) > 0
    if is_misread.any():
        as_read = _text_of(texts.points)
        for number in np.flatnonzero(is_misread).tolist():
            is_misread[number] = is_bad(as_read[texts.bounds[2 * number] : texts.bounds[2 * number + 1]])
    return is_misread
