"""Rewriting with a monolingual model: any seq2seq checkpoint with its own tokenizer."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast, T5Config
from transformers import T5ForConditionalGeneration as T5

from tests.tiny import pairs, translator
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.rewrite import rewrite
from toolkit.translator.load import load_translator

TEXTS = [reference for _, reference in pairs(4)]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
OFTEN = ConstraintSet(("often",))


def byte_level() -> Tokenizer:
    found = Tokenizer(models.BPE(unk_token=None))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    found.train_from_iterator([reference for _, reference in pairs(300)], trainer)
    return found


def metaspace() -> Tokenizer:
    found = Tokenizer(models.Unigram())
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    found.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    found.train_from_iterator([reference for _, reference in pairs(300)], trainer)
    return found


@pytest.fixture(scope="module", params=["bart", "t5"])
def rewriter(request, tmp_path_factory):
    torch.manual_seed(3)
    raw = byte_level() if request.param == "bart" else metaspace()
    raw.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>" if request.param == "bart" else "$A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    ids = {"pad_token_id": 1, "eos_token_id": 2, "vocab_size": len(tokenizer), "d_model": 32}
    if request.param == "bart":
        sizes = dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 64)
        layers = {"encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
        config = BartConfig(**ids, **sizes, **layers, init_std=0.3, decoder_start_token_id=2, forced_bos_token_id=0)
        model = BartForConditionalGeneration(config)
    else:
        config = T5Config(**ids, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=1)
        config.initializer_factor = 3.0
        model = T5(config)
    folder = tmp_path_factory.mktemp(request.param)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load_translator(str(folder), "float32")


def test_surfaces_are_what_pieces_add_to_a_text(rewriter):
    surfaces = rewriter.target.surfaces()
    for text in TEXTS:
        ids = rewriter.target.encode([text])[0]
        assert "".join(surfaces[i] for i in ids).strip() == text
        assert rewriter.target.decode([ids]) == [text]


@pytest.mark.filterwarnings("ignore:t5 models decode")
def test_every_constraint_is_met(rewriter):
    words = ["coffee", "kitchen", "often", "train"]
    sets = [ConstraintSet((word,), ("the", "a"), (text.split()[0],)) for word, text in zip(words, TEXTS, strict=True)]
    for one, candidates in zip(sets, rewrite(TEXTS, rewriter, sets, beam=4), strict=True):
        assert one.unmet(candidates[0].text) == [] == candidates[0].origins[0].unmet


@pytest.mark.filterwarnings("ignore:t5 models decode")
def test_n_best_and_free_rewriting(rewriter):
    found, best = rewrite(TEXTS, rewriter, beam=4, n_best=3), rewrite(TEXTS, rewriter, beam=4)
    assert [len(candidates) for candidates in best] == [1] * 4
    for candidates, (first,) in zip(found, best, strict=True):
        assert candidates[0].text == first.text
        assert 1 < len(candidates) == len({c.text for c in candidates}) <= 3
    assert all(c.origins[0].negative == [] for candidates in found for c in candidates)


def test_a_marian_model_rewrites_too():
    (found,), (free,) = (rewrite(TEXTS[:1], translator("de-en"), sets, beam=4) for sets in ([OFTEN], None))
    assert "often" in found[0].text.split() and not found[0].reason
    assert "often" not in free[0].text.split(), "nothing was asked of it"


def test_as_many_sets_as_texts():
    with pytest.raises(ValueError, match="wanted a constraint set for each of 4 texts, got 1"):
        rewrite(TEXTS, translator("de-en"), [ConstraintSet()])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("Yes.", "wanted a list of texts, got a str: put one text in a list"),
        (b"Yes.", "wanted a list of texts, got a bytes"),
        (None, "wanted a list of texts, got a NoneType"),
        (["Yes.", "No.", "", None], "wanted text at index 3, got None"),
        (["Yes.", 5], "wanted text at index 1, got int"),
    ],
)
def test_what_is_no_list_of_texts_is_one_line(texts, message):
    for take in (lambda: rewrite(texts, translator("de-en")), lambda: translator("de-en").source.encode(texts)):
        with pytest.raises(ValueError, match=message):
            take()


@pytest.mark.slow
def test_any_collection_of_texts_will_do():
    wanted = [[c.text for c in one] for one in rewrite(TEXTS[:2], translator("de-en"), beam=2)]
    for texts in (tuple(TEXTS[:2]), np.array(TEXTS[:2])):
        assert [[c.text for c in one] for one in rewrite(texts, translator("de-en"), beam=2)] == wanted
