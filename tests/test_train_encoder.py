"""The command in processes of its own: killed and started again, and errors of one line."""

import contextlib
import importlib.util
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors.torch import load_file

from tests.tiny import ENVIRONMENT, PYTHON, ROOT
from tests.train.test_encoder import synonyms
from toolkit.package.read import FORMS
from toolkit.system.lock import check_free
from toolkit.system.outputs import LOCK

SCRIPT = ROOT / "scripts" / "train_encoder.py"
# Kills the process that is about to give its third checkpoint its name, as `kill -9` would: two mega-batches are lost.
KILL_AT_CHECKPOINT_3 = """
import os, signal
rename, seen = os.replace, []
def replace(source, target):
    seen.extend([target] if str(target).endswith("checkpoint.pt") else [])
    if len(seen) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)
os.replace = replace
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_encoder", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flags(folder: Path, output: str, **changed: object) -> list[str]:
    (folder / "pairs.tsv").write_text(synonyms(45))
    settings = {
        "pairs": folder / "pairs.tsv",
        "output_dir": folder / output,
        "parts": ["word", "trigram", "lstm"],
        "dimensions": 5,
        "batch": 4,
        "mega_batch": 3,
        "epochs": 3,
        "learning_rate": 0.01,
        "save_every": 2,
        "threads": 1,
        **changed,
    }
    arguments = []
    for name, value in settings.items():
        arguments += [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
    return arguments


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


@pytest.mark.slow
def test_killed_and_started_again_it_ends_with_the_same_bits(script, tmp_path, capsys):
    start = tmp_path / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(KILL_AT_CHECKPOINT_3)
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": f"{start}{os.pathsep}{ROOT}"}
    command = [PYTHON, str(SCRIPT), *flags(tmp_path, "killed")]
    process = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert process.returncode == -signal.SIGKILL, process.stderr
    folder = tmp_path / "killed"
    assert torch.load(folder / "checkpoint.pt", weights_only=True)["done"] == 4  # mega-batches, of 12
    assert not (folder / "model.safetensors").exists()

    capsys.readouterr()
    assert script.main(flags(tmp_path, "killed", epochs=4, seed=7)) == 1
    output = capsys.readouterr()
    assert output.out == "" and output.err == (
        f"parabank train encoder: {folder} holds a run with other settings: seed was 0, now 7, epochs was 3, now 4; "
        "take them back or choose another output\n"
    )
    assert (folder / "checkpoint.pt").exists()

    assert script.main(flags(tmp_path, "killed", save_every=5)) == 0
    advice = f"load it with toolkit.load_encoder({str(folder)!r})"
    note = "paraphrases nearest to their own reference, in percent: no pairs were held out, so nothing says how good"
    assert capsys.readouterr().out == f"{folder}: {advice}\n{note} this model is\n"
    assert script.main(flags(tmp_path, "whole")) == 0
    result, expected = weights(folder), weights(tmp_path / "whole")
    assert result.keys() == expected.keys() and len(expected) == 3 + 4  # tables, and the LSTM's
    assert all(torch.equal(result[name], expected[name]) for name in expected)
    records = [json.loads((tmp_path / name / "training.json").read_text()) for name in ("killed", "whole")]
    assert records[0]["loss"] == records[1]["loss"] and records[0]["loss"][2] < records[0]["loss"][0]
    assert not (folder / "checkpoint.pt").exists()
    assert script.main(flags(tmp_path, "other", seed=1)) == 0
    assert not torch.equal(weights(tmp_path / "other")["tables.word"], expected["tables.word"]), "nothing was compared"


def wait_for(is_there, process: subprocess.Popen, seconds: float = 120) -> None:
    """Wait until something is there while a process lives."""
    until = time.monotonic() + seconds
    while not is_there():
        assert process.poll() is None and time.monotonic() < until, "it never came"
        time.sleep(0.1)


def holders(folder: Path) -> list[int]:
    lock = folder / LOCK
    return [json.loads(line)["pid"] for line in lock.read_text().splitlines()] if lock.exists() else []


@pytest.mark.slow
def test_two_launches_on_one_folder(script, tmp_path, capsys):
    """The launcher is killed, its two workers live on: another launch is told which they are, and does no work."""
    long = flags(tmp_path, "made", epochs=100_000, save_every=1)
    first = subprocess.Popen([PYTHON, str(SCRIPT), *long, "--processes", "2"], env=ENVIRONMENT, cwd=tmp_path)
    folder = tmp_path / "made"
    wait_for(lambda: len(holders(folder)) == 2 and (folder / "checkpoint.pt").exists(), first)
    workers = holders(folder)
    first.kill()
    first.wait()
    try:
        assert script.main(long) == 1
        message = capsys.readouterr().err
        assert message.count("\n") == 1 and f"wanted {folder} for this command alone, got it held by process" in message
        assert any(f"process {pid} on " in message for pid in workers)
    finally:
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 30
    while any(Path("/proc", str(pid)).exists() for pid in workers) and time.monotonic() < until:
        time.sleep(0.1)
    check_free(folder)  # the lock has died with them


def heed_interruptions() -> None:
    """For a child: a test that runs in the background has its signal ignored, and its children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.slow
