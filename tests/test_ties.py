"""What the comparison of n-best lists lets pass, and what it must not."""

import pytest

from tests.ties import assert_same_hypotheses, assert_same_searches

WANTED = [(-1.0, [5, 0]), (-1.5, [6, 0]), (-1.500001, [7, 0]), (-2.0, [8, 0])]
SWAPPED = [WANTED[0], WANTED[2], WANTED[1], WANTED[3]]


@pytest.mark.parametrize(
    "hypotheses",
    [
        WANTED,
        SWAPPED,
        [*WANTED[:3], (-2.000001, [9, 0])],  # another that ties with the last
        [(score - 1e-6, ids) for score, ids in WANTED],
    ],
)
def test_rounding_passes(hypotheses):
    assert_same_hypotheses(hypotheses, WANTED)
    assert_same_hypotheses(WANTED, hypotheses)


@pytest.mark.parametrize(
    "hypotheses",
    [
        WANTED[:3],
        [],
        [WANTED[1], WANTED[0], *WANTED[2:]],  # no tie
        [(-1.0, [9, 0]), *WANTED[1:]],  # another first
        [WANTED[0], (-1.5, [9, 0]), *WANTED[2:]],  # the list goes on below the tie
        [*WANTED[:3], (-2.1, [9, 0])],
        [*WANTED[:3], (-2.0, [5, 0])],  # twice
        [(-1.0, [5, 0]), (-1.5, [6, 0]), (-1.500001, [8, 0]), (-2.0, [7, 0])],  # the scores of other hypotheses
    ],
)
def test_other_hypotheses_and_other_scores_fail(hypotheses):
    with pytest.raises(AssertionError):
        assert_same_hypotheses(hypotheses, WANTED)
    with pytest.raises(AssertionError):
        assert_same_hypotheses(WANTED, hypotheses)


def test_ties_are_rare():
    assert_same_searches([WANTED, WANTED, WANTED, SWAPPED], [WANTED] * 4)
    with pytest.raises(AssertionError, match="ties are rare"):
        assert_same_searches([WANTED, SWAPPED], [WANTED] * 2)
    with pytest.raises(AssertionError):
        assert_same_searches([WANTED], [WANTED] * 2)
