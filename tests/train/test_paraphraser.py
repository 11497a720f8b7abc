"""Training a paraphraser: pairs, loss, adapters of every family, and the script from end to end, killed and resumed."""

import dataclasses
import json
import math
import signal
import subprocess
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from peft import AutoPeftModelForSeq2SeqLM, PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, TrainerControl, TrainerState

import toolkit
from tests import families
from tests.tiny import ENVIRONMENT, PYTHON, ROOT, folder, pairs, plain_model
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.evaluate.ibleu import corpus_ibleu
from toolkit.paraphraser.settings import ParaphraserTraining, Paraphrasing
from toolkit.run.workspace import Outcome, outcome_lines
from toolkit.train import paraphraser as training
from toolkit.train import paraphraser_pairs as pairs_module
from toolkit.train._lora import target_layers, with_adapters
from toolkit.train._seq2seq import Collate, ParaphraserTrainer
from toolkit.train.paraphraser_pairs import _inputs_and_references, _pairs_of, _TrainingPair, read_training
from toolkit.translator.settings import Size

SCRIPT = str(ROOT / "scripts" / "train_paraphraser.py")
SETTINGS = ParaphraserTraining(pairs=["x"], output_dir="y", base_model="z")
SCORES = Scores(forward_logprob=-2.0, forward_tokens=4, backward_logprob=-3.0, backward_tokens=3)
ROW = Row("a-1", "a", None, None, "It's late.", "en", "train", candidates=[
    Candidate("It is late.", "sample", rank=0, scores=SCORES),
    Candidate("It’s LATE!", "sample", rank=1, scores=SCORES),
    Candidate("The hour is late.", "sample", rank=2, scores=SCORES),
])  # fmt: skip


@pytest.fixture
def bitext(tmp_path):
    """Pairs that are easy to learn: the German sentence stands for the paraphrase."""
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{text}\t{paraphrase}\n" for text, paraphrase in pairs(320)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("from_reference", [("It's late.", "It is late."), ("It's late.", "The hour is late.")]),
        ("to_reference", [("It is late.", "It's late."), ("The hour is late.", "It's late.")]),
    ],
)
def test_the_pairs_of_a_reference(direction, expected):
    refused = Counter()
    settings = dataclasses.replace(SETTINGS, direction=direction)
    assert [(pair.text, pair.output) for pair in _pairs_of(ROW, settings, refused)] == expected
    assert refused == {"equal": 1}, "a text that differs only by marks teaches to copy"
    all_pairs = [
        (pair.text, pair.output) for pair in _pairs_of(ROW, dataclasses.replace(SETTINGS, direction="both"), refused)
    ]
    assert len(all_pairs) == 4 and set(expected) < set(all_pairs)
    first_ranks = dataclasses.replace(SETTINGS, direction=direction, most_ranks=1)
    assert len(list(_pairs_of(ROW, first_ranks, refused))) == 1
    strict, refused = dataclasses.replace(SETTINGS, max_dual_nll=1.4), Counter()
    assert not list(_pairs_of(ROW, strict, refused)) and refused == {"equal": 1, "dual": 2}
    assert len(list(_pairs_of(ROW, dataclasses.replace(SETTINGS, max_dual_nll=1.6), refused))) == 2


def test_the_weights_of_pairs():
    def weights(kind):
        return [pair.weight for pair in _pairs_of(ROW, dataclasses.replace(SETTINGS, weight=kind), Counter())]

    assert weights("equal") == [1, 1] and weights("rank") == [1, 1 / 3]
    assert weights("dual") == pytest.approx([math.exp(-1.5 / 2)] * 2)
    ROW.candidates[0].scores = Scores()
    try:
        with pytest.raises(ValueError, match="wanted pairs with a dual score for --weight dual"):
            weights("dual")
    finally:
        ROW.candidates[0].scores = SCORES


def test_held_out_references_are_not_trained_on(bitext):
    settings = dataclasses.replace(SETTINGS, pairs=[str(bitext)], held_out=3)
    text = read_training(settings)
    train, held_out = text.pairs, text.held_out
    assert 0 < len(held_out) <= 3 and len(train) > 300
    texts, references = _inputs_and_references(held_out)
    assert not set(texts) & {pair.text for pair in train} and len(texts) == len(references)


