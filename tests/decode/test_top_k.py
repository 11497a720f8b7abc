"""The most probable tokens of a row from logits in 16 bits, as a GPU computes them."""

import pytest
import torch

from tests import tiny
from tests.pretended import pretended_cuda
from toolkit.decode._top_k import most_probable_of
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.sampling import sample

NEVER, COUNT = 3, 10


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("spread", "never"), [(0.5, 0.0), (3.0, -torch.inf), (8.0, 40.0)])
def test_logits_in_16_bits_have_the_log_probabilities_of_exact_ones(dtype, spread, never):
    torch.manual_seed(0)
    logits = (torch.randn(40, 20_000) * spread).to(dtype)
    logits[:, NEVER] = never
    exact = logits.double().log_softmax(-1)
    exact[:, NEVER] = -torch.inf
    expected = exact.topk(COUNT).values
    values, ids = most_probable_of(logits.clone(), COUNT, NEVER)
    assert values.dtype == torch.float32
    torch.testing.assert_close(values.double(), expected, atol=2e-3, rtol=1e-6)
    torch.testing.assert_close(values.double(), exact.gather(1, ids), atol=2e-3, rtol=1e-6)
    assert (values.diff() <= 0).all() and not (ids == NEVER).any()
    assert most_probable_of(logits[:, :6].clone(), COUNT, NEVER)[1].shape == (40, 6)  # no more than there are


@pytest.mark.slow
def test_samples_of_a_model_in_16_bits_have_its_log_probabilities():
    sources = tiny.translator("de-en").source.encode([german for german, _ in tiny.pairs(4)])
    with pretended_cuda():
        engine = engine_of(tiny.plain_model("de-en").bfloat16().to("cuda"))
        samples = sample(engine, sources, None, list(range(80)), 10, 12)
        for number, output in enumerate(samples[::7]):
            scores = engine.likelihoods([sources[7 * number // 20]], [output.ids])
            assert output.logprob == pytest.approx(scores.double().sum().item(), abs=0.02 * len(output.ids) + 0.1)
    assert len({tuple(output.ids) for output in samples}) > 40
