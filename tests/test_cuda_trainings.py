"""Every training takes two steps on a pretended CUDA device, beside a second one, and makes the model of the CPU."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from torch import Tensor, nn

from tests import tiny
from tests.augmentation.bert import tiny_bert
from tests.pretended import pretended_cuda
from toolkit.encoder.settings import TRANSFORMER_LOSSES, EncoderTraining, StaticTraining, TransformerTraining
from toolkit.pair_classifier.settings import PairClassifierSettings
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.study.trials import by_trainer
from toolkit.system import processes
from toolkit.train import (
    encoder,
    infiller,
    pair_classifier,
    paraphraser,
    static_encoder,
    transformer_encoder,
    translator,
)
from toolkit.train.infiller_settings import InfillerTraining
from toolkit.translator.settings import SIZES, Size, TrainingSettings

PAIRS = tiny.pairs(320)
GPUS = 2
CLOSE = 1e-4  # of a weight; a step moves one by a thousandth and more
ALIKE = 0.99  # share of the weights; of the others the gradient is zero up to rounding, whose sign is a step's


class _Spread(nn.DataParallel):
    """What trainers of the library do with several GPUs and no launcher."""

    def __init__(self, *arguments: object, **options: object) -> None:
        raise AssertionError("a model was spread over GPUs")


@contextlib.contextmanager
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two pretended GPUs, of which one may be used; their arithmetic is that of the CPU."""
    processes._tell_idle.cache_clear()
    with pretended_cuda(devices=GPUS) as gpu, monkeypatch.context() as patch:
        patch.setattr(nn, "DataParallel", _Spread)
        gpu.reset()
        yield
        assert sum(gpu.kernels.values()) > 100, "it computed elsewhere"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with pairs, a bitext, a book, labelled pairs and a BERT."""
    english = [text for _, text in PAIRS]
    lines = (f"{text}\tindeed {text.lower()} {n}\n" for n, text in enumerate(english))
    (tmp_path / "pairs.tsv").write_text("".join(lines))
    (tmp_path / "bitext.tsv").write_text("".join(f"{german}\t{text}\n" for german, text in PAIRS))
    (tmp_path / "book.txt").write_text("\n".join(" ".join(english[n : n + 6]) for n in range(0, 240, 6)))
    labelled = (f"{english[n]}\t{english[n + 1]}\t{n % 2}\n" for n in range(16))
    (tmp_path / "task.tsv").write_text("sentence1\tsentence2\tlabel\n" + "".join(labelled))
    (tmp_path / "bert").mkdir()
    tiny_bert(tmp_path / "bert", english)
    return tmp_path


def weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of all safetensors of a folder, checkpoints apart."""
    files = [path for path in sorted(folder.rglob("*.safetensors")) if "checkpoint" not in str(path)]
    return {f"{path.name}:{name}": t.float() for path in files for name, t in load_file(path).items()}


def assert_alike(output: Path, on_cpu: Path) -> None:
    """Fail where two trainings have not made the same model."""
    first, second = weights(output), weights(on_cpu)
    assert first and first.keys() == second.keys()
    differences = torch.cat([(first[name] - second[name]).abs().flatten() for name in first])
    assert torch.isfinite(differences).all()
    assert (differences < CLOSE).float().mean() > ALIKE, f"{differences.mean()}, at most {differences.max()}"


