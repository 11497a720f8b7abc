"""The choice by deciles against a plain sort in memory, and that it can be killed anywhere."""

import hashlib
import json
import random
from collections import Counter
from dataclasses import asdict
from functools import partial

import pytest

from tests.conftest import write_run
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.data.shards import read_shard
from toolkit.package.parquet import finished_shards
from toolkit.select.corpus import _chosen_folder, _copy_chosen, write_choice
from toolkit.select.deciles import DecileSettings, _numbers, refuse_by_deciles
from toolkit.select.rank import rank_all


def pair(number: int, semantic: float, words: int = 3, trigram: float = 0.0) -> Row:
    scores = Scores(-float(number), 4, semantic=semantic, trigram_overlap=trigram)
    candidates = [
        Candidate("", "beam", reason="empty"),
        Candidate(" ".join("w" * words), "beam", rank=0, scores=scores),
    ]
    return Row(f"demo-{number}", "demo", "s", "de", f"Reference {number}.", "en", "train", candidates=candidates)


def corpus(count: int) -> list[Row]:
    """Scores in no order; every fifth pair is long; four values of the trigram overlap."""
    scores = random.Random(0).sample(range(count), count)
    return [pair(n, s / 1000, 31 if n % 5 == 0 else 3, s % 4 / 4) for n, s in enumerate(scores)]


def fates(run, settings):
    shards = finished_shards(run)
    folder = _chosen_folder(run, settings)
    write_choice(shards, asdict(settings), partial(refuse_by_deciles, settings=settings), folder)
    return {row.id: row for shard in _copy_chosen(shards, folder) for row in read_shard(shard)}


def record_of(run, settings):
    fates(run, settings)
    return json.loads((_chosen_folder(run, settings) / "cut.json").read_text())


def reasons(rows):
    return {row_id: row.candidates[1].reason for row_id, row in rows.items()}


def hashed(seed: int, row_id: str) -> tuple[int, int]:
    digest = hashlib.md5(f"{seed}\x1f{row_id}\x1f1".encode()).digest()
    return int.from_bytes(digest[8:], "little"), int.from_bytes(digest[:8], "little")


def test_the_top_two_deciles_without_the_long_ones(tmp_path):
    run = write_run(tmp_path / "bank.shards", corpus(100), 30)
    outcomes = reasons(fates(run, DecileSettings(by="semantic")))
    rows = corpus(100)
    top = {row.id for row in rows if row.candidates[1].scores.semantic >= 0.080}
    long = {f"demo-{n}" for n in range(0, 100, 5)}
    assert {i for i, reason in outcomes.items() if reason is None} == top - long
    assert {i for i, reason in outcomes.items() if reason == "too_long"} == top & long
    assert Counter(outcomes.values())["decile"] == 80
    assert top & long and top - long


