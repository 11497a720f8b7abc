"""Steps of fixed shapes are the plain steps, on a CPU and as graphs of a pretended GPU."""

import gc
import weakref
from contextlib import nullcontext
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from research.benchmarks.gpu_check import random_model
from tests.decode.test_layers import Dispatches, Doubled, model_of
from tests.pretended import pretended_cuda
from toolkit.decode import _fixed
from toolkit.decode._layers import LAYERED
from toolkit.decode.beam import beam_search
from toolkit.decode.sampling import sample
from toolkit.decode.shared import SharedEngine

SOURCES = [[5, 9, 11, 30, 2], [17, 2], [8, 40, 41, 42, 43, 44, 45, 2]]
STEPS = 9
MOST_DISPATCHES = 12  # of a step that is a replay: its inputs, and slices


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch):
    for name, size in (("ROWS", 4), ("SENTENCES", 2), ("SOURCE", 3), ("STEPS", 2), ("ROOM", 4), ("BLOCK", 2)):
        monkeypatch.setattr(_fixed, name, size)
    _fixed._tell_plain.cache_clear()


def on(device: str):
    return pretended_cuda() if device == "cuda" else nullcontext()


def engine_on(device: str, model, graphs: bool) -> SharedEngine:
    engine = SharedEngine(model.to(device))
    assert engine.graphs == (device == "cuda")
    engine.graphs = graphs
    return engine


def steps_of(engine: SharedEngine, sources=SOURCES, rows_each=1):
    """Hidden states of each step, while rows branch, swap their places and leave."""
    rng, device = torch.Generator().manual_seed(3), engine.device
    state = engine.start(sources, rows_each, STEPS)
    for step in range(STEPS):
        rows = len(state.sentence)
        ids = torch.randint(3, 60, (rows,), generator=rng)
        yield engine.step(state, ids.to(device)).cpu().clone(), state
        after = (3, 7, 13, 13, 40, 29, 12, 5, 5)[step]
        source = torch.randint(0, rows, (after,), generator=rng)
        target = torch.randperm(after, generator=rng)
        engine.move(state, source.to(device), target.to(device), after)


def hidden_states(engine: SharedEngine, **of_start) -> list[Tensor]:
    with torch.inference_mode():
        return [hidden for hidden, _ in steps_of(engine, **of_start)]


