"""Judged candidates: which get the critic's scores, the floor, and the candidates of other paraphrasers."""

from collections import defaultdict
from dataclasses import replace

import pytest

import toolkit
from tests.language_models import saved
from tests.tiny import folder, pairs
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.paraphraser.judged import _judged_rows, _Scorers
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.score.critic import load_critic
from toolkit.score.dual import forward_rows

FREE = defaultdict(ConstraintSet)
SETTINGS = Paraphrasing(n=2, rank_by="usable", guards=(), min_semantic=None, pivots=2, pivot_beam=3, pool=3)


@pytest.fixture(scope="module")
def paraphraser():
    pivot = str(folder() / "en-de"), str(folder() / "de-en")
    return toolkit.Paraphraser(pivot=pivot, lang="en", settings=SETTINGS, dtype="float32")


@pytest.fixture
def rows():
    result = []
    for n, (german, english) in enumerate(pairs(3)):
        texts = [english.replace("the", "that"), f"Truly {english}", english.rstrip(".!?") + " again.", "No."]
        candidates = [
            Candidate(text, "pivot", scores=Scores(forward_logprob=-5.0 - k, forward_tokens=8))
            for k, text in enumerate(texts)
            if text != english
        ]
        result.append(Row(f"text-{n}", "text", german, "de", english, "en", "", candidates=candidates))
    return result


def scorers_of(paraphraser, critic=None):
    return _Scorers(paraphraser.model, paraphraser.backward, paraphraser.encoder, critic)


def unchecked(rows):
    return rows


def test_without_a_critic_all_that_are_kept_have_a_probability(paraphraser, rows):
    results = list(_judged_rows(rows, scorers_of(paraphraser), SETTINGS, unchecked, FREE))
    for row in results:
        assert [c.reason for c in row.candidates if c.reason] == []
        assert all(0 < c.scores.usable < 1 and c.scores.given_reference is None for c in row.candidates)


def test_a_critic_reads_the_best_and_reads_back_a_quarter_of_these(paraphraser, rows, tmp_path):
    critic = load_critic(saved("llama", tmp_path), "float32", "cpu")
    settings = replace(SETTINGS, n=1, pool=3)
    for row in _judged_rows(rows, scorers_of(paraphraser, critic), settings, unchecked, FREE):
        (candidate,) = [c for c in row.candidates if c.reason is None]
        assert candidate.scores.after_candidate is not None
        assert sum(c.scores.given_reference is not None for c in row.candidates) == 3
        assert all(c.scores.after_candidate is None for c in row.candidates if c.reason == "rank")


def test_a_causal_model_adds_candidates_and_may_be_the_critic(paraphraser, rows, tmp_path):
    critic = load_critic(saved("llama", tmp_path), "float32", "cpu")
    before = {row.id: {c.text for c in row.candidates} for row in rows}
    wide, scorers = replace(SETTINGS, pool=40, continuations=5), scorers_of(paraphraser, critic)
    for row in _judged_rows(rows, scorers, wide, unchecked, FREE, [critic]):
        new = [c for c in row.candidates if c.text not in before[row.id]]
        assert len(new) <= 5 and {(c.method, c.generator) for c in new} <= {("continuation", critic.signature)}
        assert all(c.scores.after_candidate is not None for c in new if c.reason is None)


def test_of_a_causal_model_no_candidates_may_be_wanted(paraphraser, rows, tmp_path):
    critic = load_critic(saved("llama", tmp_path), "float32", "cpu")
    settings = replace(SETTINGS, pool=40, continuations=0)
    for row in _judged_rows(rows, scorers_of(paraphraser, critic), settings, unchecked, FREE, [critic]):
        assert not any(c.method == "continuation" for c in row.candidates)


def test_the_floor_refuses_with_its_reason(paraphraser, rows):
    strict = replace(SETTINGS, min_usable=1.0)
    for row in _judged_rows(rows, scorers_of(paraphraser), strict, unchecked, FREE):
        assert {c.reason for c in row.candidates} == {"usable"}


