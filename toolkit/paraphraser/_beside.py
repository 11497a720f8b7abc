"""Where a text is cut, so that a piece of it that stays stands beside what is paraphrased."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from toolkit.paraphraser.protect import OWN, _Piece
from toolkit.score.names import words_of

# Words before a piece that a sentence cannot end with, and words after one that need it as their subject.
NEED_AFTER = words_of(
    "a an the this that these those my your our his her its their any each every some no at on in to from by with of "
    "for via per as than into onto over under about and or but see visit open check contact email mail follow join use "
    "run call ping cc thank thanks click read set is are was were be been equals says called named using like between"
)
NEED_BEFORE = words_of(
    "is are was were has have had does did can could will would shall should may might must isn't wasn't doesn't "
    "didn't can't won't isn’t wasn’t doesn’t didn’t can’t won’t and or of on in at to by for from with says said"
)
LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
ENDS = frozenset(".!?…:;,。！？：；，)]”’\"'–—-")  # before a piece that is not of the sentence
STOPS = frozenset(".!?…:;。！？：；")
BEGINS = re.compile(r"\s*[,:;–—]|\s+-\s|\s*\n")  # after one
AFTER = re.compile(r"[\s,:;–—)\]\"'”!.…-]*")  # between a piece and the sentence after it
EDGES = ("url", "mail", "mention", "hashtag", "emoji", OWN)  # those that often stand beside a sentence
LONGEST_WORD = 50  # ours: characters in which the last word of a sentence is looked for
LEAST_WORDS = 2  # ours: a shorter text has no paraphrase


def _around(text: str, pieces: Sequence[_Piece], lang: str) -> list[tuple[int, int, bool]]:
    """A text in spans: those that are paraphrased, and between them those that stay.

    >>> from toolkit.paraphraser.protect import CLASSES, kept_pieces
    >>> text = "@sam Thanks for the quick help! 🎉 More on www.a.org."
    >>> [text[begin:end] for begin, end, is_read in _around(text, kept_pieces(text, CLASSES), "en") if is_read]
    ['Thanks for the quick help!', 'More on www.a.org.']

    Args:
        text: A sentence or a short text.
        pieces: What of it is kept, in order.
        lang: Its language (ISO 639-1).

    Returns:
        Begin, end, and whether it is paraphrased; together they are the text.
    """
    words = _word_places(text, pieces)

    def has_words(begin: int, end: int) -> bool:
        return bisect_left(words, end) - bisect_left(words, begin) >= LEAST_WORDS

    begin, end, first, last = 0, len(text), 0, len(pieces)
    while first < last and (cut := _cut_before(text, begin, pieces[first], lang)) and has_words(cut, end):
        begin, first = cut, first + 1
    while first < last and (cut := _cut_after(text, end, pieces[last - 1], lang)) and has_words(begin, cut):
        end, last = cut, last - 1
    spans, start = ([(0, begin, False)] if begin else []), begin
    for piece in pieces[first:last]:
        if piece.kind == "emoji" and has_words(start, piece.begin) and has_words(piece.end, end):
            cut_begin, cut_end = piece.begin, piece.end
            while text[cut_begin - 1].isspace():
                cut_begin -= 1
            while text[cut_end].isspace():
                cut_end += 1
            spans += [(start, cut_begin, True), (cut_begin, cut_end, False)]
            start = cut_end
    spans.append((start, end, True))
    return spans + ([(end, len(text), False)] if end < len(text) else [])


def _word_places(text: str, pieces: Sequence[_Piece]) -> list[int]:
    """Where the words of a text begin that are of no piece."""
    places, start = [], 0
    for begin, end in (*((piece.begin, piece.end) for piece in pieces), (len(text), len(text))):
        places += [match.start() for match in LETTERS.finditer(text, start, begin)]
        start = end
    return places


def _cut_before(text: str, begin: int, piece: _Piece, lang: str) -> int:
    """Where the sentence after a piece at the beginning begins; 0 if the piece is a part of it."""
    if text[begin : piece.begin].strip(" \t\n([\"'“-*•"):
        return 0
    after = AFTER.match(text, piece.end)
    cut = after.end() if after else piece.end
    if cut == piece.end:  # a letter follows at once
        return 0
    if (
        BEGINS.match(text, piece.end)
        or (piece.kind == "code" and piece.text.endswith(":"))
        or piece.reading.endswith((":", ".", "!", "?"))
        or piece.kind == "emoji"
    ):
        return cut
    first = LETTERS.match(text, cut)
    if piece.kind not in EDGES or lang != "en" or first is None:
        return 0
    return 0 if first.group().lower() in NEED_BEFORE else cut


def _cut_after(text: str, end: int, piece: _Piece, lang: str) -> int:
    """Where the sentence before a piece at the end ends; 0 if the piece is a part of it."""
    if text[piece.end : end].strip(" \t\n.,!?;:)]\"'”…。！？"):
        return 0
    cut = piece.begin
    while cut and text[cut - 1] in " \t\n([":
        cut -= 1
    last = text[max(0, cut - LONGEST_WORD) : cut].rstrip()
    marks = ENDS if piece.kind in EDGES else STOPS
    if last[-1:] in marks or "\n" in text[cut : piece.begin] or piece.kind == "emoji":
        return cut
    words = LETTERS.findall(last)
    if piece.kind not in EDGES or lang != "en" or cut == piece.begin or not words:
        return 0
    return 0 if words[-1].lower() in NEED_AFTER else cut
