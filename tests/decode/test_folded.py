"""Triton's kernels for the best tokens: their numbers by Triton's interpreter, their machine code for an H100."""

import os
import subprocess
from contextlib import nullcontext

import pytest
import torch

from tests.tiny import ENVIRONMENT, ROOT
from toolkit.decode import _top_k

pytest.importorskip("triton")
CPU = torch.device("cpu")

NUMBERS = """
import torch
from toolkit.decode._folded import COLUMNS, LEAST, best_folded, log_probabilities_picked
torch.manual_seed(0)
for vocabulary in (LEAST * COLUMNS, 5_000, 7_501):
    for dtype, count, never, spread in (
        (torch.bfloat16, 1, 0, 3.0), (torch.float16, 10, 3, 0.5), (torch.bfloat16, 40, vocabulary - 1, 3.0)
    ):
        logits = (torch.randn(4, vocabulary) * spread).to(dtype)
        logits[0, never] = 20  # most of the probability
        logits[1, 7:] = -torch.inf
        logits[2, 5::COLUMNS] = -torch.inf  # a whole column
        logits[3, 100:100 + 2 * COLUMNS:COLUMNS] = 15  # two of the greatest in one column
        exact = logits.double().log_softmax(-1)
        chosen = torch.tensor([never, 3, 5, 100 + COLUMNS])  # of the second and third row one without probability
        for picked in (chosen, chosen.flip(0)):
            wanted = exact.gather(1, picked[:, None])[:, 0]
            found = log_probabilities_picked(logits, picked).double()
            torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-5)
        exact[:, never] = -torch.inf
        before = logits.clone()
        values, ids = best_folded(logits, count, never)
        torch.testing.assert_close(values.double(), exact.topk(count).values, atol=1e-4, rtol=1e-5)
        torch.testing.assert_close(values.double(), exact.gather(1, ids), atol=1e-4, rtol=1e-5)
        finite = values > -torch.inf
        assert not (ids[finite] == never).any() and torch.equal(before, logits)
        assert all(len(set(row[kept].tolist())) == kept.sum() for row, kept in zip(ids, finite))
        logits[0, 70] = torch.nan  # of a broken model
        assert best_folded(logits, count, never)[0].isnan().all(1).tolist() == [True, False, False, False]
        assert log_probabilities_picked(logits, chosen).isnan().tolist() == [True, False, False, False]
print("equal")
"""
MACHINE_CODE = """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from toolkit.decode._folded import COLUMNS, _fold, _pick
types = {"logits": "*bf16", "values": "*fp32", "ids": "*i64", "stride": "i32", "never": "i32", "count": "i32"}
constants = {"vocabulary": 58_101, "columns": COLUMNS, "height": 64, "places": 16}
source = ASTSource(_fold, types | dict.fromkeys(constants, "constexpr"), constants)
types = {"logits": "*bf16", "ids": "*i64", "values": "*fp32", "stride": "i32"}
constants = {"vocabulary": 58_101, "columns": COLUMNS}
picking = ASTSource(_pick, types | dict.fromkeys(constants, "constexpr"), constants)
for kernel in (source, picking):
    made = compile(kernel, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    loads = sum("ld.global" in line for line in made.asm["ptx"].splitlines())
    print(len(made.asm["cubin"]) > 1000, loads > 0)
"""


def run(program: str, tmp_path, **variables: str) -> str:
    environment = ENVIRONMENT | {"PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(tmp_path), **variables}
    process = subprocess.run(
        [os.sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


@pytest.mark.slow
def test_its_log_probabilities_are_those_of_torch(tmp_path):
    assert run(NUMBERS, tmp_path, TRITON_INTERPRET="1") == "equal"


@pytest.mark.slow
def test_it_compiles_for_a_gpu(tmp_path):
    assert run(MACHINE_CODE, tmp_path) == "True True\nTrue True"


@pytest.fixture
def gpu(monkeypatch):
    """As where torch was built for CUDA; tensors stay on the CPU."""
    folding = _top_k._folding
    folding.cache_clear()
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    yield
    folding.cache_clear()


def best(logits, count, never):
    """`best_folded` by torch."""
    exact = logits.float().log_softmax(-1)
    exact[:, never] = -torch.inf
    return exact.topk(count)


def picked(logits, ids):
    """`log_probabilities_picked` by torch."""
    return logits.float().log_softmax(-1).gather(1, ids[:, None])[:, 0]


@pytest.mark.parametrize("wrong", ["best_folded", "log_probabilities_picked"])
def test_a_kernel_with_wrong_numbers_is_not_used(wrong, gpu, monkeypatch, capsys):
    from toolkit.decode import _folded

    def shifted(logits, count, never):
        values, ids = best(logits, count, never)
        return values + 0.1, ids

    of_torch = {"best_folded": best, "log_probabilities_picked": picked}
    shifted_kernels = {"best_folded": shifted, "log_probabilities_picked": lambda *of: picked(*of) + 0.1}
    for name, kernel in (of_torch | {wrong: shifted_kernels[wrong]}).items():
        monkeypatch.setattr(_folded, name, kernel)
    assert _top_k._folding(CPU) is None
    message = capsys.readouterr().err
    assert "Triton's kernel is not used" in message and "wanted torch's numbers, got a difference of 0.1" in message
    assert message.count("\n") == 1


def test_a_kernel_that_cannot_be_made_is_not_used(gpu, monkeypatch, capsys):
    from toolkit.decode import _folded

    def failing(logits, count, never):
        raise RuntimeError("Failed to find C compiler.\nPlease specify one")

    monkeypatch.setattr(_folded, "best_folded", failing)
    assert _top_k._folding(CPU) is None
    assert capsys.readouterr().err.endswith("Failed to find C compiler.\n")


def test_kernels_with_the_numbers_of_torch_are_used_where_they_fit(gpu, monkeypatch):
    from toolkit.decode import _folded

    used = []

    def count_calls(kernel):
        def call(logits, *arguments):
            used.append((kernel.__name__, logits.shape[1]))
            return kernel(logits, *arguments)

        return call

    monkeypatch.setattr(_folded, "best_folded", count_calls(best))
    monkeypatch.setattr(_folded, "log_probabilities_picked", count_calls(picked))
    kernels = _top_k._folding(CPU)
    monkeypatch.setattr(_top_k, "_folding", lambda device: kernels)
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)  # of tensors of the CPU
    used.clear()
    narrow, wide = _folded.LEAST * _folded.COLUMNS - 1, _folded.LEAST * _folded.COLUMNS
    for width, count in ((narrow, 3), (wide, 3), (wide, _folded.MOST + 1)):
        logits = torch.zeros(2, width, dtype=torch.bfloat16)
        _top_k.token_log_probabilities(logits.float(), torch.tensor([0, 1]))  # in 32 bits torch computes it
        values, ids = _top_k.most_probable_of(logits.clone(), count, 0)
        scores = _top_k.token_log_probabilities(logits, torch.tensor([0, 1]))
        assert values.shape == ids.shape == (2, count) and scores.shape == (2,)
        torch.testing.assert_close(values[:, 0], scores, atol=1e-2, rtol=1e-3)
    assert used == [("picked", narrow), ("best", wide), ("picked", wide), ("picked", wide)]
