"""Trigram overlap, counted by hand."""

import pytest

from toolkit.data.rows import Candidate, Row
from toolkit.score.overlap import _trigrams, trigram_overlap, trigram_rows


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("a b c d", "a b c d", 1.0),
        ("a b c d", "a b c e", 0.5),
        ("a b c d e f g", "x b c d", 0.5),  # over the two of the shorter one, not over five
        ("x b c d", "a b c d e f g", 0.5),
        ("a b c", "c b a", 0.0),
        ("A B c", "a b C", 1.0),
        ("a b", "a b", 0.0),  # no trigram
        ("", "", 0.0),
        ("a b c", "a b", 0.0),
        ("he left .", "He left.", 1.0),  # a mark is a word
        ("a a a a a", "a a a", 1.0),  # the one trigram of the shorter is shared
        ("a a a a a", "a a a b c", 0.333333),  # shared once, although the reference says it three times
    ],
)
def test_by_hand(reference, candidate, expected):
    assert trigram_overlap(reference, candidate) == expected


def test_words_and_marks():
    assert _trigrams("Don't go, Tom!") == {
        ("don't", "go", ","): 1,
        ("go", ",", "tom"): 1,
        (",", "tom", "!"): 1,
    }


def test_the_stage_measures_what_is_in_and_changes_nothing_else():
    row = Row("a-1", "a", "x", "de", "We go home now.", "en", "train")
    row.candidates = [Candidate("We go home.", "beam"), Candidate("We go home.", "beam", reason="unfinished")]
    (result,) = trigram_rows([row])
    assert [c.scores.trigram_overlap for c in result.candidates] == [0.5, None]
    assert [c.reason for c in result.candidates] == [None, "unfinished"]
