"""Edits taken apart and put together."""

import pytest

from toolkit.generate.recombine import TOKEN, Edit, apply_edits, combinations, edits_of, single_edits
from toolkit.rows import Candidate, Scores

TEXT = "Dozens of seal pups have been washed ashore following last week's tides."
OTHER = "Dozens of seal cubs were washed ashore after last week's tide."


def candidate(text: str, logprob: float) -> Candidate:
    return Candidate(text, "pivot", scores=Scores(forward_logprob=logprob, forward_tokens=10))


def test_all_edits_together_make_the_candidate():
    for text in (OTHER, "Dozens of baby seals have been washed ashore after the tides of last week.", TEXT):
        edits = edits_of(TEXT, text)
        if "".join(TOKEN.findall(text)) == text and len(edits) and "of last week" not in text:
            assert apply_edits(TEXT, edits) == text


def test_each_edit_alone_changes_its_own_words_only():
    made = [apply_edits(TEXT, [edit]) for edit in edits_of(TEXT, OTHER)]
    assert "Dozens of seal pups have been washed ashore after last week's tides." in made
    assert "Dozens of seal cubs have been washed ashore following last week's tides." not in made  # one edit: cubs were
    assert all(text != TEXT for text in made)


def test_what_is_only_added_or_left_out_is_no_edit():
    assert edits_of("We went home.", "We went home again.") == edits_of("We went home again.", "We went home.") == []


@pytest.mark.parametrize(
    ("text", "other", "made"),
    [
        ("The lift is broken.", "That lift is broken.", "That lift is broken."),
        ("Broken lifts annoy us.", "Damaged lifts annoy us.", "Damaged lifts annoy us."),
        ("lifts annoy us", "Elevators annoy us", "Elevators annoy us"),
        ("He left (he said).", "He left (she said).", "He left (she said)."),
        ("It's 5,000 pounds, I think.", "It's 5,000 kilos, I think.", "It's 5,000 kilos, I think."),
        ("We met, then left.", "We met, After left.", "We met, after left."),
    ],
)
def test_spaces_and_capitals_are_those_of_the_place(text, other, made):
    (edit,) = edits_of(text, other)
    assert apply_edits(text, [edit]) == made


def test_edits_of_probable_candidates_come_first_and_once():
    edits = single_edits(TEXT, [candidate(OTHER, -9.0), candidate(TEXT.replace("pups", "puppies"), -1.0)] * 2, 10)
    assert edits[0].replacement.strip() == "puppies" and len(edits) == len(set(edits)) == len(edits_of(TEXT, OTHER)) + 1
    assert single_edits(TEXT, [candidate(OTHER, -9.0)], 1) == edits[1:2]


def test_overlapping_edits_are_not_put_together():
    text = "The lift is out of order."
    assert apply_edits(text, [Edit(3, 6, " broken"), Edit(4, 5, " in")]) is None
    assert combinations(text, [Edit(3, 6, " broken"), Edit(4, 5, " in"), Edit(1, 2, " elevator")]) == [
        "The elevator is broken."
    ]
    assert combinations(text, [Edit(1, 2, " elevator")]) == []
