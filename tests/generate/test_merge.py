"""Equal texts of one row are one candidate, which keeps its best draw and names every way it was reached."""

import pytest

from toolkit.data.rows import Origin
from toolkit.decode.hypotheses import Hypothesis
from toolkit.decode.sampling import Sample
from toolkit.generate.merge import _merge, _source_too_long, max_output_tokens


def test_the_most_probable_draw_stays_and_all_are_counted():
    one, two = Origin("set-0", [], ["dog"]), Origin("set-1")
    samples = [
        Sample([3, 0], -4.0, True),
        Sample([4, 5, 0], -2.0, True),
        Sample([6, 0], -1.0, True),
        Sample([3, 0], -4.0, True),
    ]
    found = _merge(samples, ["Hi", "Hi", "Ho", "Hi"], [one, two, two, one], "sample", "tiny")
    assert [(c.text, c.draws, c.origins) for c in found] == [("Hi", 3, [one, two]), ("Ho", 1, [two])]
    assert (found[0].scores.forward_logprob, found[0].scores.forward_tokens) == (-2.0, 3)
    assert {(c.method, c.generator) for c in found} == {("sample", "tiny")}


def test_the_unknown_token_has_no_text_and_is_refused():
    samples = [Sample([3, 1, 0], -1.0, True), Sample([3, 0], -2.0, True), Sample([4, 1, 0], -1.0, True)]
    found = _merge(samples, ["Hi", "Hi", "Ho"], [Origin()] * 3, "sample", "tiny", unk=1)
    assert [(c.text, c.reason, c.draws) for c in found] == [("Hi", None, 2), ("Ho", "unknown_word", 1)]
    assert found[0].scores.forward_logprob == -2.0, "that of the output without it"


def test_reasons():
    met, unmet = Origin("1"), Origin("2", ["dog"], [], ['says no "dog"'])
    drawn = [
        Hypothesis([0], -1.0, -1.0, True),
        Hypothesis([3, 4], -2.0, -1.0, False),
        Hypothesis([5, 0], -2.0, -1.0, True),
        Hypothesis([6, 0], -2.0, -1.0, True),
        Hypothesis([7, 8], -2.0, -1.0, False),
    ]
    found = _merge(drawn, ["", "Hi", "Ho", "He", "Hu"], [met, met, met, unmet, unmet], "constrain", "tiny")
    assert [c.reason for c in found] == ["empty", "unfinished", None, "constraint_unmet", "unfinished"]


@pytest.mark.parametrize("turn", [1, -1])
def test_a_finished_draw_is_not_lost_to_an_unfinished_one(turn):
    samples = [Sample([3, 4, 0], -5.0, True), Sample([6, 7, 8], -4.0, False)][::turn]
    (found,) = _merge(samples, ["Hi", "Hi"], [Origin()] * 2, "sample", "tiny")
    assert (found.reason, found.draws, found.scores.forward_logprob) == (None, 2, -5.0)
    assert found.scores.forward_tokens == 3


@pytest.mark.parametrize("turn", [1, -1])
def test_a_text_that_meets_one_set_is_in_though_it_does_not_meet_another(turn):
    met, unmet = Origin("1", [], ["cat"]), Origin("2", ["dog"], [], ['says no "dog"'])
    ways = [(Hypothesis([3, 0], -4.0, -2.0, True), met), (Hypothesis([3, 0], -3.0, -1.5, True), unmet)][::turn]
    (found,) = _merge([h for h, _ in ways], ["Hi", "Hi"], [origin for _, origin in ways], "constrain", "tiny")
    assert (found.reason, found.draws, found.scores.forward_logprob) == (None, 2, -4.0)
    assert found.origins == [met, unmet][::turn]


def test_as_many_of_each_are_wanted():
    with pytest.raises(ValueError, match="zip"):
        _merge([Sample([0], -1.0, True)], ["a", "b"], [Origin()], "sample", "tiny")


def test_nothing_gives_nothing():
    assert _merge([], [], [], "sample", "tiny") == []


def test_too_long_is_a_candidate_that_nobody_drew():
    found = _source_too_long("beam", "tiny")
    assert (found.text, found.method, found.draws, found.origins, found.generator) == ("", "beam", 0, [], "tiny")
    assert found.reason == "source_too_long"


def test_max_output_tokens():
    assert [max_output_tokens(n) for n in (1, 20)] == [12, 50]
