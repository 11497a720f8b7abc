"""Predicted judgments: what they must order, and what is not scored."""

import hashlib
import json
import math

import numpy as np
import pytest

from toolkit.data.rows import Candidate, Row
from toolkit.score import judgment
from toolkit.score.judgment import MAX_WORDS_AND_MARKS, SHIPPED, Regression, _read_regression, judgment_rows, predict
from toolkit.score.judgment_features import SIGNS, STARTER, _sentence_of, _tokens_of, features
from toolkit.starters import starter

REFERENCE = "He did not buy the two old houses in Berlin."
CLOSE = "He didn't buy the two old houses in Berlin."


def feature(name: str, reference: str, candidate: str) -> float:
    return float(features([reference], [candidate])[0, list(SIGNS).index(name)])


@pytest.mark.parametrize(
    "worse",
    [
        "He bought the two old houses in Berlin.",  # the negation is gone
        "She did not buy the two old houses in Berlin.",
        "He did not buy the old houses in Berlin.",
        "He did not buy the two.",
        "The weather is nice today, isn't it?",
    ],
)
def test_a_worse_candidate_scores_lower(worse):
    close, score = predict([REFERENCE] * 2, [CLOSE, worse])
    assert score < close - 1


def test_a_changed_number_scores_lower():
    right, wrong = predict(["It took 15 years."] * 2, ["It has taken 15 years.", "It has taken 70 years."])
    assert wrong < right - 3


def test_a_copy_has_100_by_rule_and_only_a_copy():
    assert predict([REFERENCE], [REFERENCE]) == [100.0]
    assert predict([REFERENCE], [f" {REFERENCE}\n"]) == [100.0]
    assert predict([REFERENCE], [CLOSE])[0] < 100


@pytest.mark.parametrize(
    "text", ["", "   ", "?!", "🙂", "word " * (MAX_WORDS_AND_MARKS + 1), "," * MAX_WORDS_AND_MARKS + "word"]
)
def test_what_is_not_scored(text):
    assert all(math.isnan(score) for score in predict([REFERENCE, text, text], [text, REFERENCE, text]))


def test_the_longest_that_is_scored():
    words = " ".join(f"w{i}" for i in range(MAX_WORDS_AND_MARKS))
    assert 50 < predict([words], [words.replace("w0", "v0")])[0] < 100
    assert predict([words], [words]) == [100.0]
    assert math.isnan(predict([words + " x"], [words])[0])
    assert math.isnan(predict([words], [words + " x"])[0])


@pytest.mark.parametrize(
    "text", ["I 🙂 it!", "שלום עולם", "我们走吧", "a\0b", "x" * 5000, "1 2 3 4 5 6 7 8 9", "_ ² ß"]
)
def test_odd_texts_are_in_range(text):
    for pair in ((REFERENCE, text), (text, REFERENCE)):
        assert 0 <= predict([pair[0]], [pair[1]])[0] <= 100


def test_a_score_depends_on_its_pair_alone():
    candidates = [
        CLOSE,
        "He never bought a house.",
        "",
        "Two houses!",
        "No.",
        "The old houses in Berlin were sold.",
    ] * 7
    references = [REFERENCE, "He bought no house."] * 21
    batch = predict(references, candidates)
    alone = [predict([a], [b])[0] for a, b in zip(references, candidates, strict=True)]
    assert repr(batch) == repr(alone)  # nan included, to the last bit
    assert repr(predict(references[::-1], candidates[::-1])[::-1]) == repr(batch)
    _sentence_of.cache_clear()
    assert repr(predict(references, candidates)) == repr(batch)
    assert len({score for score in batch if not math.isnan(score)}) == 5


def test_nothing_to_score():
    assert predict([], []) == []
    assert features([], []).shape == (0, len(SIGNS))


def test_unequal_counts_are_refused():
    with pytest.raises(ValueError, match="one reference for each candidate, got 1 for 2"):
        predict(["a"], ["a", "b"])


