"""A pair stands once, against a plain loop in memory; and what is published and counted of it."""

import json
import random
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

from builders.builder import ParabankBuilder
from tests.conftest import row as demo_row
from tests.conftest import write_run
from toolkit.bitext.normalize import match_key
from toolkit.data.rows import Candidate, Scores
from toolkit.data.shards import read_shard
from toolkit.package.build import package_parabank
from toolkit.package.parquet import finished_shards
from toolkit.select import equal
from toolkit.select.equal import find_equal_pairs


def pick(text, rank, nats=1.0, **scores):
    """A chosen candidate with a dual score of -2 `nats`."""
    return Candidate(text, "sample", rank=rank, scores=Scores(-nats, 1, -nats, 1, **scores))


def equal_rows():
    """Two sources of one reference, one of another spelling, and a row that has an equal pair by itself."""
    return [
        demo_row(0, "train", "Stop it!", [
            Candidate("Refused.", "sample", reason="dual"),
            pick("Cease it.", 1, 2.0),
            pick("Knock it off!", 0, 1.0),
        ]),
        demo_row(1, "train", "Stop it!", [pick("Knock it off!", 1, 0.5), pick("Quit it.", 0)]),
        demo_row(2, "train", "stop it", [pick("Cease it!", 0, 3.0), pick("knock it off", 1, 0.1)]),
        demo_row(3, "train", "Stop it.", [pick("Quit it!", 0, 1.0)]),
        demo_row(4, "test", "Go on.", [pick("Stop it", 0), pick("Go on!", 1), pick("Go ahead.", 2), pick("GO ON", 3)]),
    ]  # fmt: skip


def published(folder: Path) -> dict[str, list[dict]]:
    return {
        config: [r for file in sorted(folder.glob(f"data/{config}/*")) for r in pq.read_table(file).to_pylist()]
        for config in ("pairs", "references")
    }


@pytest.fixture
def packaged(tmp_path, demo_models):
    """`equal_rows` as a run of three shards, and as a parabank."""
    run = write_run(tmp_path / "bank.shards", equal_rows())
    package_parabank(run, tmp_path / "bank", "bank", "1.0.0", "mit", demo_models)
    return tmp_path / "bank"


def test_the_best_of_equal_pairs_stays_beside_its_own_source(packaged):
    tables = published(packaged)
    train = [
        (p["id"], p["source"], p["sentence1"], p["sentence2"], p["rank"])
        for p in tables["pairs"]
        if p["id"] != "demo-4"
    ]
    assert train == [
        ("demo-0", "Satz 0.", "Stop it!", "Knock it off!", 0),  # rank 0 before ranks 1 of better scores
        ("demo-1", "Satz 1.", "Stop it!", "Quit it.", 0),  # equal to demo-3's in rank and score, and before it
        ("demo-2", "Satz 2.", "stop it", "Cease it!", 0),  # rank 0, though its score is worse
    ]
    assert [(p["sentence2"], p["rank"]) for p in tables["pairs"] if p["id"] == "demo-4"] == [
        ("Stop it", 0), ("Go on!", 1), ("Go ahead.", 2),
    ]  # fmt: skip


def test_references_nest_what_pairs_spell_out(packaged):
    tables = published(packaged)
    nested = [(r["id"], r["reference"], p["text"], p["rank"]) for r in tables["references"] for p in r["paraphrases"]]
    assert nested == [(p["id"], p["sentence1"], p["sentence2"], p["rank"]) for p in tables["pairs"]]
    assert [r["id"] for r in tables["references"]] == ["demo-4", "demo-0", "demo-1", "demo-2"]


def test_they_are_counted_on_the_card(packaged):
    figures = json.loads((packaged / "statistics.json").read_text())
    assert figures["candidates"] == {"refused": {"dual": 1}, "not_chosen": 0, "held_out": 0, "repeated": 5, "chosen": 6}
    assert figures["total"] == {"references": 5, "kept": 4, "pairs": 6, "candidates": 12, "draws": 12}
    assert figures["splits"]["train"]["pairs"] == 3 and figures["splits"]["test"]["kept"] == 1
    assert figures["paraphrases_per_reference"] == {"0": 1, "1": 3, "3": 1}
    assert figures["copies"] == 1  # "Go on!" of "Go on."; its equal "GO ON" is not published
    assert sum(bin["paraphrases"] for bin in figures["histograms"]["dual"]) == 6
    assert sum(bin["candidates"] for bin in figures["histograms"]["dual"]) == 11
    card = (packaged / "README.md").read_text()
    assert "| *equal to a better pair* | 5 | 41.7 % |" in card and "| *became paraphrases* | 6 | 50.0 % |" in card


def test_the_builder_gives_the_same(packaged):
    for config, column in (("pairs", "sentence2"), ("references", "paraphrases")):
        builder = ParabankBuilder(
            config_name=config, data_dir=f"{packaged}.shards", cache_dir=str(packaged.parent / "c")
        )
        builder.download_and_prepare()
        for split in ("train", "test"):
            expected = datasets.load_dataset(str(packaged), config, split=split)
            assert builder.as_dataset(split).to_list() == expected.to_list() and expected[column]
            assert list(builder.as_streaming_dataset(split)) == expected.to_list()


