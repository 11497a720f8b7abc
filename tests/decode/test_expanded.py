"""The engine for other families finds what the one with shared encoder states finds, and what `generate` finds."""

from types import SimpleNamespace

import pytest
import torch
from transformers import BlenderbotSmallConfig, BlenderbotSmallForConditionalGeneration, LEDConfig

from tests.decode.generated import generated_beams
from tests.ties import assert_same_searches, scored
from tests.tiny import pairs, translator, wide_translator
from toolkit.decode._expanded import ExpandedEngine
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.sampling import sample
from toolkit.decode.shared import SharedEngine
from toolkit.decode.words import WordTable

SOURCES = [[5, 9, 11, 30, 1], [17, 1], [8, 40, 41, 42, 43, 44, 45, 1]]


def unshared_model() -> BlenderbotSmallForConditionalGeneration:
    """A model of a family that has no shared engine."""
    torch.manual_seed(1)
    config = BlenderbotSmallConfig(
        vocab_size=60, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64, pad_token_id=0,
        bos_token_id=2, eos_token_id=1, decoder_start_token_id=2, forced_eos_token_id=None, init_std=0.5,
    )  # fmt: skip
    return BlenderbotSmallForConditionalGeneration(config).eval().double()


@pytest.fixture(scope="module")
def expanded():
    with pytest.warns(UserWarning, match="slower, with the same result"):
        return ExpandedEngine(wide_translator("de-en").model)


def test_the_limit_of_a_decoder_may_have_another_name():
    model = SimpleNamespace(
        config=LEDConfig(max_encoder_position_embeddings=256, max_decoder_position_embeddings=32, vocab_size=60),
        generation_config=unshared_model().generation_config,
        device=torch.device("cpu"),
    )
    with pytest.warns(UserWarning, match="led models decode"):
        assert (ExpandedEngine(model).limit, ExpandedEngine(model).vocabulary) == (32, 60)


def test_another_family_is_decoded_with_one_warning():
    with pytest.warns(UserWarning, match="blenderbot-small models decode without shared encoder states"):
        assert isinstance(engine_of(unshared_model()), ExpandedEngine)
    assert type(engine_of(translator("de-en").model)) is SharedEngine


def test_its_beam_is_that_of_generate():
    model = unshared_model()
    with pytest.warns(UserWarning):
        searches = beam_search(engine_of(model), SOURCES, 4, 12, n_best=4)
    assert_same_searches([scored(hypotheses) for hypotheses in searches], generated_beams(model, SOURCES, 4, 12))


def test_samples_are_those_of_the_shared_engine(expanded):
    model = wide_translator("de-en")
    sources, seeds = model.source.encode([source for source, _ in pairs(5)]), list(range(20))
    samples, expected = (
        sample(engine, sources, [[]] * 20, seeds, 5, 20) for engine in (expanded, SharedEngine(model.model))
    )
    assert [output.ids for output in samples] == [output.ids for output in expected]
    assert [output.logprob for output in samples] == pytest.approx([output.logprob for output in expected], abs=1e-3)


def test_constrained_beams_are_those_of_the_shared_engine(expanded):
    model = wide_translator("de-en")
    sources = model.source.encode([source for source, _ in pairs(6)])
    sets = [ConstraintSet(("dog",), ("the",)), *[ConstraintSet()] * 5]
    table = WordTable.of(model.target.surfaces(), model.target.eos)
    searches, expected = (
        beam_search(engine, sources, 4, 20, 2, 1.0, LexicalConstraints.of(sets, table, model.target.spell))
        for engine in (expanded, SharedEngine(model.model))
    )
    assert_same_searches(
        [scored(hypotheses) for hypotheses in searches], [scored(hypotheses) for hypotheses in expected]
    )
    assert sets[0].unmet(model.target.decode([searches[0][0].ids])[0]) == []


def test_a_decoder_alone_is_refused():
    model = unshared_model()
    model.config.is_encoder_decoder = False
    with pytest.raises(
        ValueError, match="wanted an encoder-decoder model, got 'blenderbot-small'; choose a seq2seq checkpoint"
    ):
        ExpandedEngine(model)
