"""Triton's kernels of a step: their numbers by Triton's interpreter, their machine code for an H100.

What calls them is tested with functions of torch in their place.
"""

from itertools import pairwise

import pytest
import torch

from tests.decode.test_fixed import (
    SOURCES,
    assert_equal,
    engine_on,
    hidden_states,
    small_buckets,  # noqa: F401 (a fixture)
    steps_of,
)
from tests.decode.test_folded import run
from tests.decode.test_layers import model_of
from tests.pretended import pretended_cuda
from toolkit.decode import _fixed, _kernels, shared
from toolkit.decode._kernels import StepKernels
from toolkit.decode._layers import LAYERED
from toolkit.decode.beam import beam_search
from toolkit.decode.sampling import sample

pytest.importorskip("triton")

NUMBERS = """
import torch
from toolkit.decode._add_norm import add_norm
from toolkit.decode._one_query import attend_own_steps, attend_sources
torch.manual_seed(0)
for dtype, heads, dim in ((torch.float32, 4, 8), (torch.bfloat16, 3, 64), (torch.float16, 2, 48)):
    error = {"atol": 1e-5, "rtol": 1e-5} if dtype == torch.float32 else {"atol": 2e-2, "rtol": 2e-2}
    # few rows, because the interpreter takes a tenth of a second for each row and head
    for used, as_tensor in ((0, False), (1, True), (16, True), (21, False)):
        cache = torch.randn(2, 24, 5, heads, dim).to(dtype)  # room for more rows and steps
        states = torch.randn(3, 3, heads, dim).to(dtype)
        before = cache.clone()
        step = torch.tensor([used]) if as_tensor else used
        found = attend_own_steps(states, cache, step, 0.3)
        before[:, used, :3] = states[1:]
        assert torch.equal(cache, before)
        keys, values = cache[:, : used + 1, :3].double()
        weights = (torch.einsum("rhd,trhd->trh", states[0].double(), keys) * 0.3).softmax(0)
        wanted = torch.einsum("trh,trhd->rhd", weights, values)
        torch.testing.assert_close(found.double(), wanted, **error)
    for steps, is_masked in ((1, True), (16, False), (37, True)):
        query = torch.randn(4, heads, dim).to(dtype)
        keys, values = torch.randn(2, 3 * heads, steps, dim).to(dtype)
        sentence = torch.tensor([2, 0, 2, 1])
        lengths = torch.tensor([steps, max(1, steps // 2), 1]).repeat_interleave(heads)[:, None, None]
        mask = torch.zeros(3 * heads, 1, steps).masked_fill(torch.arange(steps) >= lengths, -torch.inf).to(dtype)
        found = attend_sources(query, keys, values, 0.3, sentence, mask if is_masked else None)
        by_row = [tensor.double().view(3, heads, steps, -1)[sentence] for tensor in (keys, values, mask.mT)]
        scores = torch.einsum("rhd,rhtd->rht", query.double(), by_row[0]) * 0.3
        scores += by_row[2][..., 0] if is_masked else 0
        wanted = torch.einsum("rht,rhtd->rhd", scores.softmax(-1), by_row[1])
        torch.testing.assert_close(found.double(), wanted, **error)
    for width in (16, 300, 512):
        for has_bias in (True, False):
            norm = torch.nn.LayerNorm(width, 1e-5, bias=has_bias).requires_grad_(False)
            for parameter in norm.parameters():
                parameter.add_(torch.randn(width), alpha=0.5)
            given, x = torch.randn(2, 2, width).add_(0.7).to(dtype)
            total = given.double() + x.double()
            for keep in (False, True):
                states = given.clone()
                found = add_norm(states, x, norm.to(dtype), keep)
                torch.testing.assert_close(found.double(), norm.double()(total), **error)
                torch.testing.assert_close(states.double(), total if keep else given.double(), **error)
print("equal")
"""
MACHINE_CODE = """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from toolkit.decode._add_norm import _add_norm
from toolkit.decode._one_query import TILE, _own_steps, _source
common = {"dim": 64, "tile": TILE, "padded": 64}
kernels = [
    (_own_steps, {"states": "*bf16", "cache": "*bf16", "output": "*bf16", "step": "*i64", "half": "i64",
                  "stride": "i32", "scaling": "fp32"}, common | {"read": True}),
    (_own_steps, {"states": "*bf16", "cache": "*bf16", "output": "*bf16", "step": "i32", "half": "i64",
                  "stride": "i32", "scaling": "fp32"}, common | {"read": False}),
    (_source, {"queries": "*bf16", "source_keys": "*bf16", "source_values": "*bf16", "added": "*bf16",
               "sentence": "*i64", "output": "*bf16", "heads": "i32", "steps": "i32", "scaling": "fp32"},
     common | {"is_masked": True}),
    (_add_norm, {"states": "*bf16", "x": "*bf16", "weight": "*bf16", "bias": "*bf16", "output": "*bf16",
                 "epsilon": "fp32"}, {"width": 512, "padded": 512, "keep": True, "has_bias": True}),
]
for kernel, types, constants in kernels:
    source = ASTSource(kernel, types | dict.fromkeys(constants, "constexpr"), constants)
    made = compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 1})
    print(len(made.asm["cubin"]) > 1000, sum("ld.global" in line for line in made.asm["ptx"].splitlines()) > 0)
"""


