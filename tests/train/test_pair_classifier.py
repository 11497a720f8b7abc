"""Runs: a parabank's pairs, then a task from where they ended; what is finished stays finished."""

import importlib.util
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from tests.conftest import demo_rows
from tests.tiny import ENVIRONMENT, PYTHON
from toolkit.pair_classifier.tasks import figures, predict, predict_scores, read_task, score_figures
from toolkit.train.pair_classifier import PairClassifierSettings, measure, train

torch.set_num_threads(1)
SCRIPT = Path(__file__).parents[2] / "scripts" / "train_pair_classifier.py"
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "We",
    "go",
    "home",
    "dog",
    "hound",
    "rain",
    "rains",
    "swim",
    ",",
    ".",
    "It",
]


def tokenizer() -> Tokenizer:
    word_tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    word_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return word_tokenizer


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    folder, pairing = tmp_path_factory.mktemp("tiny") / "bert", tokenizer()
    pairing.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=pairing, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(WORDS), **shape)).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / "words"
    torch.manual_seed(0)
    SentenceTransformer(modules=[StaticEmbedding(tokenizer(), embedding_dim=8)], device="cpu").save(str(folder))
    return str(folder)


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "task.tsv"
    path.write_text("sentence1\tsentence2\tlabel\n" + "dog\thound\t1\nrain\tswim\t0\n" * 5)
    return path


@pytest.fixture
def settings(start, encoder, demo_parabank, tmp_path):
    return PairClassifierSettings(
        base_model=start, output_dir=str(tmp_path / "run"), parabank=str(demo_parabank), encoder=encoder, epochs=1
    )


@pytest.mark.slow
def test_a_parabank_then_a_task(settings, task, tmp_path):
    model = train(settings)
    pairs = pq.read_table(tmp_path / "run" / "pairs.parquet").to_pylist()
    references = {c.text: row.reference for row in demo_rows() for c in row.candidates if row.split == "train"}
    groups = [{references.get(p[name], p[name]) for name in ("sentence1", "sentence2")} for p in pairs]
    assert [len(group) for group in groups] == [2 - p["label"] for p in pairs] == [1, 2] * 7
    record = json.loads((model / "training.json").read_text())
    assert (record["pairs"], record["positive"], record["settings"]["parabank"]) == (14, 7, "demo")
    assert str(tmp_path) not in "".join(file.read_text(errors="ignore") for file in model.glob("*.json"))
    assert not list((tmp_path / "run").glob("checkpoint-*"))

    follows = replace(
        settings,
        base_model=str(model),
        parabank=None,
        task=str(task),
        output_dir=str(tmp_path / "two"),
        learning_rate=1e-9,
    )
    before, after = (CrossEncoder(str(path), device="cpu").model.state_dict() for path in (model, train(follows)))
    changed = {name for name in before if (before[name] - after[name]).abs().max() > 1e-6}
    assert changed == {"classifier.weight"}  # its bias is drawn as 0
    classifier = CrossEncoder(str(tmp_path / "two" / "model"), device="cpu")
    expected = figures([1, 0] * 5, predict(classifier, read_task(task)))
    assert measure(tmp_path / "two" / "model", [str(task)], follows.columns) == {str(task): expected}


@pytest.mark.slow
def test_a_scored_task_from_a_classifier(settings, tmp_path):
    labelled = train(settings)  # two outputs; the scored task has one
    path = tmp_path / "sts-train.csv"
    lines = ["dog\thound\t4.8\n", "rain\tswim\t0.4\n", "It rains .\train\t3.5\n", "We go home\tswim\t1.0\n"]
    path.write_text("".join(lines) * 4)
    follows = replace(
        settings, base_model=str(labelled), parabank=None, task=str(path), columns=["0", "1", "2"], scored=True,
        output_dir=str(tmp_path / "scored"), learning_rate=1e-9, batch=4,
    )  # fmt: skip
    model = train(follows)
    record = json.loads((model / "training.json").read_text())
    assert record["mean_score"] == pytest.approx(2.425) and "positive" not in record
    classifier, pairs = CrossEncoder(str(model), device="cpu"), read_task(path, follows.columns, scored=True)
    assert classifier.num_labels == 1
    scores, predicted = [pair.label for pair in pairs], predict_scores(classifier, pairs)
    error = float(np.mean((np.array(scores) - predicted) ** 2))  # of points, not of what a sigmoid makes of them
    assert record["loss"] == pytest.approx(error, abs=0.3) and error > 5
    assert measure(model, [str(path)], follows.columns, scored=True) == {str(path): score_figures(scores, predicted)}
    again = replace(settings, base_model=str(model), output_dir=str(tmp_path / "labels again"))
    assert CrossEncoder(str(train(again)), device="cpu").num_labels == 2


