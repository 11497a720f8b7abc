"""ParaZh from a bitext to a data set, with tiny models; cut anew, killed, started again, and in two processes."""

import dataclasses
import json
import os
import re
import shutil
import subprocess

import datasets
import pytest

from builders.filter import Filter, filter_parabank
from builders.parazh import ParaZhRun, build
from tests.run.test_shard_runs import ALONE, KILL_AT_SHARD_3, ranks
from tests.tiny import DEMO, ENVIRONMENT, ROOT, folder, pairs
from toolkit.data.shards import read_shard
from toolkit.score.edit_ratio import edit_ratio
from toolkit.select.rank import rank_by_dual_sum
from toolkit.system.outputs import LOCK

pytestmark = pytest.mark.usefixtures("on_a_cpu")


@pytest.fixture(scope="module")
def settings():
    def run(output, **changed):
        source = {"bitext": [str(DEMO)], "source_lang": "de", "lang": "en", "limit": 40, "shard_rows": 8, "threads": 1}
        models = {"forward": str(folder() / "de-en"), "backward": str(folder() / "en-de"), "dtype": "float32"}
        return ParaZhRun(**{**source, **models, "output_dir": str(output), "beam": 4, "batch_rows": 40, **changed})

    return run


@pytest.fixture(scope="module")
def parabank(settings, tmp_path_factory):
    output = tmp_path_factory.mktemp("parazh") / "bank"
    build(settings(output, best_share=1.0))
    return output


def contents(*folders):
    files = ((f, p) for f in folders for p in f.rglob("*") if p.is_file() and p.name != LOCK)
    return {p.relative_to(f): p.read_bytes() for f, p in files}


def rows_of(output):
    shards = sorted(output.with_name(output.name + ".shards").glob("rows-*"))
    return [row for shard in shards for row in read_shard(shard)]


def published(output):
    splits = datasets.load_dataset(str(output), "pairs", cache_dir=str(output.parent / "cache"))
    return [pair for split in splits.values() for pair in split]


def test_the_best_candidate_by_the_sum_of_both_directions_is_ranked(parabank):
    rows, compared = rows_of(parabank), 0
    assert [(row.source, row.reference) for row in rows] == pairs(40)
    for row in rows:
        assert 1 <= len(row.candidates) <= 4 and {c.method for c in row.candidates} == {"beam"}
        candidates = [c for c in row.candidates if c.reason in (None, "rank")]
        assert all(c.scores.backward_logprob is not None for c in candidates)
        if candidates:
            (best,) = row.paraphrases
            assert best.scores.dual_sum == max(c.scores.dual_sum for c in candidates)
            compared += len(candidates) > 1
    assert compared > 20, "nothing would be compared"


@pytest.mark.slow
def test_candidates_near_their_reference_are_refused_before_they_are_scored(settings, parabank, tmp_path):
    for row in rows_of(parabank):
        for candidate in row.candidates:
            if candidate.reason in (None, "rank", "edit_ratio"):
                ratio = edit_ratio(row.reference, candidate.text)
                assert candidate.scores.edit_ratio == ratio and (ratio < 0.12) == (candidate.reason == "edit_ratio")
    build(settings(tmp_path / "bank", limit=16, min_edit_ratio=0.8, best_share=1.0))
    refused = [c for row in rows_of(tmp_path / "bank") for c in row.candidates if c.reason == "edit_ratio"]
    assert refused and all(c.scores.edit_ratio < 0.8 and c.scores.backward_logprob is None for c in refused)


@pytest.mark.slow
def test_the_cut_is_over_the_corpus_and_may_change_without_decoding(parabank, settings, tmp_path):
    output, run = tmp_path / "part", tmp_path / "part.shards"
    shutil.copytree(parabank.with_name("bank.shards"), run)
    times = {p: p.stat().st_mtime_ns for p in run.glob("*.parquet")}
    figures = build(settings(output, best_pairs=5))
    assert {p: p.stat().st_mtime_ns for p in run.glob("*.parquet")} == times
    scores = sorted((c.scores.dual_per_token for row in rows_of(parabank) for c in row.paraphrases), reverse=True)
    rows = published(output)
    assert len(rows) == 5 == figures["total"]["pairs"] < len(scores)
    minimum = min((p["forward_logprob"] + p["backward_logprob"]) / p["forward_tokens"] for p in rows)
    assert minimum >= scores[4 + figures["candidates"]["refused"].get("duplicate", 0)]
    folder_name = json.loads((output / "parabank.json").read_text())["settings"]["chosen"]
    card, cut = (output / "README.md").read_text(), json.loads((run / folder_name / "cut.json").read_text())
    assert cut["selected"] == 5 and cut["least_score"] == pytest.approx(minimum)
    assert "of all pairs the 5 best by dual_per_token |" in card and "| `dual_per_token`: " in card


@pytest.mark.slow
def test_without_a_number_as_many_as_the_paper_kept(settings, parabank, tmp_path):
    shutil.copytree(parabank.with_name("bank.shards"), tmp_path / "bank.shards")
    build(settings(tmp_path / "bank"))
    assert len(published(tmp_path / "bank")) == min(round(40 * 22 / 26.4), len(published(parabank)))
    assert "as many of the best as ParaZh-22M kept" in (tmp_path / "bank" / "README.md").read_text()


def test_tables_of_the_card_have_as_many_cells_as_their_heads(parabank):
    card = (parabank / "README.md").read_text()
    assert "{{" not in card and "Undefined" not in card and str(parabank.parent) not in card
    lines = card.replace("\\|", "").splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("|-")]
    assert len(heads) > 10
    for start in heads:
        end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
        assert {line.count("|") for line in lines[start - 1 : end]} == {lines[start].count("|")}, lines[start - 1]
    assert re.search(r"\(1-BLEU\) x 100, how much of the wording is new, is \d", card)