def test_the_loss_is_a_weighted_mean_over_tokens():
    model = plain_model("de-en")
    trainer = ParaphraserTrainer.__new__(ParaphraserTrainer)
    trainer.smoothing = 0.0
    examples = [
        {"input_ids": [5, 6, 0], "labels": [7, 8, 9, 0], "weight": 2.0},
        {"input_ids": [5, 0], "labels": [11, 0], "weight": 0.5},
    ]
    batch = Collate(model, 2)(examples)
    loss = trainer.compute_loss(model, dict(batch))
    total = weight = 0.0
    for example in examples:
        alone = Collate(model, 2)([example])
        logits = (
            model(**{k: v for k, v in alone.items() if k not in ("labels", "weight")})
            .logits[0]
            .double()
            .numpy(force=True)
        )
        logits -= logits.max(1, keepdims=True)
        nats = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(example["labels"])), example["labels"]]
        total, weight = total + example["weight"] * nats.sum(), weight + example["weight"] * len(nats)
    assert float(loss) == pytest.approx(total / weight, rel=1e-5)
    model.train()
    trainer.smoothing = 0.5
    assert float(trainer.compute_loss(model, dict(batch))) != pytest.approx(total / weight, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("family", families.NAMES)
def test_every_family_is_trained_on_what_its_own_loss_is_of(family, tmp_path, bitext):
    base = str(families.checkpoint(family))
    arguments = {"pairs": [str(bitext)], "output_dir": str(tmp_path / "model"), "base_model": base, "max_steps": 2}
    sizes = {"save_every": 2, "batch_tokens": 256, "held_out": 2, "dtype": "float32", "threads": 1}
    training.train(ParaphraserTraining(**arguments, **sizes))
    assert json.loads((tmp_path / "model" / "training.json").read_text())["steps"] == 2
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "model").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    inputs, labels = (tokenizer(["Hallo!"])["input_ids"], tokenizer(text_target=["It is late."])["input_ids"])
    batch = Collate(model, tokenizer.pad_token_id)([{"input_ids": inputs[0], "labels": labels[0]}])
    trainer = ParaphraserTrainer.__new__(ParaphraserTrainer)
    trainer.smoothing = 0.0
    model_loss = model(
        input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=batch["labels"]
    ).loss
    assert float(trainer.compute_loss(model, batch)) == pytest.approx(float(model_loss), rel=1e-5)


@pytest.mark.parametrize("adapters", [False, True])
@pytest.mark.parametrize("family", families.NAMES)
def test_the_loss_in_slices_has_the_gradients_of_the_loss_of_whole_logits(family, adapters):
    model = AutoModelForSeq2SeqLM.from_pretrained(families.checkpoint(family))
    if "final_logits_bias" in dict(model.named_buffers()):
        torch.nn.init.normal_(model.final_logits_bias)
    if adapters:
        model = with_adapters(model, rank=2, alpha=4.0)
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter)
    model.train()
    trainer = ParaphraserTrainer.__new__(ParaphraserTrainer)
    trainer.smoothing = 0.1
    batch = Collate(model, model.config.pad_token_id)([
        {"input_ids": [5, 6, 7], "labels": [7, 8, 9, 2], "weight": 2.0},
        {"input_ids": [5, 9], "labels": [11, 2], "weight": 0.5},
    ])  # fmt: skip
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    torch.manual_seed(0)  # of dropout, and of the layers that M2M100 leaves out
    expected_loss, outputs = trainer.compute_loss(model, dict(batch), return_outputs=True)
    expected_gradients = torch.autograd.grad(expected_loss, parameters, allow_unused=True)
    torch.manual_seed(0)
    loss = trainer.compute_loss(model, dict(batch))
    torch.testing.assert_close(loss, expected_loss)
    for gradient, expected_gradient in zip(
        torch.autograd.grad(loss, parameters, allow_unused=True), expected_gradients, strict=True
    ):
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-3, atol=1e-5)
    torch.manual_seed(0)
    again = model(**{name: ids for name, ids in batch.items() if name not in ("labels", "weight")})
    torch.testing.assert_close(again.logits, outputs.logits)


