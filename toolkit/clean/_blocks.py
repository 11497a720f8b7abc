"""A block of a bitext, cleaned: read as arrays, normalised, and judged by the rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toolkit.bitext.read import Block
from toolkit.clean._batch import Batch
from toolkit.clean.rules import CleanSettings, first_reasons, normal_batch
from toolkit.clean.texts import Texts, _code_points, _line_bounds

TAB = 9
ESCAPED = (0xDC80, 0xDCFF)  # what Python makes of bytes that are not UTF-8
REPLACEMENT = 0xFFFD


@dataclass(frozen=True)
class _Judged:
    """The pairs of a block after the rules.

    Attributes:
        lines: Their numbers in the bitext: (N,).
        batch: Both sides in normal form.
        reasons: For each pair the reason why it is refused, None if it is not.
    """

    lines: np.ndarray
    batch: Batch
    reasons: list[str | None]


def judged_block(block: Block, settings: CleanSettings, source_lang: str, lang: str) -> _Judged:
    """The pairs of a block, and the reason for which each is refused."""
    source, reference, faults = _read_sides(block)
    batch = normal_batch(source, reference, settings, source_lang, lang)
    lines = np.arange(block.line, block.line + len(faults))
    return _Judged(lines, batch, first_reasons(batch, settings, faults))


def _read_sides(block: Block) -> tuple[Texts, Texts, list[str | None]]:
    """Both sides of a block as they were read, and for each pair why it could not be read, as in `Pair.fault`."""
    buffers = [_decode_points(side) for side in block.sides]
    if block.columns is None:
        sides = [Texts(points, _line_bounds(points)) for points in buffers]
        missing = np.zeros(len(sides[0].lengths), bool)
    else:
        (points,) = buffers
        bounds, missing = _column_bounds(points, block.columns, block.width)
        sides = [Texts(points, side_bounds) for side_bounds in bounds]
    bad = np.zeros(len(missing), bool)
    for number, texts in enumerate(sides):
        escaped = (texts.points >= ESCAPED[0]) & (texts.points <= ESCAPED[1])
        if escaped.any():
            bad |= texts.count(escaped) > 0
            sides[number] = Texts(np.where(escaped, np.uint32(REPLACEMENT), texts.points), texts.bounds)
    faults: list[str | None] = [None] * len(bad)
    for number in np.flatnonzero(missing | bad).tolist():
        faults[number] = "columns" if missing[number] else "invalid_utf8"
    return sides[0], sides[1], faults


def _decode_points(raw: bytes) -> np.ndarray:
    """The code points of UTF-8, with those of `ESCAPED` for bytes that are none; Windows line ends are line feeds."""
    return _code_points(raw.replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape"))


def _column_bounds(
    points: np.ndarray, columns: tuple[int, int], width: int | None = None
) -> tuple[list[np.ndarray], np.ndarray]:
    r"""The bounds of two columns in the lines of a text, and which lines do not have both, or have another width.

    A line that has not is the text of the first column, and the second is empty.

    >>> bounds, missing = _column_bounds(_code_points("a\tbc\tdef\nno tab\n"), (2, 0))
    >>> [column.tolist() for column in bounds], missing.tolist()
    ([[5, 8, 9, 15], [0, 1, 15, 15]], [False, True])

    Args:
        points: Lines that each end at a line feed: (C,) of uint32.
        columns: The numbers of the columns, from 0.
        width: How many columns a line has; None takes lines with any.

    Returns:
        Both bounds, (2 N,) each, as in `Texts`; and (N,) of bool.
    """
    lines, tabs = _line_bounds(points), np.flatnonzero(points == TAB)
    begins, ends = lines[::2], lines[1::2]
    first = np.searchsorted(tabs, begins)  # the first TAB of each line
    count = np.searchsorted(tabs, ends) - first
    missing = count < max(columns)
    if width is not None:
        missing |= count != width - 1
    padded = np.append(tabs, np.zeros(max(columns) + 1, tabs.dtype))  # so that a missing TAB has a place, too
    bounds = []
    for index, column in enumerate(columns):
        begin = padded[first + column - 1] + 1 if column else begins
        end = np.where(count > column, padded[first + column], ends)
        begin = np.where(missing, ends if index else begins, begin)
        bounds.append(np.stack([begin, np.where(missing, ends, end)], 1).ravel())
    return bounds, missing
