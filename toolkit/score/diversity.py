"""How much of a candidate's wording is the reference's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolkit.bitext.subwords import Pieces
from toolkit.evaluate.corpus import intersection_over_union
from toolkit.rows import Row


def overlap_rows(rows: Iterable[Row], pieces: Pieces) -> Iterator[Row]:
    """Fill `intersection_over_union` of every candidate that is still in.

    Args:
        rows: Rows with candidates.
        pieces: Pieces of the references' language.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.6.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                shared = intersection_over_union(row.reference, candidate.text, pieces.split)
                candidate.scores.intersection_over_union = shared / 100
        yield row
