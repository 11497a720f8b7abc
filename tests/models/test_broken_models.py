"""Broken, wrong and missing models, and wrong arguments, end in one line of ours wherever a model is loaded."""

import json
import shutil
from pathlib import Path

import pytest

import toolkit
from tests import families, tiny
from toolkit.generate.sentinels import load_infiller
from toolkit.models.language_model import load_language_model
from toolkit.score.bertscore import load_bertscore
from toolkit.score.fluency import load_fluency
from toolkit.starters import starter

LOADERS = {
    "translator": lambda name: toolkit.load_translator(name, "float32"),
    "encoder": toolkit.load_encoder,
    "language model": load_language_model,
    "infiller": lambda name: load_infiller(name, "float32", "cpu", "en"),
    "fluency": lambda name: load_fluency(name, "float32", "cpu", "en"),
    "bertscore": load_bertscore,
    "paraphraser": toolkit.Paraphraser,
}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def without_unknown(path: Path) -> None:
    vocabulary = json.loads(path.read_text())
    del vocabulary["<unk>"]
    path.write_text(json.dumps(vocabulary))


def without_start(path: Path) -> None:
    for file in (path, path.with_name("generation_config.json")):
        values = json.loads(file.read_text())
        values.pop("decoder_start_token_id", None)
        file.write_text(json.dumps(values))


def refused(call, *words):
    with pytest.raises(ValueError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message and message.startswith("wanted ") and len(message) < 600
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("config.json", cut, "wanted a translator, got"),
        ("config.json", lambda path: path.write_text("[]"), "wanted a translator, got"),
        ("config.json", lambda path: path.write_text('{"model_type": "marian", "d_model": "x"}'), "got"),
        ("config.json", without_start, "wanted decoder_start_token_id below"),
        ("source.spm", cut, "wanted a translator, got"),
        ("source.spm", Path.unlink, "wanted a translator, got"),
        ("vocab.json", cut, "wanted a translator, got"),
        ("vocab.json", without_unknown, "wanted a translator, got"),
        ("tokenizer_config.json", cut, "wanted a translator, got"),
        ("model.safetensors", cut, "wanted a translator, got"),
        ("model.safetensors", lambda path: path.write_bytes(b""), "wanted a translator, got"),
    ],
)
def test_a_damaged_translator(tmp_path, file, damage, message):
    model = tmp_path / "model"
    shutil.copytree(tiny.folder() / "de-en", model)
    damage(model / file)
    refused(lambda: toolkit.load_translator(str(model), "float32"), message, "model")


@pytest.mark.parametrize("file", ["model.safetensors", "modules.json", "paraphrastic_config.json", "words.txt"])
def test_a_damaged_encoder(tmp_path, file):
    shutil.copytree(starter("encoder"), tmp_path / "model")
    (tmp_path / "model" / file).write_bytes(b"\xff\x00{")
    refused(lambda: toolkit.load_encoder(str(tmp_path / "model")), "wanted a sentence encoder, got")


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json", "model.safetensors"])
def test_a_damaged_infiller(tmp_path, file):
    shutil.copytree(starter("infiller"), tmp_path / "model")
    cut(tmp_path / "model" / file)
    refused(lambda: load_infiller(str(tmp_path / "model"), "float32", "cpu", "en"), "got", "model")


@pytest.mark.parametrize("kind", LOADERS)
@pytest.mark.parametrize("name", ["empty", "file", "texts", None, 12, "", " ", ["starter/de-en"]], ids=str)
def test_what_is_no_model(tmp_path, kind, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("Good morning.")
    (tmp_path / "file").write_text("Good morning.")
    place = str(tmp_path / name) if name in ("empty", "file", "texts") else name
    refused(lambda: LOADERS[kind](place), "got")


@pytest.mark.parametrize("kind", ["translator", "language model", "encoder"])
def test_a_model_of_another_kind(kind):
    path = str(families.checkpoint("t5")) if kind != "translator" else str(starter("encoder"))
    refused(lambda: LOADERS[kind](path), "got")


@pytest.mark.parametrize(
    "call",
    [
        lambda: toolkit.load_translator("starter/de-en", device="gpu"),
        lambda: toolkit.load_encoder("starter/encoder", device="gpu"),
        lambda: load_language_model("x", device="gpu"),
        lambda: toolkit.Paraphraser(device="gpu"),
    ],
)
def test_a_device_that_is_none(call):
    refused(call, "wanted a device of this machine, got 'gpu'")


def test_a_path_is_a_name():
    assert toolkit.load_translator(tiny.folder() / "de-en", "float32").name == str(tiny.folder() / "de-en")
    assert toolkit.load_encoder(starter("encoder")).encode(["A dog."]).shape[0] == 1
