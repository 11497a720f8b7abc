"""Equation 3 of ParaNet: the sum of three scores, and its weights."""

import math
import random

import pytest

from toolkit.data.rows import Candidate, Row, Scores
from toolkit.score.comprehensive import Weights, comprehensive, comprehensive_rows, fitted_weights
from toolkit.select.rank import rank_by_ranking


def candidate(text, semantic, fluency, diversity):
    return Candidate(text, "infill", scores=Scores(semantic=semantic, fluency=fluency, diversity=diversity))


def test_the_papers_weights_and_the_perplexity():
    assert Weights() == (4.0, 8.0, 1.2)
    scores = candidate("", 0.5, -math.log(20), 0.25).scores
    assert comprehensive(scores, Weights()) == pytest.approx(4 * 0.5 + 8 / 20 + 1.2 * 0.25)
    assert comprehensive(scores, Weights(0, 1, 0)) == pytest.approx(1 / 20)


def test_the_best_is_chosen_and_the_weights_decide_which():
    def ranked(weights, paraphrases=1):
        row = Row("a-1", "a", None, None, "Reference.", "en", "train")
        row.candidates = [
            candidate("near", 0.99, -3.0, 0.05),
            candidate("fluent", 0.7, -1.0, 0.1),
            candidate("other", 0.7, -3.0, 0.9),
            Candidate("refused", "infill", reason="negation"),
        ]
        (result,) = rank_by_ranking(comprehensive_rows([row], weights), paraphrases)
        assert result.candidates[3].scores.ranking is None and result.candidates[3].reason == "negation"
        assert {c.reason for c in result.candidates if c.rank is None} <= {"rank", "negation"}
        return [c.text for c in result.paraphrases]

    assert ranked(Weights(10, 0, 0)) == ["near"] and ranked(Weights(0, 10, 0)) == ["fluent"]
    assert ranked(Weights(0, 0, 10), 2) == ["other", "fluent"]
    assert ranked(Weights(0, 0, 0), 9) == ["fluent", "near", "other"], "ties go by text"


def test_fitted_weights_are_one_over_the_deviations():
    chance = random.Random(0)
    candidates = [
        candidate("", chance.gauss(0.8, 0.1), -chance.uniform(2, 4), chance.gauss(0.4, 0.05)) for _ in range(500)
    ]
    weights = fitted_weights(candidates)
    columns = [[c.scores.semantic for c in candidates], [math.exp(c.scores.fluency) for c in candidates],
               [c.scores.diversity for c in candidates]]  # fmt: skip
    for weight, column in zip(weights, columns, strict=True):
        mean = sum(column) / len(column)
        deviation = math.sqrt(sum((x - mean) ** 2 for x in column) / len(column))
        assert weight == pytest.approx(1 / deviation, rel=5e-3) and weight == float(f"{weight:.3g}")
    assert weights.signature.startswith(f"{weights.semantic:g} semantic + {weights.fluency:g} / perplexity + ")


@pytest.mark.parametrize("candidates", [[], [candidate("", 0.5, -3.0, 0.2)] * 3])
def test_candidates_that_do_not_differ_fit_nothing(candidates):
    with pytest.raises(ValueError, match=f"wanted candidates that differ in each score.*got {len(candidates)} with"):
        fitted_weights(candidates)
