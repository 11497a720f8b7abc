"""The split is a function of the words; the expected hashes come from the b2sum program of GNU coreutils."""

from collections import Counter

import pytest

from toolkit.bitext.split import _position, split_of

REFERENCES = [f"Sentence number {i}, spoken on a rainy day." for i in range(20_000)]


@pytest.mark.parametrize("text", ["DON'T  stop", "don’t stop.", "“Don't… stop!”", "Dont stop", "\tdon't\u00a0stop\x00"])
def test_spelling_does_not_move_a_reference(text):
    assert _position(text, 0) == _position("Don't stop!", 0)
    assert _position("Don't start!", 0) != _position("Don't stop!", 0)


def test_composed_and_decomposed_text_are_one():
    assert _position("Cafe\u0301", 0) == _position("Café", 0)


def test_position_is_what_b2sum_says():
    r"""`printf '0\nhelloworld' | b2sum --length 48` and the same with seed 7."""
    assert _position("Hello, world!", 0) == int("5f60a07708f6", 16) / 2**48
    assert _position("Hello, world!", 7) == int("eae4ce1b9cf5", 16) / 2**48


def test_shares_are_met():
    counts = Counter(split_of(r, validation=0.1, test=0.2) for r in REFERENCES)
    # 20 000 draws: standard deviations are 42 and 57, so five of them
    assert abs(counts["validation"] - 2000) < 210
    assert abs(counts["test"] - 4000) < 285
    assert counts.total() == 20_000


def test_default_shares():
    counts = Counter(map(split_of, REFERENCES))
    assert 130 < counts["validation"] < 270 and 130 < counts["test"] < 270


def test_test_set_stays_when_validation_grows():
    for reference in REFERENCES[:2000]:
        small, large = split_of(reference, 0.05, 0.1), split_of(reference, 0.5, 0.1)
        assert (small == "test") == (large == "test")
        assert small != "validation" or large == "validation"


def test_extreme_shares():
    references = REFERENCES[:100]
    assert {split_of(r, 0, 0) for r in references} == {"train"}
    assert {split_of(r, 1, 0) for r in references} == {"validation"}
    assert {split_of(r, 0, 1) for r in references} == {"test"}


def test_another_seed_is_another_division():
    first = {r for r in REFERENCES if split_of(r, test=0.1, seed=0) == "test"}
    second = {r for r in REFERENCES if split_of(r, test=0.1, seed=1) == "test"}
    assert 0 < len(first & second) < len(first) / 5  # chance: a tenth


@pytest.mark.parametrize("text", ["", "…!?", "🙂", "\x00"])
def test_texts_without_letters_share_a_place(text):
    assert _position(text, 0) == _position("", 0)


@pytest.mark.parametrize(("validation", "test"), [(-0.1, 0.1), (0.1, -0.1), (0.6, 0.5)])
def test_impossible_shares(validation, test):
    with pytest.raises(
        ValueError, match=rf"^wanted shares .*, got validation={validation} and test={test}: lower them$"
    ):
        split_of("Hello", validation, test)
