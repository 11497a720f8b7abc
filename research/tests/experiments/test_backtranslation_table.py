"""The pairs of the back-translation experiment, and what its arms train on."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from research.benchmarks.data import TATOEBA
from research.experiments import backtranslation_table, low_resource_translation
from research.experiments.backtranslation_table import ARMS, BITEXT, added, drawn, held_out, pairs_of


def write(folder, part, pairs):
    file = folder / TATOEBA.format(part)
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.writelines(f"{german}\t{english}\tattribution\n" for german, english in pairs)


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.setattr(low_resource_translation, "TEST_PAIRS", 30)
    pairs = [(f"Satz {n // 2}", f"sentence {n}") for n in range(300)]  # two sentences have one translation
    write(tmp_path, "train", [*pairs, ("Anderer Satz", "Sentence 1.")])
    write(tmp_path, "test", pairs[:10])
    write(tmp_path, "validation", pairs[10:20])
    return pairs


def test_no_seed_trains_on_a_sentence_of_the_test(tmp_path, pairs):
    test = held_out(pairs_of(tmp_path, "train"))
    draws = [drawn(tmp_path, seed, test, 30, 40) for seed in range(2)]
    for bitext, rest in draws:
        assert (len(bitext), len(rest)) == (30, 40) and not set(bitext) & set(rest)
    training_pairs = [pair for draw in draws for part in draw for pair in part]
    assert len(test) == 30
    assert not {english for _, english in test} & {english for _, english in training_pairs}
    assert not {german for german, _ in test} & {german for german, _ in training_pairs}
    assert not {english for _, english in training_pairs} & {english for _, english in pairs[:20]}
    assert drawn(tmp_path, 0, test, 30, 40) == draws[0] != draws[1]


@pytest.mark.parametrize("option", ["--pairs", "--sentences", "--steps", "--more_steps", "--learning_rate"])
def test_scores_that_are_averaged_are_of_the_same_test_and_settings(tmp_path, pairs, monkeypatch, option):
    tests = []

    def scores(model, test, metrics):
        tests.append(test)
        return dict.fromkeys(metrics, float(len(tests)))

    def translated_back(folder, model, threads):
        return folder / "real.tsv"

    monkeypatch.setattr(backtranslation_table, "train_translator", lambda folder, name, *more, **changed: folder)
    monkeypatch.setattr(backtranslation_table, "translated_back", translated_back)
    monkeypatch.setattr(backtranslation_table, "scores", scores)
    report, settings = tmp_path / "report.json", ["--pairs", "30", "--sentences", "40", "--arms", "bitext"]

    def run(*arguments):
        folders = ["--data", str(tmp_path), "--work", str(tmp_path / "work"), "--json", str(report)]
        monkeypatch.setattr(sys, "argv", ["backtranslation_table", *folders, *settings, *arguments])
        backtranslation_table.main()

    run("--seeds", "2")
    run("--seeds", "3")  # two are kept, with two figures each
    assert len(tests) == 6 and all(test == tests[0] for test in tests)
    assert json.loads(report.read_text())["results"]["test_pairs"] == 30
    with pytest.raises(ValueError, match=f"holds back-translation of {option[2:]} .*, now 20"):
        run("--seeds", "2", option, "20")


def test_arms_differ_in_their_synthetic_pairs_alone():
    folder, synthetic = Path("0"), Path("0/synthetic.tsv")
    settings = {arm: added(folder, arm, synthetic, 20, 90) for arm in ARMS}
    assert settings == {
        BITEXT: {},
        "mixed": {"synthetic": ["0/synthetic.tsv"], "upsample": 1},
        "upsampled": {"synthetic": ["0/synthetic.tsv"], "upsample": 4},
        "real": {"synthetic": ["0/real.tsv"], "upsample": 1},
    }