def trained_twice(train, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """Train on the CPU and on a GPU, and compare what is saved."""
    train(data / "cpu")
    capsys.readouterr()
    with two_gpus(monkeypatch):
        train(data / "gpu")
    assert capsys.readouterr().err.count(f"{GPUS} GPUs, one is used: --processes {GPUS}\n") == 1
    assert_alike(data / "gpu", data / "cpu")


@pytest.mark.slow
def test_translator(data, monkeypatch, capsys):
    (data / "few.tsv").write_text("".join((data / "bitext.tsv").read_text().splitlines(True)[:20]))
    for module in ("toolkit.train.translator", "toolkit.train.optimizer"):
        monkeypatch.setattr(f"{module}.has_bfloat16", lambda device: False)
    monkeypatch.setitem(SIZES, "starter", Size(200, True, 32, 1, 1, 2, 64))

    def train(output: Path) -> None:
        translator.train(
            TrainingSettings(
                [str(data / "bitext.tsv")], str(output), "de", "en", validation=[str(data / "few.tsv")],
                size="starter", max_steps=2, save_every=1, batch_tokens=256, warmup_steps=1, alpha=None,
                dropout=0.0, check_language=False,
            )
        )  # fmt: skip

    trained_twice(train, data, monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("lora", [False, True])
def test_paraphraser(data, monkeypatch, capsys, lora):
    def train(output: Path) -> None:
        paraphraser.train(
            ParaphraserTraining(
                pairs=[str(data / "pairs.tsv")], output_dir=str(output), base_model=str(tiny.folder() / "de-en"),
                lora=lora, max_steps=2, save_every=1, held_out=2, average=1 if lora else 2, threads=1,
                batch_tokens=200, dtype="float32", max_tokens=56,
            )
        )  # fmt: skip

    trained_twice(train, data, monkeypatch, capsys)


@pytest.mark.slow
def test_infiller(data, monkeypatch, capsys):

    def search(rows, searches, model, *sizes):
        assert (model.model.device.type, len(sizes)) == ("cpu", 2), "a second copy stays on the CPU"
        return [[] for _ in rows]

    monkeypatch.setattr(infiller, "search", search)

    def train(output: Path) -> None:
        infiller.train(
            InfillerTraining(
                text=[str(data / "book.txt")], vocabulary=300, width=64, feed_forward=64, encoder_layers=1,
                decoder_layers=1, held_out=20, epochs=1, batch_tokens=400, save_every=2, max_steps=2, min_chars=20,
                output_dir=str(output), threads=1, source="x", dtype="float32",
            )
        )  # fmt: skip

    trained_twice(train, data, monkeypatch, capsys)


@pytest.mark.parametrize("loss", ["margin", "ranking"])
def test_encoder(data, monkeypatch, capsys, loss):
    (data / "few.tsv").write_text("".join((data / "pairs.tsv").read_text().splitlines(True)[:40]))

    def train(output: Path) -> None:
        encoder.train(
            EncoderTraining(
                pairs=[str(data / "few.tsv")], output_dir=str(output), parts=["word", "trigram", "lstm"], epochs=1,
                loss=loss, dimensions=16, combine="concatenation", batch=20, mega_batch=2, min_count=1, save_every=1,
                threads=1, negatives_dtype="float32",
            )
        )  # fmt: skip

    trained_twice(train, data, monkeypatch, capsys)


def test_static_encoder(data, monkeypatch, capsys):
    (data / "few.tsv").write_text("".join((data / "pairs.tsv").read_text().splitlines(True)[:40]))

    def train(output: Path) -> None:
        static_encoder.train(
            StaticTraining(
                pairs=[str(data / "few.tsv")], output_dir=str(output), vocabulary=300, dimensions=16, shortest=8,
                batch=20, epochs=1, save_every=1, threads=1, dtype="float32",
            )
        )  # fmt: skip

    trained_twice(train, data, monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("loss", TRANSFORMER_LOSSES)
def test_transformer_encoder(data, monkeypatch, capsys, loss):
    (data / "few.tsv").write_text("".join((data / "pairs.tsv").read_text().splitlines(True)[:16]))

    def train(output: Path) -> None:
        transformer_encoder.train(
            TransformerTraining(
                pairs=[str(data / "few.tsv")], output_dir=str(output), base_model=str(data / "bert"), batch=8,
                mini_batch=4, epochs=1, save_every=2, threads=1, loss=loss, dtype="float32",
            )
        )  # fmt: skip

    trained_twice(train, data, monkeypatch, capsys)


@pytest.mark.slow
def test_pair_classifier(data, monkeypatch, capsys):
    monkeypatch.setattr("toolkit.models.precision.has_bfloat16", lambda device: False)
    figures = {}

    def train(output: Path) -> None:
        model = pair_classifier.train(
            PairClassifierSettings(
                output_dir=str(output), base_model=str(data / "bert"), task=str(data / "task.tsv"), batch=8, epochs=1
            )
        )
        figures[output.name] = pair_classifier.measure(
            model, [str(data / "task.tsv")], ["sentence1", "sentence2", "label"]
        )

    trained_twice(train, data, monkeypatch, capsys)
    assert json.dumps(figures["gpu"]) == json.dumps(figures["cpu"])


def test_a_classifier_of_the_study(data, monkeypatch, capsys):
    monkeypatch.setattr("toolkit.models.precision.has_bfloat16", lambda device: False)
    rows = Dataset.from_dict({"text": [text for _, text in PAIRS[:16]], "label": [0, 1] * 8})
    on_cpu = by_trainer(str(data / "bert"), ["text"], "label", steps=2)(rows, rows, 0)
    with two_gpus(monkeypatch):
        assert by_trainer(str(data / "bert"), ["text"], "label", steps=2)(rows, rows, 0) == on_cpu
    assert capsys.readouterr().err.count("GPUs, one is used") == 1
