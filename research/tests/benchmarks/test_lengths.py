"""Sentences of a length, the model of each length, and an earlier commit that does the same work."""

import gzip
import random
from pathlib import Path

import pytest

from research.benchmarks import bench_lengths, opus_size
from research.benchmarks.engines import Job
from research.reports.figures import ROOT


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three sentences of two words in Tatoeba, two of them and one of five words in the news."""
    texts = {
        "bitext/tatoeba/deu-eng.test.tsv.gz": ["a b\tA B", "c d\tC D", "e f\tE F", "g\tG"],
        "bitext/news/deu-eng.tsv.gz": ["n m\tN M", "o p\tO P", "q r s t u\tQ"],
    }
    for name, lines in texts.items():
        (tmp_path / name).parent.mkdir(parents=True)
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
    return tmp_path


def test_sentences_have_exactly_so_many_words_and_are_the_newss_only_where_tatoeba_has_too_few(data):
    tatoeba = {("a b", "A B"), ("c d", "C D"), ("e f", "E F")}
    assert set(bench_lengths.of_length(data, 2, 3, 0)) == tatoeba
    assert set(bench_lengths.of_length(data, 2, 5, 0)) == tatoeba | {("n m", "N M"), ("o p", "O P")}
    assert bench_lengths.of_length(data, 5, 1, 0) == [("q r s t u", "Q")]
    with pytest.raises(SystemExit, match="wanted 2 sentences of 5 words, got 1: give a smaller --sentences"):
        bench_lengths.of_length(data, 5, 2, 0)


@pytest.mark.slow
def test_lengths_differ_in_the_row_and_the_bias_of_eos_alone():
    sources = [opus_size.random_ids(random.Random(n), 4, 200) for n in range(4)]
    model = opus_size.endless_model(200, sources, 0, 1.0)
    before = {name: weights.clone() for name, weights in model.state_dict().items()}
    opus_size.fit_length(model, sources, 6, 18)
    assert opus_size.mean_tokens(model, sources, 18) == pytest.approx(6, abs=1.5)
    for name, weights in model.state_dict().items():
        changed = {tuple(place[-2:]) for place in (weights != before[name]).nonzero().tolist()}
        if weights.shape[0] == 200:
            assert {row for row, _ in changed} == {opus_size.EOS}
        else:
            assert changed <= {(0, place) for place in (opus_size.EOS, opus_size.UNK, 199)}, name


@pytest.mark.slow
def test_another_checkout_does_the_same_work_by_its_own_engine(tmp_path: Path):
    sources = [[5, 6, 7, opus_size.EOS], [9, opus_size.EOS]]
    model = opus_size.endless_model(200, sources, 0, None)
    opus_size.fit_length(model, sources, 5, 10)
    model.save_pretrained(tmp_path / "hf")
    job = Job(tmp_path, sources, [[], []], 10, 10, 10, 2, 1, 1, 0)
    figures = bench_lengths.run(job, ["ours_float32"], ROOT)
    assert list(figures) == ["ours_float32", "ours_float32_constrained", "before_float32"]
    assert figures["before_float32"]["mean_tokens"] == figures["ours_float32"]["mean_tokens"]
    assert figures["before_float32"]["tokens_per_row"] == figures["ours_float32"]["tokens_per_row"]