@pytest.mark.parametrize(
    ("name", "reference", "candidate", "expected"),
    [
        ("trigram_recall", "abcd", "abcx", 0.5),  # abc of abc, bcd
        ("content_recall", "The dogs ran", "A dog runs", 1.0),  # dog and run
        ("content_precision", "the dog", "the dog", 1.0),
        ("edit_distance", "abcd", "abxd", 0.25),
        ("length_difference", "one two three", "one", math.log(2)),
        ("length_difference", "one", "one two three", math.log(2)),
        ("negations", "I never said no", "I said it", 2),
        ("negations", "I can't", "I can not", 0),
        ("pronouns", "He saw her", "I saw her", 2),  # he is gone, I came
        ("pronoun_count", "He saw him", "He saw her", 2),
        ("numbers_lost", "1 of 20 in 1999", "1 in 2000", 2),
        ("numbers_added", "1 of 20 in 1999", "1 in 2000", 1),
        ("numbers_added", "one", "1 2 3 4 5 6", 3),
        ("question", "Are you?", "You are.", 1),
    ],
)
def test_features_by_hand(name, reference, candidate, expected):
    assert feature(name, reference, candidate) == pytest.approx(expected)


def test_word_vectors_put_together_what_translates_alike():
    near, far = (feature("aligned_recall", "a big house", f"a {word} house") for word in ("large", "green"))
    assert far < near < feature("aligned_recall", "a big house", "a big house") == pytest.approx(1, abs=1e-5)


def test_detached_contractions_are_one_with_attached_ones():
    assert _tokens_of("I did n't; it 's John ’s") == _tokens_of("I didn't; it's John's")


def test_rows_are_filled_across_chunks(monkeypatch):
    monkeypatch.setattr(judgment, "CHUNK", 2)
    refused, empty = Candidate(CLOSE, "sample", reason="dual"), Candidate("", "sample")
    rows = [Row(f"a-{i}", "a", None, None, REFERENCE, "en", "train") for i in range(5)]
    for row in rows:
        row.candidates = [Candidate(CLOSE, "sample")]
    rows[1].candidates += [refused, empty]
    rows[3].candidates = []
    result = list(judgment_rows(iter(rows)))
    assert [row.id for row in result] == [f"a-{i}" for i in range(5)]
    assert [len(row.candidates) for row in result] == [1, 3, 1, 0, 1]
    assert {row.candidates[0].scores.judgment for row in result if row.candidates} == set(predict([REFERENCE], [CLOSE]))
    assert (refused.scores.judgment, empty.scores.judgment, empty.reason) == (None, None, None)


def test_predictions_are_clipped():
    steep = Regression(np.full(len(SIGNS), 100.0), 0.0)
    assert steep.predict(np.array([[1.0] * len(SIGNS), [-1.0] * len(SIGNS)])).tolist() == [100.0, 0.0]


@pytest.mark.parametrize("content", [None, "{", "[1]", '{"weights": {"a": 1}, "intercept": 2}'])
def test_a_file_that_is_no_regression(tmp_path, content):
    path = tmp_path / "model.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=r"wanted (a regression by parabank train judgment|weights of aligned_recall)"):
        _read_regression(path)


def test_what_ships():
    record = json.loads(SHIPPED.read_text(encoding="utf-8"))
    figures = record["made_by"]["figures"]
    assert all(weight * SIGNS[name] >= 0 for name, weight in record["weights"].items())
    assert figures["spearman"] > 0.53  # mean of ten folds of references; 0.07 of deviation among them
    assert figures["spearman"] > figures["spearman_bleu_alone"] + 0.05
    assert figures["spearman_last_fifth"] > figures["spearman_last_fifth_bleu_alone"]
    weights = (starter(STARTER) / "model.safetensors").read_bytes()
    assert record["made_by"]["starter"] == {STARTER: hashlib.sha256(weights).hexdigest()}  # else train it again