@pytest.mark.slow
def test_killed_and_started_again_it_makes_the_same_bytes(settings, tmp_path):
    run = settings(tmp_path / "bank", limit=20, best_pairs=6)
    build(run)
    before = contents(tmp_path / "bank", tmp_path / "bank.shards")
    (part,) = (tmp_path / "bank.shards").glob("chosen-*")
    for lost in ("rows-00001.parquet", f"{part.name}/rows-00002.parquet", f"{part.name}/cut.json"):
        (tmp_path / "bank.shards" / lost).unlink()
    build(run)
    assert contents(tmp_path / "bank", tmp_path / "bank.shards") == before


@pytest.mark.slow
def test_two_processes_one_of_them_killed_make_the_same_bytes(settings, tmp_path):
    fields = dataclasses.asdict(settings(tmp_path, best_pairs=9))
    options = {key: value for key, value in fields.items() if value not in (None, [], True, False) and key != "bitext"}

    def launched(program, output, before=""):
        (tmp_path / "sitecustomize.py").write_text(before)
        environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
        flags = [f"--{key}={value}" for key, value in (options | {"output_dir": output}).items()]
        command = [*program, "parazh", "--bitext", *fields["bitext"], *flags]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    alone, two = tmp_path / "alone" / "bank", tmp_path / "two" / "bank"
    assert launched(ALONE, alone).returncode == 0
    assert launched(ranks(2), two, KILL_AT_SHARD_3).returncode != 0
    assert not (two / "README.md").exists()
    process = launched(ranks(2), two)
    assert process.returncode == 0, process.stderr
    assert contents(alone) == contents(two) and len(contents(alone)) > 5
    parquet = [
        {path: data for path, data in contents(output.with_name("bank.shards")).items() if path.suffix == ".parquet"}
        for output in (alone, two)
    ]
    assert parquet[0] == parquet[1] and len(parquet[0]) > 10


@pytest.mark.slow
def test_more_pairs_than_lines_is_an_error_before_anything_is_decoded(settings, tmp_path):
    message = "wanted --best_pairs of at most 40, the number of lines that cleaning has kept, got 41: lower it"
    with pytest.raises(ValueError, match=message):
        build(settings(tmp_path / "bank", best_pairs=41))
    assert not list((tmp_path / "bank.shards").glob("rows-*"))
    assert build(settings(tmp_path / "bank", best_pairs=3))["total"]["pairs"] == 3, "the next call goes on"


@pytest.mark.slow
def test_more_pairs_than_there_are_is_an_error_that_keeps_the_work(parabank, settings, tmp_path):
    shutil.copytree(parabank.with_name("bank.shards"), tmp_path / "bank.shards")
    pair_count = len(published(parabank))
    with pytest.raises(
        ValueError, match=f"wanted --best_pairs of at most {pair_count}, the number of pairs to select from"
    ):
        build(settings(tmp_path / "bank", best_pairs=40))
    assert build(settings(tmp_path / "bank", best_pairs=pair_count))["total"]["pairs"] == pair_count


@pytest.mark.slow
def test_any_parabank_can_be_cut_over_the_corpus(parabank, tmp_path):
    cut = Filter(parabank=parabank, output_dir=tmp_path / "half", best_share=0.5, by="dual", max_similarity=0.8)
    figures = filter_parabank(cut)
    assert figures["total"]["pairs"] == pytest.approx(len(published(parabank)) / 2, abs=1)
    duals = [p["forward_logprob"] / p["forward_tokens"] + p["backward_logprob"] / p["backward_tokens"]
             for p in published(tmp_path / "half")]  # fmt: skip
    every = sorted(c.scores.dual for row in rows_of(parabank) for c in row.paraphrases)
    assert min(duals) >= every[len(every) // 2 - 1]
    choice = (
        "the best 50 % by dual, none as similar as 0.8 to a better one; chosen among the pairs of an earlier version"
    )
    assert f"of all pairs {choice} |" in (tmp_path / "half" / "README.md").read_text()
    again = filter_parabank(Filter(parabank=tmp_path / "half", output_dir=tmp_path / "again", where="edit_ratio > 0.3"))
    rows = [p for p in published(tmp_path / "half") if p["edit_ratio"] > 0.3]
    assert again["total"]["pairs"] == len(rows) > 0


def test_the_best_is_the_highest_sum_not_the_highest_mean():
    (row,) = (row for row in rows_for_rank())
    (result,) = rank_by_dual_sum([row], 1)
    assert [c.rank for c in result.candidates] == [None, 0] and result.candidates[0].reason == "rank"
    assert result.candidates[0].scores.dual > result.candidates[1].scores.dual


def rows_for_rank():
    from toolkit.data.rows import Candidate, Row, Scores

    long = Candidate("a long one", "beam", scores=Scores(-6.0, 12, -6.0, 12))
    short = Candidate("short", "beam", scores=Scores(-4.0, 4, -4.0, 4))
    yield Row("d-1", "d", "s", "de", "r", "en", "train", candidates=[long, short])


def test_bad_settings_are_one_line(settings, tmp_path):
    with pytest.raises(ValueError, match="wanted beam of at least 1, got 0"):
        settings(tmp_path, beam=0)
    with pytest.raises(ValueError, match=r"wanted min_edit_ratio of at least 0, got -0.1"):
        settings(tmp_path, min_edit_ratio=-0.1)
    with pytest.raises(ValueError, match="wanted one of --best_pairs"):
        settings(tmp_path, best_pairs=1, least_score=-1.0)
