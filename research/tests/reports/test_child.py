"""Work in a fresh process: its result, its environment, its error."""

import os
import signal
import sys

import pytest

from research.reports.child import in_child
from research.reports.report import command


def test_a_child_gives_its_result_and_its_memory():
    result, peak = in_child(os.path.join, "a", "b")
    assert result == "a/b" and 1 < peak < 10_000


def test_a_child_has_the_environment_that_it_is_given(monkeypatch):
    monkeypatch.setenv("OURS", "1")
    environment = {name: value for name, value in os.environ.items() if name != "OURS"} | {"THEIRS": "2"}
    assert in_child(os.getenv, "OURS")[0] == "1"
    assert in_child(os.getenv, "OURS", environment=environment)[0] is None
    assert in_child(os.getenv, "THEIRS", environment=environment)[0] == "2"
    assert os.environ["OURS"] == "1" and "THEIRS" not in os.environ


def test_a_child_that_fails_is_named(capfd):
    with pytest.raises(RuntimeError, match="wanted a result of listdir, its process ended with 1; see its error above"):
        in_child(os.listdir, "/nowhere")
    assert "FileNotFoundError" in capfd.readouterr().err


def test_a_child_that_a_signal_ends_is_named():
    with pytest.raises(RuntimeError, match="wanted a result of raise_signal, its process was ended by SIGKILL: memory"):
        in_child(signal.raise_signal, signal.SIGKILL)


def test_a_command_can_be_pasted(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/bench.py", "--models", "WORD, TRIGRAM", "--data", "/somewhere/data"])
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", type("Spec", (), {"name": "benchmarks.bench"}))
    assert command() == "python -m benchmarks.bench --models 'WORD, TRIGRAM' --data data"
