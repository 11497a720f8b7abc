"""Two searches that may differ by rounding: hypotheses of equal score have no order, and the last place is of any."""

from collections.abc import Sequence

import pytest

from toolkit.decode.hypotheses import Hypothesis

TIE = 2e-5  # nats per token: well above what kernels differ by, well below what two hypotheses mostly differ by

Scored = Sequence[tuple[float, Sequence[int]]]  # score and ids of the hypotheses of one search, best first


def scored(hypotheses: Sequence[Hypothesis]) -> Scored:
    return [(h.score, h.ids) for h in hypotheses]


def assert_same_hypotheses(hypotheses: Scored, expected: Scored, tie: float = TIE) -> None:
    """Fail unless two n-best lists hold the same hypotheses with the same scores, but for ties.

    Hypotheses whose scores tie may stand in any order, and of those that tie with the worst any may be missing.
    """
    assert [score for score, _ in hypotheses] == pytest.approx([score for score, _ in expected], abs=tie)
    if not hypotheses:
        return
    left, right = ({tuple(ids): score for score, ids in items} for items in (hypotheses, expected))
    assert len(left) == len(hypotheses), "a hypothesis stands twice"
    worst = min(*left.values(), *right.values()) + 2 * tie
    lone = {ids: score for ids, score in (left | right).items() if not (ids in left and ids in right)}
    assert not {ids: score for ids, score in lone.items() if score > worst}, "in one list alone, and not by a tie"
    shared = sorted(left.keys() & right.keys())
    assert [left[ids] for ids in shared] == pytest.approx([right[ids] for ids in shared], abs=tie)


def assert_same_searches(searches: Sequence[Scored], expected: Sequence[Scored], tie: float = TIE) -> None:
    """`assert_same_hypotheses` for each search; and three of four have no tie, else nothing would be compared."""
    assert len(searches) == len(expected)
    for left, right in zip(searches, expected, strict=True):
        assert_same_hypotheses(left, right, tie)
    alike = sum([ids for _, ids in a] == [ids for _, ids in b] for a, b in zip(searches, expected, strict=True))
    assert alike >= 0.75 * len(searches), "ties are rare"
