"""A packaged translator: its weights, its figures and its card, against what is computed here."""

import json
import re
import resource
import shutil

import pytest
import sacrebleu
import torch
from safetensors.torch import load_file, save_file
from transformers import MarianMTModel, MarianTokenizer

from builders.commands.package_translator import main
from tests.tiny import DEMO
from toolkit import load_translator
from toolkit.publish.translator import _translator_card
from toolkit.starters import starter

PAIRS = [line.split("\t")[:2] for line in DEMO.read_text(encoding="utf-8").splitlines()[:24]]
TEXT = "made-up text (CC0)"


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    """A starter as its training left it: float32 weights that float16 has to round, and the machine's settings."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    left_out = shutil.ignore_patterns("README.md", "measured.json", "idf.tsv.gz")
    shutil.copytree(starter("de-en"), folder, ignore=left_out)
    generator = torch.Generator().manual_seed(0)
    weights = load_file(folder / "model.safetensors")
    noisy = {n: w.float() * (1 + 1e-5 * torch.randn(w.shape, generator=generator)) for n, w in weights.items()}
    save_file(noisy, folder / "model.safetensors", {"format": "pt"})
    record = json.loads((folder / "training.json").read_text())
    record["settings"] |= {"bitext": ["/home/me/secret.tsv"], "output_dir": "/home/me/run", "validation": []}
    (folder / "training.json").write_text(json.dumps(record))
    return folder


@pytest.fixture(scope="module")
def bitext(tmp_path_factory):
    path = tmp_path_factory.mktemp("bitext") / "held-out.tsv"
    path.write_text("".join("\t".join(pair) + "\n" for pair in PAIRS))
    return path


def flags(model, bitext, output):
    languages = ["--source_lang", "de", "--lang", "en", "--license", "cc0-1.0", "--text", TEXT]
    return ["--model", str(model), "--bitext", str(bitext), "--output_dir", str(output), *languages]


@pytest.fixture(scope="module")
def package(model_folder, bitext, tmp_path_factory):
    output = tmp_path_factory.mktemp("packaged") / "small"
    assert main(flags(model_folder, bitext, output)) == 0
    return output


def test_its_weights_are_those_of_the_training_rounded_to_float16(model_folder, package):
    before, after = load_file(model_folder / "model.safetensors"), load_file(package / "model.safetensors")
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], before[name].half()) for name in before)
    assert any(not torch.equal(after[name].float(), before[name]) for name in before), "nothing was rounded"


@pytest.mark.slow
def test_its_bleu_is_that_of_transformers_and_sacrebleu(package):
    """Sentence by sentence, so without padding, and with the tokenizer that was saved."""
    tokenizer, model = MarianTokenizer.from_pretrained(package), MarianMTModel.from_pretrained(package).float()
    outputs = []
    for source, _ in PAIRS:
        inputs = tokenizer(source, return_tensors="pt")
        ids = model.generate(**inputs, num_beams=5, max_new_tokens=2 * inputs["input_ids"].shape[1] + 10)
        outputs.append(tokenizer.decode(ids[0], skip_special_tokens=True))
    expected = sacrebleu.corpus_bleu(outputs, [[reference for _, reference in PAIRS]]).score
    record = json.loads((package / "measured.json").read_text())
    assert 10 < expected < 90
    assert record["bleu"] == pytest.approx(expected, abs=0.5)  # a tie of two hypotheses may fall the other way
    assert record["signature"] == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}|beam:5"
    assert record["pairs"] == 24


def test_measured_json_describes_the_folder(package):
    record = json.loads((package / "measured.json").read_text())
    assert (record["source_lang"], record["lang"], record["license"]) == ("de", "en", "cc0-1.0")
    assert record["text"] == TEXT and "toolkit" in record
    model = MarianMTModel.from_pretrained(package)
    assert record["parameters"] == sum(p.numel() for p in model.parameters() if p.requires_grad)
    size = sum(path.stat().st_size for path in package.iterdir() if path.name not in ("README.md", "measured.json"))
    assert record["megabytes"] == round(size / 1e6, 1)


def test_the_card_says_what_a_training_began_with_and_how_many_pairs_are_synthetic(package):
    record, training = (json.loads((package / f"{name}.json").read_text()) for name in ("measured", "training"))
    training["settings"]["base_model"] = "starter/de-en"
    training["pairs"] |= {"train": 12, "synthetic": {"train": 34, "empty": 1}}
    card = _translator_card(record, training)
    assert f"Trained on {TEXT}. 12 pairs. 34 pairs more have a machine translation as their source" in card
    assert "The training began with the weights of starter/de-en. Licence of the model: cc0-1.0." in card


def test_the_card_shows_what_was_measured(package):
    card, record = (package / "README.md").read_text(), json.loads((package / "measured.json").read_text())
    training = json.loads((package / "training.json").read_text())
    assert re.search(r"\| BLEU, (\d+) held-out pairs \| ([\d.]+) \|", card).groups() == ("24", str(record["bleu"]))
    signature = record["signature"].replace("|", "\\|")  # a bar ends a cell, also within code
    assert f"| signature | `{signature}` |" in card
    assert f"{record['parameters'] / 1e6:.1f}M parameters in float16, {record['megabytes']} MB" in card
    nats = training["held_out_nats_per_token"]
    assert f"| {nats['last']:.3f} / {nats['average']:.3f} |" in card
    assert f"Trained on {TEXT}. {training['pairs']['train']} pairs. Licence of the model: cc0-1.0." in card
    assert "license: cc0-1.0" in card and "- de\n- en\n" in card
    assert f"| learning_rate | {training['settings']['learning_rate']} |" in card


def test_nothing_of_the_machine_is_published(package):
    settings = json.loads((package / "training.json").read_text())["settings"]
    assert not {"bitext", "validation", "output_dir", "processes"} & settings.keys() and settings["size"] == "starter"
    texts = [path.read_text(errors="ignore") for path in package.glob("*") if path.suffix in (".json", ".md")]
    assert len(texts) > 4 and not any("/home/me" in text for text in texts)


def test_it_is_a_translator_with_the_words_of_its_text(model_folder, package):
    translator = load_translator(str(package), "float32", source_lang="de", lang="en")
    assert translator.signature.startswith("small|")
    with pytest.raises(ValueError, match="reads de and writes en: give the other direction"):
        load_translator(str(package), source_lang="en", lang="de")
    assert (package / "words.txt").read_bytes() == (model_folder / "words.txt").read_bytes()


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_package_whole_and_the_command_can_be_repeated(
    model_folder, bitext, package, capsys
):
    before = {path.name: path.read_bytes() for path in package.iterdir()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, limits[1]))  # the weights have 11 MB
        assert main(flags(model_folder, bitext, package)) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"parabank package translator: wanted to write {package}, got a full disk (")
    assert {path.name: path.read_bytes() for path in package.iterdir()} == before
    assert list(package.parent.iterdir()) == [package]
    assert main(flags(model_folder, bitext, package)) == 0
    record = json.loads(before["measured.json"])
    line = f"{package}: BLEU {record['bleu']} on 24 pairs ({record['signature']})\n"
    assert capsys.readouterr().out == line
    assert {path.name: path.read_bytes() for path in package.iterdir()} == before
