"""Training of an infiller: a tiny model on the demo's sentences, killed, resumed and used."""

import dataclasses
import json
from statistics import median

import pytest
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from tests.tiny import DEMO
from toolkit.data.rows import Row
from toolkit.generate.infill import infill_rows
from toolkit.generate.keywords import STOP_WORDS
from toolkit.generate.sentinels import SENTINELS, load_infiller
from toolkit.run.workspace import Outcome
from toolkit.train import infiller as training
from toolkit.train._infiller_examples import examples, read_training, remaining
from toolkit.train.infiller import train
from toolkit.train.infiller_settings import InfillerTraining

SENTENCES = [line.split("\t")[1] for line in DEMO.read_text(encoding="utf-8").splitlines()]


pytestmark = pytest.mark.usefixtures("on_a_cpu")


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "book.txt").write_text("\n".join(" ".join(SENTENCES[n : n + 6]) for n in range(0, 240, 6)))
    (folder / "lines.en").write_text("\n".join(SENTENCES[240:300]))
    sizes = {"vocabulary": 300, "width": 64, "feed_forward": 64, "encoder_layers": 1, "decoder_layers": 1}
    limits = {"held_out": 20, "epochs": 6, "batch_tokens": 600, "save_every": 20, "max_steps": 60, "min_chars": 20}
    text = {"text": [str(folder / "book.txt")], "sentences": [str(folder / "lines.en")], "source": "Own sentences."}
    return InfillerTraining(**text, **sizes, **limits, output_dir=str(folder / "made"), threads=1, dtype="float32")


@pytest.fixture(scope="module")
def model_folder(settings):
    return train(settings)


def test_every_sentence_is_read_or_held_out(settings):
    passages, held_out = read_training(settings)
    assert len(held_out) == 20 and not {p.sentence for p in passages} & {p.sentence for p in held_out}
    assert {p.sentence for p in (*passages, *held_out)} <= set(SENTENCES) and len(passages) > 200
    assert {p.origin for p in passages} == {"book", "lines"}
    again = read_training(dataclasses.replace(settings, text=settings.text[::-1]))
    assert again == (passages, held_out)


def test_a_sentence_that_is_in_the_text_and_in_a_list_keeps_its_context(settings, tmp_path):
    (tmp_path / "all.en").write_text("\n".join(SENTENCES[:300]))
    new_settings = dataclasses.replace(settings, sentences=[str(tmp_path / "all.en")])
    in_text = {passage for part in read_training(settings) for passage in part if passage.origin == "book"}
    assert in_text <= {passage for part in read_training(new_settings) for passage in part} and len(in_text) > 100


def test_examples_put_the_sentence_together_again(settings):
    passages, _ = read_training(settings)
    whole = dataclasses.replace(settings, mask_rate=0.0)
    for passage, (source, target) in zip(passages, examples(passages, whole, 0), strict=True):
        gaps = [part.partition(">")[2].strip() for part in target.split("<extra_id_")[1:]]
        masked = source.removeprefix(passage.before).removesuffix(passage.after) if passage.before in source else source
        text = masked[masked.index("<extra_id_0>") :]
        for number, gap in enumerate(gaps):
            text = text.replace(f"<extra_id_{number}>", gap, 1)
        letters = "".join(text.split())
        assert letters.startswith("".join(passage.sentence.split())), (source, target)
    masked = list(examples(passages, dataclasses.replace(settings, mask_rate=1.0), 0))
    assert all(question.count("<extra_id_") == answer.count("<extra_id_") == 1 for question, answer in masked)
    assert list(examples(passages, settings, 0)) != list(examples(passages, settings, 1)), "epochs drop other keywords"


def test_rates_of_keywords(settings):
    import random

    chance = random.Random(0)
    counts = [len(remaining(10, dataclasses.replace(settings, any_rate=0.0), chance)) for _ in range(500)]
    assert sum(counts) / 500 == pytest.approx(8.5, abs=0.2)
    counts = [len(remaining(10, dataclasses.replace(settings, any_rate=1.0), chance)) for _ in range(500)]
    assert set(counts) == set(range(11)) and sum(counts) / 500 == pytest.approx(5, abs=0.5)