def test_a_finished_run_stays_and_other_settings_are_refused(settings):
    weights = train(settings) / "model.safetensors"
    first = weights.stat().st_mtime_ns
    assert train(replace(settings, save_every=7)) == weights.parent and weights.stat().st_mtime_ns == first
    with pytest.raises(ValueError, match=r"holds a run with other settings: seed was 0, now 1"):
        train(replace(settings, seed=1))


@pytest.mark.slow
def test_pairs_are_found_once(settings, tmp_path, monkeypatch):
    train(settings)
    (tmp_path / "run" / "model" / "training.json").unlink()

    def again(*_, **__):
        raise AssertionError("found again")

    monkeypatch.setattr("toolkit.train.pair_classifier.identification_pairs", again)
    assert (train(settings) / "training.json").exists()
    with pytest.raises(AssertionError, match="found again"):
        train(replace(settings, output_dir=str(tmp_path / "other")))


def test_a_parabank_that_moved_is_no_longer_that_of_the_run(settings, tmp_path):
    train(settings)
    Path(settings.parabank).rename(tmp_path / "moved")
    with pytest.raises(ValueError, match="holds a run with other settings: content of parabank was '"):
        train(settings)
    folder = tmp_path / "other"
    with pytest.raises(FileNotFoundError, match=f"wanted a parabank, got '{settings.parabank}'"):
        train(replace(settings, output_dir=str(folder)))
    assert not folder.exists()
    train(replace(settings, parabank=str(tmp_path / "moved"), output_dir=str(folder)))


@pytest.mark.parametrize("options", [{}, {"parabank": "a", "encoder": "b", "task": "c"}])
def test_one_thing_to_learn_from(options):
    with pytest.raises(ValueError, match="wanted either --parabank or --task, got both or neither"):
        PairClassifierSettings(base_model="a", output_dir="b", **options)


def test_a_parabank_wants_an_encoder():
    with pytest.raises(ValueError, match="wanted --encoder with --parabank, got none"):
        PairClassifierSettings(base_model="a", output_dir="b", parabank="c")


def test_a_parabank_has_no_scores():
    with pytest.raises(ValueError, match="wanted --task with --scored, got --parabank"):
        PairClassifierSettings(base_model="a", output_dir="b", parabank="c", encoder="d", scored=True)


def test_another_number_of_processes_would_read_other_pairs(start, task, tmp_path, monkeypatch):
    settings = PairClassifierSettings(base_model=start, output_dir=str(tmp_path / "run"), task=str(task), epochs=1)

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("toolkit.train.pair_classifier.fit", killed)
    with pytest.raises(KeyboardInterrupt):
        train(settings)
    record = tmp_path / "run" / "settings.json"
    record.write_text(record.read_text().replace('"processes": 1', '"processes": 2'))
    with pytest.raises(ValueError, match=r"processes.*2"):
        train(settings)


@pytest.mark.slow
def test_two_processes(start, task, tmp_path):
    flags = ["--base_model", start, "--task", str(task), "--output_dir", str(tmp_path / "run"), "--epochs", "1"]
    launched = [
        PYTHON,
        "-m",
        "torch.distributed.run",
        "--nproc_per_node",
        "2",
        str(SCRIPT),
        *flags,
        "--batch",
        "4",
    ]
    environment = {**ENVIRONMENT, "ACCELERATE_USE_CPU": "true"}
    process = subprocess.run(launched, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("load it with") == 1
    classifier = CrossEncoder(str(tmp_path / "run" / "model"), device="cpu")
    assert all(torch.isfinite(weight).all() for weight in classifier.model.parameters())


def test_the_command(start, task, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("train_pair_classifier", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    flags = ["--base_model", start, "--task", str(task), "--output_dir", str(tmp_path / "run"), "--epochs", "1"]
    assert script.main([*flags, "--test", str(task)]) == 0
    assert "'accuracy': " in (printed := capsys.readouterr().out) and "F1|positive:1|decision:argmax" in printed
    assert script.main([*flags, "--columns", "one", "two", "three", "--output_dir", str(tmp_path / "bad")]) == 1
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith(
        "parabank train pair_classifier: wanted columns one, two, three, got sentence1, sentence2, label in"
    )


def test_the_command_of_a_scored_task(start, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("train_pair_classifier", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    path = tmp_path / "sts-dev.csv"
    path.write_text("o\ts\t1\t1\t4.5\tdog\thound\no\ts\t1\t2\t0.5\train\tswim\n" * 3)
    flags = ["--base_model", start, "--output_dir", str(tmp_path / "run"), "--epochs", "1", "--columns", "5", "6", "4"]
    assert script.main([*flags, "--task", str(path), "--scored", "--test", str(path)]) == 0
    assert "'spearman': " in (printed := capsys.readouterr().out) and "Pearson, Spearman|x100" in printed