def assert_equal(actual: list[Tensor], expected: list[Tensor]) -> None:
    assert [len(hidden) for hidden in actual] == [len(hidden) for hidden in expected]
    for hidden, of_plain in zip(actual, expected, strict=True):
        torch.testing.assert_close(hidden, of_plain, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("family", LAYERED)
def test_hidden_states_are_those_of_plain_steps(family, device, capsys):
    model = model_of(family)
    expected = hidden_states(engine_on("cpu", model, False))
    with torch.inference_mode(), on(device):
        engine = engine_on(device, model, True)
        actual = []
        for hidden, state in steps_of(engine):
            assert state.fixed is not None
            actual.append(hidden)
        assert_equal(actual, expected)
    assert max(hidden.std() for hidden in expected) > 0.1
    assert not capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_samples_and_hypotheses_are_those_of_plain_steps(device):
    model, keys = model_of("marian"), list(range(120))

    def decoded(engine: SharedEngine) -> tuple[list, list]:
        samples = sample(engine, SOURCES, None, keys, 10, 12)
        hypotheses = beam_search(engine, SOURCES, 4, 12, 3)
        return [output.ids for output in samples], [[h.ids for h in of_search] for of_search in hypotheses]

    expected = decoded(engine_on("cpu", model, False))
    with on(device) as gpu:
        assert decoded(engine_on(device, model, True)) == expected
        assert gpu is None or gpu.replays > 5
    assert len(set(map(tuple, expected[0]))) > 60


@pytest.mark.slow
def test_a_batch_finds_the_buffers_and_graphs_of_the_one_before():
    with pretended_cuda() as gpu:
        model = model_of("bart")
        first = hidden_states(engine_on("cuda", model, True))
        steps = _fixed._STEPS_OF[model.get_decoder()]
        buffers, graphs, replays = steps.buffers, dict(steps.graphs), gpu.replays
        assert len(graphs) > 3
        steps.buffers.states.fill_(torch.nan)  # an output that is no number must not stay
        again = hidden_states(engine_on("cuda", model, True))  # every shard has an engine of its own
        assert steps.buffers is buffers and graphs.items() <= steps.graphs.items()
        assert gpu.replays - replays >= len(graphs)
        shorter = hidden_states(engine_on("cuda", model, True), sources=SOURCES[1:2], rows_each=3)
        assert steps.buffers is buffers
        expected = hidden_states(engine_on("cuda", model, False), sources=SOURCES[1:2], rows_each=3)
    assert_equal(again, first)
    assert_equal(shorter, expected)


@pytest.mark.slow
def test_a_batch_that_comes_while_another_is_in_flight_takes_plain_steps():
    with torch.inference_mode(), pretended_cuda():
        engine = engine_on("cuda", model_of("bart"), True)
        expected = hidden_states(engine)
        outer, inner = [], []
        for (hidden, state), (second, second_state) in zip(steps_of(engine), steps_of(engine), strict=True):
            assert state.fixed is not None and second_state.fixed is None
            outer.append(hidden)
            inner.append(second)
    assert_equal(outer, expected)
    assert_equal(inner, expected)


@pytest.mark.slow
@pytest.mark.parametrize("captures", [0, 3])
def test_after_a_capture_that_fails_steps_are_plain_and_one_line_says_so(captures, monkeypatch, capsys):
    real, calls = _fixed.captured, []

    def captured(*arguments):
        calls.append(arguments)
        if len(calls) > captures:
            raise RuntimeError("CUDA error: operation not permitted\nCompile with TORCH_USE_CUDA_DSA")
        return real(*arguments)

    monkeypatch.setattr(_fixed, "captured", captured)
    with pretended_cuda():
        model = model_of("bart")
        expected = hidden_states(engine_on("cuda", model, False))
        engine = engine_on("cuda", model, True)
        for _ in range(2):
            assert_equal(hidden_states(engine), expected)
    assert len(calls) == captures + 1
    assert capsys.readouterr().err == (
        "the decoder's steps are not replayed as graphs, which is slower: CUDA error: operation not permitted\n"
    )


def test_a_graph_that_gives_other_numbers_is_not_used(monkeypatch, capsys):
    real = _fixed.captured

    def shifted(compute, memory, device):
        graph = real(compute, memory, device)
        replay = graph.replay

        def replay_shifted():
            replay()
            graph.hidden.add_(0.5)

        graph.replay = replay_shifted
        graph.hidden = compute.func.__self__._held().hidden
        return graph

    monkeypatch.setattr(_fixed, "captured", shifted)
    with torch.inference_mode(), pretended_cuda():
        model = model_of("bart")
        expected = hidden_states(engine_on("cuda", model, False))
        assert_equal(hidden_states(engine_on("cuda", model, True)), expected)
    assert "a graph gave other numbers than the step that it was captured from" in capsys.readouterr().err


def test_what_waits_for_the_device_is_not_captured(capsys):
    with pretended_cuda():
        model = model_of("bart")
        expected = hidden_states(engine_on("cuda", model, False))
        norm = model.get_decoder().layers[1].final_layer_norm
        plain = norm.forward
        norm.forward = lambda x: plain(x) if float(x.sum()) else x
        assert_equal(hidden_states(engine_on("cuda", model, True)), expected)
    assert "not permitted when stream is capturing" in capsys.readouterr().err


@pytest.mark.parametrize(("room", "steps"), [(-1, 0), (0, 2)])
def test_buffers_that_do_not_fit_are_not_made(room, steps, monkeypatch, capsys):
    """In one case there is never room, in the other for no more rows than a batch begins with."""
    with torch.inference_mode(), pretended_cuda():
        model = model_of("bart")
        expected = hidden_states(engine_on("cuda", model, False))
        engine = engine_on("cuda", model, True)
        first = 3 * 2 * 12 * 4 * 16 * 8  # bytes of 3 layers, 12 steps, 4 rows
        free = int(first / _fixed.SHARE) + room
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda *_: (free, 80 << 30))
        actual, fixed = [], []
        for hidden, state in steps_of(engine):
            actual.append(hidden)
            fixed.append(state.fixed is not None)
    assert_equal(actual, expected)
    assert fixed == [True] * steps + [False] * (STEPS - steps)
    assert capsys.readouterr().err == (
        "the decoder's steps are not replayed as graphs, which is slower: too little memory is free\n"
    )


