"""What a user starts, on a pretended CUDA device that nobody names: the rows, scores and files of the CPU."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import Tensor

import toolkit
from builders.commands.augment_dataset import main as augment_file
from builders.parabank2 import ParaBank2Run, build
from tests import language_models, tiny
from tests.augmentation.bert import tiny_bert
from tests.cross_encoders import saved_cross_encoder
from tests.pretended import pretended_cuda
from toolkit.data.progress import RowsFailed
from toolkit.data.rows import Row
from toolkit.data.shards import read_shard
from toolkit.decode import shared
from toolkit.decode.constraint_set import times_said
from toolkit.decode.engine import Engine
from toolkit.encoder.load import load_embedder
from toolkit.generate import sample as sample_stage
from toolkit.generate.language_model import Asking, ask_rows
from toolkit.generate.prompt import read_prompt
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.score.bertscore import load_bertscore
from toolkit.score.critic import critic_rows, load_critic, read_back_rows
from toolkit.score.entailment import entailment_rows, load_nli
from toolkit.score.semantic import semantic_rows
from toolkit.system import memory, processes
from toolkit.translator import load as translator_load

TEXTS = [english for _, english in tiny.pairs(6)]
SETTINGS = Paraphrasing(  # random weights pass no guard and no threshold
    n=3, rank_by="dual", guards=(), min_semantic=None, max_iou=None, max_dual_nll=None, pool=0, constraint_sets=2,
    samples_per_set=6, constraint_rate=0.3, min_p=0.05, beam=3,
)  # fmt: skip


@contextlib.contextmanager
def on_gpu(devices: int = 1, free: int = 78 << 30) -> Iterator[None]:
    """The machine has GPUs, and what is loaded without a device is on one of them."""
    processes._tell_idle.cache_clear()
    with pretended_cuda(devices, free) as gpu:
        gpu.reset()
        yield
        assert sum(gpu.kernels.values()) > 100, "it computed elsewhere"


def twice(work: Callable[[], Any]) -> tuple[Any, Any]:
    """What a function returns on the CPU, and on a GPU."""
    on_cpu = work()
    with on_gpu():
        return on_cpu, work()


@pytest.fixture
def in_float64(monkeypatch):
    """Translators compute in float64, where a device and the CPU choose the same tokens."""
    monkeypatch.setattr(translator_load, "prepare_for_cpu", lambda model, *_: None)
    monkeypatch.setattr(translator_load, "in_bfloat16", lambda dtype, device: False)
    eval_of = translator_load.PreTrainedModel.eval
    monkeypatch.setattr(translator_load.PreTrainedModel, "eval", lambda model: eval_of(model.double()))


@pytest.mark.parametrize(
    ("method", "require", "texts"), [("sample", (), TEXTS[:4]), ("beam", ("the",), ["It is late."])]
)
def test_paraphraser(in_float64, method, require, texts):
    def paraphrases() -> list[list[str]]:
        paraphraser = toolkit.Paraphraser(str(tiny.folder() / "de-en"), "en", "starter/encoder", settings=SETTINGS)
        return paraphraser.paraphrase(texts, method=method, require=require)

    on_cpu, result = twice(paraphrases)
    assert result == on_cpu and sum(map(len, result)) > len(texts)
    assert all(times_said(text, word) for word in require for outputs in result for text in outputs)


@pytest.mark.slow
def test_batches_that_do_not_fit_are_halved(in_float64, monkeypatch, capsys):
    def paraphrases() -> list[list[str]]:
        paraphraser = toolkit.Paraphraser(str(tiny.folder(tiny.BRIEF) / "de-en"), "en", settings=SETTINGS)
        return paraphraser.paraphrase(TEXTS) + paraphraser.paraphrase(["It is late.", "No."], method="beam")

    padded, sizes, maximum = shared._padded_sources, [], [1]

    def padded_where_few(engine: Engine, sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        sizes.append(len(sources))
        if len(sources) > maximum[0]:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return padded(engine, sources)

    on_cpu = paraphrases()
    monkeypatch.setattr(shared, "_padded_sources", padded_where_few)
    memory._tell_halved.cache_clear()
    with on_gpu():
        assert paraphrases() == on_cpu
    assert max(sizes) >= 6 and capsys.readouterr().err.count("out of GPU memory: batches that do not fit are") == 1
    maximum[0] = 0
    with pytest.raises(RowsFailed, match="CUDA out of memory"), on_gpu():
        paraphrases()


def scores(rows: list[Row]) -> list[dict[str, float]]:
    """The scores of all candidates that have a number."""
    return [
        {name: value for name, value in asdict(candidate.scores).items() if value is not None}
        for row in rows
        for candidate in row.candidates
    ]


def assert_close(result: list[dict[str, float]], on_cpu: list[dict[str, float]]) -> None:
    assert len(result) == len(on_cpu) and any(on_cpu)
    for left, right in zip(result, on_cpu, strict=True):
        assert left == pytest.approx(right, abs=2e-4)


def rows() -> list[Row]:
    return language_models.rows_of({text: [text.lower(), f"{text} Yes.", TEXTS[0]] for text in TEXTS[1:4]})


@pytest.mark.slow
def test_a_language_model_scores_and_writes(tmp_path):
    path = language_models.saved("llama", tmp_path)

    def read() -> tuple[list[dict[str, float]], list[str]]:
        model = load_critic(path, "float32")
        scored = list(read_back_rows(critic_rows(rows(), model, 300), model, 300))
        inputs = [replace(row, candidates=[]) for row in rows()]
        asking = Asking(read_prompt("paraphrase"), 1, 0.0, 1.0, 8, 0)
        return scores(scored), [c.text for row in ask_rows(inputs, model, asking) for c in row.candidates]

    (on_cpu, texts_on_cpu), (result, texts) = twice(read)
    assert_close(result, on_cpu)
    assert {"given_reference", "relative_fluency", "after_candidate"} <= result[0].keys()
    assert texts == texts_on_cpu and len(texts) == 3


def test_encoders_score(tmp_path):
    for name in ("bert", "nli"):
        (tmp_path / name).mkdir()
    bert, nli = str(tiny_bert(tmp_path / "bert", TEXTS)), str(saved_cross_encoder(tmp_path / "nli"))

    def read() -> tuple[list[dict[str, float]], list[float]]:
        scored = semantic_rows(rows(), load_embedder("starter/encoder"), 4)
        pairs = [(row.reference, candidate.text) for row in rows() for candidate in row.candidates]
        return scores(list(entailment_rows(scored, load_nli(nli), 4))), load_bertscore(bert)(pairs)

    (on_cpu, bertscores_on_cpu), (result, bertscores) = twice(read)
    assert_close(result, on_cpu)
    assert {"semantic", "entailed", "entails"} <= result[0].keys()
    assert bertscores == pytest.approx(bertscores_on_cpu, abs=1e-4)


def test_a_whole_build(in_float64, tmp_path, capsys):
    models = {"forward": str(tiny.folder(tiny.BRIEF) / "de-en"), "backward": str(tiny.folder(tiny.BRIEF) / "en-de")}
    limits = {"constraint_sets": 2, "samples_per_set": 5, "clusters": 3, "paraphrases": 2, "max_dual_nll": 30.0}

    def build_rows(name: str) -> list[tuple[str, list[str]]]:
        source = {"bitext": [str(tiny.DEMO)], "source_lang": "de", "lang": "en", "limit": 8, "shard_rows": 4}
        output = tmp_path / name / "bank"
        build(ParaBank2Run(**source, **models, **limits, threads=1, output_dir=str(output)))
        bank = toolkit.load_parabank(output)["train"]
        shards = sorted(output.with_name("bank.shards").glob("rows-*"))
        assert len(bank) > 3 and len(shards) == 2
        return [(row.id, [c.text for c in row.candidates]) for shard in shards for row in read_shard(shard)]

    on_cpu = build_rows("cpu")
    capsys.readouterr()
    with on_gpu(devices=2):
        on_one_of_two = build_rows("gpu")
    assert on_one_of_two == on_cpu and sum(len(texts) for _, texts in on_cpu) > 20
    assert capsys.readouterr().err.count("2 GPUs, one is used: --processes 2") == 1


@pytest.mark.slow
def test_a_run_keeps_the_batches_that_it_began_with(in_float64, monkeypatch, tmp_path):
    models = {"forward": str(tiny.folder(tiny.BRIEF) / "de-en"), "backward": str(tiny.folder(tiny.BRIEF) / "en-de")}
    source = {"bitext": [str(tiny.DEMO)], "source_lang": "de", "lang": "en", "limit": 4, "shard_rows": 2}
    limits = {"constraint_sets": 1, "samples_per_set": 4, "clusters": 2, "paraphrases": 1, "max_dual_nll": 30.0}
    run = ParaBank2Run(**source, **models, **limits, threads=1, output_dir=str(tmp_path / "bank"))
    sizes, sizes_of = [], ParaBank2Run.batch_sizes.fget

    def note_sizes(settings: ParaBank2Run) -> dict[str, int]:
        sizes.append((settings.batch_rows, settings.batch_tokens))
        return sizes_of(settings)

    monkeypatch.setattr(ParaBank2Run, "batch_sizes", property(note_sizes))

    def recorded() -> tuple[int, int]:
        record = json.loads((run.shards_dir / "settings.json").read_text())
        return record["batch_rows"], record["batch_tokens"]

    with on_gpu(free=100 << 20):
        build(run)
    first = recorded()
    assert 1 < first[0] < 16_384 and 1 < first[1] <= 65_536 and set(sizes) == {first}
    shard = sorted(run.shards_dir.glob("rows-*"))[1]
    for machine in (on_gpu(), contextlib.nullcontext()):  # with more memory, and without a GPU
        sizes.clear()
        shard.unlink()  # as where the run was killed before it
        with machine:
            build(run)
        assert recorded() == first and set(sizes) == {first} and shard.exists()
    with pytest.raises(ValueError, match=f"batch_rows was {first[0]}, now 5; take them back"):
        build(replace(run, batch_rows=5))
    second_run = replace(run, batch_rows=5, output_dir=str(tmp_path / "given"))
    with on_gpu():
        build(second_run)
    assert json.loads((second_run.shards_dir / "settings.json").read_text())["batch_rows"] == 5


@pytest.mark.slow
def test_a_paraphraser_takes_what_the_memory_allows(in_float64, monkeypatch):
    row_counts: list[int] = []
    batches = sample_stage.batches

    def note_rows(order: Sequence[int], tokens: Sequence[int], each: int, batch_rows: int) -> Iterator[list[int]]:
        row_counts.append(batch_rows)
        return batches(order, tokens, each, batch_rows)

    monkeypatch.setattr(sample_stage, "batches", note_rows)
    model = str(tiny.folder(tiny.BRIEF) / "de-en")
    on_cpu = toolkit.Paraphraser(model, "en", settings=SETTINGS)
    assert on_cpu.batch_sizes == {"batch_rows": 2400, "batch_tokens": 8192}
    with on_gpu():
        paraphraser = toolkit.Paraphraser(model, "en", settings=SETTINGS)
        paraphraser.paraphrase(TEXTS[:1])
        paraphraser.settings = replace(SETTINGS, batch_rows=9)
        paraphraser.paraphrase(TEXTS[:1])
    assert paraphraser.batch_sizes == {"batch_rows": 16_384, "batch_tokens": 65_536} and row_counts == [16_384, 9]


@pytest.mark.slow
def test_a_file_is_augmented(in_float64, tmp_path: Path):
    path = tmp_path / "train.csv"
    Dataset.from_dict({"text": TEXTS, "label": [0, 1] * 3}).to_csv(str(path), index=False)

    def augmented(name: str) -> list[dict]:
        output = tmp_path / f"{name}.jsonl"
        flags = ["--data", str(path), "--columns", "text", "--output", str(output), "--threads", "1", "--copies", "1"]
        flags += ["--paraphraser", "starter/paraphraser"]  # the same whatever else is installed
        assert augment_file(flags) == 0
        return [json.loads(line) for line in output.read_text().splitlines()]

    on_cpu = augmented("cpu")
    with on_gpu():
        assert augmented("gpu") == on_cpu
    assert len(on_cpu) > len(TEXTS)
