"""The command on files: every form, several processes, kills, and bad input."""

import contextlib
import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from datasets import Dataset, load_dataset

from builders.commands.augment_dataset import main
from tests.tiny import ENVIRONMENT, PYTHON, ROOT, pairs
from toolkit.system.outputs import LOCK

TEXTS = [
    "The elevator is broken.",
    "I have never seen such a beautiful garden before.",
    "Where can I buy a good map of the city?",
    "We will go home now because it is late.",
]


@pytest.fixture
def train(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Dataset.from_dict({"text": TEXTS, "label": [0, 1, 1, 0]}).to_csv("train.csv", index=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_every_form_is_read_and_written(train, suffix, capsys):
    assert main(["--data", "train.csv", "--columns", "text", "--output", f"one{suffix}"]) == 0
    assert capsys.readouterr().out == f"one{suffix}\n"
    assert main(["--data", f"one{suffix}", "--columns", "text", "--output", "two.jsonl", "--no-provenance"]) == 0
    rows = [json.loads(line) for line in (train / "two.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows[:4]] == TEXTS and len(rows) > 8
    assert list(rows[0]) == ["text", "label", "augmented_from", "paraphraser", "score"]


@pytest.mark.slow
def test_values_stay_as_they_are(train):
    rows = 'text\tlabel\n"he said that we go home\tNA\nhello my friends\tnull\nthat is the end"\t007\n'
    (train / "quotes.tsv").write_text(rows)
    assert main(["--data", "quotes.tsv", "--columns", "text", "--output", "same.tsv", "--no-provenance"]) == 0
    assert (train / "same.tsv").read_text().startswith(rows)
    row = {"text": "We will go home now.", "small": 1e-12, "long": 0.12345678901234, "tokens": ["a b", "c"]}
    (train / "numbers.jsonl").write_text(json.dumps(row) + "\n")
    assert main(["--data", "numbers.jsonl", "--columns", "text", "--output", "same.jsonl", "--no-provenance"]) == 0
    assert (train / "same.jsonl").read_text().startswith(json.dumps(row)[:-1])


@pytest.mark.slow
def test_a_data_set_a_preview_and_a_summary(train, capsys):
    Dataset.from_csv("train.csv").to_parquet("bank/train.parquet")
    command = "--data bank --columns text --output bigger.csv --preview bigger.html --copies 2 --label label --balance"
    assert main([*command.split(), "--keep_phrases", "the"]) == 0
    assert "0 rows, 0 new rows" in capsys.readouterr().err, "the classes are equally large"
    assert not (train / "bigger.html").exists()
    assert main(["--data", "bank", "--columns", "text", "--output", "all.csv", "--preview", "all.html"]) == 0
    assert "4 rows, " in capsys.readouterr().err
    assert "<ins>" in (train / "all.html").read_text()
    with (train / "all.csv").open() as file:
        assert [row["text"] for row in csv.DictReader(file)][:4] == TEXTS


TABLE = [
    ("--data tokens.jsonl --output one.csv", "wanted single values in column 'tokens' for one.csv, got lists", 1),
    ("--data tabs.csv --output one.tsv", "row 1: wanted a text without tabs and line breaks for one.tsv", 1),
    ("--no-provenance --preview page.html", "wanted provenance for --preview", 2),
    ("--spans text=a text=b", "wanted --spans once for each column of texts, got text=a text=b", 2),
    (
        "--data scores.csv",
        "wanted data without a column 'score', because a column of this name is added: give --no-",
        1,
    ),
    ("--data lost.csv", "wanted a file, a folder or a Hub name, got 'lost.csv': there is no such file", 1),
    ("--data lost", "wanted a file, a folder or a Hub name, got 'lost'", 1),
    ("--data notes.txt", "wanted a file of .csv, .tsv, .jsonl, .json, .parquet, got 'notes.txt'", 1),
    ("--data broken.jsonl", "wanted rows in 'broken.jsonl', got ", 1),
    ("--data broken.parquet", "wanted rows in 'broken.parquet', got ", 1),
    ("--columns txt", "wanted column 'txt', got the columns text, label", 1),
    ("--columns label", "wanted texts in column 'label', got int64", 1),
    ("--output new.txt", "wanted an output that ends in .csv, .tsv, .jsonl, .parquet, got new.txt", 1),
    ("--output train.csv", "wanted an output that is no input, got train.csv as both", 1),
    ("--output notes.csv", "got notes.csv, which exists and was not written by this command", 1),
    ("--preview notes.txt", "got notes.txt, which exists and was not written by this command", 1),
    ("--paraphraser lost", "lost", 1),
    ("--pairs lost.tsv", "lost.tsv", 1),
    ("--copies 0", "wanted copies of at least 1, got 0", 2),
    ("--spans text", "wanted --spans as TEXT=SPANS, two columns, got 'text'", 2),
    ("--keep label --keep_phrases a", "wanted either --keep or --keep_phrases, got both", 2),
    ("--check mine", "wanted --check cross_validated, got 'mine'", 2),
    ("--check cross_validated", "wanted --label, the column of the classes, for --check, got none", 2),
    ("--vary both", "wanted vary of separately, together, got 'both'", 2),
]


@pytest.mark.parametrize(("changed", "message", "status"), TABLE, ids=[row[0] for row in TABLE])
def test_bad_input_is_one_line_and_writes_nothing(train, changed, message, status, capsys):
    (train / "notes.txt").write_text("mine")
    (train / "notes.csv").write_text("mine")
    (train / "tokens.jsonl").write_text('{"text": "a", "tokens": ["a"]}\n')
    Dataset.from_dict({"text": ["a", "b\tc"]}).to_csv("tabs.csv", index=False)
    (train / "broken.jsonl").write_text('{"text": "a"\n')
    (train / "broken.parquet").write_text("PAR1")
    (train / "scores.csv").write_text("text,score\na,1\n")
    before = {path.name for path in train.iterdir()}
    command = ["--data", "train.csv", "--columns", "text", "--output", "new.csv", *changed.split()]
    try:
        code = main(command)
    except SystemExit as error:
        code = error.code
    lines = [line for line in capsys.readouterr().err.splitlines() if "wanted" in line or "lost" in line]
    assert code == status and message in lines[-1], lines
    assert not {path.name for path in train.iterdir()} - before - {"new.csv.shards"}


# What a launched process runs first: shards of fewer rows, so that the test needs fewer.
SMALL_SHARDS = "from toolkit.augmentation import _work\n_work.SHARD_ROWS = 20\n"


MODEL = ("--paraphraser", "starter/paraphraser")  # the same whatever else is installed


def launched(folder, output, processes, flags=MODEL):
    (folder / "start").mkdir(exist_ok=True)
    (folder / "start" / "sitecustomize.py").write_text(SMALL_SHARDS)
    environment = ENVIRONMENT | {"PYTHONPATH": f"{folder / 'start'}{os.pathsep}{ROOT}"}
    command = [PYTHON, str(ROOT / "scripts" / "augment_dataset.py"), "--data", "many.jsonl"]
    command += ["--columns", "text", "--output", output, "--processes", str(processes), "--threads", "1", *flags]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.mark.slow
def test_two_processes_take_the_rounds_that_one_takes(tmp_path):
    texts = [f"This is sentence {number} of many." for number in range(100)]
    Dataset.from_dict({"text": texts}).to_json(tmp_path / "many.jsonl")
    known = "".join(f"{text}\t{text[:-1]} sentences.\n" for text in texts[::7])  # so that most rows have no paraphrase
    (tmp_path / "known.tsv").write_text(known)
    for output, processes in (("two.jsonl", 2), ("one.jsonl", 1)):
        flags = ("--pairs", "known.tsv", "--max_new_rows", "10")
        process = launched(tmp_path, output, processes, flags)
        _, stderr = process.communicate(timeout=400)
        assert process.returncode == 0, stderr
        assert "10 new rows" in stderr
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()


@pytest.mark.slow
def test_two_processes_killed_and_resumed_write_what_one_writes(tmp_path):
    texts = [reference for _, reference in pairs(60)]
    Dataset.from_dict({"text": texts}).to_json(tmp_path / "many.jsonl")
    killed = launched(tmp_path, "two.jsonl", 2)
    shards = tmp_path / "two.jsonl.shards"
    end = time.monotonic() + 300
    while not list(shards.glob("new-*.json")) and time.monotonic() < end and killed.poll() is None:
        time.sleep(0.1)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    workers = [json.loads(line)["pid"] for line in (shards / LOCK).read_text().splitlines()]
    for pid in workers:  # they have sessions of their own, and outlive their launcher
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while any(Path("/proc", str(pid)).exists() for pid in workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert 1 <= len(list(shards.glob("new-*.json"))) < 3 and not (tmp_path / "two.jsonl").exists()
    for output, processes in (("two.jsonl", 2), ("one.jsonl", 1)):
        process = launched(tmp_path, output, processes)
        _, stderr = process.communicate(timeout=400)
        assert process.returncode == 0, stderr
        assert "60 rows, " in stderr
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    rows = load_dataset("json", data_files=str(tmp_path / "two.jsonl"), split="train")
    assert list(rows["text"])[:60] == texts and len(rows) > 75
