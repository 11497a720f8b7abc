"""Two searches that may differ by rounding: hypotheses of equal score have no order, and the last place is of any."""

from collections.abc import Sequence

import pytest

from toolkit.decode.hypotheses import Hypothesis

TIE = 2e-5  # nats per token: well above what kernels differ by, well below what two hypotheses mostly differ by

Scored = Sequence[tuple[float, Sequence[int]]]  # score and ids of the hypotheses of one search, best first


def scored(hypotheses: Sequence[Hypothesis]) -> Scored:
    return [(h.score, h.ids) for h in hypotheses]


def assert_same_hypotheses(found: Scored, wanted: Scored, tie: float = TIE) -> None:
    """Fail unless two n-best lists hold the same hypotheses with the same scores, but for ties.

    Hypotheses whose scores tie may stand in any order, and of those that tie with the worst any may be missing.
    """
    assert [score for score, _ in found] == pytest.approx([score for score, _ in wanted], abs=tie)
    if not found:
        return
    ours, theirs = ({tuple(ids): score for score, ids in one} for one in (found, wanted))
    assert len(ours) == len(found), "a hypothesis stands twice"
    worst = min(*ours.values(), *theirs.values()) + 2 * tie
    lone = {ids: score for ids, score in (ours | theirs).items() if not (ids in ours and ids in theirs)}
    assert not {ids: score for ids, score in lone.items() if score > worst}, "in one list alone, and not by a tie"
    both = sorted(ours.keys() & theirs.keys())
    assert [ours[ids] for ids in both] == pytest.approx([theirs[ids] for ids in both], abs=tie)


def assert_same_searches(found: Sequence[Scored], wanted: Sequence[Scored], tie: float = TIE) -> None:
    """`assert_same_hypotheses` for each search; and three of four have no tie, else nothing would be compared."""
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert_same_hypotheses(ours, theirs, tie)
    alike = sum([ids for _, ids in a] == [ids for _, ids in b] for a, b in zip(found, wanted, strict=True))
    assert alike >= 0.75 * len(found), "ties are rare"