@pytest.mark.parametrize("family", families.NAMES)
def test_adapters_of_every_family_learn_and_load_by_peft_alone(family, tmp_path):
    model = AutoModelForSeq2SeqLM.from_pretrained(families.checkpoint(family))
    torch.manual_seed(0)
    # without dropout, which would decide so short a training
    peft_model = with_adapters(model, rank=2, alpha=4.0).eval()
    names = {name for name, p in peft_model.named_parameters() if p.requires_grad}
    assert names and all("lora_" in name for name in names)
    assert {name.split(".lora_")[0].rpartition(".")[2] for name in names} == set(target_layers(model))
    labels = torch.tensor([[5, 6, 7, model.config.eos_token_id]])
    optimizer = torch.optim.AdamW([p for p in peft_model.parameters() if p.requires_grad], lr=0.02)
    losses = []
    for _ in range(8):
        loss = peft_model(input_ids=labels, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    peft_model.save_pretrained(tmp_path / "adapters")
    logits = peft_model(input_ids=labels, labels=labels).logits
    base = AutoModelForSeq2SeqLM.from_pretrained(families.checkpoint(family))
    again = PeftModel.from_pretrained(base, tmp_path / "adapters").eval()
    assert torch.allclose(again(input_ids=labels, labels=labels).logits, logits, atol=1e-4)
    merged = again.merge_and_unload()
    assert torch.allclose(merged(input_ids=labels, labels=labels).logits, logits, atol=1e-3)


def command(output, bitext, *more):
    options = {"pairs": bitext, "output_dir": output, "base_model": folder() / "de-en", "epochs": 1, "max_steps": 8,
             "save_every": 4, "batch_tokens": 256, "held_out": 4, "dtype": "float32", "threads": 1}  # fmt: skip
    flags = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    return [PYTHON, SCRIPT, *flags, *more]


def run(command, start="", cwd=None):
    (cwd / "start").mkdir(exist_ok=True)
    (cwd / "start" / "sitecustomize.py").write_text(start)
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": f"{cwd / 'start'}:{ROOT}"}
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=400)


KILL_AT_STEP_8 = """
import os, signal
made = os.makedirs
def makedirs(path, *more, **options):
    if "checkpoint-8" in str(path):
        os.kill(os.getpid(), signal.SIGKILL)
    made(path, *more, **options)
os.makedirs = makedirs
"""


@pytest.mark.slow
def test_killed_and_started_again_it_ends_as_a_paraphraser(tmp_path, bitext):
    output = tmp_path / "model"
    process = run(command(output, bitext), KILL_AT_STEP_8, tmp_path)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert (output / "checkpoints" / "checkpoint-4" / "trainer_state.json").exists()
    refused = run(command(output, bitext, "--seed", "3"), "", tmp_path)
    assert refused.returncode == 1 and "seed was 0, now 3" in refused.stderr.splitlines()[-1]
    process = run(command(output, bitext), "", tmp_path)
    assert process.returncode == 0, process.stderr
    record = json.loads((output / "training.json").read_text())
    lines = [f"{output}: load it with toolkit.Paraphraser({str(output)!r})", *Outcome(**record["outcome"]).lines()]
    assert process.stdout.splitlines()[-len(lines) :] == lines and "; de-en " in lines[1]
    assert record["steps"] == 8 and [entry["step"] for entry in record["held_out"]] == [4, 8]
    assert not (output / "checkpoints").exists()
    figures = json.loads((output / "measured.json").read_text())
    assert figures["lang"] == "en" and 0.9 < figures["marked"] == record["marked"] <= 1

    straight = run(command(tmp_path / "straight", bitext), "", tmp_path)
    assert straight.returncode == 0, straight.stderr
    model, straight_model = (AutoModelForSeq2SeqLM.from_pretrained(path) for path in (output, tmp_path / "straight"))
    for name, tensor in model.state_dict().items():
        assert torch.allclose(tensor, straight_model.state_dict()[name], atol=1e-5), (
            f"{name}: resumed is not as uninterrupted"
        )
    assert AutoTokenizer.from_pretrained(output)("Hallo")["input_ids"]
    settings = Paraphrasing(n=2, guards=(), min_semantic=None, constraint_sets=1, samples_per_set=4)
    paraphrases = toolkit.Paraphraser(str(output), lang="en", settings=settings).paraphrase(["It is late."])
    assert len(paraphrases) == 1


