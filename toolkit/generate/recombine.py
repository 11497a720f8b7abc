"""New candidates from the edits of others: each change of wording alone, and the good ones together.

A translation back often has one change that is right beside one that is wrong ("seal cubs were washed on land after
..." for "seal pups were washed ashore following ..."). Taken apart, the right one makes a paraphrase of its own. This
is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from toolkit.rows import Candidate

TOKEN = re.compile(r"\s*(?:\w+(?:['’-]\w+)*|[^\w\s])")  # a word or a mark, with the white space before it
LONGEST = 5  # ours: tokens of an edit on either side; a longer one is another sentence


@dataclass(frozen=True)
class Edit:
    """A replacement of some tokens of a text.

    Attributes:
        begin: The first token that is replaced.
        end: The one behind the last.
        replacement: What stands there instead, with the white space before it.
    """

    begin: int
    end: int
    replacement: str


def edits_of(reference: str, candidate: str) -> list[Edit]:
    """The replacements by which a candidate differs from its reference; what was only added or left out is none.

    >>> edits_of("The lift is out of order again.", "The elevator is broken again.")
    [Edit(begin=1, end=2, replacement=' elevator'), Edit(begin=3, end=6, replacement=' broken')]
    """
    before, after = TOKEN.findall(reference), TOKEN.findall(candidate)
    sides = [[token.strip().lower() for token in side] for side in (before, after)]
    matcher = SequenceMatcher(None, sides[0], sides[1], autojunk=False)
    return [
        Edit(begin, end, "".join(after[first:last]))
        for kind, begin, end, first, last in matcher.get_opcodes()
        if kind == "replace" and max(end - begin, last - first) <= LONGEST
    ]


def apply_edits(reference: str, edits: Iterable[Edit]) -> str | None:
    """The reference with all edits; None where two of them replace the same token.

    >>> text = "The lift is out of order again."
    >>> apply_edits(text, edits_of(text, "An elevator is broken again."))
    'An elevator is broken again.'
    """
    tokens = TOKEN.findall(reference)
    parts, place = [], 0
    for edit in sorted(edits, key=lambda edit: edit.begin):
        if edit.begin < place:
            return None
        parts += [*tokens[place : edit.begin], _spaced(edit.replacement, edit.begin, tokens)]
        place = edit.end
    text = "".join([*parts, *tokens[place:]]).strip()
    return text[:1].upper() + text[1:] if reference[:1].isupper() else text


def _spaced(replacement: str, place: int, tokens: Sequence[str]) -> str:
    """A replacement with white space before it where it needs some, and no capital inside a text."""
    bare = replacement.lstrip()
    space = replacement[: len(replacement) - len(bare)] if place else ""
    if not space and bare[:1].isalnum():  # it began its candidate
        space = tokens[place][: len(tokens[place]) - len(tokens[place].lstrip())]
    inside = place > 0 and bare[:1].isupper() and bare[1:2].islower() and tokens[place].strip()[:1].islower()
    return space + (bare[:1].lower() + bare[1:] if inside else bare)


def single_edits(reference: str, candidates: Iterable[Candidate], most: int) -> list[Edit]:
    """The distinct edits of some candidates, those of the most probable candidates first.

    Args:
        reference: Their reference.
        candidates: With forward scores.
        most: How many at most.
    """
    ranked = sorted(candidates, key=lambda candidate: -(candidate.scores.translation_score or 0.0))
    edits = dict.fromkeys(edit for candidate in ranked for edit in edits_of(reference, candidate.text))
    return list(edits)[:most]


def combinations(reference: str, edits: Sequence[Edit]) -> list[str]:
    """The reference with the first two edits, the first three, and so on; an edit that overlaps is left out.

    >>> text = "The lift is out of order again."
    >>> combinations(text, [Edit(1, 2, " elevator"), Edit(1, 2, " hoist"), Edit(3, 6, " broken")])
    ['The elevator is broken again.']

    Args:
        reference: A text.
        edits: The best first.
    """
    chosen: list[Edit] = []
    texts = []
    for edit in edits:
        text = apply_edits(reference, [*chosen, edit])
        if text is not None:
            chosen.append(edit)
            texts += [text] if len(chosen) > 1 else []
    return texts
