"""The first run on a GPU, tried on the CPU: every part has figures, and one that fails leaves the others."""

from itertools import count

import pytest
import torch

from research.benchmarks import gpu_check
from tests.pretended import pretended_cuda


@pytest.mark.slow
def test_every_part_runs_and_agrees():
    results, failed = gpu_check.run(gpu_check.Check(torch.device("cpu"), tiny=True), 600)
    assert not failed
    agreement = results["agreement with the CPU"]
    assert agreement["samples_equal"] == agreement["hypotheses_equal"] == dict.fromkeys(gpu_check.WAYS, 1)
    sampler = results["sampler, 1+1 layers of 64, 2 sentences"]
    assert {sampler[way]["samples_equal"] for way in gpu_check.WAYS} == {1}
    assert all(figures for name, figures in results.items() if not name.startswith("a step"))  # that one needs a GPU


@pytest.mark.slow
def test_it_runs_and_agrees_on_a_pretended_gpu():
    with pretended_cuda() as gpu:
        results, failed = gpu_check.run(gpu_check.Check(torch.device("cuda"), tiny=True), 600)
    assert [name.startswith("a step of the sampler") for name in failed] == [True], results  # no profiler of kernels
    agreement = results["agreement with the CPU"]
    assert agreement["samples_equal"] == agreement["hypotheses_equal"] == dict.fromkeys(gpu_check.WAYS, 1)
    assert gpu.replays > 20


def test_a_part_that_fails_is_named_and_the_others_go_on(monkeypatch):
    check = gpu_check.Check(torch.device("cpu"), tiny=True)

    def parts():
        yield "broken", lambda: 1 / 0
        yield "whole", lambda: {"steps": 1}

    monkeypatch.setattr(check, "parts", parts)
    results, failed = gpu_check.run(check, 600)
    assert failed == ["broken"] and "ZeroDivisionError" in results["broken"]["failed"]
    assert results["whole"] == {"steps": 1}


@pytest.mark.slow
def test_a_device_that_disagrees_fails(monkeypatch):
    real, calls = gpu_check.log_likelihood, count()

    def shifted(*arguments):
        offset = next(calls)
        return [offset + score for score in real(*arguments)]

    monkeypatch.setattr(gpu_check, "log_likelihood", shifted)
    with pytest.raises(ArithmeticError, match="wanted the CPU's samples"):
        gpu_check.Check(torch.device("cpu"), tiny=True).agreement()
