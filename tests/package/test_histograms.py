"""Histograms and examples, counted again in plain Python."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import write_run
from tests.package.test_counts import random_rows
from toolkit.data.database import database
from toolkit.data.rows import Scores, measured_parts
from toolkit.package._histograms import BINS, LONGEST, SCORES, score_histograms
from toolkit.package.build import package_parabank
from toolkit.package.load import load_parabank
from toolkit.system.whole_files import read_record


@pytest.fixture(params=range(3))
def figures_and_pairs(request, tmp_path, demo_models):
    """The figures of a parabank of random rows, and its pairs."""
    rows = random_rows(request.param, 60)
    run = write_run(tmp_path / "bank.shards", rows, 13)
    package_parabank(run, tmp_path / "bank", "bank", "1.0.0", "mit", demo_models)
    loaded = load_parabank(tmp_path / "bank")
    pairs = [pair for split in loaded for pair in loaded[split]]
    return read_record(tmp_path / "bank" / "statistics.json"), pairs


def score_of(pair, name):
    scores = Scores(**{key: pair[key] for key in Scores.__dataclass_fields__})
    return getattr(scores, name)


def test_every_pair_with_a_score_is_in_its_bin(figures_and_pairs):
    figures, pairs = figures_and_pairs
    expected = {"dual", "dual_per_token", "translation_score", "semantic", "trigram_overlap", "judgment"}
    expected |= {"given_reference", "relative_fluency"}
    assert set(figures["scores"]) == expected
    for name, bins in figures["scores"].items():
        scores = [score for pair in pairs if (score := score_of(pair, name)) is not None]
        expected = [0] * BINS
        for score in scores:
            expected[min(max(math.floor((score - bins["least"]) / bins["width"]), 0), BINS - 1)] += 1
        assert bins["pairs"] == expected and sum(expected) == len(scores) > 0
        assert bins["least"] <= min(scores) and max(scores) <= bins["least"] + BINS * bins["width"] + 1e-9


def test_every_score_of_a_candidate_has_a_histogram_or_is_a_part_of_one():
    parts = {"changed_words", "after_changes", "unchanged_words", "ranking"}
    parts |= {"after_candidate", "after_candidate_total", "after_candidate_least"}
    assert set(Scores.__dataclass_fields__) - set(measured_parts(SCORES)) == parts


def test_a_score_on_an_edge_is_in_the_bin_above_it(tmp_path):
    """Such as 29/50 for intersection over union, which divided by 0.02 is less than 29."""
    scores = [number / 50 for number in range(51)]
    file = str(tmp_path / "pairs.parquet")
    empty = {
        name: [None] * 51
        for name in (
            *("forward_logprob", "backward_logprob", "semantic"),
            *("trigram_overlap", "fluency", "diversity", "edit_ratio"),
            *("given_reference", "after_reference", "relative_fluency"),
        )
    }
    counts = {"forward_tokens": [None] * 51, "backward_tokens": [None] * 51}
    pq.write_table(
        pa.table(empty | counts | {"intersection_over_union": scores, "judgment": [2.0 * n for n in range(51)]}), file
    )
    with database() as connection:
        histograms = score_histograms(connection, [file])
    assert histograms["intersection_over_union"]["pairs"] == histograms["judgment"]["pairs"] == [1] * 49 + [2]


def test_lengths_are_counted_in_words(figures_and_pairs):
    figures, pairs = figures_and_pairs
    expected = [0] * (LONGEST + 1)
    for pair in pairs:
        expected[min(len(pair["sentence2"].strip().split(" ")), LONGEST)] += 1
    assert figures["length_histograms"]["paraphrases"] == expected
    assert sum(figures["length_histograms"]["references"]) == figures["total"]["kept"]


def test_the_lowest_examples_are_the_lowest(figures_and_pairs):
    figures, pairs = figures_and_pairs
    examples = figures["examples"]
    assert examples["score"] == "dual"
    duals = sorted(score for pair in pairs if (score := score_of(pair, "dual")) is not None)
    assert [example["score"] for example in examples["lowest"]] == pytest.approx(duals[:5])
    texts = {(pair["id"], pair["sentence1"], pair["sentence2"]) for pair in pairs}
    for example in (*examples["lowest"], *examples["random"]):
        assert (example["id"], example["sentence1"], example["sentence2"]) in texts
    assert len(examples["random"]) == 5
