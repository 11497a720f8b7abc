"""Pairs from files and parabanks, their numbers, and arrays of unequal rows."""

import gzip
import json
from itertools import pairwise

import numpy as np
import pytest

from tests.encoder.test_modules import encoder
from toolkit.encoder import vocabulary
from toolkit.train.encoder_pairs import (
    TextPair,
    _scramble,
    _take,
    _training_pairs,
    _transposed,
    number_pairs,
    prepare_texts,
    read_pairs,
)


def test_a_file_names_its_references_or_the_first_sentence_does(tmp_path):
    table, lines = tmp_path / "table.tsv", tmp_path / "lines.jsonl.gz"
    table.write_text("a b\tc\na b\td\r\n\u00e9\tf\n", encoding="utf-8")
    line_rows = [("r1", "a", "b"), ("r1", "c", "d"), ("r2", "a", "e")]
    records = [json.dumps({"id": r, "sentence1": a, "sentence2": b}) for r, a, b in line_rows]
    lines.write_bytes(gzip.compress("\n".join(records).encode()))
    table_rows = [("a b", "a b", "c"), ("a b", "a b", "d"), ("\u00e9", "\u00e9", "f")]
    assert [pair[:3] for pair in read_pairs([str(table), str(lines)])] == [*table_rows, *line_rows]


def test_the_paraphrases_of_a_parabanks_row_share_its_reference(demo_parabank):
    pairs = list(read_pairs([str(demo_parabank)]))
    assert {(pair.reference, pair.anchor) for pair in pairs} == {
        (text, text) for text in ("We will go home now, he said.", "It is raining again.")
    }
    assert sorted(pair.positive for pair in pairs)[:2] == ["It rains again.", "Now we will be going home, he said."]
    assert len(pairs) == 5
    assert [p.positive for p in read_pairs([str(demo_parabank)], split="test")] == ["She is unable to swim."]


def test_a_source_that_cannot_be_read_is_an_error_of_one_line(tmp_path):
    (tmp_path / "cut.tsv.gz").write_bytes(gzip.compress(b"a\tb\n" * 9)[:-12])
    with pytest.raises(ValueError, match=r"^wanted a whole file, got .*cut\.tsv\.gz.*$"):
        list(read_pairs([str(tmp_path / "cut.tsv.gz")]))
    (tmp_path / "empty.tsv").write_text("\n")
    with pytest.raises(ValueError, match=r"^wanted pairs in .*empty\.tsv, got none: give a parabank with paraphrases$"):
        list(read_pairs([str(tmp_path / "empty.tsv")]))


GIVEN = [
    TextPair("r1", "a b", "c"),
    TextPair("r2", "c", "a b c"),
    TextPair("r1", "d", "d"),
    TextPair("r3", "one two three four", "c"),
    TextPair("r3", "c", "one, two three"),
    TextPair("r4", " ", "c"),
    TextPair("r1", "c", "e"),
    TextPair("r5", "c", "a b"),
]


def test_texts_and_references_are_numbered():
    pairs = number_pairs(iter(GIVEN), 3)
    assert len(pairs) == 4 and pairs.refused == {"equal": 1, "over 3 tokens": 2, "empty": 1}
    texts = [(pairs.texts[a], pairs.texts[b]) for a, b in zip(pairs.anchor, pairs.positive, strict=True)]
    assert texts == [("a b", "c"), ("c", "a b c"), ("c", "e"), ("c", "a b")]
    assert pairs.reference[0] == pairs.reference[2] and len(set(pairs.reference.tolist())) == 3
    assert len(set(pairs.texts)) == len(pairs.texts)
    assert dict(number_pairs(GIVEN[:2], 30).refused) == {}


def test_no_pair_left_is_an_error_that_says_why():
    with pytest.raises(
        ValueError, match=r"^wanted pairs of different texts of 1 to 2 tokens, got none \(no pair at all\)$"
    ):
        number_pairs([], 2)
    with pytest.raises(ValueError, match=r"got none \(1 equal, 2 over 2 tokens, 1 empty\)$"):
        number_pairs(GIVEN[2:6], 2)


