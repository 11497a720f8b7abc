"""The judge: its features, its weights, and what it says of plain cases."""

import json
from dataclasses import replace

import pytest

from toolkit.data.rows import Candidate, Row, Scores
from toolkit.score.judge import (
    BACK_FEATURES,
    BOTH_WAYS,
    CRITIC_FEATURES,
    FEATURES,
    SHIPPED,
    WITH_CRITIC,
    WITHOUT_CRITIC,
    Judge,
    _content_words,
    feature_values,
    judge_rows,
    read_judge,
)

TEXT = "We were stuck behind a tractor the whole way to York."
GOOD = Scores(
    forward_logprob=-2.0, forward_tokens=10, backward_logprob=-2.0, backward_tokens=10, semantic=0.95,
    intersection_over_union=0.7, edit_ratio=0.15, given_reference=-0.2, after_reference=-0.6, changed_words=-2.0,
    after_changes=-0.5, unchanged_words=-0.4, after_candidate=-0.5, after_candidate_total=-6.0,
    after_candidate_least=-2.0,
)  # fmt: skip


def test_the_shipped_weights_are_those_of_the_features():
    assert read_judge(BOTH_WAYS).features == (*BACK_FEATURES, *CRITIC_FEATURES, *FEATURES)
    assert read_judge(WITH_CRITIC).features == (*CRITIC_FEATURES, *FEATURES)
    assert read_judge(WITHOUT_CRITIC).features == FEATURES
    figures = json.loads(SHIPPED.read_text())["figures"]
    assert figures[BOTH_WAYS]["auc"] > figures[WITH_CRITIC]["auc"] > figures[WITHOUT_CRITIC]["auc"] > 0.6


def test_words_that_are_new_lost_and_fewer():
    names = ("new_words", "lost_words", "shorter_by", "no_new_word")
    assert feature_values(TEXT, "We were trapped behind a tractor.", GOOD, names) == [1 / 11, 4 / 11, 3.0, 0.0]
    assert feature_values(TEXT, TEXT, GOOD, names) == [0.0, 0.0, 0.0, 1.0]
    assert _content_words("They want the keys that she lost") == {"keys", "lost", "want"}


def test_the_square_of_a_feature_has_its_name():
    assert feature_values(TEXT, TEXT, GOOD, ("given_reference", "given_reference_squared")) == [
        -0.2,
        pytest.approx(0.04),
    ]
    assert feature_values(TEXT, TEXT, Scores(), ("semantic_squared",)) == [None]


def test_the_product_of_two_features_has_both_names():
    name = "after_candidate times after_reference"
    assert feature_values(TEXT, TEXT, GOOD, (name,)) == [pytest.approx(0.3)]
    assert feature_values(TEXT, TEXT, replace(GOOD, after_candidate=None), (name,)) == [None]


def test_a_probability_is_the_logistic_function_of_the_weighted_features():
    judge = Judge(("forward", "semantic"), (-0.5, 0.9), (0.5, 0.1), (2.0, 1.0), 0.25)
    logit = 0.25 + 2.0 * (-0.2 + 0.5) / 0.5 + 1.0 * (0.95 - 0.9) / 0.1
    assert judge.probability(TEXT, Candidate("x", "pivot", scores=GOOD)) == pytest.approx(1 / (1 + 2.718281828**-logit))


def test_trees_are_followed_to_their_leaves_and_the_mean_of_both_is_taken():
    tree = [1, 0.9, [0, -0.3, 0.5, 2.0], -1.0]  # by semantic, then by forward
    judge = Judge(("forward", "semantic"), (0.0, 0.0), (1.0, 1.0), (0.0, 0.0), 0.0, 0.25, (tree, 0.5))
    for semantic, forward, leaf in ((0.95, -2.0, -1.0), (0.9, -2.0, 2.0), (0.5, -4.0, 0.5)):
        scores = replace(GOOD, semantic=semantic, forward_logprob=forward)
        boosted = 1 / (1 + 2.718281828 ** -(0.25 + leaf + 0.5))
        assert judge.probability(TEXT, Candidate("x", "pivot", scores=scores)) == pytest.approx((0.5 + boosted) / 2)


def test_a_text_far_longer_than_any_that_was_read_has_a_probability():
    judge = read_judge(BOTH_WAYS)
    scores = replace(GOOD, after_candidate_total=-5000.0, changed_words=-3000.0, forward_logprob=-9e5)
    assert 0 <= judge.probability(TEXT, Candidate("x", "pivot", scores=scores)) <= 1


def test_what_a_language_model_expects_is_more_probably_usable():
    judge = read_judge(WITH_CRITIC)
    text = "We were trapped behind a tractor the whole way to York."
    values = []
    for log_probability in (-3.0, -1.0, 0.0):
        scores = replace(GOOD, given_reference=log_probability, after_reference=log_probability - 0.4)
        values.append(judge.probability(TEXT, Candidate(text, "pivot", scores=scores)))
    assert 0 < values[0] < values[1] < values[2] < 1


def test_only_candidates_with_all_scores_and_no_reason_are_judged():
    incomplete = Candidate("a", "pivot", scores=Scores(forward_logprob=-1.0, forward_tokens=1))
    copy = Candidate("b", "pivot", reason="copy", scores=replace(GOOD))
    complete = Candidate("c", "pivot", scores=replace(GOOD))
    row = Row("1", "t", None, "en", TEXT, "en", "", candidates=[incomplete, copy, complete])
    list(judge_rows([row], read_judge(WITH_CRITIC)))
    assert [c.scores.usable is None for c in row.candidates] == [True, True, False]


def test_a_file_that_is_no_judge_is_named(tmp_path):
    (tmp_path / "judge.json").write_text("{}")
    with pytest.raises(ValueError, match=r"wanted a judge by research/experiments/judge_fit.py, got .*judge.json"):
        read_judge(BOTH_WAYS, tmp_path / "judge.json")