@pytest.mark.slow
def test_the_mean_of_the_last_checkpoints_is_saved(tmp_path, bitext, monkeypatch):
    output, weights = tmp_path / "model", {}

    def average(trainer, checkpoints):
        weights.update(
            {Path(checkpoint).name: load_file(Path(checkpoint, "model.safetensors")) for checkpoint in checkpoints}
        )
        whole(trainer, checkpoints)

    whole = training._average
    monkeypatch.setattr(training, "_average", average)
    arguments = {"pairs": [str(bitext)], "output_dir": str(output), "base_model": str(folder() / "de-en"), "epochs": 1}
    sizes = {"max_steps": 6, "save_every": 2, "batch_tokens": 256, "held_out": 4, "dtype": "float32", "threads": 1}
    training.train(ParaphraserTraining(**arguments, **sizes, average=2))
    assert list(weights) == ["checkpoint-4", "checkpoint-6"]
    (first, second), mean = weights.values(), load_file(output / "model.safetensors")
    assert any(not torch.equal(first[name], second[name]) for name in first)
    assert all(torch.allclose(mean[name], (first[name] + second[name]) / 2, atol=1e-6) for name in mean)
    record = json.loads((output / "training.json").read_text())
    assert record["best_step"] is None and record["held_out"][-1]["averaged"] == 2
    assert "6, mean of the last 2 checkpoints" in (output / "README.md").read_text()


def test_checkpoints_that_are_not_there_are_not_averaged(tmp_path):
    for step in (2, 4, 6):
        (tmp_path / "checkpoints" / f"checkpoint-{step}").mkdir(parents=True)
        (tmp_path / "checkpoints" / f"checkpoint-{step}" / "trainer_state.json").write_text("{}")
    settings = dataclasses.replace(SETTINGS, output_dir=str(tmp_path), average=2)
    assert [Path(path).name for path in training._last_checkpoints(settings)] == ["checkpoint-4", "checkpoint-6"]
    settings = dataclasses.replace(settings, average=4)  # the training ended early
    assert len(training._last_checkpoints(settings)) == 3


@pytest.mark.parametrize(
    ("figures", "counter", "ends"),
    [([], 0, False), ([3.0, 5.0], 0, False), ([3.0, 5.0, 4.0], 1, False), ([5.0, 5.0, 4.0], 2, True)],
)
def test_a_training_that_goes_on_counts_the_checkpoints_before_it(figures, counter, ends):
    stopping, control = training._EarlyStopping(2), TrainerControl()
    history = [{"loss": 1.0}, *({"eval_ibleu": figure} for figure in figures)]
    stopping.on_train_begin(None, TrainerState(log_history=history), control)
    assert (stopping.early_stopping_patience_counter, control.should_training_stop) == (counter, ends)


def test_only_the_main_process_writes_the_tokenizer(tmp_path, bitext, monkeypatch):
    settings = ParaphraserTraining(pairs=[str(bitext)], output_dir=str(tmp_path), size="starter", threads=1)
    table = [_TrainingPair(text, paraphrase, 1.0) for text, paraphrase in pairs(320)]
    monkeypatch.setitem(training.SIZES, "starter", Size(200, True, 32, 1, 1, 2, 64))
    state = SimpleNamespace(main_process_first=nullcontext, is_main_process=True, device=torch.device("cpu"))
    _, tokenizer = training._begin(settings, table, state)
    monkeypatch.setattr(training, "marian_tokenizer", None)
    monkeypatch.setattr(training, "train_pieces", None)
    state.is_main_process = False
    assert training._begin(settings, table, state)[1].get_vocab() == tokenizer.get_vocab()


def test_too_few_checkpoints_to_average_are_refused_before_the_training(tmp_path, bitext):
    arguments = {"pairs": [str(bitext)], "output_dir": str(tmp_path / "model"), "base_model": str(folder() / "de-en")}
    sizes = {"max_steps": 6, "save_every": 4, "held_out": 2, "average": 3, "threads": 1}
    with pytest.raises(ValueError, match="wanted 3 checkpoints to average, got 2 in 6 steps: lower --save_every"):
        training.train(ParaphraserTraining(**arguments, **sizes))
    assert not (tmp_path / "model" / "checkpoints").exists()


