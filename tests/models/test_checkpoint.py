"""The bytes that a model is known by."""

import json
import re
import shutil

import pytest

from tests.tiny import folder
from toolkit.models import checkpoint
from toolkit.models.checkpoint import fingerprint
from toolkit.starters import starter


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


def test_an_adapter_is_known_with_the_model_that_it_changes(tmp_path):
    shutil.copytree(folder() / "de-en", tmp_path / "base")
    (tmp_path / "adapter").mkdir()
    record = {"base_model_name_or_path": str(tmp_path / "base"), "peft_type": "LORA"}
    (tmp_path / "adapter" / "adapter_config.json").write_text(json.dumps(record))
    before = fingerprint(str(tmp_path / "adapter"))
    assert fingerprint(str(tmp_path / "adapter")) == before
    (tmp_path / "base" / "config.json").write_text("{}")
    assert fingerprint(str(tmp_path / "adapter")) != before
    shutil.rmtree(tmp_path / "base")
    assert fingerprint(str(tmp_path / "adapter")) not in ("", before)


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


@pytest.mark.parametrize("name", ["some/where", "nonsense", "./nowhere", "a/b/c"])
def test_what_has_no_fingerprint(name):
    with pytest.raises(
        ValueError, match=f"wanted a model, got {name!r}, which is neither a starter/NAME, a folder"
    ) as e:
        fingerprint(name)
    assert "\n" not in str(e.value)
