"""Equation 2 of ParaNet: words that differ, and common words that moved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.data.rows import Candidate, Row
from toolkit.score.diversity import diversity, diversity_rows, diversity_signature

WORDS = ["the", "a", "dog", "cat", "left", "early", "he", "n't", "well-known", ",", "."]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("reference", "text", "distance", "similarity"),
    [  # half the Jaccard term, and half of: mean displacement of common words over the words of the longer text
        ("a b c d", "a b c d", 0.0, 0.5),
        ("a b c d", "d c b a", 0.5 * (3 + 1 + 1 + 3) / 4 / 4, 0.5 + 0.25),
        ("a b", "c d", 0.5, 0.0),  # no common word: no displacement
        ("a b c", "a x y z", 0.5 * 5 / 6, 0.5 / 6),
        ("a b a", "b a", 0.5 * (1 + 1) / 2 / 3, 0.5 + 0.5 / 3),  # the first place of "a" counts
        ("A, b!", "b a", 0.5 * 1 / 2, 0.75),  # neither case nor marks count
        ("well-known men", "men well known", 0.5 * (1 - 1 / 4) + 0.5 * 1 / 3, 0.5 / 4 + 0.5 / 3),
        ("", "", 0.0, 0.5),
    ],
)
def test_equation_2_by_hand(reference, text, distance, similarity):
    assert diversity(reference, text) == pytest.approx(distance, abs=1e-6)
    assert diversity(reference, text, "similarity") == pytest.approx(similarity, abs=1e-6)


@given(TEXTS, TEXTS)
def test_it_is_between_0_and_1_and_symmetric_and_0_for_a_copy(first, second):
    assert 0 <= diversity(first, second) <= 1
    assert diversity(first, second) == diversity(second, first)
    assert diversity(first, first) == 0 == diversity(first, first.upper())
    total = diversity(first, second) + diversity(first, second, "similarity")
    moved = 2 * (diversity(first, second, "similarity") - 0.5) if first == second else None
    assert total >= 0.5 - 1e-6 and (moved is None or moved == pytest.approx(0, abs=1e-5))


def test_a_full_reorder_is_more_diverse_than_a_copy_and_less_than_other_words():
    reference = "she reported that the final stage was nearing completion"
    reorder = " ".join(reversed(reference.split()))
    assert 0 == diversity(reference, reference) < diversity(reference, reorder) < diversity(reference, "he left")


def test_refused_candidates_have_none():
    row = Row("a-1", "a", None, None, "He left early.", "en", "train")
    row.candidates = [Candidate("Early he left.", "infill"), Candidate("He left.", "infill", reason="negation")]
    (result,) = diversity_rows([row])
    assert [c.scores.diversity for c in result.candidates] == [0.222222, None]
    assert diversity_signature("distance") == "0.5 Jaccard distance + 0.5 displacement|case:lc|decimals:6|v:1.0.0"
