"""Processes that share GPUs, those that need one each, and GPUs that nobody uses."""

from types import SimpleNamespace

import accelerate
import pytest
import torch

from tests.gpus import pretend_gpus
from toolkit.system.processes import processes, wait


@pytest.fixture
def options(monkeypatch):
    """The arguments with which `processes` asks Accelerate, which finds two processes."""
    calls = []

    class State:
        _shared_state = {"device": "cuda:0"}  # noqa: RUF012
        num_processes, device = 2, torch.device("cuda:0")

        def __init__(self, **options):
            calls.append(options)

    monkeypatch.setattr(accelerate, "PartialState", State)
    return calls


def launched(monkeypatch, number: int, count: int) -> None:
    """The environment of one of several processes on this machine."""
    for name, value in {"RANK": number, "LOCAL_RANK": number, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}.items():
        monkeypatch.setenv(name, str(value))


def test_processes_that_only_wait_share_a_gpu(monkeypatch, options):
    pretend_gpus(monkeypatch, 1)
    launched(monkeypatch, 1, 2)
    processes(exchange=False)
    assert options[0]["backend"] == "gloo" and options[0]["cpu"] is False


def test_a_process_in_which_nothing_computes_leaves_the_gpu_alone(monkeypatch, options):
    pretend_gpus(monkeypatch, 1)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    processes(exchange=False, computes=False)
    assert options[0]["cpu"] is True and "backend" not in options[0]


def test_on_processors_accelerate_chooses(monkeypatch, options):
    launched(monkeypatch, 1, 2)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    processes(exchange=False)
    assert "backend" not in options[0] and options[0]["cpu"] is True


def test_a_training_with_more_processes_than_gpus_is_refused_once(monkeypatch, options):
    pretend_gpus(monkeypatch, 1)
    launched(monkeypatch, 1, 2)
    with pytest.raises(RuntimeError, match=r"wanted a GPU for each of 2 processes of a training, got 1: .*--pro"):
        processes()
    launched(monkeypatch, 0, 2)
    processes()
    assert len(options) == 1 and "backend" not in options[0]


def test_a_training_with_a_gpu_for_each_process(monkeypatch, options):
    pretend_gpus(monkeypatch, 2)
    launched(monkeypatch, 1, 2)
    processes()
    assert "backend" not in options[0]


def test_the_barrier_names_no_gpu(monkeypatch):
    calls = []
    monkeypatch.setattr(torch.distributed, "barrier", lambda *arguments, **options: calls.append((arguments, options)))
    state = SimpleNamespace(num_processes=2, backend="gloo", wait_for_everyone=lambda: calls.append("accelerate"))
    wait(state)
    wait(SimpleNamespace(**vars(state) | {"backend": "nccl"}))
    assert calls == [((), {}), "accelerate"]


@pytest.mark.parametrize(("gpus", "line"), [(8, "8 GPUs, one is used: --processes 8\n"), (1, "")])
def test_idle_gpus_are_told_once(monkeypatch, capsys, gpus, line):
    pretend_gpus(monkeypatch, gpus)
    for _ in range(2):
        processes()
    assert capsys.readouterr().err == line