def test_several_processes_say_it_once_and_an_interruption_is_one_line(tmp_path):
    command = [PYTHON, str(SCRIPT), *flags(tmp_path, "two", epochs=1), "--processes", "2"]
    process = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("toolkit.load_encoder") == 1 and process.stdout.count("\n") == 2
    command = [PYTHON, str(SCRIPT), *flags(tmp_path, "long", epochs=100_000, save_every=1)]
    second_process = subprocess.Popen(
        command, env=ENVIRONMENT, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interruptions
    )
    wait_for((tmp_path / "long" / "checkpoint.pt").exists, second_process)
    second_process.send_signal(signal.SIGINT)
    line = second_process.communicate(timeout=120)[1].splitlines()[-1]
    assert second_process.returncode == 128 + signal.SIGINT
    assert line == "parabank train encoder: interrupted; what is finished is kept, the same command goes on from there"


def test_a_full_disk_is_named_and_the_last_checkpoint_kept(script, tmp_path, capsys):
    """A limit on the size of files stands for the disk: the checkpoint has more than the records."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
        assert script.main(flags(tmp_path, "full", save_every=1)) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"parabank train encoder: wanted to write {tmp_path}/full/checkpoint.pt, got a full disk (")
    assert line.endswith("make room; what was finished before is kept, and the same command goes on from it")
    assert sorted(path.name for path in (tmp_path / "full").iterdir()) == [LOCK, "settings.json"]
    assert script.main(flags(tmp_path, "full", save_every=1)) == 0


def test_errors_are_one_line(script, tmp_path, capsys):
    bad = tmp_path / "bad.tsv"
    bad.write_text("one\tone\n")
    for changed, message in (
        (
            {"pairs": tmp_path / "none.tsv"},
            f"wanted {FORMS}, got {tmp_path / 'none.tsv'}, which does not exist: check the path",
        ),
        ({"pairs": bad}, "wanted pairs of different texts of 1 to 30 tokens, got none (1 equal)"),
        (
            {"word_vectors": bad},
            f"wanted a word and 5 finite numbers, got 1 fields in line 1 of {bad}: give --dimensions of the file",
        ),
    ):
        assert script.main(flags(tmp_path, f"made-{len(message)}", **changed)) == 1
        output = capsys.readouterr()
        assert output.out == "" and output.err == f"parabank train encoder: {message}\n"
    (tmp_path / "file").write_text("")
    assert script.main(flags(tmp_path, "file")) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epoch": 3}, "unrecognized arguments: --epoch 3"),
        ({"epochs": "many"}, "argument --epochs: invalid int value: 'many'"),
        ({"loss": "triplet"}, "wanted loss of margin, ranking, got 'triplet'"),
        (
            {"hidden": 7},
            "wanted parts of one size to add, got word 5, trigram 5, lstm 7; change hidden, or concatenate",
        ),
    ],
)
def test_wrong_flags_are_refused(changed, message, script, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        script.main(flags(tmp_path, "made", **changed))
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "made").exists()
