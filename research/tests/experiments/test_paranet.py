"""The yardstick and the count of errors of ParaNet, on rows by hand."""

import argparse

import pytest

from research.experiments.paranet_errors import KINDS, best, count, errors, read_antonyms
from research.experiments.paranet_yardstick import compare_choice, compare_infilling, compare_keywords, spaced
from toolkit.data.rows import Candidate, Row, Scores

ROW = {
    "X": "they chewed wrigley's spearmint gum, but their mouths still felt dry.",
    "KW": ["spearmint gum", "mouths still felt dry", "chewed wrigley"],
    "Y": "their mouths still felt dry as they chewed wrigley 's spearmint gum .",
    "sem_rank": ["they chewed wrigley 's spearmint gum , their mouths still felt dry .",
                 "they chewed spearmint gum , but their mouths still felt dry .", "they chewed gum ."],
}  # fmt: skip
OTHER = {
    "X": "he didn't see the well-known man.", "KW": ["n't", "see", "man"], "Y": "the man didn't look .",
    "sem_rank": ["he did n't see the man .", "the man didn't look .", "the man did n't see him ."],
}  # fmt: skip


def test_keywords_by_hand():
    """Theirs of both rows are six; ours are the first row's three without the clitic, and of the other row three."""
    figures = compare_keywords([ROW, OTHER])
    assert spaced("Wrigley 's  gum .") == "wrigley's gum."
    ours_only, theirs_only = dict(figures["ours_only"]), dict(figures["theirs_only"])
    assert "well-known man" in ours_only and "man" in theirs_only
    assert 0 < figures["precision"] < 100 and 0 < figures["recall"] < 100 and figures["rows"] == 2
    whole = compare_keywords([ROW | {"KW": ["chewed wrigley", "spearmint gum", "mouths still felt dry"]}])
    assert whole["f1"] == pytest.approx(100)


def test_infilling_by_hand():
    figures = compare_infilling([ROW, OTHER])
    assert (figures["rows"], figures["says_all"], figures["same"], figures["reordered"]) == (2, 50, 100, 100)


def test_choice_leaves_out_rows_whose_y_is_among_the_five():
    options = argparse.Namespace(encoder="starter/encoder", fluency_model="starter/infiller")
    figures = compare_choice([ROW, ROW | {"X": "they chewed gum."}, OTHER], options)
    assert figures["y_among_the_five"] == pytest.approx(100 / 3) and figures["rows"] == 3
    for shares in figures["y_above_the_five"].values():
        assert set(shares) >= {"semantic score alone", "the run's weights", "fitted weights"}
        assert all(share in (0, 50, 100) for share in shares.values())
    assert -1 <= figures["spearman_semantic"] <= 1 and figures["spearman_rows"] == 3


@pytest.mark.parametrize(
    ("reference", "text", "kinds"),
    [
        ("The large sofa stood there.", "There stood the large sofa.", set()),
        ("The large sofa stood there.", "There stood the small sofa.", {"antonym"}),
        ("He returned to his station.", "He returned.", {"noun"}),
        ("He isn't here.", "He is here.", {"negation"}),
        ("The semi-fluidic mass moved.", "The mass was semi and fluidic.", {"hyphen"}),
        ("Anna has 3 dogs.", "Anna has dogs, 4 of them.", {"number"}),
    ],
)
def test_errors_by_hand(tmp_path, reference, text, kinds):
    (tmp_path / "antonyms.txt").write_text("large small\nbig little\n")
    assert errors(reference, text, read_antonyms(tmp_path / "antonyms.txt")) == kinds


def test_the_next_best_is_counted_after_the_guards():
    row = Row("a-1", "a", None, None, "He isn't in the station.", "en", "train")
    row.candidates = [
        Candidate("He is in the station.", "infill", scores=Scores(ranking=3.0)),
        Candidate("In the station he isn't.", "infill", scores=Scores(ranking=2.0)),
        Candidate("He isn't.", "infill", scores=Scores(ranking=1.0)),
        Candidate("Not ranked.", "infill", reason="copy"),
    ]
    figures = count([row], {})
    assert figures["references"] == 1 and best(row.candidates[:3]) is row.candidates[0] and best([]) is None
    before, after = figures["before the guards"], figures["after the guards"]
    assert before == {"paraphrases": 1, "errors": dict.fromkeys(KINDS, 0) | {"negation": 1}}
    assert after == {"paraphrases": 1, "errors": dict.fromkeys(KINDS, 0)}
