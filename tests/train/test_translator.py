"""The parts of training, and a whole small run: it learns, survives a kill, and its result loads."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
import torch
from accelerate.state import AcceleratorState
from safetensors.torch import save_file
from transformers import MarianMTModel

from tests.tiny import DEMO, ENVIRONMENT, PYTHON, pairs, translator
from toolkit.train import _translator_steps as steps
from toolkit.train._checkpoints import Progress, average_weights
from toolkit.train._translator_batches import batches, pack
from toolkit.train._translator_data import prepare
from toolkit.train.optimizer import WARMUP_PART, _learning_rate
from toolkit.train.translator import train
from toolkit.translator.load import load_translator
from toolkit.translator.settings import SIZES, Size, TrainingSettings

SETTINGS = TrainingSettings([str(DEMO)], "out", "de", "en", batch_tokens=400, seed=3)


def test_learning_rate():
    s = replace(SETTINGS, learning_rate=2.0, warmup_steps=4, cooldown_steps=5, max_steps=24)
    assert [_learning_rate(n, s) for n in range(5)] == [0.5, 1.0, 1.5, 2.0, 2.0]
    assert [_learning_rate(n, s) for n in (18, 19, 20, 23, 24)] == pytest.approx([2.0, 2.0, 1.6, 0.4, 0.0])
    s = replace(s, warmup_steps=0, cooldown_steps=0)
    assert {_learning_rate(n, s) for n in range(24)} == {2.0}


@pytest.mark.parametrize("steps", [1, 6, 60, 2999])
def test_a_training_that_is_shorter_than_warm_up_and_cooldown_reaches_its_learning_rate(steps):
    s = replace(SETTINGS, learning_rate=2.0, max_steps=steps)
    assert s.warmup_steps + s.cooldown_steps > steps - 1
    rates = [_learning_rate(n, s) for n in range(steps)]
    assert max(rates) == 2.0 and rates.index(2.0) <= steps // 6
    assert _learning_rate(steps, s) == 0.0


def test_the_cap_of_the_warm_up_is_that_of_the_default_training():
    assert SETTINGS.warmup_steps * WARMUP_PART == SETTINGS.max_steps


def test_pack_keeps_all_pairs_within_the_budget():
    id_pairs = [([3] * (n * 7 % 13 + 1), [4] * (n * 5 % 17 + 1)) for n in range(100)]
    groups = list(pack(id_pairs, 60))
    assert sorted(map(str, id_pairs)) == sorted(str(pair) for group in groups for pair in group)
    for group in groups:
        assert len(group) * max(len(side) for pair in group for side in pair) <= 60
    assert len(groups) < 30
    assert list(pack([], 60)) == []
    assert [len(group) for group in pack([([3] * 100, [4]), ([3], [4])], 60)] == [1, 1]  # too long for any: alone


@pytest.fixture(scope="module")
def table() -> pa.Table:
    german, english = zip(*pairs(120), strict=True)
    return pa.table({"source": german, "reference": english})


def epoch(table: pa.Table, settings: TrainingSettings, number: int, pool: int = 50) -> list[tuple]:
    tiny = translator("de-en")
    return [(s.tolist(), t.tolist()) for s, t in batches(table, tiny.source, tiny.target, settings, number, pool)]


def test_an_epoch_has_every_pair_once(table):
    epoch_batches, tiny = epoch(table, SETTINGS, 0), translator("de-en")
    texts = [
        (tiny.source.decode([[i for i in s if i != 2]])[0], tiny.target.decode([[i for i in t if i != 2]])[0])
        for batch in epoch_batches
        for s, t in zip(*batch, strict=True)
    ]
    assert sorted(texts) == sorted(pairs(120))
    assert texts != pairs(120)


def test_an_epoch_depends_on_seed_and_number_only(table):
    settings = replace(SETTINGS, alpha=None)
    first = epoch(table, settings, 0)
    epoch(table, settings, 5)  # whatever came before
    assert epoch(table, settings, 0) == first
    assert epoch(table, settings, 1) != first
    assert epoch(table, replace(settings, seed=4), 0) != first


def test_segmentations_are_sampled_anew(table):
    def segmented(number: int) -> set[str]:
        return {str(s) for batch in epoch(table, SETTINGS, number) for s in batch[0]}

    assert len(segmented(0) & segmented(1)) < 60


def test_average_weights(tmp_path):
    for n in range(3):
        (tmp_path / str(n)).mkdir()
        save_file(
            {"w": torch.tensor([float(n), 3.0 * n], dtype=torch.bfloat16)}, tmp_path / str(n) / "model.safetensors"
        )
    weights = average_weights([tmp_path / str(n) for n in range(3)])
    assert weights["w"].tolist() == [1.0, 3.0]
    assert weights["w"].dtype == torch.float32


TINY = (200, True, 32, 1, 1, 2, 64)


def options(folder: Path, **changed: object) -> dict[str, object]:
    return {
        "bitext": [str(DEMO)],
        "output_dir": str(folder / "run"),
        "source_lang": "de",
        "lang": "en",
        "validation": [str(DEMO)],
        "size": "tiny",
        "learning_rate": 1e-2,
        "warmup_steps": 5,
        "cooldown_steps": 5,
        "max_steps": 30,
        "batch_tokens": 512,
        "save_every": 10,
        "average": 2,
        "alpha": None,
        **changed,
    }


def driver(folder: Path, kill_at: int | None = None) -> subprocess.CompletedProcess:
    """`train` with a preset of the test's own in a process of its own; `kill_at` kills it behind that checkpoint."""
    program = f"""
import os, signal, sys
import torch
from toolkit.train import translator as training, _translator_steps as steps
from toolkit.translator import settings
torch.set_num_threads(1)
settings.SIZES["tiny"] = settings.Size{TINY}
save_checkpoint = steps.save_checkpoint
def kill(accelerator, folder, step, kept):
    save_checkpoint(accelerator, folder, step, kept)
    if step == {kill_at}:
        os.kill(os.getpid(), signal.SIGKILL)
steps.save_checkpoint = kill
try:
    training.train(training.TrainingSettings(**{options(folder)!r}))
except ValueError as error:
    sys.exit(str(error))
"""
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true"}
    return subprocess.run([PYTHON, "-c", program], env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    process = driver(folder, kill_at=10)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert [p.name for p in (folder / "run").glob("checkpoint-*")] == ["checkpoint-00000010"]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(ValueError, match=r"learning_rate was 0.01, now 0.02"):
        patch.setenv("ACCELERATE_USE_CPU", "true")
        patch.setitem(SIZES, "tiny", Size(*TINY))
        train(TrainingSettings(**options(folder, learning_rate=2e-2)))
    process = driver(folder)
    assert process.returncode == 0, process.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    process = driver(folder)
    assert process.returncode == 0, process.stderr
    return folder / "run"


def record(run: Path) -> dict:
    return json.loads((run / "model" / "training.json").read_text())


class Clock:
    """A clock that stands still but where work is done, and a device that computes when the host reads its numbers."""

    def __init__(self, step_seconds: float) -> None:
        self.now, self.step_seconds, self.behind = 100.0, step_seconds, 0

    def perf_counter(self) -> float:
        return self.now

    def read(self) -> None:
        self.now, self.behind = self.now + self.step_seconds * self.behind, 0


def test_the_seconds_of_a_record_are_those_of_the_device_and_of_the_batches(monkeypatch):
    """Five steps to a record on a device that is behind: 3 s each, 1 s for each batch; a record takes 50 s itself."""
    clock, settings = Clock(3.0), SimpleNamespace(max_steps=10, save_every=5, output_dir=".", average=1)

    class Recent(torch.Tensor):
        def tolist(self) -> list[float]:
            clock.read()
            return super().tolist()

    def step(training: steps.Training, batch: object) -> torch.Tensor:
        clock.behind += 1
        return torch.tensor([8.0, 4.0])

    def reduced(recent: torch.Tensor) -> torch.Tensor:
        clock.read()
        return recent * 2

    def batches_of_an_epoch(training: steps.Training) -> Iterator[tuple[int, None]]:
        clock.now += 1000  # what is skipped
        for number in range(1, 11):
            yield number, None
            clock.now += 1

    def slow(*_: object) -> float:
        clock.now += 25
        return 2.5

    monkeypatch.setattr(steps, "time", clock)
    monkeypatch.setattr(steps, "_one_step", step)
    monkeypatch.setattr(steps, "_steps_of_epoch", batches_of_an_epoch)
    monkeypatch.setattr(steps, "likelihood", slow)
    monkeypatch.setattr(steps, "save_checkpoint", slow)
    accelerator = SimpleNamespace(num_processes=2, reduce=reduced, unwrap_model=lambda model: model)
    recent, progress = torch.zeros(2).as_subclass(Recent), Progress(seconds=7.0)
    training = steps.Training(settings, None, accelerator, None, [], progress, recent)
    lines: list[str] = []
    bar = SimpleNamespace(
        update=lambda: None, write=lambda line: None, set_postfix_str=lambda text, **_: lines.append(text)
    )
    steps.run_epoch(training, bar)
    # The last of five batches is made before the record, the next one after it and its checkpoint.
    assert [entry["seconds"] for entry in progress.log] == [7.0 + 4 + 15, 7.0 + 4 + 15 + 5 + 15]
    assert progress.tokens == 2 * 10 * 4
    assert lines == ["loss 2.000, 2 tokens/s"], "2 x 20 tokens in 20 seconds"


@pytest.mark.slow
def test_it_learns(whole):
    figures = record(whole)
    nats = [entry["held_out_nats_per_token"] for entry in figures["log"]]
    assert [entry["step"] for entry in figures["log"]] == [10, 20, 30]
    assert nats[0] > nats[1] > nats[2]
    assert nats[2] < 4.9  # ln 200 = 5.3 is knowing nothing
    assert min(figures["held_out_nats_per_token"].values()) < nats[0]
    assert sorted(p.name for p in whole.glob("checkpoint-*")) == ["checkpoint-00000020", "checkpoint-00000030"]


@pytest.mark.slow
def test_killed_it_resumes_and_ends_where_it_would_have(killed, whole):
    actual, expected = record(killed), record(whole)
    assert [entry["step"] for entry in actual["log"]] == [10, 20, 30], "the log goes on"
    assert actual["progress"]["step"] == 30
    for entry, expected_entry in zip(actual["log"], expected["log"], strict=True):
        assert entry["held_out_nats_per_token"] == pytest.approx(expected_entry["held_out_nats_per_token"], abs=0.02)
        assert entry["loss"] == pytest.approx(expected_entry["loss"], abs=0.02)


@pytest.mark.slow
def test_a_translator_that_has_its_steps_stays_as_it_is(whole, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    monkeypatch.setitem(SIZES, "tiny", Size(*TINY))
    saved = (whole / "model" / "model.safetensors").stat().st_mtime_ns
    assert train(TrainingSettings(**options(whole.parent))) == whole
    assert (whole / "model" / "model.safetensors").stat().st_mtime_ns == saved


@pytest.mark.slow
def test_the_result_is_a_translator(whole):
    model = MarianMTModel.from_pretrained(whole / "model")
    assert model.config.d_model == 32
    tiny = load_translator(str(whole / "model"), "float32")
    assert tiny.target.decode(tiny.target.encode(["We sleep."])) == ["We sleep."]
    ids = torch.tensor([tiny.source.encode(["Wir schlafen."])[0]])
    assert tiny.model.generate(input_ids=ids, max_new_tokens=5).shape[0] == 1


def test_a_bitext_without_usable_pairs_is_one_error(tmp_path, monkeypatch):
    (tmp_path / "bad.tsv").write_text("same\tsame\n")
    with pytest.raises(ValueError, match="usable pair"):
        train(replace(SETTINGS, bitext=[str(tmp_path / "bad.tsv")], output_dir=str(tmp_path / "run")))


def test_processes_that_do_not_see_each_other_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match=r"^wanted 2 processes"):
        train(replace(SETTINGS, output_dir=str(tmp_path / "new")))
    assert not (tmp_path / "new").exists()


def test_what_a_failed_preparation_began_binds_nobody(tmp_path, monkeypatch):
    def no_room(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("toolkit.train._translator_data.train_pieces", no_room)
    AcceleratorState._reset_state()  # another test of this process may have begun in another precision
    for size in ("starter", "parabank2-scoring"):  # another size is no other training, while none has begun
        with pytest.raises(OSError, match=r"^wanted to write .*out, got a full disk .*: make room; what was finished"):
            train(replace(SETTINGS, size=size, output_dir=str(tmp_path / "out")))


def test_an_unknown_size_is_one_error(tmp_path):
    with pytest.raises(ValueError, match="starter"):
        train(replace(SETTINGS, size="huge", output_dir=str(tmp_path / "run")))


def test_prepare_is_done_once_and_holds_out(tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "tiny", Size(150, True, 32, 1, 1, 2, 64))
    settings = replace(SETTINGS, size="tiny", output_dir=str(tmp_path / "run"))
    counts = prepare(settings)
    assert counts["train"] + counts["validation"] == 320
    assert counts["validation"] >= 1
    before = (tmp_path / "run" / "source.spm").read_bytes()
    os.utime(tmp_path / "run" / "source.spm", (1, 1))
    assert prepare(settings) == counts
    assert (tmp_path / "run" / "source.spm").stat().st_mtime == 1
    assert (tmp_path / "run" / "source.spm").read_bytes() == before
