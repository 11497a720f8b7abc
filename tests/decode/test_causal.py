"""Causal language models: what the rows of a prompt say is what the model's own forward pass and `generate` say."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.ties import assert_same_searches, scored
from toolkit.decode.beam import beam_search
from toolkit.decode.causal import CAUSAL, CausalEngine
from toolkit.decode.sampling import sample

PROMPTS = [[5, 9], [17, 33, 4, 8, 60, 7], [8, 40, 41, 42, 43, 44], [3, 3, 3, 3, 50, 51, 52, 9, 9, 70, 71]]
EOS = 2


def random_model(family: str = "llama", **others: object) -> PreTrainedModel:
    """Weights of one size, large enough that outputs differ, in float64."""
    torch.manual_seed(4)
    config = AutoConfig.for_model(
        family, vocab_size=97, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=64, pad_token_id=0, bos_token_id=1,
        eos_token_id=EOS, **others,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config).double().eval()
    for name, weight in model.named_parameters():
        if "norm" not in name:
            weight.data.normal_(0, 0.25)
    return model


def greedy_of_generate(model: PreTrainedModel, prompt: list[int], tokens: int) -> list[int]:
    ids = torch.tensor([prompt])
    mask = torch.ones_like(ids)
    output = model.generate(ids, attention_mask=mask, max_new_tokens=tokens, do_sample=False, suppress_tokens=[0])
    return output[0, len(prompt) :].tolist()


@pytest.mark.parametrize("family", CAUSAL)
def test_greedy_search_says_what_generate_says(family):
    model = random_model(family)
    outputs = sample(CausalEngine(model), PROMPTS, None, range(4), 1, 20)
    assert [output.ids for output in outputs] == [greedy_of_generate(model, prompt, 20) for prompt in PROMPTS]
    assert len({tuple(output.ids[-4:]) for output in outputs}) > 1


@pytest.mark.parametrize("family", CAUSAL)
def test_samples_have_the_log_probability_of_the_models_own_forward_pass(family):
    model = random_model(family)
    engine = CausalEngine(model)
    samples = sample(engine, PROMPTS, None, range(40), 12, 20)
    assert len({tuple(output.ids) for output in samples}) > 12
    for number in range(0, 40, 3):
        prompt, output = PROMPTS[number // 10], samples[number]
        with torch.no_grad():
            logits = model(torch.tensor([[*prompt, *output.ids[:-1]]])).logits[0, len(prompt) - 1 :]
        expected = logits.log_softmax(-1).gather(1, torch.tensor(output.ids)[:, None])[:, 0]
        assert output.logprob == pytest.approx(expected.sum().item(), abs=1e-6)
        torch.testing.assert_close(engine.likelihoods([prompt], [output.ids])[0], expected, atol=1e-6, rtol=0)


def test_a_sample_does_not_depend_on_the_prompts_beside_it():
    engine, together = CausalEngine(random_model()), []
    for number, prompt in enumerate(PROMPTS):
        together += sample(engine, [prompt], None, range(6 * number, 6 * number + 6), 8, 15)
    assert [s.ids for s in sample(engine, PROMPTS, None, range(24), 8, 15)] == [s.ids for s in together]


def test_likelihoods_of_several_prompts_are_those_of_each():
    engine, outputs = CausalEngine(random_model()), [[7, 8, 9, EOS], [9, 9, 9, EOS], [30, 31, 32, EOS], [4, 5, 6, EOS]]
    each = [engine.likelihoods([prompt], [output]) for prompt, output in zip(PROMPTS, outputs, strict=True)]
    torch.testing.assert_close(engine.likelihoods(PROMPTS, outputs), torch.cat(each))


def test_its_beam_is_that_of_generate():
    model = random_model()
    searches = beam_search(CausalEngine(model), PROMPTS, 4, 12, n_best=4)
    expected = []
    for prompt in PROMPTS:
        ids = torch.tensor([prompt])
        output = model.generate(
            ids, attention_mask=torch.ones_like(ids), num_beams=4, num_return_sequences=4, max_new_tokens=12,
            do_sample=False, suppress_tokens=[0], return_dict_in_generate=True,
            output_scores=True,
        )  # fmt: skip
        texts = [ids[len(prompt) :].tolist() for ids in output.sequences]
        said = [text[: text.index(EOS) + 1] if EOS in text else text for text in texts]
        expected.append(list(zip(output.sequences_scores.tolist(), said, strict=True)))
    assert_same_searches([scored(hypotheses) for hypotheses in searches], expected)


def test_forbidden_phrases_are_those_of_each_sample():
    engine = CausalEngine(random_model())
    free = sample(engine, PROMPTS, None, range(4), 1, 12)
    forbidden = [[output.ids[:2]] for output in free]
    outputs = sample(engine, PROMPTS, [[], forbidden[1], [], forbidden[3]], range(4), 1, 12)
    assert [output.ids for output in outputs[::2]] == [output.ids for output in free[::2]]
    for output, [phrase] in zip(outputs[1::2], forbidden[1::2], strict=True):
        assert phrase not in [output.ids[n : n + 2] for n in range(len(output.ids))]


def test_several_tokens_end_a_text_with_their_probability_together():
    model = random_model()
    prompt, (first, second) = PROMPTS[1], sorted(set(greedy_of_generate(model, PROMPTS[1], 6)))[:2]
    engine = CausalEngine(model, [first, second])
    with torch.no_grad():
        expected = model(torch.tensor([prompt])).logits[0, -1].softmax(-1)[[first, second]].sum().log()
    torch.testing.assert_close(engine.likelihoods([prompt], [[first]])[0, 0], expected)
    assert engine.likelihoods([prompt], [[second]]).item() == -torch.inf
    assert all(second not in s.ids and s.ended for s in sample(engine, [prompt], None, range(50), 90, 40) if s.ended)


def test_a_model_without_a_token_for_padding_takes_another_end():
    model = random_model(tie_word_embeddings=False)
    model.config.pad_token_id = model.config.bos_token_id = None
    with pytest.raises(ValueError, match="wanted a model with a token for padding"):
        CausalEngine(model, [EOS])
    assert CausalEngine(model, [EOS, 5]).pad == 5


def test_what_it_cannot_decode_is_refused():
    model = random_model()
    with pytest.raises(ValueError, match="wanted prompts of 2 to 44 tokens, got 1 to 6 tokens"):
        CausalEngine(model).start([[5], PROMPTS[1]], 1, 20)
    with pytest.raises(ValueError, match="got 2 to 50 tokens: the model has 64 positions, 20 of them"):
        CausalEngine(model).start([PROMPTS[0], [5] * 50], 1, 20)
    model.config.model_type = "mamba"
    with pytest.raises(ValueError, match=r"wanted a causal model of one of llama, .*, got 'mamba'"):
        CausalEngine(model)


def test_a_window_of_attention_limits_the_prompts():
    model = random_model("mistral", sliding_window=24)
    assert CausalEngine(model).limit == 24
