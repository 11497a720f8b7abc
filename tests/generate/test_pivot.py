"""Candidates by way of another language: scores, constraints, and the pivots that they come from."""

from dataclasses import replace

import pytest

from tests.tiny import pairs, wide_translator
from toolkit.bitext.words import words_of
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.likelihood import log_likelihood
from toolkit.generate.pivot import PivotDecoding, _find_pivots, _merge_equal, pivot_rows

SETTINGS = PivotDecoding(pivots=2, beam=3, greedy_pivots=1, constraint_sets=2, samples_per_set=3)


def rows_of(texts: list[str]) -> list[Row]:
    return [Row(f"text-{n}", "text", None, "en", text, "en", "") for n, text in enumerate(texts)]


@pytest.fixture(scope="module")
def translators():
    return wide_translator("en-de"), wide_translator("de-en")


@pytest.fixture(scope="module")
def english() -> list[str]:
    return [text for _, text in pairs(24)]


@pytest.fixture(scope="module")
def found(translators, english) -> list[Row]:
    return list(pivot_rows(rows_of(english), *translators, "de", SETTINGS, {}))


def test_the_source_is_the_best_translation(found, translators, english):
    pivots = _find_pivots(rows_of(english), translators[0], SETTINGS)
    for row in found:
        whole = [c.text for c in pivots[row.id] if c.reason is None]
        assert row.source == (whole[0] if whole else row.reference) and row.source_lang == "de"
        assert len(whole) <= SETTINGS.pivots
    assert sum(row.source != row.reference for row in found) > 10


def test_the_forward_score_is_that_of_the_best_pivot(found, translators, english):
    forward, backward = translators
    engine = engine_of(backward.model)
    pivots = _find_pivots(rows_of(english), forward, SETTINGS)
    near = []
    for row in found:
        for candidate in (c for c in row.candidates if c.reason is None):
            ids = backward.target.encode([candidate.text])[0]
            if len(ids) != candidate.scores.forward_tokens:
                continue  # it was said in other pieces than those that its text is cut into
            sources = backward.source.encode([pivot.text for pivot in pivots[row.id] if pivot.reason is None])
            scores = log_likelihood(engine, sources, [ids] * len(sources), 1000)
            numbers = sorted({int(origin.recipe.removeprefix("pivot-")) for origin in candidate.origins})
            near.append(abs(candidate.scores.forward_logprob - max(scores[n] for n in numbers)) < 1e-4)
    assert len(near) > 10 and sum(near) >= 0.6 * len(near)  # the others were said in as many other pieces


def test_no_candidate_says_what_its_origin_forbids(found):
    forbidden = [(c, o) for row in found for c in row.candidates for o in c.origins if o.negative and c.reason is None]
    assert len(forbidden) > 20
    for candidate, origin in forbidden:
        if len(candidate.origins) == 1:
            assert not {word.lower() for word in origin.negative} & words_of(candidate.text)


def test_constraints_of_a_text_hold_for_all_its_candidates(found, translators, english):
    (row, *_) = [replace(r, source=None, candidates=[]) for r in found if any(c.reason is None for c in r.candidates)]
    word = next(iter(words_of(english[1])))
    asked = {row.id: ConstraintSet(positive=(word,))}
    (required,) = pivot_rows([replace(row)], *translators, "de", SETTINGS, asked)
    assert [c for c in required.candidates if c.reason is None]
    assert all(word in words_of(c.text) for c in required.candidates if c.reason is None)
    (free,) = pivot_rows([replace(row)], *translators, "de", SETTINGS, {})
    said = next(word for c in free.candidates if c.reason is None for word in words_of(c.text))
    (avoiding,) = pivot_rows([replace(row)], *translators, "de", SETTINGS, {row.id: ConstraintSet(negative=(said,))})
    assert avoiding.candidates and all(said not in words_of(c.text) for c in avoiding.candidates if c.reason is None)


@pytest.mark.slow
def test_a_text_has_the_same_candidates_in_any_batch(found, translators, english):
    for row, again in list(zip(found, english, strict=True))[::4]:
        (alone,) = pivot_rows([replace(row, source=None, candidates=[])], *translators, "de", SETTINGS, {})
        assert alone.reference == again and alone.source == row.source
        assert {c.text for c in alone.candidates} == {c.text for c in row.candidates}


def test_a_text_that_is_too_long_has_a_candidate_with_the_reason(translators):
    (row,) = pivot_rows(rows_of(["no " * 400]), *translators, "de", SETTINGS, {})
    assert [(c.text, c.reason) for c in row.candidates] == [("", "source_too_long")]


def test_equal_candidates_become_the_most_probable_with_all_origins():
    def candidate(score: float, reason: str | None = None) -> Candidate:
        return Candidate("a", "pivot", draws=2, reason=reason, scores=Scores(forward_logprob=score, forward_tokens=2))

    (merged,) = _merge_equal([candidate(-3.0), candidate(-1.0, "unfinished"), candidate(-2.0)])
    assert (merged.scores.forward_logprob, merged.draws, merged.reason) == (-2.0, 6, None)
