"""Which words of a reference a candidate replaces, adds and leaves out, and how common the new ones are.

A translator that may not say a word often says a rarer one, or one that it spells from pieces; people do not. The words
that are common are counted in Tatoeba's English sentences, the text of the starters. English alone.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache

from toolkit.bitext.idf import Idf, read_idf
from toolkit.starters import idf_file

TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")  # a word or a mark
COUNTED_IN = "starter/de-en"
USUAL = -5.0  # ours: nats, the log-frequency that stands for words where there are none


@dataclass(frozen=True)
class _WordChanges:
    """How the words of two texts differ.

    Attributes:
        edits: Runs of words that were replaced, added or left out.
        deleted: Words that were left out without others in their place.
        inserted: Words that were added.
        rarest_new: Log-frequency in nats of the rarest new word, <= 0; `USUAL` where there is none.
        new: Mean log-frequency of the new words, likewise.
        lost: Mean log-frequency of the words that are replaced or left out, likewise.
    """

    edits: int
    deleted: int
    inserted: int
    rarest_new: float
    new: float
    lost: float


def _word_changes(reference: str, candidate: str) -> _WordChanges:
    """Compare the words of two texts, without regard to case.

    >>> changes = _word_changes("We really need to start.", "We need to commence.")
    >>> changes.edits, changes.deleted, changes.inserted
    (2, 1, 0)
    >>> changes.rarest_new < changes.lost
    True
    """
    before, after = (TOKEN.findall(text.lower()) for text in (reference, candidate))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    lost = [_log_frequency(word) for _, begin, end, _, _ in edits for word in before[begin:end] if word.isalpha()]
    new = [_log_frequency(word) for _, _, _, begin, end in edits for word in after[begin:end] if word.isalpha()]
    return _WordChanges(
        edits=len(edits),
        deleted=sum(end - begin for kind, begin, end, _, _ in edits if kind == "delete"),
        inserted=sum(end - begin for kind, _, _, begin, end in edits if kind == "insert"),
        rarest_new=min(new, default=USUAL),
        new=_mean(new),
        lost=_mean(lost),
    )


def _mean(frequencies: list[float]) -> float:
    return math.fsum(frequencies) / len(frequencies) if frequencies else USUAL


def _log_frequency(word: str) -> float:
    """The logarithm of the share of sentences that have a word; a word of none counts as if half of one had it."""
    table = _table()
    return math.log((table.df.get(word, 0) + 0.5) / table.sentences)


@cache
def _table() -> Idf:
    return read_idf(idf_file(COUNTED_IN))
