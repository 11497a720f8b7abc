"""The best of each cluster, and the reasons of all others."""

from toolkit.data.rows import Candidate, Row, Scores
from toolkit.select.rank import rank_rows


def candidate(text: str, dual: float, cluster: int | None, reason: str | None = None) -> Candidate:
    return Candidate(text, "sample", scores=Scores(dual, 1, 0.0, 1), cluster=cluster, reason=reason)


def ranked(*candidates: Candidate, paraphrases: int = 5, fill: bool = False) -> Row:
    row = Row("a-1", "a", "x", "de", "y", "en", "train", candidates=list(candidates))
    return next(iter(rank_rows([row], paraphrases, fill=fill)))


def test_the_best_of_each_cluster_best_first():
    row = ranked(
        candidate("a", -3.0, 1),
        candidate("b", -1.0, 2),
        candidate("c", -2.0, 1),
        candidate("d", -0.1, 0),  # the reference's cluster is thrown away, however good
        candidate("e", -9.0, 3, "dual"),
    )
    assert [c.text for c in row.paraphrases] == ["b", "c"]
    assert [(c.text, c.rank, c.reason) for c in row.candidates] == [
        ("a", None, "cluster"),
        ("b", 0, None),
        ("c", 1, None),
        ("d", None, "reference_cluster"),
        ("e", None, "dual"),
    ]


def test_at_most_five_of_seven_clusters():
    row = ranked(*(candidate(str(n), -float(n), n) for n in (7, 3, 1, 6, 2, 5, 4)))
    assert [c.text for c in row.paraphrases] == ["1", "2", "3", "4", "5"]
    assert {c.text: c.reason for c in row.candidates if c.rank is None} == {"6": "rank", "7": "rank"}


def test_ties_go_to_the_text():
    row = ranked(candidate("b", -1.0, 1), candidate("a", -1.0, 1), candidate("d", -1.0, 2), candidate("c", -1.0, 3))
    assert [c.text for c in row.paraphrases] == ["a", "c", "d"]


def test_every_candidate_has_a_rank_or_a_reason():
    row = ranked(*(candidate(str(n), -float(n % 5), n % 8) for n in range(50)))
    assert all((c.rank is None) != (c.reason is None) for c in row.candidates)
    assert sorted(c.rank for c in row.candidates if c.rank is not None) == [0, 1, 2, 3, 4]


def test_others_fill_the_places_that_are_left():
    values = (("a", -3.0, 1), ("b", -1.0, 2), ("c", -2.0, 1), ("d", -0.1, 0), ("e", -4.0, 2), ("f", -9.0, 1))
    row = ranked(
        *(candidate(*arguments) for arguments in values), candidate("g", -1.0, 3, "dual"), paraphrases=5, fill=True
    )
    assert [c.text for c in row.paraphrases] == ["b", "c", "a", "e", "f"], "the reference's cluster comes last"
    assert {c.text: c.reason for c in row.candidates if c.rank is None} == {"d": "reference_cluster", "g": "dual"}
    row = ranked(*(candidate(*arguments) for arguments in values), paraphrases=1, fill=True)
    assert {c.text: c.reason for c in row.candidates if c.rank is None} == {
        **{"c": "rank", "a": "cluster", "d": "reference_cluster", "e": "cluster", "f": "cluster"}
    }


def test_nothing_left():
    assert ranked().paraphrases == []
    assert ranked(candidate("a", -1.0, 0), candidate("b", -9.0, None, "dual")).paraphrases == []
