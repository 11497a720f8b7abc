"""Keywords: what a paraphrase must say, and ParaNet's errors of appendix B."""

import random
from itertools import permutations as all_orders

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.generate.keywords import STOP_WORDS, _permutations, keywords


def texts(sentence):
    return [one.text for one in keywords(sentence)]


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [  # the inputs of table 8, with what was wrong there
        ("Such a possibility hadn't even been discussed.", ["possibility", "n't", "even", "discussed"]),
        ("A large sofa was shoved against the wall.", ["large sofa", "shoved", "wall"]),
        ('"As you command, controller," grudy said, and returned to his station.',
         ["command", "controller", "grudy said", "returned", "station"]),
        ("Does the semi-fluidic nature of the crystals present a weakness?",
         ["semi-fluidic nature", "crystals present", "weakness"]),
    ],
)  # fmt: skip
def test_errors_of_the_paper(sentence, wanted):
    assert texts(sentence) == wanted


def test_authors_keywords():
    """Rows of the authors' data, before 9 to 12 % are dropped."""
    assert texts("a distant rumbling then, the low growl of a massive diesel engine, a beast in the dark.") == [
        "distant rumbling", "low growl", "massive diesel engine", "beast", "dark",
    ]  # fmt: skip
    assert texts("he raises his head from the soft cushion beneath and the sheet covering him falls away.") == [
        "raises", "head", "soft cushion beneath", "sheet covering", "falls away",
    ]  # fmt: skip


def test_typographic_marks_are_as_plain_ones():
    assert texts("He didn’t say “well-known” words – he couldn’t.") == ["n’t", "say", "well-known", "words", "couldn’t"]
    assert texts("It can't be; I won't.") == ["n't"]


def test_a_dash_is_no_hyphen():
    assert texts("The house--big and old--burned; a half- or whole-day trip - long.") == [
        "house", "big", "old", "burned", "half", "whole-day trip", "long",
    ]  # fmt: skip


def test_a_keyword_twice_counts_once():
    assert texts("He hired me, and hired you.") == ["hired"]


@given(st.text(alphabet="abcthe n't-'’.,!AB19", max_size=60))
def test_keywords_are_parts_of_the_sentence_without_marks(sentence):
    last = 0
    for one in keywords(sentence):
        assert sentence[one.begin : one.end] == one.text and last <= one.begin < one.end
        assert "!" not in one.text and one.text[0] not in ",.-" and one.text.lower() not in STOP_WORDS
        last = one.end


@given(st.integers(0, 9), st.integers(1, 15), st.integers(0, 99))
def test_permutations_are_different_orders(count, most, seed):
    found = _permutations(count, most, random.Random(seed))
    assert (
        len(found) == len(set(found)) == min(most, len(list(all_orders(range(min(count, 4))))) if count < 4 else most)
    )
    assert all(sorted(order) == list(range(count)) for order in found)
    assert found == _permutations(count, most, random.Random(seed))
