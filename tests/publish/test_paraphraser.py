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
def trained(tmp_path_factory):
    made = tmp_path_factory.mktemp("trained")
    texts = [reference for _, reference in pairs(320)]
    shifted = [*texts[1:], texts[0]]
    lines = "".join(f"{one}\t{other}\n" for one, other in zip(texts, shifted, strict=True))
    (made / "pairs.tsv").write_text(lines, encoding="utf-8")
    (made / "test.tsv").write_text("".join(lines.splitlines(keepends=True)[:6]), encoding="utf-8")
    settings = ParaphraserTraining(
        pairs=[str(made / "pairs.tsv")], output_dir=str(made / "model"), base_model=str(folder() / "de-en"), epochs=1,
        max_steps=3, save_every=2, batch_tokens=256, held_out=4, dtype="float32", threads=1, license="cc-by-2.0",
        known_words=True,
    )  # fmt: skip
    train(settings)
    return made


def test_a_training_leaves_a_card_and_its_languages(trained):
    card = ModelCard.load(trained / "model" / "README.md")
    assert card.data.license == "cc-by-2.0" and card.data.language == "en"
    record = json.loads((trained / "model" / "training.json").read_text())
    assert [entry["step"] for entry in record["held_out"]] == [2, 3], "the last step is measured, too"
    best = next(entry for entry in record["held_out"] if entry["step"] == record["best_step"])
    assert f"| {best['step']} | {best['ibleu']:.2f} | {best['bleu']:.2f} |" in card.text
    paraphraser = toolkit.Paraphraser(str(trained / "model"), dtype="float32")
    assert paraphraser.lang == "en"
    words = (trained / "model" / "words.txt").read_text().split()
    assert {"the", "we"} <= set(words) and paraphraser.known_words == set(words)
    for one in paraphraser.candidates(["It is late."])[0]:
        if one.rank is not None:
            assert words_of(one.text) <= set(words)
    with pytest.raises(ValueError, match=r"wanted model for texts in de, got .*, which knows en only: give model a"):
        toolkit.Paraphraser(str(trained / "model"), lang="de")


def test_it_is_packaged_with_what_was_measured(trained, tmp_path):
    out = tmp_path / "packaged"
    measured = package_paraphraser(
        str(trained / "model"), str(trained / "test.tsv"), str(out), "cc-by-2.0", "the demo's own text", (), limit=5
    )
    assert measured == json.loads((out / "measured.json").read_text()) and measured["inputs"] == 5
    assert {tensor.dtype for tensor in load_file(out / "model.safetensors").values()} == {torch.float16}
    card = (out / "README.md").read_text()
    for system, figures in measured["figures"].items():
        for choice in ("first", "best"):
            assert f"| {system} | {choice} | {figures[choice]['ibleu']:.2f} | {figures[choice]['bleu']:.2f} |" in card
    assert "the demo's own text" in card and str(trained) not in card + (out / "training.json").read_text()
    copies = measured["figures"]["copy of the input"]["first"]
    assert copies["input_bleu"] == pytest.approx(100)
    assert (out / "words.txt").read_text() == (trained / "model" / "words.txt").read_text()
    assert len(toolkit.Paraphraser(str(out)).paraphrase(["It is late."], n=2)) == 1


@pytest.mark.parametrize(
    ("model", "test", "message"),
    [
        ("nowhere", "test.tsv", "wanted a folder that parabank train paraphraser made, got"),
        ("model", "none.tsv", "which does not exist"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(trained, tmp_path, model, test, message):
    with pytest.raises((ValueError, OSError), match=message):
        package_paraphraser(str(trained / model), str(trained / test), str(tmp_path / "out"), "mit", "none")
    assert not (tmp_path / "out").exists()
