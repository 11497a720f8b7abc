"""Whole checkpoints of every family load; a tensor that is missing, of another shape or not finite is one line."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests import families
from tests.tiny import folder
from toolkit.models import checkpoint
from toolkit.models.checkpoint import fingerprint, finite
from toolkit.models.starter import starter
from toolkit.models.translator import load_translator


def changed(tmp_path: Path, name: str, change) -> str:
    """A copy of a family's checkpoint whose tensors `change` has gone over."""
    made = tmp_path / name
    shutil.copytree(families.checkpoint(name), made)
    tensors = load_file(made / "model.safetensors")
    change(tensors)
    save_file({key: value.contiguous() for key, value in tensors.items()}, made / "model.safetensors", {"format": "pt"})
    return str(made)


def load(path: str):
    return load_translator(path, "float32", "cpu", "en", "de")


def half(tensors: dict[str, torch.Tensor]) -> None:
    tensors.update({key: value.half() for key, value in tensors.items()})


@pytest.mark.parametrize("name", families.NAMES)
def test_a_whole_checkpoint_of_any_family_loads_in_silence(tmp_path, name, capfd):
    path = changed(tmp_path, name, half)
    capfd.readouterr()
    found, wanted = load(path).model.state_dict(), families.translator(name, "en", "de").model.state_dict()
    assert found.keys() == wanted.keys()
    for key, tensor in found.items():
        torch.testing.assert_close(tensor, wanted[key], atol=1e-2, rtol=1e-2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", families.NAMES)
def test_a_missing_tensor_is_named(tmp_path, name, capfd):
    gone = {}

    def drop(tensors):
        key = sorted(key for key in tensors if key.endswith("weight") and "shared" not in key and "decoder" in key)[-1]
        gone[key] = tensors.pop(key)

    path = changed(tmp_path, name, drop)
    capfd.readouterr()
    with pytest.raises(ValueError, match=r"wanted all tensors of a .* model, got .* without") as error:
        load(path)
    assert next(iter(gone)) in str(error.value) and "\n" not in str(error.value)
    assert capfd.readouterr() == ("", ""), "no report of transformers' beside it"


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
    assert finite(torch.tensor([1.0, -3e38])) and finite(torch.ones(2, 2, dtype=torch.bfloat16))
    for bad in (float("nan"), float("inf"), float("-inf")):
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            assert not finite(torch.tensor([[1.0, bad], [0.0, 2.0]], dtype=dtype))


def test_a_fingerprint_is_of_bytes_not_of_times_or_places(tmp_path):
    shutil.copytree(folder() / "de-en", tmp_path / "a")
    shutil.copytree(folder() / "de-en", tmp_path / "b")
    before = fingerprint(str(tmp_path / "a"))
    assert re.fullmatch("sha256:[0-9a-f]{64}", before) and before == fingerprint(str(tmp_path / "b"))
    for noise in ("README.md", "optimizer.pt", ".cache/x.json", "checkpoint-5/model.safetensors"):
        (tmp_path / "a" / noise).parent.mkdir(exist_ok=True)
        (tmp_path / "a" / noise).write_text("x")
    assert fingerprint(str(tmp_path / "a")) == before
    assert fingerprint("starter/de-en") == fingerprint(str(starter("de-en"))) != fingerprint("starter/en-de")
    assert fingerprint("starter/encoder").startswith("sha256:")


@pytest.mark.parametrize(
    "file", ["model.safetensors", "config.json", "vocab.json", "source.spm", "tokenizer_config.json"]
)
def test_one_byte_in_place_is_another_fingerprint(tmp_path, file):
    shutil.copytree(folder() / "de-en", tmp_path / "a")
    before, path = fingerprint(str(tmp_path / "a")), tmp_path / "a" / file
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(bytes(data))
    assert fingerprint(str(tmp_path / "a")) != before


def test_the_fingerprint_of_a_hub_id_is_its_commit_in_the_cache(tmp_path, monkeypatch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    repo = tmp_path / "models--some--translator"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text(commit)
    (repo / "snapshots" / commit).mkdir(parents=True)
    (repo / "snapshots" / commit / "config.json").write_text(json.dumps({}))
    download = checkpoint.hf_hub_download
    monkeypatch.setattr(checkpoint, "hf_hub_download", lambda name, file: download(name, file, cache_dir=tmp_path))
    assert fingerprint("some/translator") == f"commit:{commit}"
    (repo / "snapshots" / commit / "config.json").rename(repo / "snapshots" / commit / "modules.json")
    assert fingerprint("some/translator") == f"commit:{commit}", "an encoder"


@pytest.mark.parametrize("name", ["some/where", "nonsense", "./nowhere", "a/b/c", ""])
def test_what_has_no_fingerprint(name):
    with pytest.raises(
        ValueError, match=f"wanted a model, got {name!r}, which is neither a starter/NAME, a folder"
    ) as e:
        fingerprint(name)
    assert "\n" not in str(e.value)
