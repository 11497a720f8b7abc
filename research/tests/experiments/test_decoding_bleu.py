"""Which candidate of a row is its translation."""

import pytest

from research.experiments.decoding_bleu import best_text, chance_of, one_forbidden
from tests import tiny
from toolkit.data.rows import Candidate, Row, Scores


def row(*candidates: Candidate) -> Row:
    return Row("a", "a", "Eins.", None, "One.", "en", "", candidates=list(candidates))


def test_the_best_in_both_directions_or_the_only_one():
    tokens = {"forward_tokens": 1, "backward_tokens": 1}
    near = Candidate("near", "sample", scores=Scores(forward_logprob=-1, backward_logprob=-1, **tokens))
    far = Candidate("far", "sample", scores=Scores(forward_logprob=-0.5, backward_logprob=-9, **tokens))
    assert best_text(row(far, near)) == "near" and best_text(row(Candidate("only", "beam"))) == "only"
    assert best_text(row(Candidate("cut", "sample", reason="unfinished"))) == ""


def test_a_difference_that_every_sentence_has_is_not_chance():
    references = [f"this is sentence number {n} of the test" for n in range(60)]
    worse = [" ".join(text.split()[:4]) for text in references]
    assert chance_of(worse, references, references, "en") < 0.05


@pytest.mark.usefixtures("one_thread")
def test_a_word_of_the_reference_is_forbidden():
    forward, backward = (tiny.translator(name) for name in ("de-en", "en-de"))
    pairs = tiny.pairs(4)
    rows = [Row(f"{n}", "a", german, "de", english, "en", "") for n, (german, english) in enumerate(pairs)]
    for result, (_, english) in zip(one_forbidden(rows, forward, backward, 0), pairs, strict=True):
        for candidate in result.candidates:
            (word,) = candidate.origins[0].negative
            assert word in english
