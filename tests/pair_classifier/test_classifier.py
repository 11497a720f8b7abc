"""Output layers drawn anew, the loss against numpy, and training that is interrupted."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoModel, BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from toolkit.pair_classifier.classifier import (
    SCORE,
    _check_enough,
    fit,
    last_checkpoint,
    new_classifier,
    write_fresh,
)
from toolkit.pair_classifier.pairs import LabelledPair
from toolkit.pair_classifier.settings import _FitSettings
from toolkit.pair_classifier.tasks import predict, predict_scores

torch.set_num_threads(1)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefgh"]
QUICK = _FitSettings(epochs=1, batch=8, learning_rate=5e-3, max_length=16)
PAIRS = [LabelledPair(first, second, int(second in "abcd")) for first in "abcdefgh" for second in "abcdefgh"]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A classifier of one layer without dropout, for two tokens a sentence."""
    folder = tmp_path_factory.mktemp("tiny") / "bert"
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.2,
    )  # fmt: skip
    torch.manual_seed(0)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def weights(classifier):
    return {name: t.detach().float().clone() for name, t in classifier.model.state_dict().items()}


def are_equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first | second)


def test_only_the_output_layer_is_drawn_anew(start):
    before = BertForSequenceClassification.from_pretrained(start).state_dict()
    first, second = (weights(new_classifier(str(start), 16, seed)) for seed in (1, 2))
    head = {name for name in before if name.startswith("classifier")}
    assert len(head) == 2 and len(before) > 20
    assert all(torch.equal(before[name], first[name]) for name in set(before) - head)
    assert not torch.equal(before["classifier.weight"], first["classifier.weight"])
    assert not torch.equal(second["classifier.weight"], first["classifier.weight"])
    assert are_equal(first, weights(new_classifier(str(start), 16, 1)))


def test_a_sentence_encoder_is_a_start(start, tmp_path):
    transformer = Transformer(str(start))
    encoder = SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu")
    encoder.save(str(tmp_path / "encoder"))
    classifier = new_classifier(str(tmp_path / "encoder"), 16, 0)
    base = AutoModel.from_pretrained(start).embeddings.word_embeddings.weight
    assert torch.equal(classifier.model.bert.embeddings.word_embeddings.weight, base) and classifier.num_labels == 2


def test_long_pairs_are_cut(start):
    classifier = new_classifier(str(start), 5, 0)
    assert classifier.preprocess([("a b c d", "e f g h")])["input_ids"].shape == (1, 5)


def test_a_saved_classifier_of_scores_gives_them_wherever_it_is_loaded(start, tmp_path):
    classifier = new_classifier(str(start), 16, 0, SCORE)
    with torch.no_grad():
        classifier.model.classifier.bias.fill_(4.0)
    scores = predict_scores(classifier, PAIRS[:4])
    classifier.save_pretrained(str(tmp_path), create_model_card=False)
    loaded = CrossEncoder(str(tmp_path), device="cpu").predict([(p.sentence1, p.sentence2) for p in PAIRS[:4]])
    assert max(scores) > 1 and np.allclose(loaded, scores, atol=0.02)  # not a sigmoid of them


@pytest.mark.parametrize("name", ["/no/such/folder", "nobody/nothing"])
def test_no_checkpoint(name):
    with pytest.raises(ValueError, match="wanted a checkpoint that can have an output layer, got") as error:
        new_classifier(name, 16, 0)
    assert "\n" not in str(error.value) and repr(name) in str(error.value)


def test_word_vectors_are_no_start(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=8)], device="cpu").save(
        str(tmp_path / "words")
    )
    with pytest.raises(ValueError, match=r"wanted a checkpoint that can have an output layer, got '.*words'"):
        new_classifier(str(tmp_path / "words"), 16, 0)


