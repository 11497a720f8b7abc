"""Filters of paraphrasers: repeats, floors and ceilings."""

import math

from toolkit.data.rows import Candidate, Row, Scores
from toolkit.select.filter import refuse_overlap, refuse_repeats, refuse_semantic


def row(*candidates: Candidate) -> Row:
    return Row("a-1", "a", None, None, "It isn't late.", "en", "train", candidates=list(candidates))


def test_texts_that_differ_by_no_letter_are_copies_or_repeats():
    texts = {"It isn’t late!": -1.0, "It is not late.": -4.0, "it is not late": -3.0, "IT IS NOT LATE.": -5.0}
    texts["Early."] = -9.0
    candidates = [Candidate(text, "sample", scores=Scores(forward_logprob=score)) for text, score in texts.items()]
    (result,) = refuse_repeats([row(*candidates, Candidate("It isn't late.", "sample", reason="unfinished"))])
    reasons = {c.text: c.reason for c in result.candidates}
    assert reasons == {
        "It isn’t late!": "copy",
        "it is not late": None,  # the most probable of its kind
        "It is not late.": "repeat",
        "IT IS NOT LATE.": "repeat",
        "Early.": None,
        "It isn't late.": "unfinished",
    }


def test_floors_and_ceilings_refuse_beyond_them_and_what_is_no_number():
    scores = [(0.8, 0.5), (0.79, 0.5), (0.9, 0.51), (math.nan, 0.1), (0.9, math.nan), (None, None)]
    values = [Scores(semantic=semantic, intersection_over_union=shared) for semantic, shared in scores]
    candidates = [Candidate(str(n), "sample", scores=value) for n, value in enumerate(values)]
    (result,) = refuse_overlap(refuse_semantic([row(*candidates)], 0.8), 0.5)
    assert [c.reason for c in result.candidates] == [
        *(None, "semantic", "intersection_over_union", "semantic", "intersection_over_union", None)
    ]
