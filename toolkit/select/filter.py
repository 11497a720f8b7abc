"""Filters: refuse candidates by a measured score or by their text, with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

from toolkit.bitext.normalize import match_key
from toolkit.bitext.words import words_of
from toolkit.data.rows import Candidate, Row, Scores


def refuse_unknown_words(rows: Iterable[Row], known: Set[str]) -> Iterator[Row]:
    """Refuse candidates with a word that is neither known nor in their reference: reason "unknown_word".

    Sampling of pieces can spell words that do not exist ("gettn"). This filter is ours.

    Args:
        rows: Rows with candidates.
        known: Lower-cased words; if empty, nothing is refused.
    """
    for row in rows:
        allowed = words_of(row.reference)
        for candidate in row.candidates if known else ():
            if candidate.reason is None and not words_of(candidate.text) - allowed <= known:
                candidate.reason = "unknown_word"
        yield row


def refuse_dual(rows: Iterable[Row], max_dual_nll: float) -> Iterator[Row]:
    """Refuse candidates whose negative dual score is above a threshold, or is NaN: reason "dual".

    Args:
        rows: Rows whose candidates have forward and backward log-likelihoods.
        max_dual_nll: The threshold: forward plus backward nats per token, >= 0.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.3: "anything with a combined score greater than 3.5 is thrown out".
    """
    return _refuse_scores(rows, "dual", lambda scores: scores.dual, lambda dual: -dual <= max_dual_nll)


def refuse_edit_ratio(rows: Iterable[Row], min_edit_ratio: float) -> Iterator[Row]:
    """Refuse candidates that are worded nearly as their reference: reason "edit_ratio".

    Args:
        rows: Rows whose candidates have the score.
        min_edit_ratio: The least edit ratio that stays, >= 0.

    Source: ParaZh-22M (Hao et al. 2022), section 2.4: "a minimum edit-distance ratio of 12%".
    """
    return _refuse_scores(
        rows, "edit_ratio", lambda scores: scores.edit_ratio, lambda ratio: not ratio < min_edit_ratio
    )


def refuse_copies(rows: Iterable[Row]) -> Iterator[Row]:
    """Refuse candidates that are equal to their reference: reason "copy". This filter is ours.

    Args:
        rows: Rows with candidates.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None and candidate.text == row.reference:
                candidate.reason = "copy"
        yield row


def refuse_repeats(rows: Iterable[Row]) -> Iterator[Row]:
    """Refuse candidates that differ from their reference, or from a more probable candidate, by no letter or digit.

    The reasons are "copy" and "repeat": case, punctuation and spaces make no paraphrase. This filter is ours.

    Args:
        rows: Rows whose candidates have a forward log-likelihood.
    """
    for row in rows:
        reason_by_key = {match_key(row.reference): "copy"}
        for candidate in sorted((c for c in row.candidates if c.reason is None), key=_most_probable_first):
            key = match_key(candidate.text)
            candidate.reason = reason_by_key.get(key)
            reason_by_key.setdefault(key, "repeat")
        yield row


def _most_probable_first(candidate: Candidate) -> tuple[float, str]:
    """The sort key of candidates: greater forward log-likelihood first, then by text."""
    return -(candidate.scores.forward_logprob or 0.0), candidate.text


def refuse_improbable(rows: Iterable[Row], limit: int) -> Iterator[Row]:
    """Refuse all candidates of a row but the `limit` with the greatest forward log-likelihood per token: reason "rank".

    Args:
        rows: Rows whose candidates have a forward log-likelihood.
        limit: How many stay, >= 1.
    """
    return refuse_worst(rows, limit, by_forward)


def refuse_worst(rows: Iterable[Row], limit: int, order: Callable[[Candidate], Any]) -> Iterator[Row]:
    """Refuse all candidates of a row but the best: reason "rank".

    Args:
        rows: Rows with candidates.
        limit: How many stay, >= 1.
        order: The sort key of candidates, better ones first.
    """
    for row in rows:
        waiting = sorted((c for c in row.candidates if c.reason is None), key=order)
        for candidate in waiting[limit:]:
            candidate.reason = "rank"
        yield row


def by_usable(candidate: Candidate) -> tuple[float, str]:
    """The sort key of candidates: more probably usable first, then by text."""
    return -(candidate.scores.usable or 0.0), candidate.text


def by_forward(candidate: Candidate) -> tuple[float, str]:
    """The sort key of candidates: greater forward log-likelihood per token first, then by text."""
    return -(candidate.scores.translation_score or 0.0), candidate.text


def refuse_semantic(rows: Iterable[Row], min_semantic: float) -> Iterator[Row]:
    """Refuse candidates whose cosine with their reference is below a floor, or is NaN: reason "semantic".

    Args:
        rows: Rows whose candidates have the score.
        min_semantic: The floor, in [-1, 1].
    """
    return _refuse_scores(rows, "semantic", lambda scores: scores.semantic, lambda cosine: cosine >= min_semantic)


def refuse_forward(rows: Iterable[Row], min_forward: float) -> Iterator[Row]:
    """Refuse candidates whose forward log-likelihood per token is below a floor, or is NaN: reason "forward".

    Args:
        rows: Rows whose candidates have the score.
        min_forward: The floor in nats per token, <= 0.
    """
    return _refuse_scores(rows, "forward", lambda scores: scores.translation_score, lambda score: score >= min_forward)


def refuse_usable(rows: Iterable[Row], min_usable: float) -> Iterator[Row]:
    """Refuse candidates that a reader would too probably not call usable: reason "usable".

    Args:
        rows: Rows whose candidates have the score.
        min_usable: The least probability that stays, in [0, 1].
    """
    return _refuse_scores(rows, "usable", lambda scores: scores.usable, lambda usable: usable >= min_usable)


def refuse_below(rows: Iterable[Row], score: str, floor: float) -> Iterator[Row]:
    """Refuse candidates whose score is below a floor, and those that could not be measured: the score is the reason.

    Args:
        rows: Rows with candidates.
        score: A field or property of `Scores`, such as "entailment".
        floor: The least score.
    """
    for row in rows:
        for candidate in row.candidates:
            value = getattr(candidate.scores, score)
            if candidate.reason is None and (value is None or not value >= floor):
                candidate.reason = score
        yield row


def refuse_overlap(rows: Iterable[Row], max_iou: float) -> Iterator[Row]:
    """Refuse candidates that share too many pieces with their reference: reason "intersection_over_union".

    Args:
        rows: Rows whose candidates have the score.
        max_iou: The greatest intersection over union, in [0, 1].
    """
    return _refuse_scores(
        rows, "intersection_over_union", lambda scores: scores.intersection_over_union, lambda iou: iou <= max_iou
    )


def _refuse_scores(
    rows: Iterable[Row], reason: str, get_score: Callable[[Scores], float | None], passes: Callable[[float], bool]
) -> Iterator[Row]:
    """Refuse candidates that have a score which does not pass; those without the score stay.

    Args:
        rows: Rows with candidates.
        reason: Of the candidates that are refused.
        get_score: The score in those of a candidate; None if it has none.
        passes: Whether a score is good enough; of NaN no comparison is true.
    """
    for row in rows:
        for candidate in row.candidates:
            score = get_score(candidate.scores)
            if candidate.reason is None and score is not None and not passes(score):
                candidate.reason = reason
        yield row
