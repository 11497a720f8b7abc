"""Predicted judgments: what they must order, what is not scored, and the arithmetic against scikit-learn's."""

import gzip
import hashlib
import json
import math

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from scripts.train_judgment import (
    Judged,
    cosine_figures,
    fit,
    last_fifth,
    main,
    out_of_fold,
    read_judgments,
    within_references,
)
from toolkit.rows import Candidate, Row
from toolkit.score import judgment
from toolkit.score.judgment import MAX_WORDS_AND_MARKS, SHIPPED, Regression, judgment_rows, predict, read_regression
from toolkit.score.judgment_features import SIGNS, STARTER, features, sentence_of, tokens_of
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
    close, found = predict([REFERENCE] * 2, [CLOSE, worse])
    assert found < close - 1


def test_a_changed_number_scores_lower():
    kept, changed = predict(["It took 15 years."] * 2, ["It has taken 15 years.", "It has taken 70 years."])
    assert changed < kept - 3


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
    together = predict(references, candidates)
    alone = [predict([a], [b])[0] for a, b in zip(references, candidates, strict=True)]
    assert repr(together) == repr(alone)  # nan included, to the last bit
    assert repr(predict(references[::-1], candidates[::-1])[::-1]) == repr(together)
    sentence_of.cache_clear()
    assert repr(predict(references, candidates)) == repr(together)
    assert len({score for score in together if not math.isnan(score)}) == 5


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
    assert tokens_of("I did n't; it 's John ’s") == tokens_of("I didn't; it's John's")


def test_rows_are_filled_across_chunks(monkeypatch):
    monkeypatch.setattr(judgment, "CHUNK", 2)
    refused, empty = Candidate(CLOSE, "sample", reason="dual"), Candidate("", "sample")
    rows = [Row(f"a-{i}", "a", None, None, REFERENCE, "en", "train") for i in range(5)]
    for row in rows:
        row.candidates = [Candidate(CLOSE, "sample")]
    rows[1].candidates += [refused, empty]
    rows[3].candidates = []
    found = list(judgment_rows(iter(rows)))
    assert [row.id for row in found] == [f"a-{i}" for i in range(5)]
    assert [len(row.candidates) for row in found] == [1, 3, 1, 0, 1]
    assert {row.candidates[0].scores.judgment for row in found if row.candidates} == set(predict([REFERENCE], [CLOSE]))
    assert (refused.scores.judgment, empty.scores.judgment, empty.reason) == (None, None, None)


def test_prediction_is_scikit_learns():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, len(SIGNS))) * np.arange(1, len(SIGNS) + 1)
    scores = rng.normal(size=60) + 50 + values @ list(SIGNS.values()) * 0.1
    signs = np.array(list(SIGNS.values()))
    scaled = (values - values.mean(0)) / values.std(0) * signs
    peer = Ridge(alpha=5.0, positive=True).fit(scaled, scores)
    ours = fit(values, scores, np.arange(60), penalty=5.0)
    assert ours.predict(values) == pytest.approx(peer.predict(scaled), abs=1e-5)
    assert (ours.weights * signs >= 0).all()
    assert np.ptp(peer.predict(scaled)) > 1


def test_each_reference_counts_the_same():
    values, scores = np.zeros((4, len(SIGNS))), np.array([10.0, 10.0, 10.0, 90.0])
    assert fit(values, scores, np.array([1, 1, 1, 2])).intercept == pytest.approx(50)


def test_predictions_are_clipped():
    steep = Regression(np.full(len(SIGNS), 100.0), 0.0)
    assert steep.predict(np.array([[1.0] * len(SIGNS), [-1.0] * len(SIGNS)])).tolist() == [100.0, 0.0]


