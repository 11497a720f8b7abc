"""A file augmented by a language model on a server that fails in every way, killed and resumed."""

import csv
import json
import os
import signal
import subprocess
import time
from collections import Counter

import pytest

from tests.chat_server import MODEL, chat_server
from tests.tiny import ENVIRONMENT, PYTHON
from toolkit.augmentation.__main__ import main

TEXTS = [f"She closed the door of room {n} and walked away." for n in range(40)]
FAULTS = {3: 500, 5: "half", 8: "wrong json", 11: "empty choices", 14: "closed", 17: "slow", 20: "html", 23: "silent",
          26: 503, 29: lambda handler, body: handler.send(429, {}, [("Retry-After", "0.2")])}  # fmt: skip


@pytest.fixture
def data(tmp_path):
    with (tmp_path / "train.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text"], *([f"{n:03d}", text] for n, text in enumerate(TEXTS))])
    return tmp_path / "train.csv"


def flags(data, server, output, *more):
    return ["--data", str(data), "--columns", "text", "--copies", "2", "--output", str(output), "--paraphraser", "lm",
            "--model", MODEL, "--server", server.url, "--timeout", "1", "--replies_at_once", "4", *more]  # fmt: skip


def unanswered(bodies, faults):
    """How often each request was sent, but for those whose answer was a fault."""
    return Counter(json.dumps(body, sort_keys=True) for number, body in enumerate(bodies) if number not in faults)


@pytest.mark.slow
def test_killed_and_resumed_on_a_failing_server_it_writes_what_one_run_writes(data, tmp_path):
    with chat_server() as server:
        assert main(flags(data, server, tmp_path / "whole.csv")) == 0
        requests = len(server.asked)
        assert requests == len(TEXTS)
    with chat_server(faults=FAULTS, delay=0.05) as server:
        command = [PYTHON, "-m", "toolkit.augmentation", *flags(data, server, tmp_path / "killed.csv")]
        with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as running:
            while len(server.asked) < 18:
                assert running.poll() is None, running.stderr.read()
                time.sleep(0.01)
            running.send_signal(signal.SIGKILL)
        assert not (tmp_path / "killed.csv").exists()
        under_way = 4
        process = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
        assert process.returncode == 0, process.stderr
        times = unanswered(server.asked, FAULTS)
        assert len(times) == requests and sum(times.values()) <= requests + under_way and max(times.values()) <= 2
        assert "replies (" in process.stderr, "tokens are told"
    assert (tmp_path / "killed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes().replace(b"whole", b"killed")
    rows = list(csv.DictReader((tmp_path / "whole.csv").open(newline="")))
    assert len(rows) == 3 * len(TEXTS) and rows[40]["id"] == "000" and rows[40]["paraphraser"] == MODEL


@pytest.mark.slow
def test_cost_and_batches_of_a_file(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret")
    with chat_server() as server:
        priced = ("--input_price", "100", "--output_price", "100", "--max_cost")
        assert main(flags(data, server, tmp_path / "a.csv", *priced, "0.2", "--replies_at_once", "1")) == 1
        stderr = capsys.readouterr().err
        assert "have cost 0.21 dollars, of max_cost 0.2: the same command with a higher one goes on" in stderr
        request_count = len(server.asked)
        assert request_count < len(TEXTS) and not (tmp_path / "a.csv").exists()
        assert main(flags(data, server, tmp_path / "a.csv", *priced, "5")) == 0
        assert len(server.asked) == len(TEXTS)
        assert main(flags(data, server, tmp_path / "b.csv", "--batch")) == 1
        assert (
            f"{len(TEXTS) - 1} requests wait in batches: give the same command again later" in capsys.readouterr().err
        )
        server.batch_status = "completed"
        assert main(flags(data, server, tmp_path / "b.csv", "--batch")) == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert not any(b"sk-a-secret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "sk-a-secret" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--paraphraser", "best"], "wanted --paraphraser lm and --model together, got only the model little"),
        (["--server", "http://far.example/v1"], "wanted https for a server on another machine"),
        (["--lang", "xx"], "wanted"),
        (["--style", "frml"], "wanted a style of formal, simple, short, spoken, or a sentence that says it"),
    ],
)
def test_settings_that_do_not_go_together(more, message, data, tmp_path, capsys):
    with chat_server() as server:
        try:
            status = main([*flags(data, server, tmp_path / "x.csv"), *more])
        except SystemExit as ended:
            status = ended.code
        assert status and message in capsys.readouterr().err
        assert not server.asked and os.listdir(tmp_path) == ["train.csv"]
