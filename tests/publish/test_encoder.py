import json

import numpy as np
import pytest
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

from tests.encoder.test_training import synonyms
from toolkit.encoder.load import load_encoder
from toolkit.encoder.training import EncoderTraining, train
from toolkit.publish.encoder import package_encoder

DEV = [line.partition("\t")[0] for line in synonyms(3).splitlines()]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    (folder / "pairs.tsv").write_text(synonyms(60))
    (folder / "sts" / "benchmark").mkdir(parents=True)
    lines = [f"g\tf\ty\t{score}\t{score}\t{text}\t{DEV[0]}\n" for text, score in zip(DEV, (5, 3, 0), strict=True)]
    (folder / "sts" / "benchmark" / "sts-dev.csv").write_text("".join(lines))
    train(
        EncoderTraining(
            pairs=[str(folder / "pairs.tsv")], output_dir=str(folder / "model"), dimensions=8, epochs=1, threads=1
        )
    )
    return folder


def test_what_is_packaged_is_half_as_large_and_says_what_it_measures(trained, tmp_path):
    measured = package_encoder(
        str(trained / "model"), str(trained), ["benchmark"], str(tmp_path / "small"), "en", "cc0-1.0", "made-up text"
    )
    one, other = (load_encoder(str(folder)).encode(DEV) for folder in (trained / "model", tmp_path / "small"))
    assert np.allclose(one, other, rtol=2e-3, atol=1e-4) and not np.array_equal(one, other)
    assert {str(w.dtype) for w in load_file(tmp_path / "small" / "model.safetensors").values()} == {"torch.float16"}
    card = (tmp_path / "small" / "README.md").read_text()
    figure = measured["evaluation"]["figures"]["STS Benchmark dev"]["value"]
    assert f"| small | - | - | {figure:.1f} |" in card and "made-up text" in card and "license: cc0-1.0" in card
    training = json.loads((tmp_path / "small" / "training.json").read_text())
    assert str(trained) not in json.dumps(training) and training["pairs"] > 0


def test_a_folder_that_was_not_trained_here_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"wanted a folder that scripts/train_encoder.py made, got .* without"):
        package_encoder(str(tmp_path), str(tmp_path), ["benchmark"], str(tmp_path / "x"), "en", "cc0-1.0", "text")


def test_the_librarys_own_trainer_trains_our_module(trained, tmp_path):
    encoder = load_encoder(str(trained / "model"))
    before = {name: weight.detach().clone() for name, weight in encoder.named_parameters()}
    one, other = zip(*(line.split("\t") for line in synonyms(16).splitlines()), strict=True)
    SentenceTransformerTrainer(
        model=encoder,
        args=SentenceTransformerTrainingArguments(str(tmp_path), max_steps=1, report_to="none", use_cpu=True),
        train_dataset=Dataset.from_dict({"one": one, "other": other}),
        loss=MultipleNegativesRankingLoss(encoder),
    ).train()
    assert all(not before[name].equal(weight) for name, weight in encoder.named_parameters())
