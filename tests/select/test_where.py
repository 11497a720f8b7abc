"""Conditions on named scores, and what is chosen anew by them."""

import re
from functools import partial

import pytest

from tests.conftest import write_run
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.data.shards import read_shard
from toolkit.package.parquet import finished_shards
from toolkit.select.best import BestBy, refuse_but_best
from toolkit.select.corpus import choose
from toolkit.select.rank import rank_all, rank_by_dual_sum, rank_by_usable, rank_rows
from toolkit.select.where import NAMES, check_measured, check_where, chosen_anew, meeting
from toolkit.system.processes import processes


def new_candidate(text, dual, semantic, rank=None, reason=None, cluster=1):
    return Candidate(text, "sample", rank=rank, reason=reason, cluster=cluster,
                     scores=Scores(dual, 1, 0.0, 1, semantic=semantic))  # fmt: skip


def rows():
    """Two references: the first has three clusters, and losers in two of them."""
    return [
        Row("r-0", "r", "Satz.", "de", "A sentence.", "en", "train", candidates=[
            new_candidate("a", -1.0, 0.4, rank=0, cluster=1),
            new_candidate("b", -2.0, 0.9, reason="cluster", cluster=1),
            new_candidate("c", -1.5, 0.8, rank=1, cluster=2),
            new_candidate("d", -3.0, 0.95, reason="rank", cluster=3),
            new_candidate("e", -9.0, 0.99, reason="dual", cluster=None),
            new_candidate("f", -2.5, None, reason="cluster", cluster=2),
        ]),
        Row("r-1", "r", "Satz.", "de", "Another.", "en", "test", candidates=[new_candidate("g", -1.0, 0.1, rank=0)]),
    ]  # fmt: skip


def anew(where, first=1, last=None, limit=2, folder=None):
    shard = finished_shards(write_run(folder / "run", rows()))[0]
    met = meeting(shard, where)
    result = chosen_anew(rows(), met, lambda batch: rank_rows(batch, limit), first, last)
    return [
        (
            [candidate.text for candidate in row.paraphrases],
            {candidate.text: candidate.reason for candidate in row.candidates},
        )
        for row in result
    ]


def test_a_loser_takes_the_place_of_what_no_longer_meets(tmp_path):
    (texts, reasons), (second_texts, second_reasons) = anew("semantic >= 0.7", folder=tmp_path)
    assert texts == ["c", "b"]
    assert reasons == {"a": "where", "b": None, "c": None, "d": "rank", "e": "dual", "f": "cluster"}
    assert (second_texts, second_reasons) == ([], {"g": "where"})


def test_ranks_are_those_of_the_new_choice(tmp_path):
    (texts, reasons), _ = anew("semantic >= 0.7", 2, 3, limit=5, folder=tmp_path)
    assert texts == ["b", "d"] and reasons["c"] == "rank"
    (texts, _), (second_texts, _) = anew("true", 1, 1, folder=tmp_path)
    assert (texts, second_texts) == (["a"], ["g"])


def test_no_candidate_comes_back_that_the_judge_of_the_run_has_not_read(tmp_path):
    shard = finished_shards(write_run(tmp_path / "run", rows()))[0]
    judged = rows()
    for candidate in judged[0].candidates:
        candidate.scores.usable = {"a": 0.6, "c": 0.9, "d": 0.7}.get(candidate.text)
    met = meeting(shard, "semantic < 0.99") - {("r-0", 0)}  # without the best
    row, _ = chosen_anew(judged, met, rank_by_usable, 1, None, is_judged=True)
    assert [candidate.text for candidate in row.paraphrases] == ["c", "d"]
    assert {candidate.text: candidate.reason for candidate in row.candidates}["b"] == "cluster"


def test_what_is_true_for_all_changes_nothing(tmp_path):
    shard = finished_shards(write_run(tmp_path / "run", rows()))[0]
    result = list(chosen_anew(rows(), meeting(shard, "true"), lambda batch: rank_rows(batch, 2), 1, None))
    assert result == rows()


def rows_of_pairs():
    """Rows of one pair each and of a worse candidate: the second, third and fourth repeat the first more or less."""
    texts = [
        ("The old cat sat on the red mat.", "An old cat was on a red mat."),
        ("The old cat sat on the red mat!", "an old cat was on a red mat"),
        ("The old cat sat on the red mat.", "There was the cat."),
        ("The old cat sat on the red mats.", "An old cat was on the red mat."),
        ("Something else.", "Another thing."),
    ]
    return [
        Row(f"r-{n}", "r", "Satz.", "de", reference, "en", "train", candidates=[
            new_candidate(f"A worse text {n}.", -9.0, 0.5, reason="rank"),
            new_candidate(text, -1.0 - n, 0.5, rank=0),
        ])
        for n, (reference, text) in enumerate(texts)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (BestBy(best_share=1.0), "duplicate"),
        (BestBy(best_share=1.0, one_per_reference=True), "better_pair"),
        (BestBy(best_share=1.0, max_similarity=0.5), "near_duplicate"),
        (BestBy(best_pairs=2), "dual_per_token"),
        (BestBy(least_score=-2.0, by="dual"), "dual"),
    ],
)
def test_a_choice_over_the_corpus_is_not_undone(tmp_path, settings, reason):
    shards = finished_shards(write_run(tmp_path / "run", rows_of_pairs()))
    rule = partial(refuse_but_best, settings=settings, lang="en", lines=0)
    chosen_shards = finished_shards(choose(shards, settings, rule, processes(exchange=False)))
    chosen_rows = [row for shard in chosen_shards for row in read_shard(shard)]
    matches = {match for shard in chosen_shards for match in meeting(shard, "dual > -99")}
    anew_rows = [row for shard in chosen_shards for row in read_shard(shard)]
    result = list(chosen_anew(anew_rows, matches, rank_by_dual_sum, 1, None, is_cut=True))
    assert result == chosen_rows
    assert reason in {candidate.reason for row in result for candidate in row.candidates}