def test_a_rewriter_adds_candidates_with_the_scores_of_the_translators(paraphraser, rows):
    before = {row.id: {c.text for c in row.candidates} for row in rows}
    rewriter = toolkit.load_translator("starter/paraphraser", "float32")
    wide = replace(SETTINGS, pool=40, rewrites=3)
    added = 0
    for row in _judged_rows(rows, scorers_of(paraphraser), wide, unchecked, FREE, [rewriter]):
        new = [c for c in row.candidates if c.text not in before[row.id]]
        assert len(new) <= 3 and {c.generator for c in new} <= {rewriter.signature}
        assert all(c.scores.usable is not None for c in new if c.reason is None)
        added += len(new)
    assert added > 0


@pytest.mark.slow
def test_the_forward_score_of_a_rewrite_is_that_of_the_translator(paraphraser, rows):
    rewriter = toolkit.load_translator("starter/paraphraser", "float32")
    for row in _judged_rows(rows, scorers_of(paraphraser), replace(SETTINGS, pool=40), unchecked, FREE, [rewriter]):
        for candidate in row.candidates:
            if candidate.generator == rewriter.signature and candidate.reason is None:
                alone = replace(row, candidates=[Candidate(candidate.text, "beam")])
                (scored,) = forward_rows([alone], paraphraser.model, 1000)
                expected = scored.candidates[0].scores.forward_logprob
                assert candidate.scores.forward_logprob == pytest.approx(expected, abs=1e-4)


def test_the_floor_of_the_forward_score_holds_for_candidates_that_are_added_here(paraphraser, rows):
    rewriter = toolkit.load_translator("starter/paraphraser", "float32")
    floor = replace(SETTINGS, pool=40, min_forward=-0.5)
    results = list(_judged_rows(rows, scorers_of(paraphraser), floor, unchecked, FREE, [rewriter]))
    added = [c for row in results for c in row.candidates if c.method == "beam"]
    assert any(c.reason == "forward" for c in added)
    assert all(c.scores.translation_score >= -0.5 for c in added if c.reason is None)


def test_no_rewrites_are_wanted_or_no_rewriter_is_there(paraphraser, rows):
    rewriter = toolkit.load_translator("starter/paraphraser", "float32")
    before = [[c.text for c in row.candidates] for row in rows]
    settings = replace(SETTINGS, pool=40, rewrites=0)
    results = list(_judged_rows(rows, scorers_of(paraphraser), settings, unchecked, FREE, [rewriter]))
    assert [[c.text for c in row.candidates] for row in results] == before


def test_two_translators_of_english_have_the_starter_as_rewriter_and_one_model_has_none(paraphraser):
    assert "paraphraser" in paraphraser.rewriters[0].signature
    assert toolkit.Paraphraser("starter/paraphraser").rewriters == []
    pivot = str(folder() / "en-de"), str(folder() / "de-en")
    with pytest.raises(ValueError, match="wanted rewriters only where English candidates are judged"):
        toolkit.Paraphraser(pivot=pivot, lang="en", settings=Paraphrasing(), rewriters=["starter/paraphraser"])
    with pytest.raises(ValueError, match="wanted rewriters only beside two translators"):
        toolkit.Paraphraser("starter/paraphraser", rewriters=["starter/paraphraser"])


@pytest.mark.slow
def test_paraphrases_are_ranked_by_the_judge_and_the_best_of_all_is_first(paraphraser):
    for candidates in paraphraser.candidates([text for _, text in pairs(4)], n=2):
        ranked = [c for c in candidates if c.rank is not None]
        judged = [c for c in candidates if c.scores.usable is not None and c.reason not in ("usable",)]
        if ranked:
            assert ranked[0].scores.usable == max(c.scores.usable for c in judged)


def test_the_judge_is_for_english_alone():
    with pytest.raises(ValueError, match="the judge of paraphrases"):
        toolkit.Paraphraser(str(folder() / "de-en"), lang="de", settings=SETTINGS, dtype="float32")
