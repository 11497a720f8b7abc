"""The pretended device finds the mistakes that CUDA would find, and counts what the host waits for."""

import inspect

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from tests.pretended import Gpu, pretended_cuda

IDS = [[1, 2, 3], [3, 2, 1]]


def ids_stay_on_the_cpu() -> None:
    nn.Embedding(5, 4).to("cuda")(torch.tensor(IDS))


def a_mask_stays_on_the_cpu() -> None:
    scores = nn.Linear(3, 3).to("cuda")(torch.ones(2, 3, device="cuda"))
    scores.masked_fill(torch.tensor(IDS) == 2, -torch.inf)


def numpy_reads_the_device() -> None:
    np.asarray((torch.ones(3, device="cuda") * 2).cumsum(0).detach())


def a_table_stays_on_the_cpu() -> None:
    table = torch.arange(6)
    table[torch.tensor(IDS, device="cuda")]


def lengths_are_on_the_device() -> None:
    pack_padded_sequence(torch.zeros(2, 3, 4, device="cuda"), torch.tensor([3, 2], device="cuda"), batch_first=True)


def a_result_is_written_to_the_cpu() -> None:
    torch.zeros(3).scatter_(0, torch.arange(3, device="cuda"), torch.ones(3, device="cuda"))


def a_product_of_integers() -> None:
    torch.ones(2, 2, dtype=torch.long, device="cuda") @ torch.ones(2, 2, dtype=torch.long, device="cuda")


def a_gpu_too_many() -> None:
    torch.zeros(3, device="cuda:1")


def a_loss_meets_labels_of_the_cpu() -> None:
    nn.functional.cross_entropy(nn.Linear(3, 3).to("cuda")(torch.ones(2, 3, device="cuda")), torch.tensor([0, 1]))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (ids_stay_on_the_cpu, "Expected all tensors to be on the same device"),
        (a_mask_stays_on_the_cpu, "Expected all tensors to be on the same device"),
        (numpy_reads_the_device, "can't convert cuda:0 device type tensor to numpy"),
        (a_table_stays_on_the_cpu, "Expected all tensors to be on the same device"),
        (lengths_are_on_the_device, "should be a 1D CPU int64 tensor"),
        (a_result_is_written_to_the_cpu, "Expected all tensors to be on the same device"),
        (a_product_of_integers, "not implemented for torch.int64"),
        (a_gpu_too_many, "invalid device ordinal"),
        (a_loss_meets_labels_of_the_cpu, "Expected all tensors to be on the same device"),
    ],
)
def test_a_mistake_is_found(mistake, message):
    with pretended_cuda(), pytest.raises((RuntimeError, TypeError), match=message):
        mistake()


def waits(gpu: Gpu) -> int:
    count = sum(gpu.waits.values())
    gpu.reset()
    return count


def test_what_the_host_waits_for_is_counted():
    with pretended_cuda() as gpu:
        numbers = torch.arange(6, device="cuda").view(2, 3)
        assert waits(gpu) == 0
        large = numbers > 2
        assert waits(gpu) == 0
        assert numbers[large].tolist() == [3, 4, 5]
        assert waits(gpu) == 2  # as many as there are, and their copy
        assert int(numbers.max()) == 5 and waits(gpu) == 1
        assert bool(large.any()) and waits(gpu) == 1
        numbers[large] = 0  # one number everywhere: nothing is counted
        numbers[:, torch.tensor([0, 1], device="cuda")] += 1
        assert waits(gpu) == 1  # the list of Python's
        pinned = torch.tensor(IDS).pin_memory()
        assert pinned.is_pinned() and not numbers.is_pinned()
        pinned.to("cuda", non_blocking=True)
        assert waits(gpu) == 0
        torch.tensor(IDS).to("cuda", non_blocking=True)
        assert waits(gpu) == 1
        torch.bincount(numbers.flatten())
        line = inspect.currentframe().f_lineno - 1
        assert gpu.waits == {("bincount", f"tests/test_pretended.py:{line}"): 2}
        assert "bincount" in gpu.report()


def test_a_model_is_moved_computes_and_learns_as_on_a_cpu():
    torch.manual_seed(0)
    model, steps = nn.Sequential(nn.Embedding(5, 4), nn.LSTM(4, 4, batch_first=True)), []
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for device in ("cpu", "cuda"):
        with pretended_cuda() as gpu:
            model.load_state_dict(weights)
            moved = model.to(device)
            optimizer = torch.optim.SGD(moved.parameters())
            optimizer.zero_grad()
            loss = moved(torch.tensor(IDS, device=device))[0].square().sum()
            loss.backward()
            optimizer.step()
            assert {parameter.device.type for parameter in moved.parameters()} == {device}
            assert all(gpu.on_gpu(parameter.grad) == (device == "cuda") for parameter in moved.parameters())
            assert loss.item() == pytest.approx(0.5682, abs=1e-4)
            steps.append([tensor.detach().cpu().clone() for tensor in moved.parameters()])
    torch.testing.assert_close(*steps)
    assert not torch.equal(steps[0][0], weights["0.weight"]), "a step was taken"


def test_a_graph_computes_again_in_the_same_memory():
    with pretended_cuda() as gpu:
        numbers, sums = torch.ones(3, device="cuda"), torch.zeros(3, device="cuda")
        graph = torch.cuda.CUDAGraph()
        factor = 2.0
        with torch.cuda.graph(graph):
            sums.add_((numbers * factor)[1:].sum())
        numbers.copy_(torch.tensor([1.0, 10.0, 20.0]))
        factor, before = 5.0, sums.tolist()  # a number of the host is part of the graph
        gpu.reset()
        graph.replay()
        assert gpu.kernels == {"graph": 1} and gpu.replays == 1 and not gpu.waits
        assert [after - first for after, first in zip(sums.tolist(), before, strict=True)] == [60.0] * 3


def test_a_capture_must_not_wait():
    with pretended_cuda():
        numbers, graph = torch.ones(3, device="cuda"), torch.cuda.CUDAGraph()
        with pytest.raises(RuntimeError, match="not permitted when stream is capturing"), torch.cuda.graph(graph):
            numbers[numbers > 0] += 1
        assert numbers[numbers > 0].tolist() == [1.0] * 3


def test_the_machine_has_no_gpu_afterwards():
    with pretended_cuda(devices=2):
        assert torch.cuda.device_count() == 2 and torch.zeros(1, device="cuda:1").device.index == 1
    assert not torch.cuda.is_available() or torch.version.cuda
    with pytest.raises((RuntimeError, AssertionError)):
        torch.zeros(1, device="cuda:9")
