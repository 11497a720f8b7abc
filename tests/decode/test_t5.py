"""T5, mT5 and UMT5 share encoder states, too: their positions are a bias by distance, and T5 scales its output."""

import pytest
import torch
from transformers import (
    MT5Config,
    MT5ForConditionalGeneration,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
    UMT5Config,
    UMT5ForConditionalGeneration,
)

from tests.decode.generated import generated_beams
from tests.decode.plain_sampling import phrases_forbid, plain_sample
from tests.ties import assert_same_searches, scored
from toolkit.decode._expanded import ExpandedEngine
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.sampling import sample
from toolkit.decode.shared import SharedEngine

SOURCES = [[5, 9, 11, 30, 1], [17, 1], [8, 40, 41, 42, 43, 44, 45, 1]]
KINDS = {
    "t5": (T5Config, T5ForConditionalGeneration, {}),
    "t5-untied": (
        T5Config,
        T5ForConditionalGeneration,
        {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
    "mt5": (MT5Config, MT5ForConditionalGeneration, {}),
    "umt5": (UMT5Config, UMT5ForConditionalGeneration, {"tie_word_embeddings": True}),
}


@pytest.fixture(scope="module", params=KINDS)
def model(request) -> PreTrainedModel:
    config, kind, more = KINDS[request.param]
    torch.manual_seed(1)
    random_model = kind(
        config(
            vocab_size=60, d_model=16, d_kv=6, d_ff=32, num_layers=2, num_decoder_layers=2, num_heads=3, pad_token_id=0,
            eos_token_id=1, decoder_start_token_id=0, initializer_factor=1.5, **more,
        )
    )  # fmt: skip
    return random_model.eval().double()


@pytest.fixture(scope="module")
def expanded(model) -> ExpandedEngine:
    with pytest.warns(UserWarning, match="slower, with the same result"):
        return ExpandedEngine(model)


def test_beams_are_those_of_generate(model):
    assert type(engine_of(model)) is SharedEngine
    searches = beam_search(engine_of(model), SOURCES, 4, 14, n_best=4)
    assert_same_searches([scored(hypotheses) for hypotheses in searches], generated_beams(model, SOURCES, 4, 14))


def test_samples_and_likelihoods_are_those_of_the_models_own_attention(model, expanded):
    keys, limit = list(range(60)), 16
    samples = sample(SharedEngine(model), SOURCES, [[[7], [9, 11]]], keys, 10, limit)
    expected = plain_sample(expanded, SOURCES, phrases_forbid([[[7], [9, 11]]], len(keys)), keys, 10, limit)
    assert [s.ids for s in samples] == [ids for ids, _ in expected]
    assert [s.logprob for s in samples] == pytest.approx([logprob for _, logprob in expected], abs=1e-4)
    assert max(len(s.ids) for s in samples) == limit and len({tuple(s.ids) for s in samples}) > 30
    outputs = [[11, 12, 13, 1], [20, 21, 22, 1], [30, 31, 32, 1]]
    likelihoods, expected_likelihoods = (
        engine.likelihoods(SOURCES, outputs) for engine in (SharedEngine(model), expanded)
    )
    assert torch.allclose(likelihoods, expected_likelihoods, atol=1e-6)