def test_rows_are_those_of_the_encoder_however_many_texts_at_a_time(monkeypatch):
    texts = ["the dog", "", "zebra the", "\U0001f600", "dog the dog the"]
    tiny = encoder(("word", "trigram"), ["the dog", "a dog", "the"])
    whole = prepare_texts(texts, tiny)
    monkeypatch.setattr(vocabulary, "TEXTS", 2)
    parts = prepare_texts(texts, tiny)
    entries = tiny.vocabularies["word"].entries
    words = [entries[row] for row in whole["word"][0]]
    assert words == ["the", "dog", "<unk>", "the", "<unk>", "dog", "the", "dog", "the"]
    assert whole["word"][1].tolist() == [0, 2, 2, 4, 5, 9]
    for kind in ("word", "trigram"):
        features = tiny.preprocess(texts)
        for rows, offsets in (whole[kind], parts[kind]):
            assert rows.tolist() == features[f"{kind}_ids"].tolist()
            assert offsets.tolist() == features[f"{kind}_offsets"].tolist()
    assert len(whole["trigram"][0]) > 10


def ragged(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row for rows in lists for row in rows], np.int32), np.cumsum([0, *map(len, lists)])


def lists(arrays: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    rows, offsets = arrays
    return [rows[a:b].tolist() for a, b in pairwise(offsets)]


def draw(count: int) -> list[list[int]]:
    chance = np.random.default_rng(count)
    return [chance.integers(0, 12, chance.integers(0, 7)).tolist() for _ in range(count)]


def test_take_takes_texts_in_any_order_and_as_often():
    texts = draw(30)
    for indices in ([], [3, 3, 29, 0], list(range(30))):
        assert lists(_take(ragged(texts), np.array(indices, np.int64))) == [texts[n] for n in indices]


@pytest.mark.parametrize("count", [12, (1 << 16) + 1])
def test_transposed_is_the_other_way_round(count):
    texts = [[count - 1 if row == 11 else row for row in rows] for rows in draw(60)]
    columns = lists(_transposed(*ragged(texts), count))
    assert len(columns) == count and sum(map(len, columns)) == sum(map(len, texts))
    for r in (*range(11), count - 1):
        assert columns[r] == [n for n, rows in enumerate(texts) for row in rows if row == r] != []


def test_scramble_keeps_the_words_of_each_sentence_and_touches_the_chosen_only():
    texts = [list(range(n * 10, n * 10 + length)) for n, length in enumerate([9, 0, 1, 8, 7, 9, 0, 2])] + [[5, 5, 6]]
    mask = np.array([1, 1, 1, 0, 1, 0, 0, 1, 1], bool)
    rows, offsets = ragged(texts)
    for seed in range(20):
        results = lists(_scramble((rows, offsets), mask, np.random.default_rng(seed)))
        assert [sorted(words) for words in results] == texts
        assert [words for words, flag in zip(results, mask, strict=True) if not flag] == [texts[3], texts[5], texts[6]]
        assert results[0] != texts[0]
    assert rows.tolist() == [row for text in texts for row in text], "what was given stays"
    again = [lists(_scramble((rows, offsets), mask, np.random.default_rng(4))) for _ in range(2)]
    assert again[0] == again[1]


def test_scramble_gives_every_order_as_often():
    texts = [[1, 2, 3]] * 6000
    orders = lists(_scramble(ragged(texts), np.ones(6000, bool), np.random.default_rng(0)))
    _, counts = np.unique(np.array(orders), axis=0, return_counts=True)
    assert len(counts) == 6 and ((counts - 1000) ** 2 / 1000).sum() < 20.5  # chi-square, 5 degrees, 0.1 %


def test_pairs_with_label_0_are_not_trained_on_and_recorded(tmp_path):
    rows = ["question1;question2;is_duplicate", "Who is it?;Who is there?;1", "How old is he?;How is he?;0"]
    (tmp_path / "quora.csv").write_text("\n".join(rows))
    pairs = _training_pairs([str(tmp_path / "quora.csv")], 40, ())
    assert pairs.texts == ["Who is it?", "Who is there?"] and pairs.refused == {"label 0": 1}
    assert pairs.columns == [
        "quora.csv: reference is 'question1'; paraphrase is 'question2'; rows with 0 in 'is_duplicate' are left out"
    ]