def test_the_model_learns_loads_and_infills(model_folder):
    record = json.loads((model_folder / "training.json").read_text())
    losses = [loss for _, loss in record["loss"]]
    assert record["steps"] == 60 and losses[-1] < 5 and record["held_out_loss"] < 5
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(model_folder), AutoTokenizer.from_pretrained(model_folder)
    assert model.config.vocab_size == len(tokenizer) == 300 + SENTINELS
    assert tokenizer("<extra_id_0> go")["input_ids"][0] == tokenizer.convert_tokens_to_ids("<extra_id_0>")
    infiller = load_infiller(str(model_folder), "float32", "cpu", "en")
    row = Row("a-1", "a", None, None, SENTENCES[0], "en", "train", "", "")
    (result,) = infill_rows([row], infiller, STOP_WORDS, None, 2, 0.15, 2, 16, 512, 0)
    assert result.candidates and all(c.method == "infill" for c in result.candidates)


def test_the_card_says_what_it_is_and_shows_what_it_writes(model_folder):
    card, record = (model_folder / "README.md").read_text(), json.loads((model_folder / "training.json").read_text())
    assert "It is small" in card and "Own sentences." in card and "{{" not in card
    assert f"{record['sentences']:,} sentences" in card
    for example in record["shown"]:
        assert example["reference"] in card and example["in_another"]["text"] in card
    assert str(model_folder.parent) not in card


@pytest.mark.slow
def test_killed_and_started_again_it_ends_with_the_same_weights(settings, model_folder, tmp_path, monkeypatch):
    new_settings = dataclasses.replace(settings, output_dir=str(tmp_path / "made"))

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "_save", killed)
        with pytest.raises(KeyboardInterrupt):
            train(new_settings)
    assert not (tmp_path / "made" / "training.json").exists()
    train(new_settings)
    assert (tmp_path / "made" / "model.safetensors").read_bytes() == (model_folder / "model.safetensors").read_bytes()
    assert not (tmp_path / "made" / "checkpoints").exists()
    times = (tmp_path / "made" / "model.safetensors").stat().st_mtime_ns
    assert train(new_settings) and (tmp_path / "made" / "model.safetensors").stat().st_mtime_ns == times


@pytest.mark.slow
def test_it_can_begin_with_a_checkpoint(settings, model_folder, tmp_path):
    new_settings = dataclasses.replace(
        settings, base_model=str(model_folder), output_dir=str(tmp_path / "more"), max_steps=4
    )
    train(new_settings)
    record, first = (json.loads((folder / "training.json").read_text()) for folder in (tmp_path / "more", model_folder))
    assert record["steps"] == 4 and record["held_out_loss"] < first["held_out_loss"] + 0.5
    outcome = Outcome(**record["outcome"])
    assert outcome.model == record["held_out_loss"] and outcome.others == {
        "made": pytest.approx(first["held_out_loss"], abs=0.05)
    }
    assert first["outcome"]["others"] == {}, "a new model stands beside nothing"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"held_out": 10_000}, "wanted more than 10000 sentences of 20 to 170 characters, got"),
        ({"base_model": "starter/de-en"}, "wanted a T5-type model with the tokens <extra_id_0> to <extra_id_99>"),
        ({"text": ["lost.txt"]}, "wanted an existing file, got lost.txt"),
    ],
)
def test_what_cannot_be_used_is_one_line(settings, tmp_path, changed, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        train(dataclasses.replace(settings, output_dir=str(tmp_path / "new"), **changed))
    assert not (tmp_path / "new").exists()


def test_examples_that_are_too_long_are_counted(settings, model_folder, tmp_path):
    record = json.loads((model_folder / "training.json").read_text())
    assert record["too_long"] == 0
    passages, _ = read_training(settings)
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    limit = int(median(len(tokenizer(text).input_ids) for text, _ in examples(passages, settings, 0)))
    short = dataclasses.replace(settings, output_dir=str(tmp_path / "short"), max_tokens=limit, max_steps=1)
    cut = json.loads((train(short) / "training.json").read_text())
    assert cut["too_long"] > 0 and cut["too_long"] + cut["examples"] == record["examples"]
