"""Choose and rank the candidates that become paraphrases, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from toolkit.data.rows import Candidate, Row
from toolkit.select.cluster import REFERENCE, best_first
from toolkit.select.filter import by_usable


def rank_rows(
    rows: Iterable[Row], paraphrases: int, order: Callable[[Candidate], Any] = best_first, fill: bool = False
) -> Iterator[Row]:
    """Rank the best candidate of each cluster, and refuse all others.

    Reasons: "reference_cluster" for the cluster of the reference, "cluster" for a candidate whose cluster has a better
    one, "rank" for a candidate that is not among the best `paraphrases`.

    Args:
        rows: Rows whose candidates have clusters.
        paraphrases: The most candidates of a row that are ranked.
        order: The sort key of candidates, better ones first.
        fill: Where fewer clusters have a candidate than are to be ranked, the best of the other candidates follow,
            those of the reference's cluster last. The paper has none of this.

    Source: ParaBank 2 (Hu et al. 2019b), sections 2.3 and 3.3.
    """
    for row in rows:
        best: dict[int, Candidate] = {}
        remaining: list[Candidate] = []
        for candidate in sorted((c for c in row.candidates if c.reason is None), key=order):
            assert candidate.cluster is not None
            if candidate.cluster == REFERENCE:
                candidate.reason = "reference_cluster"
            elif candidate.cluster in best:
                candidate.reason = "cluster"
            else:
                best[candidate.cluster] = candidate
                continue
            remaining.append(candidate)
        remaining.sort(key=lambda candidate: candidate.cluster == REFERENCE)
        for rank, candidate in enumerate([*best.values(), *(remaining if fill else ())]):
            if rank < paraphrases:
                candidate.rank, candidate.reason = rank, None
            else:
                candidate.reason = candidate.reason or "rank"
        yield row


def rank_again(rows: Iterable[Row], order: Callable[[Candidate], Any]) -> Iterator[Row]:
    """Rank what was ranked and has not been refused since in another order; what was refused has no rank.

    Args:
        rows: Rows with ranked candidates.
        order: The sort key of candidates, better ones first.
    """
    for row in rows:
        ranked = [candidate for candidate in row.candidates if candidate.rank is not None]
        for candidate in ranked:
            candidate.rank = None
        for rank, candidate in enumerate(sorted((c for c in ranked if c.reason is None), key=order)):
            candidate.rank = rank
        yield row


def rank_best_and_others(rows: Iterable[Row], paraphrases: int, order: Callable[[Candidate], Any]) -> Iterator[Row]:
    """Rank the best candidate of all, then those that `rank_rows` ranks first among the others.

    Args:
        rows: Rows whose candidates have clusters.
        paraphrases: The most candidates of a row that are ranked.
        order: The sort key of candidates, better ones first.
    """
    for row in rows:
        best = min((c for c in row.candidates if c.reason is None), key=order, default=None)
        if best is not None:
            other_row = replace(row, candidates=[c for c in row.candidates if c is not best])
            next(rank_rows([other_row], paraphrases - 1, order, fill=True))
            for candidate in other_row.paraphrases:
                candidate.rank = (candidate.rank or 0) + 1
            best.rank = 0
        yield row


def rank_all(rows: Iterable[Row]) -> Iterator[Row]:
    """Rank all candidates that have not been refused, in their order.

    Args:
        rows: Rows with candidates, best first.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 3: every pair was released, with its scores.
    """
    for row in rows:
        for rank, candidate in enumerate(c for c in row.candidates if c.reason is None):
            candidate.rank = rank
        yield row


def rank_by_ranking(rows: Iterable[Row], paraphrases: int) -> Iterator[Row]:
    """Rank candidates by `ranking`, greatest first, then by text; refuse those after the best: reason "rank".

    Args:
        rows: Rows whose candidates have a `ranking`.
        paraphrases: The most candidates of a row that are ranked, >= 1.

    Source: ParaNet (Liu et al. 2022), section 3.3.4: the best candidate is the paraphrase.
    """
    yield from _rank_best(rows, paraphrases, lambda candidate: (-(candidate.scores.ranking or 0.0), candidate.text))


def rank_by_dual_sum(rows: Iterable[Row], paraphrases: int = 1) -> Iterator[Row]:
    """Rank candidates by `dual_sum`, greatest first, then by text; refuse those after the best: reason "rank".

    Args:
        rows: Rows whose candidates have forward and backward log-likelihoods.
        paraphrases: The most candidates of a row that are ranked, >= 1.

    Source: ParaZh-22M (Hao et al. 2022), section 2.4, equation 1.
    """
    yield from _rank_best(rows, paraphrases, lambda candidate: (-(candidate.scores.dual_sum or 0.0), candidate.text))


def rank_by_judgment(rows: Iterable[Row], paraphrases: int) -> Iterator[Row]:
    """Rank candidates by predicted judgment, those without one last; refuse those after the best: reason "rank".

    Equal judgments are ranked by translation score, then by text.

    Args:
        rows: Rows whose candidates have predicted judgments.
        paraphrases: The most candidates of a row that are ranked; 0 ranks all.

    Source: ParaBank (Hu et al. 2019a), section 5.1; the order is ours.
    """
    yield from _rank_best(rows, paraphrases, _judgment_order)


def rank_by_usable(rows: Iterable[Row]) -> Iterator[Row]:
    """Rank all candidates that have not been refused by what the judge says, more probably usable ones first.

    Args:
        rows: Rows whose candidates have `usable`.
    """
    yield from _rank_best(rows, 0, by_usable)


def _rank_best(rows: Iterable[Row], paraphrases: int, order: Callable[[Candidate], Any]) -> Iterator[Row]:
    """Rank the candidates that have not been refused by a sort key; refuse those after the best: reason "rank".

    Args:
        rows: Rows with candidates.
        paraphrases: The most candidates of a row that are ranked; 0 ranks all.
        order: The sort key of candidates, better ones first.
    """
    for row in rows:
        for rank, candidate in enumerate(sorted((c for c in row.candidates if c.reason is None), key=order)):
            if paraphrases and rank >= paraphrases:
                candidate.reason = "rank"
            else:
                candidate.rank = rank
        yield row


def _judgment_order(candidate: Candidate) -> tuple[float, float, str]:
    """The sort key of candidates: best predicted judgment first, then translation score, then text."""
    scores = candidate.scores
    judgment = -1.0 if scores.judgment is None else scores.judgment
    return -judgment, -(scores.translation_score or 0.0), candidate.text