@pytest.mark.parametrize("by", ["semantic", "trigram_overlap", "translation_score"])
def test_as_a_plain_sort_says(tmp_path, by):
    settings = DecileSettings(by=by, deciles="2,7", sample=11, max_tokens=30, seed=3)
    rows = corpus(157)
    outcomes = reasons(fates(write_run(tmp_path / "bank.shards", rows, 50), settings))

    def sort_key(row):
        scores = row.candidates[1].scores
        value = {
            "semantic": scores.semantic,
            "trigram_overlap": scores.trigram_overlap,
            "translation_score": scores.translation_score,
        }[by]
        return value, hashed(3, row.id)[0]

    ranked = sorted(rows, key=sort_key)
    in_deciles = {row.id for i, row in enumerate(ranked) if i * 10 // 157 + 1 in (2, 7)}
    short = {row.id for row in rows if len(row.candidates[1].text.split()) <= 30} & in_deciles
    sample = set(sorted(short, key=lambda i: hashed(3, i)[1])[:11])
    assert len(sample) == 11 < len(short) < len(in_deciles)
    assert {i for i, r in outcomes.items() if r is None} == sample
    assert {i for i, r in outcomes.items() if r == "not_sampled"} == short - sample
    assert {i for i, r in outcomes.items() if r == "too_long"} == in_deciles - short
    assert {i for i, r in outcomes.items() if r == "decile"} == {row.id for row in rows} - in_deciles


def test_every_pair_is_in_one_decile_also_where_scores_are_equal(tmp_path):
    run = write_run(tmp_path / "bank.shards", [pair(n, 0.5) for n in range(40)], 40)
    parts = [
        {i for i, r in reasons(fates(run, DecileSettings(by="semantic", deciles=str(t)))).items() if r is None}
        for t in range(1, 11)
    ]
    assert [len(part) for part in parts] == [4] * 10
    assert len(set.union(*parts)) == 40


def test_fewer_pairs_than_deciles(tmp_path):
    run = write_run(tmp_path / "bank.shards", [pair(n, n / 10) for n in range(3)], 2)
    cut = record_of(run, DecileSettings(by="semantic"))
    assert cut == {"pairs": 3, "candidates": 0, "begins": {"1": 0.0, "4": 0.1, "7": 0.2}, "last_lot": None}


def test_thirty_words_are_not_too_long(tmp_path):
    run = write_run(tmp_path / "bank.shards", [pair(0, 0.1, 30), pair(1, 0.2, 31), pair(2, 0.3, 2)], 3)
    rows = fates(run, DecileSettings(by="semantic", deciles="1,2,3,4,5,6,7,8,9,10"))
    assert list(reasons(rows).values()) == [None, "too_long", None]


def test_nothing_vanishes_and_nothing_else_changes(tmp_path):
    rows = corpus(30)
    result = fates(write_run(tmp_path / "bank.shards", rows, 7), DecileSettings(by="translation_score", deciles="1"))
    assert list(result) == [row.id for row in rows]
    for row in rows:
        result_row = result[row.id]
        assert (result_row.candidates[1].rank is None) == (result_row.candidates[1].reason is not None)
        result_row.candidates[1].rank, result_row.candidates[1].reason = 0, None
        assert result_row == row


def test_ranks_close_up(tmp_path):
    row = pair(0, 0.1)
    row.candidates.append(Candidate("w " * 40, "beam", rank=0, scores=Scores(semantic=0.2)))
    row.candidates[1].rank = 1
    settings = DecileSettings(by="semantic", deciles="1,2,3,4,5,6,7,8,9,10")
    (result,) = fates(write_run(tmp_path / "bank.shards", [row], 1), settings).values()
    assert [(c.rank, c.reason) for c in result.candidates] == [(None, "empty"), (0, None), (None, "too_long")]


def test_the_draw_changes_with_the_seed_and_is_even(tmp_path):
    run = write_run(tmp_path / "bank.shards", [pair(n, n / 1000) for n in range(400)], 400)
    deciles = "1,2,3,4,5,6,7,8,9,10"
    samples = [
        {i for i, r in reasons(fates(run, DecileSettings("semantic", deciles, 100, 30, seed))).items() if not r}
        for seed in (0, 1)
    ]
    assert [len(part) for part in samples] == [100, 100]
    assert 10 < len(samples[0] & samples[1]) < 40  # 25 are expected by chance
    assert 30 < sum(int(i.removeprefix("demo-")) < 200 for i in samples[0]) < 70


@pytest.mark.parametrize(
    "lost", [["rows-00001.parquet"], ["cut.json", "rows-00000.parquet"], ["inputs.json"], ["refused.parquet"]]
)
def test_killed_and_started_again_it_makes_the_same_bytes(tmp_path, lost):
    run = write_run(tmp_path / "bank.shards", corpus(40), 15)
    settings = DecileSettings(by="semantic", sample=3)
    fates(run, settings)
    folder = _chosen_folder(run, settings)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(before) == 7
    for name in lost:
        (folder / name).unlink()
    (folder / ".rows-00001.parquet.1.tmp").write_bytes(b"half")
    fates(run, settings)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_is_done_is_not_done_again(tmp_path):
    run = write_run(tmp_path / "bank.shards", corpus(40), 15)
    settings = DecileSettings(by="semantic")
    fates(run, settings)
    times = {path.name: path.stat().st_mtime_ns for path in _chosen_folder(run, settings).glob("rows-*")}
    fates(run, settings)
    assert {path.name: path.stat().st_mtime_ns for path in _chosen_folder(run, settings).glob("rows-*")} == times


def test_the_folder_is_a_finished_run_with_its_settings(tmp_path):
    run = write_run(tmp_path / "bank.shards", corpus(40), 15)
    settings = DecileSettings(by="trigram_overlap", deciles="10")
    fates(run, settings)
    folder = _chosen_folder(run, settings)
    assert [path.name for path in finished_shards(folder)] == [path.name for path in finished_shards(run)]
    record = json.loads((folder / "settings.json").read_text())
    assert (record["by"], record["deciles"], record["lang"]) == ("trigram_overlap", "10", "en")
    second_folder = _chosen_folder(run, DecileSettings(by="trigram_overlap", deciles="9"))
    assert second_folder != folder and second_folder.parent == run


def test_a_corpus_without_the_score_is_refused(tmp_path):
    run = write_run(tmp_path / "bank.shards", [pair(0, 0.5), pair(1, None)], 2)
    with pytest.raises(ValueError, match=r"wanted pairs that all have a semantic, got 1 of 2 in .*bank.shards"):
        fates(run, DecileSettings(by="semantic"))


def test_a_corpus_without_pairs_is_refused(tmp_path):
    row = pair(0, 0.5)
    row.candidates.pop()
    with pytest.raises(ValueError, match="got 0 of 0"):
        fates(write_run(tmp_path / "bank.shards", [row], 1), DecileSettings(by="semantic"))


@pytest.mark.parametrize("deciles", ["", "0", "11", "9;10", "nine", "9,", "-1", "²"])
def test_bad_deciles_are_refused(deciles):
    with pytest.raises(ValueError, match="wanted deciles as numbers from 1 to 10, such as 9,10, got"):
        DecileSettings(deciles=deciles)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match=r"wanted by as semantic, .*, got 'length'"):
        DecileSettings(by="length")
    with pytest.raises(ValueError, match="wanted sample and max_tokens of at least 1, got 0 and 30"):
        DecileSettings(sample=0)


