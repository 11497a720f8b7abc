"""A floor of what readers call usable: what stays in a parabank, in which order, and for which language."""

import pytest

from builders import build
from builders.build import load_judge
from builders.parabank2 import ParaBank2Run
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.select.filter import by_usable
from toolkit.select.rank import rank_again
from toolkit.system.processes import processes

TEXT = "The roof of our house has to be repaired before winter."
GOOD = "The roof of our house has to be fixed before winter."
TRIVIAL = "The roof of our house has to be repaired before the winter."
BAD = "Roof our the house it a reparation has winter before of."


def row() -> Row:
    """A reference with three paraphrases, the worst ranked first, and a candidate that was refused before."""

    def candidate(text, rank, reason=None):
        scores = Scores(-3.0, 12, -4.0, 12, intersection_over_union=0.7)
        return Candidate(text, "sample", rank=rank, reason=reason, scores=scores)

    candidates = [candidate(BAD, 0), candidate(TRIVIAL, 1), candidate(GOOD, 2), candidate("Our roof.", None, "dual")]
    return Row("a-1", "a", "Das Dach muss vor dem Winter repariert werden.", "de", TEXT, "en", "train",
               candidates=candidates)  # fmt: skip


@pytest.mark.parametrize("critic", [True, False], ids=["as_installed", "without_language_model"])
def test_what_is_not_usable_is_refused_and_the_rest_ranked_anew(critic, monkeypatch):
    if not critic:
        monkeypatch.setattr(build, "installed_critic", lambda: None)
    source = load_judge(0.1, processes())
    (result,) = source.generate([row()])
    outcomes = {c.text: (c.rank, c.reason) for c in result.candidates}
    assert outcomes == {BAD: (None, "usable"), TRIVIAL: (None, "trivial"), GOOD: (0, None), "Our roof.": (None, "dual")}
    scores = {c.text: c.scores for c in result.candidates}
    assert scores[GOOD].usable > scores[BAD].usable and scores["Our roof."].usable is None
    assert {model["role"] for model in source.models} == {"judge"}


def test_without_a_floor_there_is_no_judge():
    assert load_judge(None, processes()).generate is None


def test_ranks_follow_the_order_and_refused_candidates_have_none():
    record = row()
    for usable, candidate in zip((0.3, 0.9, 0.5), record.candidates, strict=False):
        candidate.scores.usable = usable
    record.candidates[1].reason = "usable"
    (result,) = rank_again([record], by_usable)
    assert [candidate.rank for candidate in result.candidates] == [1, None, 0, None]


def test_a_language_that_the_judge_does_not_read_and_a_floor_out_of_range():
    options = {"bitext": ["b"], "source_lang": "en", "forward": "f", "backward": "b", "output_dir": "o"}
    with pytest.raises(ValueError, match=r"wanted no min_usable for language 'de', got 0.5: the judge reads English"):
        ParaBank2Run(**options, lang="de", min_usable=0.5)
    with pytest.raises(ValueError, match=r"min_usable"):
        ParaBank2Run(**options, lang="en", min_usable=1.5)