def test_held_out_sentences_are_in_no_pair_of_any_source(tmp_path):
    (tmp_path / "held.tsv").write_text("He left.\tHe went away.\n")
    (tmp_path / "one.tsv").write_text("He left!\tHe is gone.\nShe came.\tShe arrived.\n")
    (tmp_path / "other.tsv").write_text("He walked off.\tHe went away\nIt rains.\tRain falls.\n")
    sources = [str(tmp_path / name) for name in ("one.tsv", "other.tsv")]
    text = read_training(
        dataclasses.replace(SETTINGS, pairs=sources, validation=str(tmp_path / "held.tsv"), held_out=5)
    )
    assert texts_of(text.pairs) == [("She came.", "She arrived."), ("It rains.", "Rain falls.")]
    assert [texts_of(group) for group in text.held_out] == [[("He left.", "He went away.")]]
    assert text.refused == {"held_out": 2} and text.contamination == []


def test_texts_of_evaluation_sets_are_neither_trained_on_nor_held_out(tmp_path):
    (tmp_path / "pairs.tsv").write_text("He left the house.\tHe went away.\nShe came.\tShe arrived.\n")
    (tmp_path / "held.tsv").write_text("It rains.\tRain falls.\nHe sleeps.\tThe man is sleeping now.\n")
    (tmp_path / "qqp.tsv").write_text("1\the left the house!\tThe man is sleeping, now.\n")
    arguments = {"pairs": [str(tmp_path / "pairs.tsv")], "validation": str(tmp_path / "held.tsv"), "held_out": 5}
    text = read_training(dataclasses.replace(SETTINGS, **arguments, decontaminate=[str(tmp_path / "qqp.tsv")]))
    assert texts_of(text.pairs) == [("She came.", "She arrived.")]
    assert [texts_of(group) for group in text.held_out] == [[("It rains.", "Rain falls.")]]
    assert text.refused == {"contaminated": 1} and text.contamination[0]["texts equal"] == 2


def tsv_of(path, references):
    """A file of so many references with two paraphrases each."""
    path.write_text("".join(f"Text {n} is here.\tHere is text {n}{mark}\n" for n in range(references) for mark in ".;"))
    return str(path)


@pytest.mark.parametrize(
    ("references", "held_out", "expected"), [(2, 500, 1), (71, 500, 7), (300, 500, 30), (71, 3, 3)]
)
def test_small_data_holds_out_a_tenth_of_its_references_and_trains_on_the_others(
    tmp_path, references, held_out, expected
):
    text = read_training(
        dataclasses.replace(SETTINGS, pairs=[tsv_of(tmp_path / "few.tsv", references)], held_out=held_out)
    )
    assert len(text.held_out) == expected
    held_texts = {pair.text for pairs in text.held_out for pair in pairs}
    train_texts = {pair.text for pair in text.pairs}
    assert len(train_texts) == references - expected and not held_texts & train_texts


def test_a_parabank_with_hardly_a_validation_split_holds_out_a_tenth(tmp_path, monkeypatch):
    """A parabank of 60 references, one of which is in its validation split."""
    rows = [Row(f"r-{n}", "r", "", "de", f"Text {n} is here.", "en", "train") for n in range(60)]
    for n, row in enumerate(rows):
        row.candidates = [Candidate(f"Here is text {n}.", "sample", rank=0)]
    splits = {"train": rows[1:], "validation": rows[:1]}
    monkeypatch.setattr(pairs_module, "is_plain", lambda source: False)
    monkeypatch.setattr(pairs_module, "understood_columns", lambda sources, reading=None: [])
    monkeypatch.setattr(pairs_module, "read_references", lambda source, split: iter(splits[split]))
    text = read_training(dataclasses.replace(SETTINGS, pairs=["parabank"]))
    assert len(text.held_out) == 6 and len(text.pairs) == 54
    assert "Text 0 is here." in {pair.text for pairs in text.held_out for pair in pairs}


