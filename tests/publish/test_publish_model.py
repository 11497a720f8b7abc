"""Models published on the Hub, and loaded from there as their users do."""

import json
import subprocess

import pytest

from tests.publish.test_publish_parabank import ROOT, environment
from tests.tiny import PYTHON
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


def test_published_files_are_those_of_the_folder(hub, api, capsys):
    folder = starter("paraphraser")
    address = publish(api, "org/paraphraser", lambda: plan_model(api, folder, "org/paraphraser", "1.0.0"), public=True)
    assert address == f"{hub.url}/org/paraphraser/tree/v1.0.0"
    there = hub.repositories["models", "org/paraphraser"]
    files = there.commits[there.tags["v1.0.0"]]
    for path in folder.iterdir():
        if path.name != "README.md":
            assert files[path.name].content == path.read_bytes(), path.name
    assert "model.safetensors" in files["SHA256SUMS"].content.decode()
    assert "12 new" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["encoder", "paraphraser", "de-en"])
def test_cards_name_the_repository(name):
    card = _card_on_hub((starter(name) / "README.md").read_text(), "org/some-model", "1.2.0")
    assert '"org/some-model"' in card and '"."' not in card and "this folder" not in card
    assert "\n\nVersion 1.2.0, tag `v1.2.0`.\n\n" in card


@pytest.mark.slow
def test_published_models_are_loaded_from_the_hub(hub, tmp_path):
    home = tmp_path / "home"
    for name, folder in (("encoder", "encoder"), ("paraphraser", "paraphraser"), ("translator", "de-en")):
        command = [PYTHON, str(ROOT / "scripts" / "publish_model.py"), str(starter(folder)), f"org/{name}"]
        done = subprocess.run(
            [*command, "--version", "1.0.0"], env=environment(hub, home), capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [PYTHON, "-c", LOAD], env=environment(hub, tmp_path / "other"), cwd=tmp_path, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    import toolkit

    text = "The elevator is broken."
    vector = toolkit.load_encoder("starter/encoder").encode(text)
    assert found["vector"] == pytest.approx(vector.tolist(), abs=1e-6)
    assert found["ours"] == pytest.approx(vector.tolist(), abs=1e-6)
    assert len(found["generated"][0]) > 5 and len(found["paraphrases"][0]) == 2
    assert found["translator"] == 256


def test_folders_that_are_no_models(api, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=f"wanted a packaged model, got {tmp_path} without a measured.json"):
        plan_model(api, tmp_path, "org/model", "1.0.0")
    with pytest.raises(ValueError, match=r"wanted a version MAJOR.MINOR.PATCH, got 'v1'"):
        plan_model(api, starter("de-en"), "org/model", "v1")
