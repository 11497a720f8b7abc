"""Words of a text, and the same words followed by hashes through pieces."""

import random

import pytest
import torch

from toolkit.bitext.words import constraint_words, continues_word
from toolkit.decode.constraint_set import _begins_with, times_said
from toolkit.decode.words import NOTHING, KnownWords, WordTable, _word_hash

# Pieces that begin words, go on with them, close them, and hold whole words inside themselves.
MIXED = ["", "", " a", "b", " ", "s.", " (a", "...", "a-b", ",", "字", " 東京", "'", "-c-d-", "A", "\u0301", "7", "\n"]
EOS = 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n ", []),
        ("for fortune", ["for", "fortune"]),
        ("a,b", ["a", ",", "b"]),
        ('"Go!"', ['"', "Go", "!", '"']),
        ("wait...", ["wait", ".", ".", "."]),
        ("house-boat", ["house", "-", "boat"]),
        ("3rd of 12", ["3rd", "of", "12"]),
        ("東京へ go", ["東", "京", "へ", "go"]),  # a script without spaces: a character is a word
        ("go東", ["go", "東"]),
        ("cafe\u0301!", ["cafe\u0301", "!"]),  # a combining mark is of its word
        ("שלום עולם", ["שלום", "עולם"]),
        ("a\u00a0b", ["a", "b"]),
        ("👍🏽", ["👍", "🏽"]),
    ],
)
def test_constraint_words(text, expected):
    assert list(constraint_words(text)) == expected


def test_a_word_is_letters_marks_and_digits():
    assert all(map(continues_word, "aÄß9²\u0301שمн한"))
    assert not any(map(continues_word, " '-.,_\"字ひカ\n👍"))


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("fortune favours", "for", 0),  # a part of a word is no word
        ("before", "for", 0),
        ("for, for. (for) 'for'", "for", 4),
        ("For me", "for", 1),  # a capital opens a sentence
        ("FOR me", "for", 0),
        ("for me", "For", 0),  # a name does not lose its capital
        ("New York", "new York", 1),
        ("New york", "new York", 0),  # only the first word may have a capital
        ("the new , york", "new york", 0),
        ("a a a", "a a", 2),  # overlapping
        ("a a b", "a b", 1),
        ("Don't", "don't", 1),
        ("Don ' t", "don't", 1),  # the same words, the same phrase
        ("東京", "京", 1),
        ("", "a", 0),
    ],
)
def test_times_said(text, phrase, expected):
    assert times_said(text, phrase) == expected


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("How do", "how", True),
        ("how do", "How", True),  # whatever the case of the first letter
        ("hOW do", "how", False),
        ("However", "how", False),
        ("Show how", "how", False),
        ("How, do", "how do", False),
        ("How do I", "how do", True),
        ("How Do I", "how do", False),
        ('"How do', "how", False),  # a quote is a word
        ("", "how", False),
    ],
)
def test_begins_with(text, phrase, expected):
    assert _begins_with(text, phrase) is expected


def test_the_hash_of_a_word_is_a_polynomial_in_64_signed_bits():
    base = 0x5851F42D4C957F2D
    assert _word_hash("") == NOTHING
    assert _word_hash("a") == ord("a") + 1
    exact = ((ord("a") + 1) * base + ord("b") + 1) * base + ord("c") + 1
    assert (_word_hash("abc") - exact) % 2**64 == 0
    assert -(2**63) <= _word_hash("abc" * 9) < 2**63
    words = {f"{a}{b}{c}" for a in "abc\u0301字" for b in "abAB19" for c in ("", "a", "aa", "aaa")}
    assert len({_word_hash(word) for word in words}) == len(words)


def follow(table: WordTable, ids: list[int]) -> tuple[list[int], int]:
    """The words that a row closes with these pieces, and the one it is in then."""
    word, closed = torch.tensor(NOTHING), []
    for i in ids:
        events, word = table.advance(torch.tensor(i), word)
        closed += [int(event) for event in events if event != NOTHING]
    return closed, int(word)


@pytest.mark.parametrize("seed", range(60))
def test_pieces_say_the_words_of_their_text(seed):
    chance = random.Random(seed)
    ids = [chance.randrange(1, len(MIXED)) for _ in range(12)]
    closed, _ = follow(WordTable.of(MIXED, EOS), [*ids, EOS])
    assert closed == [_word_hash(word) for word in constraint_words("".join(MIXED[i] for i in ids))]


def test_many_rows_at_a_time_are_the_same():
    table, chance = WordTable.of(MIXED, EOS), random.Random(0)
    sequences = [[chance.randrange(1, len(MIXED)) for _ in range(8)] for _ in range(40)]
    word = torch.zeros(5, 8, dtype=torch.long)
    closed = [[] for _ in sequences]
    for step in torch.tensor(sequences).view(5, 8, 8).unbind(-1):
        events, word = table.advance(step, word)
        for event in events:
            for row, value in zip(closed, event.flatten().tolist(), strict=True):
                row += [value] if value != NOTHING else []
    assert list(zip(closed, word.flatten().tolist(), strict=True)) == [follow(table, ids) for ids in sequences]


@pytest.mark.parametrize(
    ("piece", "closes", "fresh"),
    [(" a", True, True), ("b", False, False), ("s.", True, False), (",", True, True), ("字", True, True)],
)
def test_what_closes_and_what_closes_first(piece, closes, fresh):
    table = WordTable.of(MIXED, EOS)
    i = MIXED.index(piece)
    assert (bool(table.closes[i]), bool(table.closes_first[i])) == (closes, fresh)
    assert table.closes[EOS] and table.closes_first[EOS] and not table.closes[1]


def hashes(*words: str) -> torch.Tensor:
    return torch.tensor([[_word_hash(word) for word in words]])


def test_known_words_come_with_a_capital_and_in_capitals():
    known = KnownWords.of(["for", "fortune"]).with_own([""])
    queries = hashes("for", "For", "FOR", "fOR", "fort", "fortune", "tune")
    assert known.is_word(queries).tolist() == [[True, True, True, False, False, True, False]]


def test_beginnings_of_known_words():
    known = KnownWords.of(["for", "fortune"]).with_own([""])
    queries = hashes("f", "fo", "for", "F", "FORT", "fortune", "Fortun", "x")
    assert known.is_beginning(queries).tolist() == [[True, True, True, True, True, False, True, False]]


def test_own_words_are_of_one_search_and_as_they_stand():
    known = KnownWords.of(["for"]).with_own(["Tom's 3 dogs", "", "Anna"])
    queries = hashes("Tom", "tom", "s", "3", "Anna", "for").repeat(3, 1)
    whole = [[True, False, True, True, False, True], [False] * 5 + [True], [False] * 4 + [True, True]]
    assert known.is_word(queries).tolist() == whole
    assert known.keep(torch.tensor([2, 0])).is_word(queries[:2]).tolist() == [whole[2], whole[0]]
    assert known.is_beginning(hashes("To", "An", "do", "fo").repeat(3, 1)).tolist() == [
        [True, False, True, True],
        [False, False, False, True],
        [False, True, False, True],
    ]


def test_no_known_word_but_own_ones():
    known = KnownWords.of([]).with_own(["go"])
    assert known.is_word(hashes("go", "a")).tolist() == [[True, False]]
    assert known.is_beginning(hashes("g", "a")).tolist() == [[True, False]]
