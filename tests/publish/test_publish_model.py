"""Models published on the Hub, and loaded from there as their users do."""

import json
import shutil
import subprocess

import pytest

from tests.publish.test_publish_parabank import ROOT, environment
from tests.tiny import PYTHON
from toolkit.package.checksums import write_checksums
from toolkit.publish.hub import publish
from toolkit.publish.model import _card_on_hub, plan_model
from toolkit.starters import starter

LOAD = """
import json, sys
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, MarianMTModel
import toolkit

text = "The elevator is broken."
encoder = SentenceTransformer("org/encoder", revision="v1.0.0", trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained("org/paraphraser", revision="v1.0.0")
model = AutoModelForSeq2SeqLM.from_pretrained("org/paraphraser", revision="v1.0.0")
words = tokenizer.batch_decode(model.generate(**tokenizer(text, return_tensors="pt")), skip_special_tokens=True)
print(json.dumps({
    "vector": encoder.encode(text).tolist(),
    "ours": toolkit.load_encoder("org/encoder").encode(text).tolist(),
    "generated": words,
    "paraphrases": toolkit.Paraphraser("org/paraphraser").paraphrase([text], n=2),
    "translator": MarianMTModel.from_pretrained("org/translator", revision="v1.0.0").config.d_model,
}))
"""


@pytest.fixture
def packaged(tmp_path):
    """A starter by name, as a folder that was packaged."""

    def copied(name):
        folder = tmp_path / "packaged" / name
        shutil.copytree(starter(name), folder)
        write_checksums(folder)
        return folder

    return copied


def test_published_files_are_those_that_were_packaged(hub, api, packaged, capsys):
    folder = packaged("paraphraser")
    (folder / "optimizer.pt").write_bytes(b"of a training")
    address = publish(api, "org/paraphraser", lambda: plan_model(api, folder, "org/paraphraser", "1.0.0"), public=True)
    assert address == f"{hub.url}/org/paraphraser/tree/v1.0.0"
    there = hub.repositories["models", "org/paraphraser"]
    files = there.commits[there.tags["v1.0.0"]]
    for path in folder.iterdir():
        if path.name not in ("README.md", "SHA256SUMS", "optimizer.pt"):
            assert files[path.name].content == path.read_bytes(), path.name
    assert "model.safetensors" in files["SHA256SUMS"].content.decode()
    assert "12 new" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["encoder", "paraphraser", "de-en"])
def test_cards_name_the_repository(name):
    card = _card_on_hub((starter(name) / "README.md").read_text(), "org/some-model", "1.2.0")
    assert '"org/some-model"' in card and '"."' not in card and "this folder" not in card
    assert "\n\nVersion 1.2.0, tag `v1.2.0`.\n\n" in card


@pytest.mark.slow
def test_published_models_are_loaded_from_the_hub(hub, packaged, tmp_path):
    home = tmp_path / "home"
    for name, folder in (("encoder", "encoder"), ("paraphraser", "paraphraser"), ("translator", "de-en")):
        command = [PYTHON, str(ROOT / "scripts" / "publish_model.py"), str(packaged(folder)), f"org/{name}"]
        process = subprocess.run(
            [*command, "--version", "1.0.0"], env=environment(hub, home), capture_output=True, text=True, timeout=300
        )
        assert process.returncode == 0, process.stderr
    process = subprocess.run(
        [PYTHON, "-c", LOAD], env=environment(hub, tmp_path / "other"), cwd=tmp_path, capture_output=True,
        text=True,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout.splitlines()[-1])
    import toolkit

    text = "The elevator is broken."
    vector = toolkit.load_encoder("starter/encoder").encode(text)
    assert results["vector"] == pytest.approx(vector.tolist(), abs=1e-6)
    assert results["ours"] == pytest.approx(vector.tolist(), abs=1e-6)
    assert len(results["generated"][0]) > 5 and len(results["paraphrases"][0]) == 2
    assert results["translator"] == 256


def test_a_file_that_was_cut_off_since_is_not_published(api, packaged):
    folder = packaged("encoder")
    (folder / "README.md").write_text("# Written anew\n")
    assert plan_model(api, folder, "org/encoder", "1.0.0").files["README.md"].startswith(b"# Written anew\n")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(
        ValueError, match=r"wanted .*model.safetensors as it was packaged, got another: package it again"
    ):
        plan_model(api, folder, "org/encoder", "1.0.0")


def test_folders_that_are_no_packaged_models(api, packaged, tmp_path):
    with pytest.raises(ValueError, match=r"and SHA256SUMS: package it with parabank package"):
        plan_model(api, starter("de-en"), "org/model", "1.0.0")  # as a training leaves it
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=f"wanted a packaged model, got {tmp_path} without a measured.json"):
        plan_model(api, tmp_path, "org/model", "1.0.0")
    with pytest.raises(ValueError, match=r"wanted a version MAJOR.MINOR.PATCH, got 'v1'"):
        plan_model(api, packaged("de-en"), "org/model", "v1")
