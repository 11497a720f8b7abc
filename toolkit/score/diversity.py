"""How differently two sentences are worded: which words they share, and where they stand.

Source: ParaNet (Liu et al. 2022), section 3.3.3, equation 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolkit.bitext.words import COMPOUND, spaced
from toolkit.data.rows import Row

WORDING, ORDER = 0.5, 0.5  # ours: the weights beta1 and beta2, which the paper does not print
DECIMALS = 6  # ours: a ratio of small counts; the last bits say nothing
JACCARD = ("distance", "similarity")


def diversity_signature(jaccard: str) -> str:
    """The settings of the diversity."""
    return f"{WORDING:g} Jaccard {jaccard} + {ORDER:g} displacement|case:lc|decimals:{DECIMALS}|v:1.0.0"


def diversity(reference: str, text: str, jaccard: str = "distance") -> float:
    """The diversity of a text against its reference.

    >>> diversity("He left early.", "He left early."), round(diversity("He left early.", "Early he left."), 3)
    (0.0, 0.222)

    Args:
        reference: A sentence.
        text: Another.
        jaccard: Equation 2 prints the share of common words, a similarity, and its text says distance. "distance" is
            one less that share; "similarity" is as printed.

    Returns:
        A number in [0, 1]: half the Jaccard term, and half the mean displacement of the common words, each over the
        words of the longer sentence. Words are lower-cased; of a repeated word the first place counts.
    """
    positions, word_count = _word_positions(reference)
    text_positions, text_word_count = _word_positions(text)
    common = positions.keys() & text_positions.keys()
    union = positions.keys() | text_positions.keys()
    share = len(common) / len(union) if union else 1.0
    distance = sum(abs(positions[word] - text_positions[word]) for word in common)
    displacement = distance / len(common) / max(word_count, text_word_count) if common else 0.0
    return round(WORDING * (1 - share if jaccard == "distance" else share) + ORDER * displacement, DECIMALS)


def _word_positions(sentence: str) -> tuple[dict[str, int], int]:
    """The first place of each word of a sentence, and the number of its words."""
    words = COMPOUND.findall(spaced(sentence.lower()))
    positions: dict[str, int] = {}
    for position, word in enumerate(words):
        positions.setdefault(word, position)
    return positions, len(words)


def diversity_rows(rows: Iterable[Row], jaccard: str = "distance") -> Iterator[Row]:
    """Fill `diversity` of every candidate without a reason.

    Args:
        rows: Rows with candidates.
        jaccard: See `diversity`.

    Source: ParaNet, section 3.3.3.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                candidate.scores.diversity = diversity(row.reference, candidate.text, jaccard)
        yield row
