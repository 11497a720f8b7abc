"""k-means under edit distance: candidates that differ from the reference in different ways (ParaBank 2, section 2.3).

From the paper: Levenshtein distance over lower-cased pieces without punctuation, k free clusters that start with the
furthest candidates, one more held on the reference, and that one thrown away. Ours, because the paper does not say: the
furthest are found one after another, beginning from the reference; a centre is a medoid; ties go to the better score,
then to the text; 50 rounds at most; with fewer distinct candidates than clusters each is a cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from toolkit.rows import Candidate, Row
from toolkit.score.overlap import without_punctuation

if TYPE_CHECKING:
    from toolkit.bitext.subwords import Pieces

ROUNDS = 50  # ours: it settles after 2 to 6
REFERENCE = 0  # the number of the cluster held on the reference


def cluster_rows(rows: Iterable[Row], pieces: Pieces, clusters: int) -> Iterator[Row]:
    """Give every candidate that is still in the number of its cluster.

    Args:
        rows: Rows whose candidates have a dual score.
        pieces: Pieces of the references' language.
        clusters: Free clusters, >= 1; the one held on the reference comes on top, with number 0.

    Source: ParaBank 2 (Hu et al. 2019b), sections 2.3 and 3.3.
    """
    for row in rows:
        waiting = sorted((c for c in row.candidates if c.reason is None), key=best_first)
        keys = distance_keys([row.reference, *(c.text for c in waiting)], pieces)
        for candidate, number in zip(waiting, assign(keys, clusters), strict=True):
            candidate.cluster = number
        yield row


def best_first(candidate: Candidate) -> tuple[float, str]:
    """The order of candidates: better dual score first, then by text."""
    assert candidate.scores.dual is not None
    return -candidate.scores.dual, candidate.text


def distance_keys(texts: Sequence[str], pieces: Pieces) -> list[str]:
    """Each text as a string with one character per piece, lower-cased, without punctuation, for rapidfuzz."""
    numbers: dict[str, str] = {}
    keys = []
    for text in texts:
        segmented = pieces.split(without_punctuation(text))
        keys.append("".join(numbers.setdefault(piece, chr(0x100 + len(numbers))) for piece in segmented))
    return keys


def assign(keys: Sequence[str], clusters: int) -> list[int]:
    """The cluster of each candidate.

    >>> assign(["abcd", "abcx", "wxyz", "wxyv", "qrst"], clusters=2)
    [0, 1, 1, 2]

    Args:
        keys: The reference's key, then the candidates', best first.
        clusters: Free clusters at most.

    Returns:
        For each candidate a number: 0 for the reference's cluster, 1 to `clusters` for the free ones.
    """
    if len(keys) < 2:
        return []
    distance = cdist(keys, keys, scorer=Levenshtein.distance, dtype=np.int32)
    centres = furthest(distance, min(clusters, len(set(keys) - {keys[0]})))
    for _ in range(ROUNDS):
        near = distance[:, centres].argmin(1)  # ties: the earlier centre, the reference before all
        moved = [centres[0], *(medoid(distance, np.flatnonzero(near == n)) for n in range(1, len(centres)))]
        if moved == centres:
            break
        centres = moved
    return distance[1:, centres].argmin(1).tolist()


def furthest(distance: np.ndarray, count: int) -> list[int]:
    """The reference (0) and `count` candidates, each the furthest from those before it; ties to the earlier."""
    centres, gap = [0], distance[0].copy()
    for _ in range(count):
        centres.append(int(gap.argmax()))
        np.minimum(gap, distance[centres[-1]], out=gap)
    return centres


def medoid(distance: np.ndarray, members: np.ndarray) -> int:
    """The member with the smallest sum of distances to the others; ties to the earlier."""
    return int(members[distance[np.ix_(members, members)].sum(1).argmin()])
