"""Which words differ, and how common they are."""

import pytest

from toolkit.score.word_changes import USUAL, _word_changes


def test_words_that_are_replaced_added_and_left_out_are_counted():
    changes = _word_changes("The lift is out of order again.", "The old elevator is broken again.")
    assert (changes.edits, changes.deleted, changes.inserted) == (2, 0, 0)
    changes = _word_changes("She never really lost her keys.", "She lost all her keys.")
    assert (changes.edits, changes.deleted, changes.inserted) == (2, 2, 1)


def test_without_new_words_their_frequency_is_the_usual_one():
    changes = _word_changes("It rained.", "it rained!")
    assert (changes.rarest_new, changes.new, changes.lost) == (USUAL, USUAL, USUAL) and changes.edits == 1
    assert _word_changes("It rained.", "it rained.").edits == 0


@pytest.mark.parametrize(("rare", "common"), [("commence", "begin"), ("luckyness", "luck")])
def test_a_rarer_word_has_a_lower_frequency(rare, common):
    text = "I hope that we can stay."
    changes = [_word_changes(text, text.replace("stay", word)) for word in (rare, common)]
    assert changes[0].rarest_new < changes[1].rarest_new < 0
    assert changes[0].new == changes[0].rarest_new and changes[0].lost == changes[1].lost
