"""The best of each cluster, best first (ParaBank 2, section 2.3)."""

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
