"""Whole checkpoints of every family load; a tensor that is missing, of another shape or not finite is one line."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from tests import families
from tests.tiny import ENVIRONMENT, PYTHON, ROOT
from toolkit.encoder.load import load_encoder
from toolkit.models.weights import _finite
from toolkit.pair_classifier.classifier import new_classifier
from toolkit.train.transformer_encoder import _load_base
from toolkit.translator.load import load_translator


def changed(tmp_path: Path, name: str, change) -> str:
    """A copy of a family's checkpoint whose tensors `change` has gone over."""
    folder = tmp_path / name
    shutil.copytree(families.checkpoint(name), folder)
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(
        {key: value.contiguous() for key, value in tensors.items()}, folder / "model.safetensors", {"format": "pt"}
    )
    return str(folder)


def load(path: str):
    return load_translator(path, "float32", "cpu", "en", "de")


def half(tensors: dict[str, torch.Tensor]) -> None:
    tensors.update({key: value.half() for key, value in tensors.items()})


@pytest.mark.parametrize("name", families.NAMES)
def test_a_whole_checkpoint_of_any_family_loads_in_silence(tmp_path, name, capfd, monkeypatch):
    path, whole = changed(tmp_path, name, half), families.plain_model(families.translator(name, "en", "de"))
    monkeypatch.setattr("toolkit.translator.load.prepare_for_cpu", lambda *_: None)  # its layers cannot be looked at
    capfd.readouterr()
    actual, expected = load(path).model.state_dict(), whole.state_dict()
    assert actual.keys() == expected.keys()
    for key, tensor in actual.items():
        torch.testing.assert_close(tensor, expected[key], atol=1e-2, rtol=1e-2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", families.NAMES)
def test_a_missing_tensor_is_named(tmp_path, name, capfd):
    missing = {}

    def drop(tensors):
        key = sorted(key for key in tensors if key.endswith("weight") and "shared" not in key and "decoder" in key)[-1]
        missing[key] = tensors.pop(key)

    path = changed(tmp_path, name, drop)
    capfd.readouterr()
    with pytest.raises(ValueError, match=r"wanted a model with all its tensors, got .* without") as error:
        load(path)
    assert next(iter(missing)) in str(error.value) and "\n" not in str(error.value)
    assert capfd.readouterr() == ("", ""), "no report of transformers' beside it"


def test_a_table_of_sines_is_computed_and_a_learnt_one_is_missing(tmp_path):
    def drop(tensors):
        del tensors["model.encoder.embed_positions.weight"], tensors["model.decoder.embed_positions.weight"]

    translator, whole = load(changed(tmp_path, "pegasus", drop)), families.translator("pegasus", "en", "de")
    for side in ("encoder", "decoder"):
        key = f"model.{side}.embed_positions.weight"
        assert torch.equal(translator.model.get_parameter(key), whole.model.get_parameter(key))
    with pytest.raises(ValueError, match=r"without model.decoder.embed_positions.weight and 1 more"):
        load(changed(tmp_path, "bart", drop))


@pytest.mark.parametrize("name", ["marian", "bart", "t5"])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_tensor_that_is_not_finite_is_named(tmp_path, name, number):
    key = "decoder.block.1.layer.2.DenseReluDense.wo.weight" if name == "t5" else "model.decoder.layers.1.fc2.weight"

    def spoil(tensors):
        tensors[key][1, 2] = number

    with pytest.raises(
        ValueError, match=re.escape(f"wanted finite weights, got NaN or infinity in {key} of ")
    ) as error:
        load(changed(tmp_path, name, spoil))
    assert "\n" not in str(error.value)


def test_a_tensor_of_another_shape_is_named(tmp_path):
    def cut(tensors):
        tensors["model.decoder.layers.1.fc2.weight"] = tensors["model.decoder.layers.1.fc2.weight"][:, :5]

    with pytest.raises(ValueError, match=r"wanted model.decoder.layers.1.fc2.weight of shape \(16, 32\), .*\(16, 5\)"):
        load(changed(tmp_path, "bart", cut))


def test_finite():
    assert _finite(torch.tensor([1.0, -3e38])) and _finite(torch.ones(2, 2, dtype=torch.bfloat16))
    for bad in (float("nan"), float("inf"), float("-inf")):
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            assert not _finite(torch.tensor([[1.0, bad], [0.0, 2.0]], dtype=dtype))
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        assert _finite(torch.tensor([1.0, -3.0]).to(dtype)) and not _finite(torch.tensor([1.0, float("nan")]).to(dtype))


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    """A sentence encoder on a BERT of two layers that was saved without its pooler, as most are."""
    folder = tmp_path_factory.mktemp("bert")
    entries = {word: n for n, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "dog", "hound"))}
    words = Tokenizer(models.WordLevel(entries, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder / "bert")
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(entries), **shape)).save_pretrained(folder / "bert")
    SentenceTransformer(str(folder / "bert"), device="cpu").save(str(folder / "encoder"))
    tensors = load_file(folder / "encoder" / "model.safetensors")
    rest = {name: tensor for name, tensor in tensors.items() if "pooler" not in name}
    assert len(rest) == len(tensors) - 2
    save_file(rest, folder / "encoder" / "model.safetensors", {"format": "pt"})
    return folder / "encoder"


LOADERS = {
    "load_encoder": load_encoder,
    "load_base": lambda name: _load_base(name, 16, 0),
    "new_classifier": lambda name: new_classifier(name, 16, 0),
}


@pytest.mark.parametrize("loader", LOADERS)
def test_an_encoder_may_lack_its_pooler_and_nothing_else(loader, bert, tmp_path, capfd):
    LOADERS[loader](str(bert))
    shutil.copytree(bert, tmp_path / "less")
    tensors = load_file(bert / "model.safetensors")
    name = next(key for key in tensors if key.endswith("layer.1.output.dense.weight"))
    del tensors[name]
    save_file(tensors, tmp_path / "less" / "model.safetensors", {"format": "pt"})
    capfd.readouterr()
    with pytest.raises(ValueError, match=r"wanted a model with all its tensors, got '.*less' without .*layer.1.output"):
        LOADERS[loader](str(tmp_path / "less"))
    assert "LOAD REPORT" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("loader", LOADERS)
def test_an_encoder_that_is_not_finite_is_named(loader, bert, tmp_path):
    shutil.copytree(bert, tmp_path / "nan")
    tensors = load_file(bert / "model.safetensors")
    key = next(key for key in tensors if key.endswith("layer.0.output.dense.weight"))
    save_file(tensors | {key: tensors[key] * float("nan")}, tmp_path / "nan" / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=r"got NaN or infinity in .*layer.0.output.dense.weight of '.*nan'"):
        LOADERS[loader](str(tmp_path / "nan"))


SILENT = """
import toolkit
toolkit.load_translator("starter/de-en")
toolkit.load_encoder("starter/encoder")
"""


@pytest.mark.slow
def test_a_program_that_loads_the_starters_says_nothing(bert):
    """In a process of its own: what `transformers` logs goes past what a test captures."""
    code = f"{SILENT}toolkit.load_encoder({str(bert)!r})\n"
    process = subprocess.run([PYTHON, "-c", code], env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
