"""The paraphrase score by an encoder of six words, made here."""

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel

from toolkit.data.rows import Candidate, Row
from toolkit.encoder.load import load_encoder
from toolkit.score.semantic import cosines, semantic_rows, semantic_signature

WORDS = {"[UNK]": [0, 0], "dog": [1, 0], "hound": [3, 4], "cat": [0, 2], "not": [-1, 0], "two": [3, 3]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.array(list(WORDS.values()), np.float32)
    path = tmp_path_factory.mktemp("encoders") / "six-words"
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu").save(str(path))
    return path


@pytest.fixture
def encoder(folder):
    return load_encoder(str(folder))


def row(number, reference, *texts):
    candidates = [Candidate(text, "beam") for text in texts]
    return Row(f"a-{number}", "a", "x", "de", reference, "en", "train", candidates=candidates)


def scores(rows):
    return [[c.scores.semantic for c in entry.candidates] for entry in rows]


def test_cosines_by_hand(encoder):
    rows = [
        row(0, "dog", "hound", "cat", "dog", "not", "purple"),
        row(1, "dog cat", "two dog", "hound"),  # the mean of (1, 0) and (0, 2) against that of (3, 3) and (1, 0)
        row(2, "cat"),
    ]
    values = scores(semantic_rows(rows, encoder, 2))
    mean = (0.5 * 2 + 1 * 1.5) / (np.hypot(0.5, 1) * np.hypot(2, 1.5))
    hound = (1 * 3 + 2 * 4) / (np.sqrt(5) * 5)
    assert values == [[0.6, 0.0, 1.0, -1.0, 0.0], [round(mean, 6), round(hound, 6)], []]


def test_batches_and_order_change_nothing(encoder):
    texts = ["dog", "hound cat", "two two two dog", "not cat hound hound", "cat"]
    forth = scores(semantic_rows([row(n, t, *texts) for n, t in enumerate(texts)], encoder, 1))
    back = scores(semantic_rows([row(n, t, *texts) for n, t in enumerate(texts)][::-1], encoder, 64))
    assert forth == back[::-1]
    assert len({s for values in forth for s in values}) > 5


def test_each_text_is_encoded_once(encoder, monkeypatch):
    inputs, encode = [], encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda texts, **rest: inputs.extend(texts) or encode(texts, **rest))
    list(semantic_rows([row(0, "dog", "cat", "dog"), row(1, "cat", "dog")], encoder, 8))
    assert sorted(inputs) == ["cat", "dog"]


def test_refused_candidates_are_not_measured(encoder):
    rows = [row(0, "dog", "cat", "hound")]
    rows[0].candidates[0].reason = "unfinished"
    assert scores(semantic_rows(rows, encoder, 8)) == [[None, 0.6]]
    rows[0].candidates[1].reason = "empty"
    assert list(semantic_rows(rows, encoder, 8)) == rows


def test_a_cosine_never_leaves_its_range():
    vectors = np.random.default_rng(0).normal(size=(200, 7)).astype(np.float32)
    values = np.array(cosines(vectors, np.array([(n, n) for n in range(200)])))
    assert values.tolist() == [1.0] * 200
    assert max(map(abs, cosines(vectors, np.array([(n, 199 - n) for n in range(200)])))) < 1


def test_the_signature_tells_the_folder_s_name_only(encoder, folder):
    signature = semantic_signature(encoder, str(folder))
    assert signature.startswith("cosine|encoder:six-words|0.0M|tokens:")
    assert semantic_signature(encoder, "someone/six-words").startswith("cosine|encoder:someone/six-words|")


def test_weights_are_float32(folder, tmp_path):
    half = load_encoder(str(folder)).half()
    half.save(str(tmp_path / "half"))
    assert {p.dtype for p in load_encoder(str(tmp_path / "half")).parameters()} == {torch.float32}


@pytest.mark.parametrize("name", ["nobody/nothing", "/no/such/folder"])
def test_an_unknown_name_is_one_line(name):
    with pytest.raises(ValueError, match="wanted a sentence encoder, got") as error:
        load_encoder(name)
    assert "\n" not in str(error.value) and repr(name) in str(error.value)


def test_a_plain_transformer_is_refused(tmp_path):
    config = BertConfig(vocab_size=10, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    BertModel(config).save_pretrained(tmp_path / "bert")
    with pytest.raises(ValueError, match=r"wanted a sentence encoder, got '.*bert'.*modules.json"):
        load_encoder(str(tmp_path / "bert"))


def test_a_damaged_encoder_is_one_line(folder, tmp_path):
    for file in folder.rglob("*"):
        target = tmp_path / "half" / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.is_file():
            target.write_bytes(file.read_bytes()[: 20 if file.suffix == ".safetensors" else None])
    with pytest.raises(ValueError, match=r"wanted a sentence encoder, got .*half"):
        load_encoder(str(tmp_path / "half"))
