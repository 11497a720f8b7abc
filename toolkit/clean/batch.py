"""A batch of pairs as the rules of cleaning see it: both sides in normal form, as strings and as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from toolkit.clean.characters import ALONE, abnormal, misread, replaced
from toolkit.clean.normal_form import NormalForm, normal
from toolkit.clean.texts import Texts, text_of, utf8_lengths

SPACE = 32


@dataclass(frozen=True)
class Side:
    """One side of a batch.

    Attributes:
        lang: Its language (ISO 639-1).
        strings: Its texts in normal form; one that is much too long for any rule is left as it was.
        misread: Whether the bytes of each text were decoded by a wrong codec before they came here: (N,) of bool.
    """

    lang: str
    strings: list[str]
    misread: np.ndarray

    @cached_property
    def texts(self) -> Texts:
        """The texts as arrays."""
        return Texts.of(self.strings)

    @property
    def column(self) -> pa.LargeStringArray:
        """The texts as an Arrow array: (N,). It takes a third of the time of `pa.array(strings)`."""
        ends = np.cumsum(
            self.texts.lengths if self.texts.is_ascii else self.texts.count(utf8_lengths(self.texts.points))
        )
        data = "".join(self.strings).encode()
        offsets = np.concatenate([np.zeros(1, np.int64), ends])
        buffers = pa.py_buffer(offsets), pa.py_buffer(data)
        return pa.LargeStringArray.from_buffers(len(ends), *buffers)


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


def normal_side(texts: Texts, lang: str, form: NormalForm, most: int, find_misread: bool) -> Side:
    """A side of a batch in normal form.

    Only texts with a character or spaces that the normal form does not have are normalised one by one.

    Args:
        texts: As they were read.
        lang: Their language.
        form: What the normal form is.
        most: Texts with more characters than this are not normalised: a rule refuses them.
        find_misread: Whether to look for texts that were decoded by a wrong codec.
    """
    points = replaced(form)[texts.points]
    strings = texts.strings(points)
    spaces = points == SPACE
    odd = abnormal(form)[points]
    odd[1:] |= spaces[1:] & spaces[:-1]
    begins, ends = texts.bounds[::2], texts.bounds[1::2]
    flagged = (texts.count(odd) > 0) | spaces[begins] | spaces[ends - 1]
    flagged &= (texts.lengths > 0) & (texts.lengths <= most)
    if flagged.any():
        as_read = text_of(texts.points)
        for number in np.flatnonzero(flagged).tolist():
            strings[number] = normal(as_read[begins[number] : ends[number]], form)
    return Side(lang, strings, misread_texts(texts) if find_misread else np.zeros(len(strings), bool))


def misread_texts(texts: Texts) -> np.ndarray:
    """Whether each text looks like bytes that were decoded by a wrong codec, such as "CafÃ©": (N,) of bool.

    Source: ParaZh (Hao et al. 2022), section 2.2, step 1; the test is that of ftfy.
    """
    from ftfy.badness import is_bad

    signs = misread()[texts.points]
    suspect = signs == ALONE
    suspect[1:] |= (signs[1:] > 0) & (signs[:-1] > 0)
    found = texts.count(suspect) > 0
    if found.any():
        as_read = text_of(texts.points)
        for number in np.flatnonzero(found).tolist():
            found[number] = is_bad(as_read[texts.bounds[2 * number] : texts.bounds[2 * number + 1]])
    return found
