"""What computes, on a pretended CUDA device: the CPU's results, and how often the host waits for the device."""

import copy
import hashlib
from collections.abc import Callable

import pytest
import torch
from transformers import PreTrainedModel, T5Config, T5ForConditionalGeneration

from tests import firefox_folders as firefox
from tests import tiny
from tests.pretended import Gpu, pretended_cuda
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.likelihood import _batches, log_likelihood
from toolkit.decode.sampling import sample
from toolkit.generate.constrain import _word_table
from toolkit.generate.sample import _build_constraints, choose_words, negative_words
from toolkit.translator.inference import ALIGNED
from toolkit.translator.load import Translator, load_translator

SENTENCES, SAMPLES, SETS, STEPS = 6, 40, 4, 12
BEAM = 5
ONCE = 20  # waits at the beginning of a batch and at its end: of the masks of its sources, its limits, its results


def tiny_translator(name: str, device: str) -> Translator:
    """A tiny translator in float64, where a device and the CPU choose the same tokens."""
    if device == "cpu":
        return tiny.wide_translator(name)
    translator = load_translator(str(tiny.folder() / name), "float32", device)
    translator.model.double()
    return translator


def assert_few_waits(gpu: Gpu, steps: int, budget: int, once: int = ONCE) -> None:
    """Fail where the host waited more than `budget` times a step, and `once` in the whole."""
    assert sum(gpu.waits.values()) <= budget * steps + once, gpu.report(steps)


def make_sampler(device: str, forbid: str | None) -> tuple[list, Callable[[], list]]:
    translator, pairs = tiny_translator("de-en", device), tiny.pairs(SENTENCES)
    engine = engine_of(translator.model)
    assert engine.device.type == device
    sources = translator.source.encode([german for german, _ in pairs])
    words = [
        word
        for n, (_, english) in enumerate(pairs)
        for word in choose_words(negative_words(english, translator.target), SETS, 0.5, 0, str(n))
    ]
    constraints = None if forbid is None else _build_constraints(words, forbid, translator)
    names = [f"{n}".encode() for n in range(SENTENCES * SAMPLES)]
    keys = [int.from_bytes(hashlib.sha256(name).digest()[:8], "little", signed=True) for name in names]
    return sources, lambda: sample(engine, sources, constraints, keys, 10, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize(("forbid", "budget"), [(None, 2), ("pieces", 2), ("words", 5)])
def test_sampler(forbid, budget):
    _, on_cpu = make_sampler("cpu", forbid)
    with pretended_cuda() as gpu:
        _, on_gpu = make_sampler("cuda", forbid)
        gpu.reset()
        samples = on_gpu()
        steps = max(len(draw.ids) for draw in samples)
        assert_few_waits(gpu, steps, budget)
    assert [draw.ids for draw in samples] == [draw.ids for draw in on_cpu()]
    assert steps > 5


CONSTRAINTS = (
    ConstraintSet(negative=("the",)),
    ConstraintSet(positive=("today",)),
    ConstraintSet(not_first=("I",), negative=("a", "of the")),
)


def make_search(device: str, constrained: bool) -> Callable[[], list]:
    translator = tiny_translator("de-en", device)
    engine, target = engine_of(translator.model), translator.target
    sources, sets, each = translator.source.encode([german for german, _ in tiny.pairs(SENTENCES)]), None, None
    if constrained:
        sets = LexicalConstraints.of(CONSTRAINTS * SENTENCES, _word_table(target, engine.device), target.spell)
        each = [len(CONSTRAINTS)] * SENTENCES
    return lambda: beam_search(engine, sources, BEAM, STEPS, 2, 1.0, sets, each)


@pytest.mark.slow
@pytest.mark.parametrize(("constrained", "budget"), [(False, 3), (True, 6)])
def test_beam_search(constrained, budget):
    on_cpu = make_search("cpu", constrained)()
    with pretended_cuda() as gpu:
        search = make_search("cuda", constrained)
        gpu.reset()
        on_gpu = search()
        steps = max(len(hypothesis.ids) for hypotheses in on_gpu for hypothesis in hypotheses)
        assert_few_waits(gpu, steps, budget)
    assert [[h.ids for h in hypotheses] for hypotheses in on_gpu] == [
        [h.ids for h in hypotheses] for hypotheses in on_cpu
    ]
    assert steps > 5


def scored(device: str) -> tuple[int, Callable[[], list[float]]]:
    translator, pairs = tiny_translator("en-de", device), tiny.pairs(48)
    inputs, outputs = (
        translator.source.encode([english for _, english in pairs]),
        translator.target.encode([german for german, _ in pairs]),
    )
    order = sorted(range(len(pairs)), key=lambda n: (len(outputs[n]), len(inputs[n])))
    batches = len(list(_batches(order, inputs, outputs, 1024)))
    return batches, lambda: log_likelihood(engine_of(translator.model), inputs, outputs, 1024)


@pytest.mark.slow
def test_scores():
    on_cpu = scored("cpu")[1]()
    with pretended_cuda() as gpu:
        batches, score = scored("cuda")
        gpu.reset()
        on_gpu = score()
        assert_few_waits(gpu, batches, 2, once=1)
    assert on_gpu == pytest.approx(on_cpu, abs=1e-9)
    assert batches > 5


def test_an_output_layer_is_as_wide_as_a_gpu_likes_it():
    plain = tiny.plain_model("de-en")
    with pretended_cuda():
        model = load_translator(str(tiny.folder() / "de-en"), "float32", "cuda").model
        head, words = model.get_output_embeddings(), len(plain.lm_head.weight)
        assert words % ALIGNED and len(head.weight) % ALIGNED == 0 and len(head.weight) - words < ALIGNED
        shared = model.get_input_embeddings().weight
        assert shared.untyped_storage().data_ptr() == head.weight.untyped_storage().data_ptr()
        hidden = torch.randn(3, 32)
        logits = head(hidden.to("cuda")).cpu()
    expected = plain.lm_head(hidden) + plain.final_logits_bias
    torch.testing.assert_close(logits, expected)
    assert torch.equal(shared, plain.get_input_embeddings().weight)


def t5() -> PreTrainedModel:
    torch.manual_seed(1)
    config = T5Config(
        vocab_size=60, d_model=16, d_kv=6, d_ff=32, num_layers=2, num_decoder_layers=2, num_heads=3, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0, initializer_factor=1.5,
    )  # fmt: skip
    return T5ForConditionalGeneration(config).eval().double()


def ssru() -> PreTrainedModel:
    return copy.deepcopy(firefox.wide_engine(False).model)


@pytest.mark.slow
@pytest.mark.parametrize("make", [t5, ssru])
def test_decoders_of_other_families(make):
    sources, keys = [[5, 9, 11, 30, 1], [17, 1], [8, 40, 41, 42, 43, 44, 45, 1]], list(range(60))
    on_cpu = sample(engine_of(make()), sources, None, keys, 10, STEPS)
    with pretended_cuda() as gpu:
        engine = engine_of(make().to("cuda"))
        gpu.reset()
        on_gpu = sample(engine, sources, None, keys, 10, STEPS)
        assert_few_waits(gpu, STEPS, 2)
    assert [draw.ids for draw in on_gpu] == [draw.ids for draw in on_cpu]
    assert [draw.logprob for draw in on_gpu] == pytest.approx([draw.logprob for draw in on_cpu], abs=1e-5)
    assert len({tuple(draw.ids) for draw in on_gpu}) > 30
