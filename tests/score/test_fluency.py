"""Fluency in nats per token: a tiny GPT-2 against transformers' own loss, text by text, and the infiller likewise."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from tests.generate.test_infill import REFERENCES, infiller  # noqa: F401 - a fixture
from toolkit.data.rows import Candidate, Row
from toolkit.generate.sentinels import infill_input, infill_output
from toolkit.models.language_model import load_language_model, log_probabilities
from toolkit.score.fluency import fluencies, fluency_rows, fluency_signature, load_fluency

TEXTS = ["The old man left.", "a", "", "She left the house before the storm, and nobody saw her.", "a"]


@pytest.fixture(scope="module", params=["gpt2", "no bos"])
def gpt2(request, tmp_path_factory):
    """A tiny GPT-2 of letters, with a token that begins texts or with none at all."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = tmp_path_factory.mktemp("gpt2")
    letters = sorted(set("".join(TEXTS)) | set("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = {piece: n for n, piece in enumerate(["<|end|>", "?", *letters])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    special_tokens = {"bos_token": "<|end|>", "eos_token": "<|end|>"} if request.param == "gpt2" else {}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="?", **special_tokens)
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=len(vocabulary), n_positions=128, n_embd=16, n_layer=2, n_head=2,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load_language_model(str(folder), "float32"), request.param == "gpt2"


def test_sums_and_tokens_are_those_of_the_library(gpt2):
    model, begins = gpt2
    for (total, count), text in zip(log_probabilities(TEXTS, model, 64), TEXTS, strict=True):
        ids = ([0] if begins else []) + model.tokenizer(text, add_special_tokens=False)["input_ids"]
        assert count == max(0, len(ids) - 1)
        if count:
            with torch.no_grad():
                loss = model.model(torch.tensor([ids]), labels=torch.tensor([ids])).loss
            assert total == pytest.approx(-loss.item() * count, rel=1e-5)
        else:
            assert total == 0


@pytest.mark.parametrize("batch_tokens", [1, 40, 10_000])
def test_batches_change_nothing(gpt2, batch_tokens):
    model, _ = gpt2
    assert fluencies(TEXTS, model, batch_tokens) == pytest.approx(fluencies(TEXTS, model, 64), abs=2e-6)
    assert fluencies(TEXTS, model, 64)[1] == fluencies(TEXTS, model, 64)[4]


def test_a_text_longer_than_the_model_is_cut(gpt2):
    model, _ = gpt2
    ((_, count),) = log_probabilities(["a" * 500], model, 64)
    assert count == 127


def test_an_infiller_says_how_probable_a_sentence_is(infiller):  # noqa: F811
    for fluency, text in zip(fluencies(REFERENCES, infiller, 512), REFERENCES, strict=True):
        tokenizer = infiller.source.tokenizer
        read = tokenizer(infill_input([], "", ""), return_tensors="pt").input_ids
        labels = tokenizer(infill_output(text, []), return_tensors="pt").input_ids
        assert fluency == pytest.approx(-infiller.model(input_ids=read, labels=labels).loss.item(), rel=1e-4)


def test_rows_get_it_and_refused_candidates_do_not(gpt2):
    model, _ = gpt2
    row = Row("a-1", "a", None, None, "He left.", "en", "train",
              candidates=[Candidate("He went.", "infill"), Candidate("He", "infill", reason="copy")])  # fmt: skip
    (result,) = fluency_rows([row], model, 64)
    assert result.candidates[0].scores.fluency < 0 and result.candidates[1].scores.fluency is None
    assert fluency_signature(model).startswith("nats per token|gpt2")


def test_either_kind_of_model_loads_by_its_name(gpt2, infiller):  # noqa: F811
    model, _ = gpt2
    device = torch.device("cpu")
    assert load_fluency(model.name, "float32", device, "en").signature == model.signature
    assert load_fluency(infiller.name, "float32", device, "en").signature == infiller.signature
    with pytest.raises(ValueError, match="wanted a causal language model or an infiller, got 'nobody/nothing'"):
        load_fluency("nobody/nothing", "auto", device, "en")
    with pytest.raises(ValueError, match=r"wanted a causal language model, got .* t5 model, which has an encoder"):
        load_language_model(infiller.name)
    with pytest.raises(ValueError, match="wanted a T5-type model as infiller, got 'starter/de-en', which is marian"):
        load_fluency("starter/de-en", "float32", device, "en")
