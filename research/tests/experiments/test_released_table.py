"""What the released outputs of ParaBank tell: unigram precision, openings, copies."""

from __future__ import annotations

import pytest

from research.experiments.released_table import (
    begins_as,
    bleu,
    bleu_by_length,
    openings,
    short_references,
    unigram_precision,
)
from research.experiments.systems import PAPER_BY_LENGTH


def test_unigram_precision_counts_a_word_as_often_as_the_reference_has_it():
    assert unigram_precision({"a": "The dog ran."}, {"a": "the the dog"}) == pytest.approx(200 / 3)


@pytest.mark.parametrize(
    ("reference", "text", "count", "begins"),
    [
        ("We will go home.", "We will leave.", 2, True),
        ("We will go home.", "We willingly leave.", 2, False),  # another word
        ("Didn't you go?", "Did you go?", 1, True),  # a contraction is two tokens
        ("Go!", "Go away!", 3, False),  # fewer tokens than asked for
    ],
)
def test_a_text_begins_with_whole_tokens_of_its_reference(reference, text, count, begins):
    assert begins_as(reference, text, count) is begins


def test_openings_are_shares_of_the_texts():
    references = {"a": "We will go home.", "b": "She sings well."}
    shares = openings(references, {"a": "We will leave.", "b": "He sings."})
    assert shares == {"texts": 2, "1": 50.0, "2": 50.0, "3": 0.0}


def test_bleu_by_length_takes_the_references_of_each_length():
    references = {"a": "We will all go home.", "b": "She sings very well today in the large hall."}
    texts = {"a": "We will all go now.", "b": "She sings badly today."}
    figures = bleu_by_length(references, texts, {"a": 5, "b": 10}, counts=(5, 10))
    assert figures == {str(count): bleu(references, {id: texts[id]}) for count, id in ((5, "a"), (10, "b"))}


def test_copies_are_left_out_whatever_their_case_and_marks():
    references = {"a": "We will all go home.", "b": "She sings very well today."}
    texts = {"a": "we will all go home", "b": "She sings very well now."}
    run = dict.fromkeys(PAPER_BY_LENGTH, texts)
    figures = short_references(references, run, {"a", "b"})["ParaNMT"]
    assert (figures["texts"], figures["copies"]) == (2, 1)
    assert figures["bleu_without_copies"] < figures["bleu"]
