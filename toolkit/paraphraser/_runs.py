"""Runs of text in a document, the marks in them, and their sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from sentencex import segment

from toolkit.bitext.normalize import normalize
from toolkit.paraphraser._sentences import parts_of
from toolkit.paraphraser.protect import MARKUP, _Piece

OPEN, WHOLE, STOP, BREAK = "open", "whole", "stop", "break"
TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w:-]*)")


class Mark(NamedTuple):
    """A mark within a run.

    Attributes:
        begin: Where it begins in the text of the run.
        end: Where it ends.
        role: "open" (of a pair), "whole" (stays as it is), "break" (no sentence goes over it) or "stop" (a sentence
            with it stays as it is).
        close: Of "open", where its other mark begins and ends.
    """

    begin: int
    end: int
    role: str
    close: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Run:
    """A stretch of text without the marks of blocks.

    Attributes:
        text: The text, with the marks that stand within it.
        places: Of each of its characters, where it is in the document, and at last where the run ends there.
        marks: In order.
    """

    text: str
    places: Sequence[int]
    marks: Sequence[Mark] = ()


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document.

    Attributes:
        begin: Where it begins in the document.
        end: Where it ends.
        text: The sentence.
        pieces: What of it has marks.
        is_readable: Whether all marks in it are such pieces.
    """

    begin: int
    end: int
    text: str
    pieces: tuple[_Piece, ...] = ()
    is_readable: bool = True


def sentences_of(run: Run, lang: str) -> list[Sentence]:
    """The sentences of a run that have a letter.

    Args:
        run: The run.
        lang: Its language (ISO 639-1).
    """
    marks = list(run.marks)
    hidden = {place for mark in marks if mark.role == OPEN for span in (mark[:2], mark.close) for place in range(*span)}
    shown = [place for place in range(len(run.text)) if place not in hidden]
    starts = {0}
    breaks = [mark for mark in marks if mark.role == BREAK]
    whole_places = [(mark.begin, mark.end) for mark in marks if mark.role in (WHOLE, STOP)]
    begin = 0
    for end in [*(mark.begin for mark in breaks), len(run.text)]:
        places = [place for place in shown if begin <= place < end]
        position = 0
        for whole in parts_of("".join(run.text[place] for place in places), lang, lambda _: True):
            for sentence in segment(lang, whole):
                starts |= {places[position]} if position < len(places) else set()
                position += len(sentence)
        begin = end
    opening = {mark.end: mark.begin for mark in marks if mark.role == OPEN}
    for start in list(starts):
        place = start
        while place in opening:
            place = opening[place]
        starts = starts - {start} | {place}
    starts |= {mark.end for mark in breaks}
    ends = sorted({*starts, *(mark.begin for mark in breaks), len(run.text)})
    ends = [place for place in ends if not any(first < place < last for first, last in whole_places)]
    sentences = []
    for begin, end in pairwise(ends):
        if not any(mark.begin <= begin < mark.end for mark in breaks):
            sentence = _sentence(run, begin, end, marks)
            sentences += [sentence] if any(map(str.isalpha, sentence.text)) else []
    return sentences


def _sentence(run: Run, begin: int, end: int, marks: Sequence[Mark]) -> Sentence:
    """The sentence between two places of a run, without white space and without the marks that enclose it."""
    edges = {}
    for mark in marks:
        if mark.role == OPEN:
            edges[mark.begin] = (mark.end, mark)
            edges[mark.close[0]] = (mark.close[1], mark)
    while True:
        before = begin, end
        while begin < end and run.text[begin].isspace():
            begin += 1
        while begin < end and run.text[end - 1].isspace():
            end -= 1
        first = edges.get(begin)
        if first is not None:
            mark = first[1]
            is_inside = mark.begin >= begin and mark.close[1] <= end
            if not is_inside or mark.close[1] == end:
                end = mark.close[0] if is_inside else end
                begin = first[0]
        for place, (last, mark) in edges.items():
            is_inside = mark.begin >= begin and mark.close[1] <= end
            if last == end and begin < end and not is_inside:
                end = place
                break
        if (begin, end) == before or begin >= end:
            break
    inner = [m for m in marks if begin <= m.begin < end or (m.role == OPEN and begin <= m.close[0] < end)]
    pieces: list[_Piece] = []
    is_readable = True
    for mark in inner:
        last = mark.close[1] if mark.role == OPEN else mark.end
        if any(mark.begin - begin < piece.end for piece in pieces):
            continue  # within another one
        if mark.role == STOP or mark.begin < begin or last > end:
            is_readable = False
            break
        text = run.text[mark.begin : last]
        piece = _Piece(mark.begin - begin, last - begin, MARKUP, text)
        reading = run.text[mark.end : mark.close[0]] if mark.role == OPEN else ""
        is_nested = any(mark.end <= other.begin < mark.close[0] for other in marks if other is not mark)
        if reading.strip() and not is_nested:
            wrap = run.text[mark.begin : mark.end], run.text[slice(*mark.close)]
            piece = replace(piece, reading=normalize(reading), wrap=wrap)
        pieces.append(piece)
    return Sentence(run.places[begin], run.places[end], run.text[begin:end], tuple(pieces), is_readable)


def pairs_of_tags(text: str, tags: Sequence[tuple[int, int]]) -> list[Mark]:
    """Marks of tags: pairs of them, and those that stand alone, of which a line break ends a sentence.

    >>> [(mark.role, mark.close) for mark in pairs_of_tags("<b>a</b><br>", [(0, 3), (4, 8), (8, 12)])]
    [('open', (4, 8)), ('break', (0, 0))]
    """
    marks: list[Mark] = []
    opened: list[tuple[str, int, int]] = []
    for begin, end in tags:
        match = TAG_NAME.match(text, begin)
        if match is None:
            marks.append(Mark(begin, end, STOP))
            continue
        is_closing, name = bool(match[1]), match[2].lower()
        if is_closing and opened and opened[-1][0] == name:
            _, first, last = opened.pop()
            marks.append(Mark(first, last, OPEN, (begin, end)))
        elif is_closing:
            marks.append(Mark(begin, end, STOP))
        elif name in ("br", "hr"):
            marks.append(Mark(begin, end, BREAK))
        elif name in ("img", "wbr", "input") or text[begin:end].endswith("/>"):
            marks.append(Mark(begin, end, WHOLE))
        else:
            opened.append((name, begin, end))
    marks += [Mark(begin, end, STOP) for _, begin, end in opened]
    return sorted(marks, key=lambda mark: mark.begin)
