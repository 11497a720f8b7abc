"""Every family: the same ids and log-probabilities as the model's own forward pass, with the languages asked for."""

from collections.abc import Sequence

import pytest
import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM

from tests import families, tiny
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.sampling import sample
from toolkit.decode.shared import FAMILIES, SharedEngine
from toolkit.generate.rewrite import rewrite
from toolkit.translator.load import Translator

GIVEN = {  # the tokens of a decoder that writes a language, as the documentation of each checkpoint has them
    "mbart": ("en_XX", "de_DE"),
    "mbart50": ("en_XX", "de_DE"),
    "m2m100": ("__en__", "__de__"),
    "nllb": ("eng_Latn", "deu_Latn"),
}
expanded = pytest.mark.filterwarnings("ignore:.*decode without shared encoder states")


BART_SIZES = {
    **{"encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2},
    **{"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 64, "init_std": 0.5},
}
T5_SIZES = {"num_layers": 2, "num_decoder_layers": 2, "num_heads": 2, "d_kv": 6, "d_ff": 32, "initializer_factor": 1.25}


def random_model(family: str) -> torch.nn.Module:
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        family,
        vocab_size=60,
        d_model=16,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        forced_bos_token_id=None,
        **(T5_SIZES if family.endswith("t5") else BART_SIZES),
    )
    return AutoModelForSeq2SeqLM.from_config(config).eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_decoding_with_shared_states_is_the_models_own_forward_pass(family):
    model = random_model(family)
    sources = [[5, 9, 11, 30, 2], [17, 2], [8, 40, 41, 42, 43, 44, 45, 2]]
    with torch.no_grad():
        greedy = sample(SharedEngine(model), sources, [[] for _ in sources], [0, 1, 2], 1, 12)
        samples = sample(SharedEngine(model), sources, [[] for _ in range(9)], list(range(9)), 5, 12)
        for n, output in enumerate([*greedy, *samples]):
            source = sources[n] if n < 3 else sources[(n - 3) // 3]
            prefix = torch.tensor([[model.config.decoder_start_token_id, *output.ids[:-1]]])
            logprobs = model(input_ids=torch.tensor([source]), decoder_input_ids=prefix).logits[0].log_softmax(-1)
            ids = torch.tensor(output.ids)
            token_logprobs = logprobs.gather(1, ids[:, None])[:, 0]
            assert output.logprob == pytest.approx(token_logprobs.sum().item(), abs=1e-3)
            torch.testing.assert_close(
                SharedEngine(model).likelihoods([source], [output.ids])[0], token_logprobs, atol=1e-3, rtol=1e-3
            )
            if n < 3:
                logprobs[:, model.config.pad_token_id] = -torch.inf
                assert logprobs.argmax(-1).tolist() == output.ids
    assert len({tuple(s.ids) for s in samples}) > 3


def own_logprob(translator: Translator, source: Sequence[int], prompt: Sequence[int], ids: Sequence[int]) -> float:
    """log p(ids | source, prompt) by the whole model, in one forward pass without a cache."""
    prefix = torch.tensor([[*prompt, *ids[:-1]]])
    with torch.no_grad():
        logits = translator.model(input_ids=torch.tensor([source]), decoder_input_ids=prefix).logits[
            0, len(prompt) - 1 :
        ]
    return logits.double().log_softmax(-1).gather(1, torch.tensor(ids)[:, None]).sum().item()


def given_of(name: str, translator: Translator, lang: str) -> list[int]:
    """What the decoder of a family must be given, from its tokenizer."""
    if name not in GIVEN:
        return {"marian": [2], "bart": [2, 0]}.get(name, [0])
    token = GIVEN[name][("en", "de").index(lang)]
    language = translator.target.tokenizer.convert_tokens_to_ids(token)
    return [language] if name == "mbart" else [2, language]


@expanded
@pytest.mark.parametrize(("source_lang", "lang"), [("de", "en"), ("en", "de")])
@pytest.mark.parametrize("name", families.NAMES)
def test_what_is_said_has_the_probability_that_the_scorer_gives_it(name, source_lang, lang):
    translator = families.translator(name, source_lang, lang)
    engine, prompt = engine_of(translator.model), given_of(name, translator, lang)
    sources = translator.source.encode([pair[source_lang == "en"] for pair in tiny.pairs(3)])
    samples = sample(engine, sources, [[]] * 9, list(range(9)), 8, 14)
    beams = [h for hypotheses in beam_search(engine, sources, 3, 14, 3) for h in hypotheses]
    outputs = [(sources[n // 3], output) for batch in (samples, beams) for n, output in enumerate(batch)]
    assert len(outputs) == 18
    length = max(len(output.ids) for _, output in outputs)
    for n in range(1, length + 1):
        group = [(source, output) for source, output in outputs if len(output.ids) == n]
        if not group:
            continue
        scored = engine.likelihoods([source for source, _ in group], [output.ids for _, output in group])
        assert scored.shape == (len(group), n)
        for (source, hypothesis), score in zip(group, scored.double().sum(1).tolist(), strict=True):
            assert hypothesis.logprob == pytest.approx(score, abs=2e-3)
            assert hypothesis.logprob == pytest.approx(
                own_logprob(translator, source, prompt, hypothesis.ids), abs=2e-3
            )
    assert len({tuple(output.ids) for _, output in outputs}) > 6


@expanded
@pytest.mark.parametrize("name", families.MANY_LANGUAGES)
def test_the_language_decides_and_is_no_part_of_what_is_said(name):
    texts = [german for german, _ in tiny.pairs(3)]
    scores = {}
    for lang in ("en", "fr"):
        translator = families.translator(name, "de", lang)
        output = translator.target.encode(["Yes."])[0]
        scores[lang] = engine_of(translator.model).likelihoods(translator.source.encode(texts), [output] * 3)
        assert scores[lang].shape == (3, len(output))
    assert ((scores["en"] - scores["fr"]).abs() > 1e-3).all()
    english, german = (families.translator(name, source, "fr").source.encode(texts) for source in ("en", "de"))
    assert all(a != b and len(a) == len(b) for a, b in zip(english, german, strict=True))


@expanded
@pytest.mark.parametrize("name", families.NAMES)
def test_beam_search_is_that_of_generate(name):
    translator = families.translator(name, "de", "en")
    model = families.plain_model(translator).double()  # in float32 rounding can decide between two hypotheses
    engine = engine_of(model)
    sources = translator.source.encode([german for german, _ in tiny.pairs(2)])
    for source, hypotheses in zip(sources, beam_search(engine, sources, 4, 12, 1), strict=True):
        expected = model.generate(
            input_ids=torch.tensor([source]),
            num_beams=4,
            max_new_tokens=12 + len(engine.given) - 1,
            bad_words_ids=[[engine.pad]],
        )[0].tolist()
        assert expected[: len(engine.given)] == engine.given
        assert hypotheses[0].ids == expected[len(engine.given) :]


@expanded
@pytest.mark.parametrize("name", families.NAMES)
def test_constraints_hold_where_the_model_has_more_words_than_its_tokenizer(name):
    translator = families.translator(name, "en", "en") if name != "marian" else families.translator(name, "en", "de")
    sets = [ConstraintSet((word,), ("train",)) for word in ("tea", "often")]
    for constraint_set, candidates in zip(sets, rewrite(["Yes.", "No."], translator, sets, beam=3), strict=True):
        assert constraint_set.unmet(candidates[0].text) == [] == candidates[0].origins[0].unmet
