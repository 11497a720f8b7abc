"""A packaged encoder: its weights, its figures and its card, against what is computed here."""

import json
import resource

import numpy as np
import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

from builders.commands.package_encoder import main
from builders.commands.publish_model import main as publish_model
from tests.train.test_encoder import synonyms
from toolkit.encoder.load import load_encoder
from toolkit.publish.encoder import package_encoder
from toolkit.train.encoder import EncoderTraining, train

DEV = [line.partition("\t")[0] for line in synonyms(3).splitlines()]


@pytest.fixture(scope="module")
def training_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    (folder / "pairs.tsv").write_text(synonyms(60))
    (folder / "sts" / "benchmark").mkdir(parents=True)
    (folder / "test.txt").write_text(f"{DEV[1].upper()}\nnobody has ever said this\n")
    lines = [f"g\tf\ty\t{score}\t{score}\t{text}\t{DEV[0]}\n" for text, score in zip(DEV, (5, 3, 0), strict=True)]
    (folder / "sts" / "benchmark" / "sts-dev.csv").write_text("".join(lines))
    train(
        EncoderTraining(
            pairs=[str(folder / "pairs.tsv")],
            output_dir=str(folder / "model"),
            decontaminate=[str(folder / "test.txt")],
            dimensions=8,
            epochs=1,
            threads=1,
        )
    )
    return folder


def flags(training_folder, output):
    model = ["--model", str(training_folder / "model"), "--data", str(training_folder), "--tasks", "benchmark"]
    return [*model, "--output_dir", str(output), "--lang", "en", "--license", "cc0-1.0", "--text", "made-up text"]


@pytest.fixture(scope="module")
def package(training_folder, tmp_path_factory):
    output = tmp_path_factory.mktemp("packaged") / "small"
    assert main(flags(training_folder, output)) == 0
    return output


def test_float8_has_a_quarter_of_the_bytes_and_nearly_the_same_vectors(training_folder, tmp_path):
    record = package_encoder(
        str(training_folder / "model"),
        str(training_folder),
        ["benchmark"],
        str(tmp_path / "small"),
        "en",
        "cc0-1.0",
        "made-up text",
        "float8",
    )
    vectors, float8_vectors = (
        load_encoder(str(folder)).encode(DEV) for folder in (training_folder / "model", tmp_path / "small")
    )
    cosines = (
        (vectors * float8_vectors).sum(1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(float8_vectors, axis=1)
    )
    assert cosines.min() > 0.995 and not np.array_equal(vectors, float8_vectors)
    assert {str(w.dtype) for w in load_file(tmp_path / "small" / "model.safetensors").values()} == {
        "torch.float8_e4m3fn"
    }
    card = (tmp_path / "small" / "README.md").read_text()
    figure = record["evaluation"]["figures"]["STS Benchmark dev"]["value"]
    assert f"| small | - | - | {figure:.1f} |" in card and "made-up text" in card and "license: cc0-1.0" in card
    training = json.loads((tmp_path / "small" / "training.json").read_text())
    assert str(training_folder) not in json.dumps(training) and training["pairs"] > 0


def test_its_weights_are_those_of_the_training_rounded_to_float16(training_folder, package):
    before, after = (load_file(folder / "model.safetensors") for folder in (training_folder / "model", package))
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], before[name].half()) for name in before)
    assert any(not torch.equal(after[name].float(), before[name]) for name in before), "nothing was rounded"


def test_its_figure_is_the_correlation_of_its_cosines(package):
    vectors = load_encoder(str(package)).encode(DEV).astype(np.float64)
    cosines = vectors @ vectors[0] / np.linalg.norm(vectors, axis=1) / np.linalg.norm(vectors[0])
    expected = 100 * np.corrcoef(cosines, (5, 3, 0))[0, 1]
    record = json.loads((package / "measured.json").read_text())
    figure = record["evaluation"]["figures"]["STS Benchmark dev"]
    assert figure["value"] == pytest.approx(expected, abs=0.01) and figure["signature"].startswith("pearson x100")
    assert record["parameters"] == sum(w.numel() for w in load_file(package / "model.safetensors").values())


