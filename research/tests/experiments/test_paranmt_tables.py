"""ParaNMT's tables 4 and 5: which pairs the encoders are trained on, and what is written of them."""

import itertools
import json
import types

import pytest

from research.experiments import paranmt_tables as tables
from tests.conftest import write_run
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.data.shards import read_shard
from toolkit.evaluate.sts import read_benchmark
from toolkit.package.parquet import finished_shards
from toolkit.select.deciles import DecileSettings
from toolkit.train.encoder import EncoderTraining
from toolkit.train.encoder_pairs import TextPair

NOUNS = ["dog", "cat", "bird", "horse", "child", "man", "woman", "boat", "train", "car"]


def row(number: int, text: str, score: float) -> Row:
    scores = Scores(-float(number), 4, semantic=score, trigram_overlap=1 - score)
    candidate = Candidate(text, "beam", rank=0, scores=scores)
    return Row(
        f"demo-{number}",
        "demo",
        "s",
        "de",
        f"The {NOUNS[number % 10]} sees me {number} times.",
        "en",
        "train",
        candidates=[candidate],
    )


@pytest.fixture
def shards(tmp_path):
    """Forty pairs, every fourth a copy but for case and punctuation; the scores rise with the number."""
    rows = [row(n, f"I am seen by the {NOUNS[n % 10]}.", n / 40) for n in range(40)]
    for copy in rows[::4]:
        copy.candidates[0].text = copy.reference.upper().rstrip(".") + "!"
    return write_run(tmp_path / "demo-paranmt.shards", rows, shard_rows=7)


@pytest.fixture
def judge(tmp_path):
    path = tmp_path / "sts-dev.csv"
    lines = [
        f"o\ts\t1\t{n}\t{n % 6}\tThe {first} sees.\tThe {second} is seen.\n"
        for n, (first, second) in enumerate(itertools.pairwise(NOUNS))
    ]
    path.write_text("".join(lines))

    class Small(tables.Judge):
        def __init__(self):
            self.benchmark, self.years = (
                read_benchmark(path),
                {year: [read_benchmark(path)] for year in (2012, 2013, 2014, 2015)},
            )

    return Small()


def test_copies_are_left_out_before_the_pairs_are_ranked(shards):
    differing = tables.without_copies(shards)
    rows = [record for shard in finished_shards(differing) for record in read_shard(shard)]
    assert [record.candidates[0].reason for record in rows] == ["copy", None, None, None] * 10
    assert all(record.paraphrases for shard in finished_shards(shards) for record in read_shard(shard))  # as they were
    parts = [tables.chosen(differing, DecileSettings("semantic", deciles)) for deciles in tables.fifths()]
    assert [len(pairs) for pairs in parts] == [6] * 5
    numbers = [[int(pair.reference.removeprefix("demo-")) for pair in pairs] for pairs in parts]
    assert list(itertools.chain(*numbers)) == [n for n in range(40) if n % 4]  # lowest scores first
    by_overlap = tables.chosen(differing, DecileSettings("trigram_overlap", "9,10"))
    assert [pair.reference for pair in by_overlap] == [pair.reference for pair in parts[0]]


def stub_builder(monkeypatch, rows):
    """As many rows as the bitext has lines, in place of ParaNMT."""

    def make(builder, bitext, work):
        count = len(bitext.read_text().splitlines())
        write_run(work / f"{bitext.stem}-paranmt.shards", rows[:count], shard_rows=7)
        (work / f"{bitext.stem}-paranmt").mkdir()

    monkeypatch.setattr(tables.corpora, "sts_sentences", lambda data: set())
    monkeypatch.setattr(tables.corpora, "references", lambda data, name, forbidden: [("s", "t")] * 40)
    monkeypatch.setattr(tables.corpora, "make", make)


def test_a_run_of_another_number_of_references_is_not_taken(shards, tmp_path, monkeypatch):
    stub_builder(monkeypatch, list(tables.rows_of(shards)))
    data, work = tmp_path / "data", tmp_path / "work"
    for name, count in (("tatoeba", 30), ("tatoeba", 30), ("news", 20)):
        assert len(list(tables.rows_of(tables.translate(data, work, name, count)))) == count
    with pytest.raises(ValueError, match="holds tatoeba of references 30, now 40"):
        tables.translate(data, work, "tatoeba", 40)


def test_what_a_corpus_is_like(shards):
    rows = list(tables.rows_of(shards))
    pairs = tables.translated(rows)
    assert pairs[0].pair == TextPair("demo-1", "The cat sees me 1 times.", "I am seen by the cat.")
    statistics = tables.statistics_of(rows, pairs)
    assert (statistics["references"], statistics["copies"], statistics["length_mean"]) == (40, 10, 7)
    assert statistics["paraphrase_score_mean"] == pytest.approx(sum(n / 40 for n in range(40) if n % 4) / 30)


@pytest.mark.slow
def test_tables_end_to_end(shards, judge, tmp_path, capsys, monkeypatch):
    rows = list(tables.rows_of(shards))
    stub_builder(monkeypatch, rows)
    options = types.SimpleNamespace(
        data=tmp_path, work=tmp_path / "work", sources=["tatoeba", "news"], references=20, filtered=30, models=["WORD"],
        seeds=[0, 1],
    )  # fmt: skip
    base = EncoderTraining(pairs=[], output_dir="", epochs=1, batch=4, mega_batch=2, dimensions=8)
    sources, filters = tables.table_sources(options, judge, base), tables.table_filters(options, judge, base)
    assert sources["pairs"] == 15 and list(sources["corpora"]) == ["tatoeba", "news"]
    assert sources["corpora"]["news"]["models"]["WORD"]["pairs"] == 15
    assert sources["corpora"]["news"]["statistics"]["references"] == 20
    assert {deciles: models["WORD"]["pairs"] for deciles, models in filters["parts"]["semantic"].items()} == {
        "1,2": 5, "3,4": 4, "5,6": 5, "7,8": 4, "9,10": 4,
    }  # fmt: skip
    assert filters["all"]["WORD"]["pairs"] == 4
    means = filters["model_average"]["trigram_overlap"]
    assert (
        filters["best"]["trigram_overlap"][tables.DEV]
        == max(means.values())
        == means[filters["best"]["trigram_overlap"]["deciles"]]
    )
    assert len(filters["all"]["WORD"]["untrained"]["pearson"][tables.DEV]["values"]) == 2
    assert json.loads(json.dumps(filters))["paper"]["semantic"] == 83.3
    assert "news, WORD, untrained" in capsys.readouterr().out