@pytest.mark.slow
def test_their_numbers_are_those_of_float64(tmp_path):
    assert run(NUMBERS, tmp_path, TRITON_INTERPRET="1") == "equal"


@pytest.mark.slow
def test_they_compile_for_a_gpu(tmp_path):
    assert run(MACHINE_CODE, tmp_path) == "\n".join(["True True"] * 4)


def own_steps(states, cache, step, scaling):
    """`attend_own_steps` by torch, without waiting for the number of the step."""
    rows, device = states.shape[1], states.device
    number = step if isinstance(step, torch.Tensor) else torch.full((1,), step, device=device)
    cache[:, :, :rows].index_copy_(1, number, states[1:].unsqueeze(1))
    scores = torch.einsum("rhd,trhd->trh", states[0], cache[0, :, :rows]) * scaling
    is_later = torch.arange(cache.shape[1], device=device) > number
    weights = scores.masked_fill(is_later[:, None, None], -torch.inf).softmax(0)
    return torch.einsum("trh,trhd->rhd", weights, cache[1, :, :rows].nan_to_num())


def sources(query, keys, values, scaling, sentence, mask):
    """`attend_sources` by torch."""
    assert keys.is_contiguous() and values.is_contiguous() and (mask is None or mask.is_contiguous())
    heads = query.shape[1]
    keys, values = (states.unflatten(0, (-1, heads)).index_select(0, sentence) for states in (keys, values))
    scores = torch.einsum("rhd,rhtd->rht", query, keys) * scaling
    if mask is not None:
        scores = scores + mask.unflatten(0, (-1, heads)).index_select(0, sentence).squeeze(2)
    return torch.einsum("rht,rhtd->rhd", scores.softmax(-1), values)


def add_norm(states, x, norm, keep):
    """`add_norm` by torch; without `keep` the sum is not to be used."""
    total = states + x
    states.copy_(total if keep else torch.full_like(total, torch.nan))
    return norm(total)


OF_TORCH = StepKernels(own_steps, sources, add_norm)


@pytest.fixture
def kernels(monkeypatch):
    def choose_kernels(states):
        return OF_TORCH if states.device.type == "cuda" else None

    monkeypatch.setattr(shared, "step_kernels", choose_kernels)


@pytest.mark.slow
@pytest.mark.parametrize("most_rows", [0, 12, 4096])
@pytest.mark.parametrize("family", LAYERED)
def test_hidden_states_with_kernels_are_those_of_plain_steps(family, most_rows, kernels, monkeypatch, capsys):
    monkeypatch.setattr(_fixed, "MOST_ROWS", most_rows)
    model = model_of(family)
    expected = hidden_states(engine_on("cpu", model, False))
    with torch.inference_mode(), pretended_cuda() as gpu:
        assert_equal(hidden_states(engine_on("cuda", model, False)), expected)
        assert not gpu.replays
        states = [state.fixed for _, state in steps_of(engine_on("cuda", model, True))]
        assert None not in states and all(first is second for first, second in pairwise(states))
        assert_equal(hidden_states(engine_on("cuda", model, True)), expected)
        graphs = _fixed._STEPS_OF[model.get_decoder()].graphs
        assert {shape.steps for shape in graphs} <= {0} and max(
            (shape.rows for shape in graphs), default=0
        ) <= most_rows
        assert bool(gpu.replays) == bool(most_rows)
        engine = engine_on("cuda", model, False)
        engine.kernels = False
        assert_equal(hidden_states(engine), expected)
    assert not capsys.readouterr().err


