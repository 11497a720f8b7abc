"""One call for a local path, a Hub id and a starter, and one line for everything else."""

import shutil

import pytest
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

from tests.gpus import pretend_gpus
from tests.tiny import folder, translator
from tests.tiny import model as tiny_model
from toolkit.starters import resolve, starter
from toolkit.train.optimizer import optimizers
from toolkit.translator.int8 import advice
from toolkit.translator.load import described, load_translator
from toolkit.translator.packed import _can_pack


def test_a_local_path():
    tiny = translator("de-en")
    assert tiny.model.dtype == torch.float32
    assert not tiny.model.training
    assert tiny.signature.endswith("de-en|0.1M|float32")
    assert load_translator(str(folder() / "de-en"), "bfloat16").model.dtype == torch.bfloat16


@pytest.fixture
def old_processor_beside_gpu(monkeypatch):
    """A GPU with bfloat16, and a processor without."""
    pretend_gpus(monkeypatch, 1)
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: False)


@pytest.mark.usefixtures("old_processor_beside_gpu")
def test_beside_a_gpu_models_on_the_processor_are_in_its_numbers():
    on_cpu = load_translator(str(folder() / "de-en"), "auto", "cpu")
    assert on_cpu.signature.endswith("|float32") and not _can_pack(torch.bfloat16)
    assert optimizers(tiny_model(40, seed=0), 1e-3, "muon")[0].products == torch.float32
    assert advice("bfloat16", torch.device("cpu")) is not None


@pytest.mark.parametrize(
    "name", ["nonsense", "no such/folder here", "a/b/c", "./nowhere", "Helsinki-NLP/opus-mt-xx-yy"]
)
def test_what_is_no_translator(name):
    with pytest.raises(ValueError, match="wanted a translator, got") as error:
        load_translator(name)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("name", ["xx-yy", "", "../starter", "de-en/.."])
def test_what_is_no_starter(name):
    with pytest.raises(ValueError, match="wanted a starter model of") as error:
        load_translator(f"starter/{name}")
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="wanted a starter model of"):
        starter(name)
    with pytest.raises(ValueError, match="wanted a starter model of"):
        described(f"starter/{name}")


def test_other_names_stay_what_they_are():
    assert resolve("Helsinki-NLP/opus-mt-de-en") == "Helsinki-NLP/opus-mt-de-en"
    assert resolve("/some/starter/de-en") == "/some/starter/de-en"


def test_a_dtype_that_is_none():
    with pytest.raises(ValueError, match=r"wanted dtype .*got 'int3'"):
        load_translator(str(folder() / "de-en"), "int3")


def test_a_model_without_an_encoder(tmp_path):
    GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"wanted a translator, got .*it is a gpt2 model, which has no encoder"):
        load_translator(str(tmp_path))


def test_an_encoder_is_no_translator(tmp_path):
    BertModel(BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)).save_pretrained(
        tmp_path
    )
    for name, why in (
        ("starter/encoder", "config.json"),
        (str(tmp_path), "it is a bert model, which has no encoder and"),
    ):
        with pytest.raises(ValueError, match=f"wanted a translator, got .*{why}") as error:
            load_translator(name)
        assert "\n" not in str(error.value) and len(str(error.value)) < 500


@pytest.mark.parametrize("missing", ["source.spm", "vocab.json", "model.safetensors", "config.json"])
def test_a_folder_with_a_file_missing(tmp_path, missing):
    shutil.copytree(folder() / "de-en", tmp_path / "model")
    (tmp_path / "model" / missing).unlink()
    with pytest.raises(ValueError, match="wanted a translator, got"):
        load_translator(str(tmp_path / "model"))


def test_a_damaged_file(tmp_path):
    shutil.copytree(folder() / "de-en", tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ValueError, match="wanted a translator, got"):
        load_translator(str(tmp_path / "model"))


def test_nothing_is_known_of_a_model_without_measured_json():
    description = described(str(folder() / "de-en"))
    assert set(description.values()) == {"de-en", None}
