"""Rows by key against a dictionary, and the counts that make a vocabulary."""

import numpy as np
import pytest

from toolkit.encoder import vocabulary
from toolkit.encoder.tokens import _trigrams, _word_keys, tokenize
from toolkit.encoder.vocabulary import (
    MIX,
    UNKNOWN,
    _keys_of_trigrams,
    _read_entries,
    _Vocabulary,
    _write_entries,
    character_trigrams,
    count_trigrams,
    count_words,
    words,
)


def numbered(keys: list[int]) -> _Vocabulary:
    return _Vocabulary([str(key) for key in keys], lambda _: np.array(keys, np.uint64))


def test_find_is_a_dictionary():
    keys = np.unique(np.random.default_rng(0).integers(0, 2**64, 3000, np.uint64))
    known, expected = keys[::2], {int(key): row for row, key in enumerate(keys[::2].tolist())}
    queries = np.random.default_rng(1).permutation(np.concatenate([keys, [np.uint64(0), np.uint64(2**64 - 1)]]))
    rows = numbered(known.tolist()).find(queries)
    assert rows.dtype == np.int64
    assert rows.tolist() == [expected.get(int(key), -1) for key in queries.tolist()]
    assert sorted(rows.tolist())[-len(known) :] == list(range(len(known))), "every entry was asked for"


@pytest.mark.parametrize("slot", ["first", "last"])
def test_keys_of_one_slot_are_told_apart(slot):
    inverse = pow(int(MIX), -1, 2**64)
    numbers = range(1, 41) if slot == "first" else range(2**64 - 40, 2**64)  # the last slot's run goes round the end
    keys = [number * inverse % 2**64 for number in numbers]
    table = numbered(keys[::2])
    assert len(set(table._slots(table.keys).tolist())) == 1
    assert table.find(np.array(keys, np.uint64)).tolist() == [n // 2 if n % 2 == 0 else -1 for n in range(40)]


def test_key_zero_is_not_an_empty_slot():
    assert numbered([5, 6]).find(np.array([0, 5], np.uint64)).tolist() == [-1, 0]
    assert numbered([5, 0]).find(np.array([0, 5], np.uint64)).tolist() == [1, 0]


def test_entries_that_are_the_same_are_refused():
    with pytest.raises(ValueError, match=r"^wanted distinct entries of a vocabulary, got 'tom' twice$"):
        words([UNKNOWN, "tom", "dog", "tom"])
    with pytest.raises(ValueError, match="got '2' twice"):
        _Vocabulary(["1", "2"], lambda _: np.array([7, 7], np.uint64))


def test_words_of_any_letters_are_found():
    entries = [
        UNKNOWN,
        "\u00e9t\u00e9",
        "\u4f60",
        "\U0001f600",
        "'s",
        "\u0645\u0631\u062d\u0628\u0627",
        "\u00df",
        "x" * 1500,
    ]
    table = words(entries)
    assert len(table) == 8
    text = "E\u0301TE\u0301 \u4f60\u4f60 \U0001f600 tom's <unk> \u0645\u0631\u062d\u0628\u0627 \u00df " + "X" * 1500
    expected = [1, 2, 2, 3, -1, 4, -1, -1, -1, 5, 6, 7]
    assert table.find(_word_keys(tokenize([text]))).tolist() == expected


def test_trigrams_of_any_letters_are_found():
    entries = [" oh", "oh ", "h \U0001f600", " \U0001f600 "]
    keys = _trigrams(tokenize(["oh\U0001f600"]))[0]
    assert _keys_of_trigrams(entries).tolist() == keys.tolist()
    assert character_trigrams(entries[::-1]).find(keys).tolist() == [3, 2, 1, 0]


def test_no_entry_at_all():
    table = character_trigrams([])
    assert len(table) == 0 and table.find(np.array([0, 1, 2**64 - 1], np.uint64)).tolist() == [-1, -1, -1]


TEXTS = ["B a b.", "c b", "a \u00e9", "", "\ud83d\ud83d", "\u00c9 zz", "zz"]


@pytest.mark.parametrize("at_a_time", [1, 3, 100])
def test_words_are_counted_most_frequent_first(at_a_time, monkeypatch):
    monkeypatch.setattr(vocabulary, "TEXTS", at_a_time)
    assert count_words(iter(TEXTS), 1, 100) == ["b", "a", "zz", "\u00e9", ".", "c"]
    assert count_words(TEXTS, 2, 100) == ["b", "a", "zz", "\u00e9"]
    assert count_words(TEXTS, 1, 3) == ["b", "a", "zz"]
    assert count_words(TEXTS, 1, 0) == count_words([], 1, 9) == count_words(TEXTS, 4, 9) == []


@pytest.mark.parametrize("at_a_time", [1, 100])
def test_trigrams_are_counted_most_frequent_first(at_a_time, monkeypatch):
    monkeypatch.setattr(vocabulary, "TEXTS", at_a_time)
    assert count_trigrams(["oho", "oh", "ho"], 1, 9) == [" oh", "ho ", " ho", "oh ", "oho"]
    assert count_trigrams(["oho", "oh", "ho"], 2, 9) == [" oh", "ho "]
    assert count_trigrams(["oho", "oh", "ho"], 1, 1) == [" oh"]


def test_entries_come_back_from_their_file(tmp_path):
    for entries in ([UNKNOWN, "tom", "\u4f60", "\U0001f600", "#"], [UNKNOWN]):
        _write_entries(tmp_path / "words.txt", words(entries))
        assert _read_entries(tmp_path / "words.txt") == entries
    for entries in ([" a ", "a b", " \u2009'", "\u00e9\u00e9 "], []):
        _write_entries(tmp_path / "trigrams.txt", character_trigrams(entries))
        assert _read_entries(tmp_path / "trigrams.txt") == entries
