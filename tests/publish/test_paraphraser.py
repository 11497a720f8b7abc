"""A trained paraphraser is measured, saved in float16 with its card, and loaded again."""

import json

import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file

import toolkit
from tests.tiny import folder, pairs
from toolkit.bitext.words import words_of
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.publish.paraphraser import package_paraphraser
from toolkit.train.paraphraser import train


@pytest.fixture(scope="module")
def training_folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("trained")
    texts = [reference for _, reference in pairs(320)]
    shifted = [*texts[1:], texts[0]]
    lines = "".join(f"{first}\t{second}\n" for first, second in zip(texts, shifted, strict=True))
    (path / "pairs.tsv").write_text(lines, encoding="utf-8")
    (path / "test.tsv").write_text("".join(lines.splitlines(keepends=True)[:6]), encoding="utf-8")
    settings = ParaphraserTraining(
        pairs=[str(path / "pairs.tsv")], output_dir=str(path / "model"), base_model=str(folder() / "de-en"), epochs=1,
        max_steps=3, save_every=2, batch_tokens=256, held_out=4, dtype="float32", threads=1, license="cc-by-2.0",
        known_words=True,
    )  # fmt: skip
    train(settings)
    return path


def test_a_training_leaves_a_card_and_its_languages(training_folder):
    card = ModelCard.load(training_folder / "model" / "README.md")
    assert card.data.license == "cc-by-2.0" and card.data.language == "en"
    record = json.loads((training_folder / "model" / "training.json").read_text())
    assert [entry["step"] for entry in record["held_out"]] == [2, 3], "the last step is measured, too"
    best = next(entry for entry in record["held_out"] if entry["step"] == record["best_step"])
    assert f"| {best['step']} | {best['ibleu']:.2f} | {best['bleu']:.2f} |" in card.text
    paraphraser = toolkit.Paraphraser(str(training_folder / "model"), dtype="float32")
    assert paraphraser.lang == "en"
    words = (training_folder / "model" / "words.txt").read_text().split()
    assert {"the", "we"} <= set(words) and paraphraser.known_words == set(words)
    for candidate in paraphraser.candidates(["It is late."])[0]:
        if candidate.rank is not None:
            assert words_of(candidate.text) <= set(words)
    with pytest.raises(ValueError, match=r"wanted model for texts in de, got .*, which knows en only: give model a"):
        toolkit.Paraphraser(str(training_folder / "model"), lang="de")


def test_it_is_packaged_with_what_was_measured(training_folder, tmp_path):
    out = tmp_path / "packaged"
    record = package_paraphraser(
        str(training_folder / "model"),
        str(training_folder / "test.tsv"),
        str(out),
        "cc-by-2.0",
        "the demo's own text",
        (),
        limit=5,
    )
    assert record == json.loads((out / "measured.json").read_text()) and record["inputs"] == 5
    assert {tensor.dtype for tensor in load_file(out / "model.safetensors").values()} == {torch.float16}
    card = (out / "README.md").read_text()
    for system, figures in record["figures"].items():
        for choice in ("first", "best"):
            assert f"| {system} | {choice} | {figures[choice]['ibleu']:.2f} | {figures[choice]['bleu']:.2f} |" in card
    assert "the demo's own text" in card and str(training_folder) not in card + (out / "training.json").read_text()
    copies = record["figures"]["copy of the input"]["first"]
    assert copies["input_bleu"] == pytest.approx(100)
    assert (out / "words.txt").read_text() == (training_folder / "model" / "words.txt").read_text()
    assert len(toolkit.Paraphraser(str(out)).paraphrase(["It is late."], n=2)) == 1


@pytest.mark.parametrize(
    ("model", "test", "message"),
    [
        ("nowhere", "test.tsv", "wanted a folder that parabank train paraphraser made, got"),
        ("model", "none.tsv", "which does not exist"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(training_folder, tmp_path, model, test, message):
    with pytest.raises((ValueError, OSError), match=message):
        package_paraphraser(
            str(training_folder / model), str(training_folder / test), str(tmp_path / "out"), "mit", "none"
        )
    assert not (tmp_path / "out").exists()