def crossing_rows():
    """References of one source in several splits, whose paraphrases are one another."""
    return [
        demo_row(0, "train", "We went home.", [pick("We walked home!", 0), pick("We left.", 1), pick("Home!", 2)]),
        demo_row(1, "validation", "Home.", [pick("We walked home", 0), pick("We went home.", 1), pick("Back.", 2)]),
        demo_row(2, "test", "We walked home.", [pick("We went home.", 0), pick("Home.", 1)]),
        demo_row(3, "train", "They went.", [pick("We went home.", 0)]),
    ]


def test_no_paraphrase_is_a_reference_of_a_split_that_is_held_out(tmp_path, demo_models):
    run = write_run(tmp_path / "bank.shards", crossing_rows())
    package_parabank(run, tmp_path / "bank", "bank", "1.0.0", "mit", demo_models)
    pairs = [(p["id"], p["sentence2"], p["rank"]) for p in published(tmp_path / "bank")["pairs"]]
    assert sorted(pairs) == [
        ("demo-0", "We left.", 0),
        ("demo-1", "Back.", 1), ("demo-1", "We went home.", 0),
        ("demo-2", "Home.", 1), ("demo-2", "We went home.", 0),
        ("demo-3", "We went home.", 0),
    ]  # fmt: skip
    figures = json.loads((tmp_path / "bank" / "statistics.json").read_text())["candidates"]
    assert figures == {"refused": {}, "not_chosen": 0, "held_out": 3, "repeated": 0, "chosen": 6}
    card = (tmp_path / "bank" / "README.md").read_text()
    assert "| *equal to a reference of a held-out split* | 3 | 33.3 % |\n| *equal to a better pair* | 0 |" in card


WORDS = ["Stop", "stop!", "Stop.", "Go", "GO", "go?", "it", "It's", "its", "¡Señor!", "señor", "...", "?", "ß", "ｇｏ"]


def random_rows(seed, count):
    """Rows of few texts, so that many pairs are equal; some scores are not there."""
    random.seed(seed)

    def text():
        return " ".join(random.choices(WORDS, k=random.randint(1, 2)))

    def candidate(rank):
        forward, judgment = random.choice([-1.0, -2.0, None]), random.choice([None, 40.0])
        scores = Scores(forward, forward and 2, judgment=judgment)
        return Candidate(text(), "sample", rank=rank, scores=scores, reason=None if rank is not None else "dual")

    rows = [demo_row(n, "train", text(), []) for n in range(count)]
    for row in rows:
        ranks = [*range(random.randint(0, 4)), None, None]
        random.shuffle(ranks)
        row.candidates = [candidate(rank) for rank in ranks]
    return rows


def score(candidate):
    value = candidate.scores.judgment
    value = candidate.scores.translation_score if value is None else value
    return -1e9 if value is None else value


def plain(shards):
    """The repeated candidates of shards by a loop over all pairs, best first."""
    pairs = []
    for number, shard in enumerate(shards):
        place = 0
        for row in read_shard(shard):
            for candidate in row.candidates:
                if candidate.rank is not None:
                    key = (match_key(row.reference) or row.reference, match_key(candidate.text) or candidate.text)
                    pairs.append((candidate.rank, -score(candidate), number, place, key))
                place += 1
    keys, repeated, copies = set(), [[] for _ in shards], 0
    for _, _, number, place, key in sorted(pairs):
        if key in keys:
            repeated[number].append(place)
        elif key[0] == key[1]:
            copies += 1
        keys.add(key)
    return [sorted(places) for places in repeated], copies


@pytest.mark.parametrize("seed, batch_rows", [(0, 1000), (1, 3), (2, 1)])
def test_as_a_plain_loop_says(tmp_path, monkeypatch, seed, batch_rows):
    read = equal._chosen_pairs
    monkeypatch.setattr(equal, "_chosen_pairs", lambda *arguments: read(*arguments, batch_rows))
    shards = finished_shards(write_run(tmp_path / "bank.shards", random_rows(seed, 120), 25))
    equal_pairs, (repeated, copies) = find_equal_pairs(shards), plain(shards)
    assert [part.tolist() for part in equal_pairs.left_out] == repeated and len(repeated) == 5
    assert equal_pairs.copies == copies > 2 and sum(map(len, repeated)) > 50


def test_threads_and_memory_change_nothing(tmp_path, monkeypatch):
    shards = finished_shards(write_run(tmp_path / "bank.shards", random_rows(3, 400), 50))
    expected = find_equal_pairs(shards)
    connect = equal.duckdb.connect
    for threads, memory in ((1, "2GB"), (4, "60MB")):
        config = {"threads": threads, "memory_limit": memory}
        monkeypatch.setattr(equal.duckdb, "connect", lambda config, more=config: connect(config={**config, **more}))
        equal_pairs = find_equal_pairs(shards)
        assert equal_pairs.copies == expected.copies
        assert [part.tolist() for part in equal_pairs.left_out] == [part.tolist() for part in expected.left_out]


def test_a_run_without_candidates_has_none(tmp_path):
    shards = finished_shards(write_run(tmp_path / "bank.shards", [demo_row(0, "train", "Stop it!", [])]))
    equal_pairs = find_equal_pairs(shards)
    assert (equal_pairs.copies, [part.tolist() for part in equal_pairs.left_out]) == (0, [[]])