def test_fresh_weights_with_another_s_tokenizer(start, tmp_path):
    first, second = (write_fresh(str(start), tmp_path / str(seed), 2, 64, seed) for seed in (0, 1))
    first_state, second_state = (weights(new_classifier(str(folder), 16, 0)) for folder in (first, second))
    name = "bert.encoder.layer.1.attention.self.query.weight"
    assert first_state[name].shape == (64, 64) and not torch.equal(first_state[name], second_state[name])
    assert not any("layer.2" in key for key in first_state)
    assert new_classifier(str(first), 16, 0).tokenizer("a b")["input_ids"] == [2, 4, 5, 3]
    assert are_equal(
        first_state, weights(new_classifier(str(write_fresh(str(start), tmp_path / "again", 2, 64, 0)), 16, 0))
    )


@pytest.mark.parametrize(("layers", "width"), [(0, 64), (2, 65), (2, 0)])
def test_fresh_weights_that_cannot_be(start, tmp_path, layers, width):
    with pytest.raises(ValueError, match="wanted layers, and a width that is a multiple of 64, got"):
        write_fresh(str(start), tmp_path, layers, width, 0)


def test_fresh_weights_want_a_tokenizer(tmp_path):
    with pytest.raises(ValueError, match="wanted a checkpoint with a tokenizer, got '/no/such'"):
        write_fresh("/no/such", tmp_path, 1, 64, 0)


def test_the_loss_is_cross_entropy(start, tmp_path):
    classifier = new_classifier(str(start), 16, 0)
    logits = classifier.predict([(p.sentence1, p.sentence2) for p in PAIRS]).astype(float)
    labels = np.array([p.label for p in PAIRS])
    expected = np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(len(PAIRS)), labels])
    loss = fit(classifier, PAIRS, tmp_path, replace(QUICK, learning_rate=1e-9))
    assert loss == pytest.approx(expected, abs=0.02) and abs(loss - np.log(2)) > 0.001  # steps may be in bfloat16


@pytest.mark.slow
def test_it_learns(start, tmp_path):
    classifier = new_classifier(str(start), 16, 0)
    labels = [p.label for p in PAIRS]
    assert predict(classifier, PAIRS) != labels
    fit(classifier, PAIRS, tmp_path, replace(QUICK, epochs=20))
    assert predict(classifier, PAIRS) == labels


def test_a_resumed_run_ends_where_an_uninterrupted_one_does(start, tmp_path):
    settings = replace(QUICK, epochs=2, save_every=10)  # 16 steps
    whole, resumed = new_classifier(str(start), 16, 0), new_classifier(str(start), 16, 0)
    fit(whole, PAIRS, tmp_path / "run", settings)
    (tmp_path / "run" / "checkpoint-16" / "trainer_state.json").unlink()  # as if it was killed while writing
    assert last_checkpoint(tmp_path / "run") == str(tmp_path / "run" / "checkpoint-10")
    shutil.move(tmp_path / "run" / "checkpoint-10", tmp_path / "other" / "checkpoint-10")
    fit(resumed, PAIRS, tmp_path / "other", settings)
    assert are_equal(weights(whole), weights(resumed))
    assert not are_equal(weights(whole), weights(new_classifier(str(start), 16, 0)))


def test_nothing_to_learn(start, tmp_path):
    with pytest.raises(ValueError, match="wanted at least 1 labelled pairs for a step of 1 processes, got 0"):
        fit(new_classifier(str(start), 16, 0), [], tmp_path, QUICK)


def test_too_few_for_all_processes():
    _check_enough(1, 32, 1)
    _check_enough(64, 32, 2)
    with pytest.raises(
        ValueError, match="wanted at least 64 labelled pairs for a step of 2 processes, got 63: give more"
    ):
        _check_enough(63, 32, 2)


@pytest.mark.parametrize("name", ["epochs", "batch", "learning_rate", "max_length", "save_every"])
def test_settings_above_0(name):
    with pytest.raises(ValueError, match=rf"^wanted {name} (above 0|of at least 1), got 0$"):
        _FitSettings(**{name: 0})
