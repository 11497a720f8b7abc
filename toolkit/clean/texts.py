"""Many texts as one array of code points, so that a measure of all of them is a few operations of numpy.

A rule in Python for one text takes a microsecond or more; an operation here takes some nanoseconds for a character.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

LINE_FEED = 10


@dataclass(frozen=True)
class Texts:
    """The texts of one side of many pairs, in order.

    Attributes:
        points: Code points, those of the texts among others: (C,) of uint32. After every text there is one more.
        bounds: Begin and end of each text in `points`, in turn: (2 N,) of int64.
    """

    points: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        r"""The texts of a list; line feeds in them become spaces.

        >>> Texts.of(["Hallo!", "", "Ja."]).lengths.tolist()
        [6, 0, 3]
        """
        lines = "\n".join([*texts, ""])
        if lines.count("\n") > len(texts):
            lines = "\n".join([text.replace("\n", " ") for text in texts] + [""])
        return cls.of_lines(lines)

    @classmethod
    def of_lines(cls, lines: str) -> Texts:
        """The lines of a text, each of which ends at a line feed."""
        points = _code_points(lines)
        return cls(points, _line_bounds(points))

    @cached_property
    def alone(self) -> Texts:
        """The same texts without other characters between them, as lines that end at a line feed."""
        if not len(self.bounds):
            return self
        begins, ends = self.bounds[::2], self.bounds[1::2]
        if begins[0] == 0 and (begins[1:] == ends[:-1] + 1).all() and (self.points[ends] == LINE_FEED).all():
            return Texts(self.points[: ends[-1] + 1], self.bounds)
        steps = np.zeros(len(self.points) + 1, np.int8)
        steps[begins] += 1  # no two texts begin or end at one place
        steps[ends + 1] -= 1
        points = self.points.copy()
        points[ends] = LINE_FEED
        points = points[np.cumsum(steps[:-1], dtype=np.int8) > 0]
        return Texts(points, _line_bounds(points))

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of characters of each text: (N,)."""
        return self.bounds[1::2] - self.bounds[::2]

    @cached_property
    def is_ascii(self) -> bool:
        """Whether no text has a character beyond ASCII."""
        return not len(self.points) or bool(self.points.max() < 0x80)

    def count(self, numbers: np.ndarray) -> np.ndarray:
        """The sum over the characters of each text of a number of each character.

        >>> texts = Texts.of(["a b c", "", "d e"])
        >>> texts.count(texts.points == ord(" ")).tolist()
        [2, 0, 1]

        Args:
            numbers: A number or a truth value of each of `points`: (C,).

        Returns:
            (N,) of int64.
        """
        before = np.zeros(len(self.points) + 1, np.int64)  # the sum of all characters before each
        np.cumsum(numbers, out=before[1:])
        sums = before[self.bounds]
        return sums[1::2] - sums[::2]

    def strings(self) -> list[str]:
        """The texts as strings."""
        text = _text_of(self.points)
        return [text[begin:end] for begin, end in zip(*self.bounds.reshape(-1, 2).T.tolist(), strict=True)]


def _utf8_lengths(points: np.ndarray) -> np.ndarray:
    """The number of bytes of each code point in UTF-8: (C,).

    >>> _utf8_lengths(_code_points("aä漢🙂")).tolist()
    [1, 2, 3, 4]
    """
    return np.uint8(1) + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)


def _code_points(text: str) -> np.ndarray:
    """The code points of a text: (C,) of uint32."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _text_of(points: np.ndarray) -> str:
    """The text of code points."""
    return points.tobytes().decode("utf-32-le", "surrogatepass")


def _line_bounds(points: np.ndarray) -> np.ndarray:
    """The bounds of the lines of a text, each of which ends at a line feed: (2 N,) of int64."""
    ends = np.flatnonzero(points == LINE_FEED)
    bounds = np.zeros(2 * len(ends), np.int64)
    bounds[1::2] = ends
    bounds[2::2] = ends[:-1] + 1
    return bounds


def ranges(begins: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The numbers of several ranges, one range after another.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    return np.repeat(begins - (ends - counts), counts) + np.arange(counts.sum())