def test_one_reference_cannot_be_held_out(tmp_path):
    with pytest.raises(ValueError, match=r"wanted references to hold out, got none in .*: give two references or more"):
        read_training(dataclasses.replace(SETTINGS, pairs=[tsv_of(tmp_path / "few.tsv", 1)]))


def test_english_goes_on_from_the_starter_unless_told_otherwise():
    assert ParaphraserTraining(pairs=["x"], output_dir="y").base_model == "starter/paraphraser"
    assert ParaphraserTraining(pairs=["x"], output_dir="y", size="starter").base_model is None
    assert ParaphraserTraining(pairs=["x"], output_dir="y", lang="de", base_model="z").base_model == "z"


@pytest.mark.parametrize("steps", [1, 6, 60, 5000])
def test_the_warm_up_is_a_tenth_of_the_training_at_most(steps):
    settings = dataclasses.replace(SETTINGS, save_every=1)
    assert training._training_arguments(settings, steps).warmup_steps == min(200, steps // 10)


@pytest.mark.slow
def test_the_end_says_how_good_the_result_is_beside_its_base_and_a_copy(tmp_path, bitext, monkeypatch):
    """What is measured of the base model before the training does not change the training."""
    arguments = {"pairs": [str(bitext)], "base_model": str(folder() / "de-en"), "epochs": 1, "max_steps": 3}
    sizes = {"batch_tokens": 256, "held_out": 4, "dtype": "float32", "threads": 1}
    training.train(ParaphraserTraining(**arguments, **sizes, output_dir=str(tmp_path / "model")))
    record = json.loads((tmp_path / "model" / "training.json").read_text())
    outcome = Outcome(**record["outcome"])
    assert outcome.count == 4 and outcome.model == record["held_out"][-1]["ibleu"]
    assert set(outcome.others) == {"a copy of the text", "de-en"}
    text = read_training(ParaphraserTraining(**arguments, **sizes, output_dir="x"))
    inputs, references = _inputs_and_references(text.held_out)
    copy = corpus_ibleu(inputs, [[texts[0] for texts in references]], inputs, 0.8)[0]
    assert outcome.others["a copy of the text"] == pytest.approx(copy)
    assert outcome_lines(tmp_path / "model") == outcome.lines()
    monkeypatch.setattr(training, "_figures_of_others", lambda *_: {})
    training.train(ParaphraserTraining(**arguments, **sizes, output_dir=str(tmp_path / "unmeasured")))
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("model", "unmeasured"))
    assert all(torch.equal(first[name], second[name]) for name in first)


def texts_of(pairs):
    return [(pair.text, pair.output) for pair in pairs]


def test_nothing_is_held_out_of_few_pairs(tmp_path):
    (tmp_path / "few.tsv").write_text("".join(f"{text}\t{paraphrase}\n" for text, paraphrase in pairs(12)))
    arguments = {"pairs": [str(tmp_path / "few.tsv")], "output_dir": str(tmp_path / "model"), "held_out": 0}
    sizes = {"max_steps": 2, "batch_tokens": 256, "dtype": "float32", "threads": 1}
    training.train(ParaphraserTraining(**arguments, **sizes, base_model=str(folder() / "de-en")))
    record = json.loads((tmp_path / "model" / "training.json").read_text())
    assert (record["pairs"], record["steps"], record["held_out"], record["best_step"]) == (12, 2, [], None)
    assert outcome_lines(tmp_path / "model") == [
        "held-out iBLEU: no texts were held out, so nothing says how good this model is"
    ]
    assert "no pairs were held out" in (tmp_path / "model" / "README.md").read_text()