def judged(references: int) -> Judged:
    """Five candidates of each reference; their scores are noise, but the same for all of a reference."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(references), 5)
    scores = np.repeat(rng.uniform(0, 100, references), 5)
    values = np.repeat(rng.normal(size=(references, len(SIGNS))), 5, 0)
    return Judged([str(g) for g in groups], ["x"] * len(groups), [{"1"}] * len(groups), scores, groups, values)


def test_no_fold_splits_a_reference():
    found, cuts = out_of_fold(judged(60))
    groups = np.repeat(np.arange(60), 5)
    assert sorted(np.concatenate(cuts)) == list(range(300))
    assert [len(set(groups[a]) & set(groups[b])) for a in cuts for b in cuts if a is not b] == [0] * 90
    assert abs(np.corrcoef(found, judged(60).scores)[0, 1]) < 0.6  # with split references it would be near 1


def test_within_references_ranks_only_inside_each():
    j = judged(3)._replace(scores=np.arange(15.0))
    assert within_references(np.tile(np.arange(5.0), 3), j) == pytest.approx(1)
    assert within_references(np.repeat([0.0, 5.0, 10.0], 5) - np.tile(np.arange(5.0), 3) / 10, j) == pytest.approx(-1)


def write_judgments(folder, records: list[tuple[str, str, str, str, str]]) -> None:
    with gzip.open(folder / "ref.tsv.gz", "wt") as file:
        file.write("ref_id\tref_sent\n1\tHe said no.\n2\tWe go now.\n")
    with gzip.open(folder / "candidates.tsv.gz", "wt") as file:
        file.write("ref_id\tsys_id\tcandidate\thuman_score\tgm\n")
        file.writelines("\t".join(record) + "\n" for record in records)


def test_judgments_are_averaged_and_copies_left_out(tmp_path):
    write_judgments(tmp_path, [
        ("1", "3 4", "He refused.", "40", "2"), ("1", "3 4", "He refused.", "70", "1"),
        ("1", "5", "He refused.", "", "0"), ("1", "0", "He said no.", "100", "2"), ("2", "7", "We go now.", "100", "2"),
        ("2", "7", "🙂", "5", "0"), ("2", "9", "Now we go.", "80", "2"), ("2", "8", "Nobody scores.", "", "1"),
    ])  # fmt: skip
    found = read_judgments(tmp_path)
    assert found.candidates == ["He refused.", "Now we go."]
    assert found.references == ["He said no.", "We go now."]
    assert found.scores.tolist() == [55, 80]
    assert found.groups.tolist() == [1, 2]
    assert found.systems == [{"ParaBank 3", "ParaBank 4", "ParaBank 5"}, {"ParaBank 9"}]
    grammaticality = read_judgments(tmp_path, "grammaticality")
    assert grammaticality.candidates == ["He refused.", "Now we go.", "Nobody scores."]
    assert grammaticality.scores.tolist() == [50, 100, 50]  # in points, 100 where nobody flagged it


def test_the_cosine_alone_is_measured_on_the_last_fifth():
    """The nearer a text is to its reference, the better it was judged."""
    references = [f"The dog number {i} sleeps." for i in range(40) for _ in range(3)]
    texts = [text for reference in references[::3] for text in (reference, "The dog sleeps.", "Money is gone!")]
    judged = Judged(references, texts, [set()] * 120, np.array([90.0, 50.0, 10.0] * 40), np.zeros(120), np.zeros(0))
    found = cosine_figures(judged, "starter/encoder")
    assert found["spearman_last_fifth_cosine_alone"] > 0.9 and found["encoder"].startswith("cosine|encoder:starter/")
    upside_down = judged._replace(scores=-judged.scores)
    assert cosine_figures(upside_down, "starter/encoder")["spearman_last_fifth_cosine_alone"] < -0.9


def test_no_judged_pair_is_an_error(tmp_path, capsys):
    write_judgments(tmp_path, [("1", "0", "He said no.", "100", "2")])
    assert main(["--judgments", str(tmp_path), "--output", str(tmp_path / "out.json")]) == 1
    assert "train_judgment.py: wanted judged pairs in" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


def test_another_target_wants_a_file_of_its_own(capsys):
    shipped = SHIPPED.read_bytes()
    with pytest.raises(SystemExit):
        main(["--judgments", "nowhere", "--target", "grammaticality"])
    assert "wanted --output with --target grammaticality, got none" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--judgments", "nowhere", "--target", "fluency"])
    assert "wanted target of similarity, grammaticality, got 'fluency'" in capsys.readouterr().err
    assert main(["--judgments", "nowhere"]) == 1
    assert "train_judgment.py: wanted the authors' judgments, got nowhere without ref.tsv.gz" in capsys.readouterr().err
    assert SHIPPED.read_bytes() == shipped


def test_the_last_fifth_is_of_whole_references():
    found = last_fifth([str(i // 3) for i in range(3000)])
    assert found.reshape(1000, 3).mean(1).tolist() == found[::3].tolist()
    assert 0.15 < found.mean() < 0.25


@pytest.mark.parametrize("content", [None, "{", "[1]", '{"weights": {"a": 1}, "intercept": 2}'])
def test_a_file_that_is_no_regression(tmp_path, content):
    path = tmp_path / "model.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=r"wanted (a regression by scripts/train_judgment|weights of aligned_recall)"):
        read_regression(path)


def test_what_ships():
    record = json.loads(SHIPPED.read_text(encoding="utf-8"))
    figures = record["made_by"]["figures"]
    assert all(weight * SIGNS[name] >= 0 for name, weight in record["weights"].items())
    assert figures["spearman"] > 0.53  # mean of ten folds of references; 0.07 of deviation among them
    assert figures["spearman"] > figures["spearman_bleu_alone"] + 0.05
    assert figures["spearman_last_fifth"] > figures["spearman_last_fifth_bleu_alone"]
    weights = (starter(STARTER) / "model.safetensors").read_bytes()
    assert record["made_by"]["starter"] == {STARTER: hashlib.sha256(weights).hexdigest()}  # else train it again