def test_its_card_shows_what_was_measured(package):
    card, record = (package / "README.md").read_text(), json.loads((package / "measured.json").read_text())
    training = json.loads((package / "training.json").read_text())
    size = sum(path.stat().st_size for path in package.iterdir() if path.name != "README.md")
    assert f"{record['parameters'] / 1e6:.1f}M parameters, stored in float16, {round(size / 1e6, 1)} MB" in card
    assert f"{record['evaluation']['figures']['STS Benchmark dev']['value']:.1f} |" in card
    assert f"{training['pairs']:,} pairs of {training['texts']:,} distinct sentences" in card
    assert f"Mean loss of each epoch: {training['loss'][0]}." in card and "license: cc0-1.0" in card
    assert f"| rows of the word table | {training['rows']['word']:,} |" in card
    assert f"| learning_rate | {training['settings']['learning_rate']} |" in card
    assert not {"pairs", "output_dir", "word_vectors", "processes"} & training["settings"].keys()


def test_texts_of_evaluation_sets_were_left_out_and_the_card_says_so(training_folder, package):
    record = json.loads((package / "training.json").read_text())
    (contamination,) = json.loads((package / "contamination.json").read_text())
    assert record["refused"] == {"contaminated": 1} and record["pairs"] == 59
    assert contamination["texts"] == 2 and contamination["texts equal"] == 1
    assert json.loads((training_folder / "model" / "contamination.json").read_text()) == [contamination]
    assert f"| {contamination['set']} | {contamination['revision']} | 2 |" in (package / "README.md").read_text()


def test_a_full_disk_leaves_the_old_package_whole(training_folder, package, capsys):
    before = {path.name: path.read_bytes() for path in package.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))
        assert main(flags(training_folder, package)) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("parabank package encoder: ") and "make room" in error
    assert {path.name: path.read_bytes() for path in package.iterdir()} == before
    assert list(package.parent.iterdir()) == [package]


def test_the_command_prints_its_figures(training_folder, package, capsys):
    record = json.loads((package / "measured.json").read_text())
    assert main(flags(training_folder, package)) == 0, "its own folder is written again"
    value = record["evaluation"]["figures"]["STS Benchmark dev"]["value"]
    assert capsys.readouterr().out == f"{package}, 0.0 MB: STS Benchmark dev {value:.1f}\n"
    assert json.loads((package / "measured.json").read_text()) == record


def test_a_folder_that_was_not_trained_here_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"wanted a folder that parabank train encoder made, got .* without"):
        package_encoder(str(tmp_path), str(tmp_path), ["benchmark"], str(tmp_path / "x"), "en", "cc0-1.0", "text")


def test_the_librarys_own_trainer_trains_our_module(training_folder, tmp_path):
    encoder = load_encoder(str(training_folder / "model"))
    before = {name: weight.detach().clone() for name, weight in encoder.named_parameters()}
    first, second = zip(*(line.split("\t") for line in synonyms(16).splitlines()), strict=True)
    SentenceTransformerTrainer(
        model=encoder,
        args=SentenceTransformerTrainingArguments(str(tmp_path), max_steps=1, report_to="none", use_cpu=True),
        train_dataset=Dataset.from_dict({"one": first, "other": second}),
        loss=MultipleNegativesRankingLoss(encoder),
    ).train()
    assert all(not before[name].equal(weight) for name, weight in encoder.named_parameters())


def test_an_encoder_is_packaged_without_evaluation_sets_and_says_so(training_folder, tmp_path, capsys, monkeypatch):
    arguments = flags(training_folder, tmp_path / "plain")
    at = arguments.index("--data")
    assert main(arguments[:at] + arguments[at + 2 :]) == 0
    assert capsys.readouterr().out.endswith("MB: not measured, for want of --data\n")
    assert "It was measured on no evaluation set." in (tmp_path / "plain" / "README.md").read_text()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert publish_model([str(tmp_path / "plain"), "someone/plain", "--version", "1.0.0", "--dry_run"]) == 0
    streams = capsys.readouterr()
    assert " new, 0 changed" in streams.out and streams.out.endswith("dry run: nothing was sent\n")
    assert streams.err == "someone/plain: the Hub cannot be reached, so every file is shown as new\n"
