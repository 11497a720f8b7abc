"""scripts/train_translator.py end to end: killed, started again, loaded, and translating."""

import json
import os
import signal
import subprocess

import pytest
from transformers import MarianMTModel

import toolkit
from tests.tiny import DEMO, ENVIRONMENT, PYTHON, ROOT
from toolkit.evaluate.translation import translate

SCRIPT = str(ROOT / "scripts" / "train_translator.py")
# Kills the process that is about to give its second checkpoint its name, as `kill -9` would: two steps are lost.
KILL_AT_STEP_4 = """
import os, signal
rename = os.rename
def renamed(source, target, **options):
    if str(target).endswith("checkpoint-00000004"):
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target, **options)
os.rename = renamed
"""


def command(folder, **changed):
    settings = {
        "bitext": DEMO, "output_dir": folder / "run", "source_lang": "de", "lang": "en", "max_steps": 6, "seed": 5,
        "save_every": 2, "warmup_steps": 1, "cooldown_steps": 1, "batch_tokens": 256, "average": 2, **changed,
    }  # fmt: skip
    return [PYTHON, SCRIPT, *(str(part) for name, value in settings.items() for part in (f"--{name}", value))]


def run_command(folder, sitecustomize="", **changed):
    """The command in a process of its own, which runs a program first."""
    (folder / "start").mkdir(exist_ok=True)
    (folder / "start" / "sitecustomize.py").write_text(sitecustomize)
    path = f"{folder / 'start'}{os.pathsep}{ROOT}"
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": path}
    return subprocess.run(
        command(folder, **changed), env=environment, cwd=folder, capture_output=True, text=True, timeout=300
    )


def logged_steps(process):
    return [json.loads(line)["step"] for line in process.stdout.splitlines() if line.startswith("{")]


@pytest.mark.slow
def test_killed_and_started_again_it_ends_as_a_translator(tmp_path):
    run, process = tmp_path / "run", run_command(tmp_path, KILL_AT_STEP_4)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert sorted(path.name for path in run.glob("checkpoint-*")) == ["checkpoint-00000002", "checkpoint-unfinished"]
    assert not (run / "model" / "training.json").exists()
    prepared = {name: (run / name).read_bytes() for name in ("train.arrow", "validation.arrow", "source.spm")}
    times = {name: (run / name).stat().st_mtime_ns for name in prepared}

    second_process = run_command(tmp_path, seed=6)
    assert second_process.returncode == 1 and second_process.stdout == ""
    assert second_process.stderr.splitlines()[-1] == (
        f"parabank train translator: {run} holds a run with other settings: seed was 5, now 6; "
        "take them back or choose another output"
    )

    process = run_command(tmp_path)
    assert process.returncode == 0, process.stderr
    assert logged_steps(process) == [4, 6], "it resumes after step 2"
    advice, outcome = process.stdout.splitlines()[-2:]
    assert advice == f"{run / 'model'}: load it with --forward or --backward of parabank build"
    assert outcome.startswith("held-out nats per token, ")
    assert times == {name: (run / name).stat().st_mtime_ns for name in prepared}, "the text is prepared once"
    record = json.loads((run / "model" / "training.json").read_text())
    assert [entry["step"] for entry in record["log"]] == [2, 4, 6] and record["progress"]["step"] == 6
    assert record["pairs"]["train"] + record["pairs"]["validation"] == 320
    assert sorted(path.name for path in run.glob("checkpoint-*")) == ["checkpoint-00000004", "checkpoint-00000006"]

    model = MarianMTModel.from_pretrained(run / "model")
    learnt = {name: p for name, p in model.named_parameters() if "embed_positions" not in name}
    assert sum(p.numel() for p in learnt.values()) == record["parameters"], "tables of sines are not learnt"
    translator = toolkit.load_translator(str(run / "model"), "float32")
    sentence = DEMO.read_text(encoding="utf-8").splitlines()[0].split("\t")
    assert translator.target.decode(translator.target.encode([sentence[1]])) == [sentence[1]]
    assert len(translate(translator, [sentence[0], "Ja."])) == 2
    words = (run / "model" / "words.txt").read_text(encoding="utf-8").split()
    assert {"the", "we"} <= {word.lower() for word in words}
