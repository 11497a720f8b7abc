"""k-means clustering of candidates under edit distance, to choose diverse paraphrases (ParaBank 2, section 2.3).

From the paper: the distance is the Levenshtein distance over lower-cased pieces without punctuation; k free clusters
are initialised with the furthest candidates; one more cluster has its centre fixed on the reference and is discarded.
Ours, because the paper does not specify it: the furthest candidates are found one after another, beginning from the
reference; a centre is a medoid; ties go to the better score, then to the text; at most 50 rounds; with fewer distinct
candidates than clusters, each candidate is a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from toolkit.data.rows import Candidate, Row
from toolkit.score.overlap import without_punctuation

if TYPE_CHECKING:
    from toolkit.bitext.subwords import Pieces
    from toolkit.bitext.words import WordPieces

ROWS = 32  # ours: rows whose texts are cut into pieces together; a call for each row takes twice as long
MAX_ROUNDS = 50  # ours: the centres converge after 2 to 6
REFERENCE = 0  # the number of the cluster whose centre is the reference


def best_first(candidate: Candidate) -> tuple[float, str]:
    """The sort key of candidates: better dual score first, then by text."""
    assert candidate.scores.dual is not None
    return -candidate.scores.dual, candidate.text


def cluster_rows(
    rows: Iterable[Row], pieces: Pieces | WordPieces, clusters: int, order: Callable[[Candidate], Any] = best_first
) -> Iterator[Row]:
    """Assign a cluster to every candidate that has not been refused.

    Args:
        rows: Rows whose candidates have the scores of the order.
        pieces: Pieces, or words, of the references' language.
        clusters: The number of free clusters, >= 1; the cluster of the reference is added to them, with number 0.
        order: The sort key of candidates, better ones first.

    Source: ParaBank 2 (Hu et al. 2019b), sections 2.3 and 3.3.
    """
    rows = iter(rows)
    while batch := list(islice(rows, ROWS)):
        candidates_by_row = [sorted((c for c in row.candidates if c.reason is None), key=order) for row in batch]
        texts = [
            [row.reference, *(c.text for c in candidates)]
            for row, candidates in zip(batch, candidates_by_row, strict=True)
        ]
        segmented = iter(pieces.split_all([without_punctuation(text) for text in chain.from_iterable(texts)]))
        for row, candidates in zip(batch, candidates_by_row, strict=True):
            keys = _distance_keys(list(islice(segmented, len(candidates) + 1)))
            for candidate, number in zip(candidates, _assign(keys, clusters), strict=True):
                candidate.cluster = number
            yield row


def _distance_keys(segmented: Sequence[Sequence[str]]) -> list[str]:
    """Texts in pieces as strings with one character per piece, for rapidfuzz."""
    character = {piece: chr(n) for n, piece in enumerate(dict.fromkeys(chain.from_iterable(segmented)))}.__getitem__
    return ["".join(map(character, text)) for text in segmented]


def _assign(keys: Sequence[str], clusters: int) -> list[int]:
    """The cluster of each candidate.

    >>> _assign(["abcd", "abcx", "wxyz", "wxyv", "qrst"], clusters=2)
    [0, 1, 1, 2]

    Args:
        keys: The key of the reference, then the keys of the candidates, best first.
        clusters: The maximum number of free clusters.

    Returns:
        For each candidate a number: 0 for the reference's cluster, 1 to `clusters` for the free ones.
    """
    if len(keys) < 2:
        return []
    distance = cdist(keys, keys, scorer=Levenshtein.distance, dtype=np.float32)  # integers; float for the product below
    centres = _furthest_centres(distance, min(clusters, len(set(keys) - {keys[0]})))
    for _ in range(MAX_ROUNDS):
        nearest = distance[:, centres].argmin(1)  # ties go to the earlier centre, first of all to the reference
        new_centres = [REFERENCE, *_medoids(distance, nearest, len(centres))[1:]]
        if new_centres == centres:
            break
        centres = new_centres
    return distance[1:, centres].argmin(1).tolist()


def _furthest_centres(distance: np.ndarray, count: int) -> list[int]:
    """The reference (0) and `count` candidates, each the furthest from all before it; ties go to the earlier."""
    centres, nearest_distance = [0], distance[0].copy()
    for _ in range(count):
        centres.append(int(nearest_distance.argmax()))
        np.minimum(nearest_distance, distance[centres[-1]], out=nearest_distance)
    return centres


def _medoids(distance: np.ndarray, nearest: np.ndarray, clusters: int) -> list[int]:
    """Of each cluster the member with the smallest sum of distances to the others; ties go to the earlier.

    Args:
        distance: (texts, texts).
        nearest: (texts,) the cluster of each text; no cluster is empty.
        clusters: How many there are.
    """
    members = nearest[:, None] == np.arange(clusters)
    return np.where(members, distance @ members.astype(distance.dtype), np.inf).argmin(0).tolist()