def test_a_missing_score_meets_nothing(tmp_path):
    shard = finished_shards(write_run(tmp_path / "run", rows()))[0]
    numbers = {number for row_id, number in meeting(shard, "semantic < 2 or semantic >= 2") if row_id == "r-0"}
    assert numbers == {0, 1, 2, 3}, "f has no score, e was refused by a threshold of the run"
    assert meeting(shard, "not semantic > 0.5") == {("r-0", 0), ("r-1", 0)}
    assert meeting(shard, "semantic is null") == {("r-0", 5)}


def test_what_cannot_be_computed_is_one_line(tmp_path):
    shard = finished_shards(write_run(tmp_path / "run", rows()))[0]
    assert len(meeting(shard, "draws * 2000000000 > 5 and forward_tokens * 3000000000 > 5")) == 6
    check_where(where := "(draws * 200)::TINYINT > 5")
    with pytest.raises(ValueError, match=r"wanted a condition .*, got .*TINYINT > 5' \(.*out of range") as raised:
        meeting(shard, where)
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_names_and_derived_scores(tmp_path):
    shard = finished_shards(write_run(tmp_path / "run", rows()))[0]
    assert meeting(shard, "dual > -1.2") == {("r-0", 0), ("r-1", 0)}
    assert meeting(shard, "Dual = translation_score AND draws = 1 and dual < -2") == {("r-0", 3), ("r-0", 5)}
    for name in NAMES:
        check_where(f"{name} is not null")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("smantic > 0.5", "wanted scores of forward_logprob, .*, draws in a condition, got 'smantic'"),
        ("semantic", "which is neither true nor false"),
        ("semantic >", "Parser Error"),
        ("", "wanted a condition such as"),
        ("semantic > 'much'", "Conversion Error"),
        ("sum(semantic) > 3", "Binder Error"),
        ("semantic > 0.5; drop table x", "Parser Error"),
        ("sum(semantic) > 3 and draws", "wanted a condition such as"),
    ],
)
def test_what_is_no_condition(where, message):
    with pytest.raises(ValueError, match=message) as raised:
        check_where(where)
    assert "\n" not in str(raised.value)


def test_a_score_that_nobody_measured(tmp_path):
    shards = finished_shards(write_run(tmp_path / "run", rows()))
    check_measured(shards, "semantic > 0.5 and dual > -3")
    message = "wanted scores that this run has measured (forward_logprob, forward_tokens, backward_logprob"
    with pytest.raises(ValueError, match=re.escape(message) + ".*got judgment: build with it"):
        check_measured(shards, "semantic > 0.5 and Judgment > 3")


def test_all_ranked_of_paranmt(tmp_path):
    shard = finished_shards(write_run(tmp_path / "run", rows()))[0]
    result = chosen_anew(rows(), meeting(shard, "semantic > 0.3"), rank_all, 1, None)
    assert [[candidate.text for candidate in row.paraphrases] for row in result] == [["a", "b", "c", "d"], []]


@pytest.mark.parametrize(
    "where",
    [
        "1=1); COPY (select 1) TO '{folder}/copied.csv'; --",
        "length((select content from read_text('{folder}/secret'))) > 0",
        "exists (from '{folder}/secret.csv')",
        "dual > (select max(x) from range(3) t(x))",
        "dual > -2) UNION SELECT ('a', 1",
        "true) FROM range(3) WHERE (true",
        "dual > -2, semantic > 0",
        "dual > -2 ORDER BY 1",
        "COLUMNS('dual.*') > 0",
        "dual > -2 --",
        "dual > -2; SET enable_external_access = true",
    ],
)
def test_a_condition_is_one_expression_that_reads_and_writes_no_file(where, tmp_path):
    for name in ("secret", "secret.csv"):
        (tmp_path / name).write_text("key\n")
    with pytest.raises(ValueError, match="wanted a condition such as"):
        check_where(where.format(folder=tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"secret", "secret.csv"}


def test_a_condition_of_a_record_that_was_not_checked_reads_and_writes_no_file(tmp_path):
    shard = finished_shards(write_run(tmp_path / "run", rows()))[0]
    (tmp_path / "secret").write_text("key")
    for where in (
        f"length((select content from read_text('{tmp_path}/secret'))) > 0",
        f"true); COPY (select 1) TO '{tmp_path}/copied.csv'; SELECT (1",
        "true); SET enable_external_access = true; SELECT (1",
    ):
        with pytest.raises(ValueError, match=r"disabled|locked|external"):
            meeting(shard, where)
    assert not (tmp_path / "copied.csv").exists()
