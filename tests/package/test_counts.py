"""Counts of what was dropped: together with those of what is left they are those of the whole."""

import random
from functools import partial

import pytest

from tests.conftest import demo_rows, write_run
from toolkit.data.database import database
from toolkit.data.rows import Candidate, Origin, Row, Scores
from toolkit.data.shards import dropped_of, input_shards, output_of, read_shard
from toolkit.package.counts import TABLES, _count, _no_paraphrase_message
from toolkit.package.keep import write_kept
from toolkit.package.parquet import finished_shards
from toolkit.select.corpus import _copy_chosen, write_choice
from toolkit.select.deciles import DecileSettings, refuse_by_deciles


def counts_by_table(shards):
    """By table, the kinds and their counts."""
    counts = {}
    with database() as connection:
        _count(connection, shards)
        for name, (_, _, added) in TABLES.items():
            sums = ", ".join(f"sum({column})::BIGINT AS {column}" for column in added)
            query = f"SELECT * EXCLUDE ({', '.join(added)}), {sums} FROM {name} GROUP BY ALL"
            lines = connection.execute(query).fetchall()
            counts[name] = {line[: -len(added)]: line[-len(added) :] for line in lines if any(line[-len(added) :])}
    return counts


def random_rows(seed, count=40):
    """Rows with candidates of all kinds: refused, chosen, without scores, of several recipes."""
    chance, apart = random.Random(seed), random.Random(seed + 1)

    def candidate(number):
        tokens = chance.randint(1, 9)
        numbers = [round(chance.uniform(-3, 0) * tokens, 3) if chance.random() < 0.8 else None for _ in range(2)]
        lengths = [None if value is None else tokens for value in numbers]
        scores = Scores(numbers[0], lengths[0], numbers[1], lengths[1])
        scores.semantic = chance.choice([None, chance.uniform(-1, 1)])
        scores.trigram_overlap = chance.choice([None, chance.random()])
        scores.judgment = chance.choice([None, 50 * chance.random()])
        scores.given_reference = apart.choice([None, apart.uniform(-4, 0.5)])
        scores.relative_fluency = apart.choice([None, apart.uniform(-3, 3)])
        words = ["will", "go", "Home"]
        origins = [
            Origin(chance.choice(["1", "2", None]), [], chance.sample(words, chance.randint(0, 2)),
                   chance.choice([[], ["not met"]]))
            for _ in range(chance.randint(1, 3))
        ]  # fmt: skip
        reason = chance.choice([None, None, "dual", "copy"])
        text = " ".join(chance.choices([*words, "we"], k=chance.randint(0, 5)))
        return Candidate(text, "sample", origins, chance.randint(1, 4), None, "g", scores,
                         chance.choice([None, 0, 1, 2]), reason)  # fmt: skip

    rows = []
    for number in range(count):
        candidates = [candidate(n) for n in range(chance.randint(0, 7))]
        free = [survivor for survivor in candidates if survivor.reason is None]
        for rank, survivor in enumerate(free[: chance.randint(0, 3)]):
            survivor.rank = rank
        split = chance.choice(["train", "validation", "test"])
        rows.append(Row(f"r-{number}", "r", "Satz.", "de", f"Sentence {number}.", "en", split, candidates=candidates))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["chosen", "1", "3"])
@pytest.mark.parametrize("seed", range(4))
def test_counts_do_not_depend_on_what_is_kept(tmp_path, keep, seed):
    rows = random_rows(seed)
    whole = finished_shards(write_run(tmp_path / "whole", rows, 13, refused=("too_long",)))
    part = write_run(tmp_path / "part", rows, 13, refused=("too_long",))
    for path, shard in zip(input_shards(part), whole, strict=True):
        write_kept(output_of(path), read_shard(shard), keep)
    assert counts_by_table(finished_shards(part)) == counts_by_table(whole)
    candidate_count = sum(len(row.candidates) for shard in finished_shards(part) for row in read_shard(shard))
    assert candidate_count < sum(len(row.candidates) for row in rows)
    assert counts_by_table(whole)["candidates_by_kind"]


@pytest.mark.slow
def test_a_choice_over_the_corpus_keeps_the_counts(tmp_path):
    """ParaNMT's choice by deciles copies the shards; what was dropped before goes with them."""
    rows = [row for row in random_rows(7, 60) if row.candidates]
    for row in rows:
        for candidate in row.candidates:
            candidate.scores.semantic = candidate.scores.semantic or 0.1
    settings = DecileSettings(by="semantic", deciles="6,7,8,9,10", max_tokens=30)
    totals = []
    for keep in ("all", "chosen"):
        run = write_run(tmp_path / keep, rows, 13)
        for path in input_shards(run):
            write_kept(output_of(path), list(read_shard(output_of(path))), keep)
        folder = tmp_path / f"{keep}-chosen"
        write_choice(finished_shards(run), {}, partial(refuse_by_deciles, settings=settings), folder)
        _copy_chosen(finished_shards(run), folder)
        totals.append(
            sum(counts[0] for counts in counts_by_table(finished_shards(folder))["candidates_by_kind"].values())
        )
        assert dropped_of(finished_shards(folder)[0]).exists() == (keep == "chosen")
    assert totals == [sum(len(row.candidates) for row in rows)] * 2


def test_all_keeps_all(tmp_path):
    run = write_run(tmp_path / "run", demo_rows())
    shard = finished_shards(run)[0]
    before = shard.read_bytes()
    write_kept(shard, list(read_shard(shard)), "all")
    assert shard.read_bytes() == before and not dropped_of(shard).exists()


def test_a_filter_that_leaves_nothing_names_its_condition(tmp_path):
    rows = demo_rows()
    for row in rows:
        for paraphrase in row.paraphrases:
            paraphrase.rank, paraphrase.reason = None, "where"
    shards = finished_shards(write_run(tmp_path / "strict.shards", rows))
    message = "wanted at least one paraphrase, got none: the condition (dual > 1) refused 7; make it less strict"
    assert _no_paraphrase_message(shards, "(dual > 1)") == message
    assert _no_paraphrase_message(shards, "(dual > 1)", "2-3") == f"{message}, or give more --ranks than 2-3"


def test_a_run_without_paraphrases_says_why(empty_run):
    message = _no_paraphrase_message(finished_shards(empty_run))
    assert message.startswith("wanted at least one paraphrase, got none of the 1 candidates in ")
    assert message.endswith("empty.shards: 1 dual; relax what refused most and build again")
    for path in input_shards(empty_run):
        write_kept(output_of(path), list(read_shard(output_of(path))), "chosen")
    assert _no_paraphrase_message(finished_shards(empty_run)) == message