@pytest.mark.slow
def test_weights_that_change_are_seen():
    with torch.inference_mode(False), pretended_cuda():
        model = model_of("bart")
        layer = model.get_decoder().layers[0]
        engine = engine_on("cuda", model, True)
        plain = engine_on("cuda", model, False)
        results = [hidden_states(engine)]
        for weight in (layer.self_attn.v_proj.weight, layer.fc1.weight):  # one is packed, the other read where it is
            with torch.no_grad():
                weight.mul_(-1)
            results.append(hidden_states(engine))
            assert_equal(results[-1], hidden_states(plain))
        layer.fc2.weight = nn.Parameter(layer.fc2.weight.detach() * 2)
        results.append(hidden_states(engine))
        assert_equal(results[-1], hidden_states(plain))
    for before, after in pairwise(results):
        assert (before[-1] - after[-1]).abs().max() > 1e-3


@pytest.mark.slow
def test_a_decoder_with_a_layer_of_others_takes_plain_steps(capsys):
    with torch.inference_mode(), pretended_cuda():
        model = model_of("bart")
        model.get_decoder().layers[0].encoder_attn.q_proj.__class__ = Doubled
        engine = engine_on("cuda", model, True)
        assert all(state.fixed is None for _, state in steps_of(engine))
        assert_equal(hidden_states(engine), hidden_states(engine_on("cuda", model, False)))
    assert capsys.readouterr().err == (
        "the decoder's steps are not replayed as graphs, which is slower: a layer is no plain linear layer\n"
    )


@pytest.mark.slow
def test_graphs_that_were_not_replayed_for_longest_leave(monkeypatch):
    monkeypatch.setattr(_fixed, "GRAPHS", 2)
    monkeypatch.setattr(_fixed, "SOURCES", 1)
    with pretended_cuda():
        model = model_of("bart")
        engine, plain = engine_on("cuda", model, True), engine_on("cuda", model, False)
        steps = None
        for sources in (SOURCES, SOURCES[1:2], SOURCES):
            assert_equal(hidden_states(engine, sources=sources), hidden_states(plain, sources=sources))
            steps = _fixed._STEPS_OF[model.get_decoder()]
            assert len(steps.graphs) == 2 and list(steps.sources) == [steps.source_shape]


def test_buffers_leave_with_their_model():
    model = model_of("bart")
    hidden_states(engine_on("cpu", model, True))
    steps = weakref.ref(_fixed._STEPS_OF[model.get_decoder()])
    assert steps() is not None
    del model
    gc.collect()
    assert steps() is None


def test_a_replayed_step_has_few_dispatches():
    counts = {}
    with torch.inference_mode(), pretended_cuda():
        model = random_model(6, 64, 101, torch.float32, torch.device("cpu"), -20.0)
        for graphs in (False, True):
            engine = engine_on("cuda", model, graphs)
            state = engine.start([[5, 6, 7, 0], [8, 0]], 4, 10)
            ids = torch.full((8,), 3, device="cuda")
            engine.step(state, ids)
            with Dispatches() as dispatches:
                engine.step(state, ids)
            counts[graphs] = dispatches.count
    assert counts[True] <= MOST_DISPATCHES < 100 < counts[False], counts


def test_rows_of_a_sentence_share_blocks():
    sentence = torch.tensor([2, 0, 2, 2, 1, 2, 2, 0])
    grid = _fixed.block_grid(sentence, 4, 3)
    blocks = len(grid.rows) // (3 * _fixed.BLOCK)
    assert blocks == 8 // _fixed.BLOCK + 4 and len(set(grid.places.tolist())) == 8 * 3
    assert grid.rows[grid.places].tolist() == list(range(8 * 3))
    heads = grid.places // _fixed.BLOCK  # block * heads + head
    assert (grid.keys[heads].view(8, 3) == sentence[:, None] * 3 + torch.arange(3)).all()
