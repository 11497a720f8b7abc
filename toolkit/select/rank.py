"""Which candidates become paraphrases, best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolkit.rows import Candidate, Row
from toolkit.select.cluster import REFERENCE, best_first


def rank_rows(rows: Iterable[Row], paraphrases: int) -> Iterator[Row]:
    """Rank the best candidate of each cluster, and refuse all others.

    Reasons: "reference_cluster" in the reference's cluster, "cluster" behind a better one of the same cluster, "rank"
    behind the best `paraphrases`.

    Args:
        rows: Rows whose candidates have clusters.
        paraphrases: How many are kept.

    Source: ParaBank 2 (Hu et al. 2019b), sections 2.3 and 3.3.
    """
    for row in rows:
        best: dict[int, Candidate] = {}
        for candidate in sorted((c for c in row.candidates if c.reason is None), key=best_first):
            assert candidate.cluster is not None
            if candidate.cluster == REFERENCE:
                candidate.reason = "reference_cluster"
            elif candidate.cluster in best:
                candidate.reason = "cluster"
            else:
                best[candidate.cluster] = candidate
        for rank, candidate in enumerate(best.values()):
            if rank < paraphrases:
                candidate.rank = rank
            else:
                candidate.reason = "rank"
        yield row


def rank_all(rows: Iterable[Row]) -> Iterator[Row]:
    """Rank every candidate that is still in, in their order: all are chosen.

    Args:
        rows: Rows with candidates, best first.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 3: every pair was released, with its scores.
    """
    for row in rows:
        for rank, candidate in enumerate(c for c in row.candidates if c.reason is None):
            candidate.rank = rank
        yield row


def rank_by_judgment(rows: Iterable[Row], paraphrases: int) -> Iterator[Row]:
    """Rank candidates by their predicted judgment, those without one last, and refuse the rest: reason "rank".

    Equal ones are ranked by translation score, then by text.

    Args:
        rows: Rows with candidates that judgments are predicted for.
        paraphrases: How many are kept; 0 keeps all.

    Source: ParaBank (Hu et al. 2019a), section 5.1; the order is ours.
    """
    for row in rows:
        for rank, candidate in enumerate(sorted((c for c in row.candidates if c.reason is None), key=judged_first)):
            if paraphrases and rank >= paraphrases:
                candidate.reason = "rank"
            else:
                candidate.rank = rank
        yield row


def judged_first(candidate: Candidate) -> tuple[float, float, str]:
    """A sorting key: the best predicted judgment first."""
    scores = candidate.scores
    judgment = -1.0 if scores.judgment is None else scores.judgment
    return -judgment, -(scores.translation_score or 0.0), candidate.text