@pytest.mark.slow
def test_two_processes_train_adapters(tmp_path, bitext):
    output = tmp_path / "model"
    process = run(command(output, bitext, "--lora", "--lora_rank", "2", "--processes", "2"), "", tmp_path)
    assert process.returncode == 0, process.stderr
    record = json.loads((output / "training.json").read_text())
    assert record["processes"] == 2 and record["steps"] == 8
    peft_model = AutoPeftModelForSeq2SeqLM.from_pretrained(output / "adapters").eval()
    merged = AutoModelForSeq2SeqLM.from_pretrained(output).eval()
    ids = torch.tensor([[5, 6, 0]])
    with torch.inference_mode():
        first, second = (model(input_ids=ids, decoder_input_ids=ids).logits for model in (peft_model, merged))
    assert torch.allclose(first, second, atol=1e-4)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"base_model": None, "lang": "de"}, "wanted either base_model or size, got neither, and lang 'de'"),
        ({"size": "starter"}, "wanted either base_model or size, got both"),
        ({"base_model": None, "size": "huge"}, "wanted size of"),
        ({"direction": "back"}, "wanted direction of from_reference, to_reference, both, got 'back'"),
        ({"weight": "score"}, "wanted weight of equal, rank, dual, got 'score'"),
        ({"lang": "english"}, "wanted --lang as a code of ISO 639-1"),
        ({"average": 0}, "wanted average of at least 1, got 0"),
        ({"average": 5, "lora": True}, "wanted average 1 with lora, because means of adapters are none, got 5"),
        ({"epochs": 0}, "wanted epochs of at least 1, got 0"),
        ({"patience": -1}, "wanted patience of at least 0, got -1"),
        ({"label_smoothing": 1.0}, "wanted label_smoothing in [0, 1), got 1.0"),
        ({"learning_rate": 0.0}, "wanted learning_rate above 0, got 0.0"),
    ],
)
def test_settings_out_of_range_are_refused(changed, message):
    with pytest.raises(ValueError) as error:
        dataclasses.replace(SETTINGS, **changed)
    assert str(error.value).startswith(message)


def test_pairs_that_cannot_be_used_are_refused(tmp_path):
    path = tmp_path / "copies.tsv"
    path.write_text("Hello!\tHello.\nBye.\tbye\n")
    with pytest.raises(ValueError, match=r"wanted pairs to train on, got none in .*copies.tsv \(refused: 2 equal\)"):
        read_training(dataclasses.replace(SETTINGS, pairs=[str(path)]))
    with pytest.raises(FileNotFoundError):
        read_training(dataclasses.replace(SETTINGS, pairs=[str(tmp_path / "none.tsv")]))
    assert _TrainingPair("a", "b", 1.0).weight == 1


def test_pairs_with_label_0_are_neither_trained_on_nor_held_out(tmp_path):
    rows = [f"Where is text {n}?\tText {n} is where?\t{n % 2}" for n in range(600)]
    (tmp_path / "qqp.tsv").write_text("\n".join(["question1\tquestion2\tis_duplicate", *rows]))
    text = read_training(dataclasses.replace(SETTINGS, pairs=[str(tmp_path / "qqp.tsv")], validation=None))
    used = {pair.text for pair in [*text.pairs, *(pair for pairs in text.held_out for pair in pairs)]}
    assert used and not used & {f"Where is text {n}?" for n in range(0, 600, 2)}
    assert text.refused["label 0"] == 300 and text.columns[0].startswith("qqp.tsv: reference is 'question1'")


def test_pairs_in_another_language_are_refused(tmp_path):
    bank = tmp_path / "bank"
    bank.mkdir()
    (bank / "parabank.json").write_text('{"settings": {"lang": "zh"}}')
    (tmp_path / "pairs.tsv").write_text("电梯又坏了。\t电梯又出故障了。\n" * 3, encoding="utf-8")
    with pytest.raises(ValueError, match=r"wanted pairs in en, got .*bank, which is in zh: give --lang zh"):
        read_training(ParaphraserTraining(pairs=[str(bank)], output_dir=str(tmp_path / "a")))
    with pytest.raises(ValueError, match=r"most of them in another script .*: give --lang, the language of .*pairs"):
        read_training(ParaphraserTraining(pairs=[str(tmp_path / "pairs.tsv")], output_dir=str(tmp_path / "a")))


def test_the_scale_of_adapters_may_be_any_number():
    model = AutoModelForSeq2SeqLM.from_pretrained(families.checkpoint("bart"))
    peft_model = with_adapters(model, rank=2, alpha=0.5)
    scalings = [getattr(module, "scaling", None) for module in peft_model.modules()]
    assert {scale for scales in scalings if isinstance(scales, dict) for scale in scales.values()} == {0.25}
