"""The pairs of the low-resource experiment: training, test and validation have no sentence in common."""

import gzip
import json
import sys

import pytest

from research.experiments import low_resource_translation
from research.experiments.low_resource_translation import BITEXT, counted, drawn, held_out, pairs_of


def write(folder, part, pairs):
    file = folder / BITEXT.format(part)
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.writelines(f"{french}\t{english}\n" for english, french in pairs)


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.setattr(low_resource_translation, "PAIRS", 40)
    monkeypatch.setattr(low_resource_translation, "TEST_PAIRS", 30)
    pairs = [(f"sentence {n}", f"phrase {n // 2}") for n in range(200)]  # two sentences have one translation
    write(tmp_path, "train", [*pairs, ("Sentence 1.", "autre phrase")])
    write(tmp_path, "test", pairs[:10])
    write(tmp_path, "validation", pairs[10:20])
    return pairs


def test_no_seed_trains_on_a_sentence_of_the_test(tmp_path, pairs):
    test = held_out(pairs_of(tmp_path, "train"))
    training = [pair for seed in range(2) for pair in drawn(tmp_path, seed, test)]
    assert len(training) == 80 and len(test) == 30
    assert not {english for english, _ in test} & {english for english, _ in training}
    assert not {french for _, french in test} & {french for _, french in training}
    assert not {english for english, _ in training} & {english for english, _ in pairs[:20]}
    assert drawn(tmp_path, 0, test) == drawn(tmp_path, 0, test) != drawn(tmp_path, 1, test)


def test_scores_that_are_averaged_are_of_the_same_test_and_settings(tmp_path, pairs, monkeypatch):
    tests = []

    def scores(model, test, metrics):
        tests.append(test)
        return dict.fromkeys(metrics, float(len(tests)))

    monkeypatch.setattr(low_resource_translation, "augmented", lambda data, arm, seed, test: pairs)
    monkeypatch.setattr(low_resource_translation, "train_translator", lambda *arguments: None)
    monkeypatch.setattr(low_resource_translation, "scores", scores)
    report = tmp_path / "report.json"

    def run(*arguments):
        folders = ["--data", str(tmp_path), "--work", str(tmp_path / "work"), "--json", str(report)]
        monkeypatch.setattr(sys, "argv", ["low_resource_translation", *folders, "--arms", "none", *arguments])
        low_resource_translation.main()

    run("--seeds", "2")
    run("--seeds", "3")  # two are kept
    assert len(tests) == 3 and tests[0] == tests[1] == tests[2]
    assert len(json.loads(report.read_text())["results"]["by_seed"]["none"]) == 3
    with pytest.raises(ValueError, match="holds translators of few pairs of steps 1500, now 10"):
        run("--steps", "10")


def test_unseen_words_are_counted(tmp_path):
    (tmp_path / "pairs.tsv").write_text("A cat.\tUn chat.\nA dog.\tUn chien.\n", encoding="utf-8")
    assert counted(tmp_path / "pairs.tsv", [("a cat", "un chat"), ("the bird", "l'oiseau")]) == {
        "pairs": 2,
        "unseen": 50.0,
    }