@pytest.mark.slow
def test_samples_and_hypotheses_with_kernels_are_those_of_plain_steps(kernels, monkeypatch):
    monkeypatch.setattr(_fixed, "MOST_ROWS", 40)
    model, keys = model_of("marian"), list(range(120))

    def decoded(engine) -> tuple[list, list]:
        samples = sample(engine, SOURCES, None, keys, 10, 12)
        hypotheses = beam_search(engine, SOURCES, 4, 12, 3)
        return [output.ids for output in samples], [[h.ids for h in of_search] for of_search in hypotheses]

    expected = decoded(engine_on("cpu", model, False))
    with pretended_cuda():
        assert decoded(engine_on("cuda", model, True)) == expected
        assert decoded(engine_on("cuda", model, False)) == expected


def test_kernels_are_for_a_gpu_and_32_or_16_bits(monkeypatch):
    expected = OF_TORCH
    monkeypatch.setattr(_kernels, "_step_kernels", lambda device: expected)
    assert _kernels.step_kernels(torch.zeros(1)) is None
    with pretended_cuda():
        results = [_kernels.step_kernels(torch.zeros(1, device="cuda", dtype=getattr(torch, name))) for name in
                 ("float32", "bfloat16", "float16", "float64")]  # fmt: skip
    assert results == [expected, expected, expected, None]


@pytest.mark.parametrize("wrong", ["own_steps", "sources", "add_norm", ""])
def test_kernels_with_wrong_numbers_are_not_used(wrong, monkeypatch, capsys):
    from toolkit.decode import _add_norm, _one_query

    for name, of_torch in OF_TORCH._asdict().items():
        kernel = of_torch if name != wrong else lambda *arguments, right=of_torch: right(*arguments) + 0.01
        where = (_add_norm, name) if name == "add_norm" else (_one_query, f"attend_{name}")
        monkeypatch.setattr(*where, kernel)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    generator = torch.Generator
    monkeypatch.setattr(torch, "Generator", lambda device: generator())
    _kernels._step_kernels.cache_clear()
    with pretended_cuda(), monkeypatch.context() as patched:
        patched.setattr(torch.version, "cuda", "13.0")
        assert (_kernels._step_kernels(torch.device("cuda", 0)) is None) == bool(wrong)
    _kernels._step_kernels.cache_clear()
    begin = "Triton's kernel is not used, torch computes the attention and the norms: wanted torch's numbers"
    assert capsys.readouterr().err.startswith(begin) if wrong else not capsys.readouterr().err


WHOLE = """
from itertools import islice

import torch
from torch.utils._python_dispatch import _disable_current_modes
from tests.decode import test_kernels as tests
from toolkit.decode import _fixed, shared
from toolkit.decode._add_norm import add_norm
from toolkit.decode._one_query import attend_own_steps, attend_sources

def interpreted(kernel):
    def call(*arguments):
        with _disable_current_modes():
            found = kernel(*arguments)
        return gpu.put(found, gpu.known("cuda"))
    return call

kernels = tests.StepKernels(*map(interpreted, (attend_own_steps, attend_sources, add_norm)))
def chosen(states):
    return kernels if states.device.type == "cuda" else None
shared.step_kernels = chosen
_fixed.ROWS, _fixed.MOST_ROWS = 4, 0  # a pretended graph has operators of torch alone
for family, graphs in (("marian", True), ("m2m_100", False)):
    model = tests.model_of(family).float()
    with torch.inference_mode():
        wanted = [states for states, _ in islice(tests.steps_of(tests.engine_on("cpu", model, False)), 3)]
        with tests.pretended_cuda() as gpu:
            found = [states for states, _ in islice(tests.steps_of(tests.engine_on("cuda", model, graphs)), 3)]
            for states, of_cpu in zip(found, wanted, strict=True):
                torch.testing.assert_close(states, of_cpu, atol=1e-3, rtol=1e-3)
print("equal")
"""


@pytest.mark.slow
def test_steps_with_the_kernels_themselves_are_plain_steps(tmp_path):
    assert run(WHOLE, tmp_path, TRITON_INTERPRET="1") == "equal"
