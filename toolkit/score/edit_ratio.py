"""The edit ratio of a candidate: how much of its reference is written otherwise (ParaZh, section 2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rapidfuzz.distance import Levenshtein

from toolkit.data.rows import Row

DECIMALS = 6  # ours: a ratio of small counts; the last bits say nothing


def edit_ratio(reference: str, candidate: str) -> float:
    """The edit distance of two texts in characters, divided by the characters of the reference.

    The paper says "the edit distance divided by the length"; that the length is the reference's, in characters, is
    ours.

    >>> edit_ratio("We go home.", "We went home.")
    0.363636

    Args:
        reference: The human sentence, not empty.
        candidate: What may become its paraphrase.

    Returns:
        A number from 0, equal texts; above 1 where the candidate is much longer.

    Source: ParaZh-22M (Hao et al. 2022), section 2.4, "Edit-distance ratio filtering".
    """
    return round(Levenshtein.distance(reference, candidate) / len(reference), DECIMALS)


def edit_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Fill `edit_ratio` of every candidate without a reason.

    Args:
        rows: Rows with candidates.

    Source: ParaZh-22M (Hao et al. 2022), section 2.4.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                candidate.scores.edit_ratio = edit_ratio(row.reference, candidate.text)
        yield row