@pytest.mark.parametrize(
    "options, flags",
    [
        ({"deciles": "9"}, "--deciles 9,"),
        ({"sample": 7}, "--sample 7,"),
        ({"max_tokens": 40, "deciles": "10"}, "--deciles 10, --max_tokens 40,"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(options, flags):
    with pytest.raises(ValueError, match=f"^wanted --by with {flags} got none: give one of semantic, trigram"):
        DecileSettings(**options)
    assert DecileSettings(seed=3).by is None and DecileSettings("trigram_overlap", **options).by


def test_a_damaged_record_is_one_line(tmp_path):
    run = write_run(tmp_path / "bank.shards", corpus(20), 20)
    fates(run, DecileSettings(by="semantic"))
    (run / "settings.json").write_text('{"by": ')
    with pytest.raises(ValueError, match=r"^wanted a record in JSON, got .*settings.json, which is damaged .*: delete"):
        fates(run, DecileSettings(by="semantic"))


def test_numbers_may_have_spaces_and_repeat():
    assert _numbers("10, 9,9") == [9, 10]


def test_all_that_is_in_is_ranked():
    row = pair(0, 0.5)
    row.candidates[1].rank = None
    row.candidates.append(Candidate("other", "beam"))
    (result,) = rank_all([row])
    assert [c.rank for c in result.candidates] == [None, 0, 1]


def test_refusal_names_the_first_filter(tmp_path):
    """Of the highest decile two pairs are short, and one is drawn; a long one of another decile is of the decile."""
    rows = [pair(n, n / 100, 31 if n in (0, 17) else 3) for n in range(30)]
    settings = DecileSettings(by="semantic", deciles="6,10", sample=4)
    run = write_run(tmp_path / "bank.shards", rows, 20)
    outcomes, cut = reasons(fates(run, settings)), record_of(run, settings)
    assert outcomes["demo-0"] == "decile" and outcomes["demo-17"] == "too_long"
    assert Counter(outcomes.values()) == {"decile": 24, "too_long": 1, "not_sampled": 1, None: 4}
    assert (cut["pairs"], cut["candidates"]) == (30, 5)
    (left_out,) = (row_id for row_id, reason in outcomes.items() if reason == "not_sampled")
    assert hashed(0, left_out)[1] > cut["last_lot"] == max(hashed(0, i)[1] for i, r in outcomes.items() if r is None)
