"""Infilling with a T5 model of random weights: what it reads, what is made of its output, and what is counted."""

import random

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration, T5Tokenizer

from tests import tiny
from toolkit.bitext.words import tokens
from toolkit.data.rows import Row
from toolkit.generate.infill import infill_rows, informative
from toolkit.generate.keywords import STOP_WORDS, keywords
from toolkit.generate.merge import _even_batches
from toolkit.generate.sentinels import (
    _fills,
    _sentinel_ids,
    _unmet,
    _with_quotes,
    infill_input,
    infill_output,
    sentence_of,
)
from toolkit.translator.load import load_translator

REFERENCES = [
    "The old man walked slowly to the river and sat down.",
    "She didn't want to leave the house before the storm.",
    "It was what it was.",
    'He said, "Nobody has seen the well-known painter since Monday."',
]


@pytest.fixture(scope="module")
def infiller(tmp_path_factory):
    """A T5 model with random weights whose pieces are the letters."""
    folder = tmp_path_factory.mktemp("t5")
    letters = sorted({c for text in REFERENCES for c in text.replace(" ", "")} | set("abcdefghijklmnopqrstuvwxyz"))
    pieces = ["<pad>", "</s>", "<unk>", "▁", *letters]
    tokenizer = T5Tokenizer(
        vocab=[(piece, 0.0 if n < 3 else -float(n)) for n, piece in enumerate(pieces)], extra_ids=100
    )
    torch.manual_seed(3)
    T5ForConditionalGeneration(
        T5Config(vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                 pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    ).save_pretrained(folder)  # fmt: skip
    tokenizer.save_pretrained(folder)
    return load_translator(str(folder), "float32")


def rows():
    return [Row(f"book-{n}", "book", None, None, text, "en", "train", "It was late.", "Then he left.")
            for n, text in enumerate(REFERENCES)]  # fmt: skip


def infilled(infiller, some, batch_rows=64, permutations=15):
    return list(infill_rows(some, infiller, STOP_WORDS, None, permutations, 0.15, 2, batch_rows, 2048, 7))


@pytest.mark.slow
def test_every_candidate_says_its_keywords(infiller):
    for row in infilled(infiller, rows()):
        found = {one.text for one in keywords(row.reference)}
        for one in row.candidates:
            assert one.method == "infill" and one.reason in (None, "no_keywords", "unfinished")
            for origin in one.origins:
                assert set(origin.positive) <= found and origin.unmet == []
                assert all(word.lower() in one.text.lower() for word in origin.positive)


@pytest.mark.slow
def test_as_many_orders_as_wanted_and_a_reference_without_keywords(infiller):
    done = infilled(infiller, rows())
    for row, reference in zip(done, REFERENCES, strict=True):
        kept = len(keywords(reference)) - round(0.15 * len(keywords(reference)))
        orders = {tuple(origin.positive) for one in row.candidates for origin in one.origins}
        assert all(len(order) == kept for order in orders)
        if reference == "It was what it was.":
            assert [(one.text, one.reason) for one in row.candidates] == [("", "no_keywords")]
        else:
            assert len(orders) == sum(one.draws for one in row.candidates) == min(15, [1, 1, 2, 6, 24][min(kept, 4)])


@pytest.mark.slow
def test_the_batch_and_the_neighbours_make_no_difference(infiller):
    whole = infilled(infiller, rows(), permutations=5)
    some = slice(None, None, 3)
    alone = [infilled(infiller, [row], batch_rows=2, permutations=5)[0] for row in rows()[some]]  # a search in each
    for one, other in zip(whole[some], alone, strict=True):
        assert [c.text for c in one.candidates] == [c.text for c in other.candidates]
        for a, b in zip(one.candidates, other.candidates, strict=True):
            assert a.origins == b.origins and a.reason == b.reason
            assert (a.scores.forward_logprob or 0) == pytest.approx(b.scores.forward_logprob or 0, rel=1e-4)


def test_what_is_dropped_says_least(infiller):
    """By the likelihood of transformers: of the rest of the reference beside each keyword."""
    model = T5ForConditionalGeneration.from_pretrained(infiller.name).eval()
    tokenizer = T5Tokenizer.from_pretrained(infiller.name)
    for reference, kept in zip(
        REFERENCES, informative(REFERENCES, list(map(keywords, REFERENCES)), infiller, 0.3, 2048), strict=True
    ):
        found = keywords(reference)
        scores = {}
        for one in found:
            read = tokenizer(infill_input([one.text], "", ""), return_tensors="pt")
            labels = tokenizer(infill_output(reference, [one]), return_tensors="pt").input_ids
            with torch.no_grad():
                scores[one] = -model(**read, labels=labels).loss.item() * labels.shape[1]
        dropped = set(found) - set(kept)
        assert len(dropped) == round(0.3 * len(found)) and kept == [one for one in found if one in kept]
        assert all(scores[one] <= scores[other] + 1e-3 for one in dropped for other in kept)


def test_outputs_are_cut_at_their_sentinels(infiller):
    marks, pieces = _sentinel_ids(infiller), infiller.target
    a, b, c = (pieces.encode([letter])[0][:-1] for letter in "abc")
    assert _fills([marks[0], *a, marks[1], *b, pieces.eos], marks, pieces) == ["a", "b"]
    assert _fills([marks[0], *a, marks[2], *c], marks, pieces) == ["a", "", "c"], "one is missing"
    assert _fills([*c, marks[0], *a, marks[1], *b, marks[0], *c], marks, pieces) == ["a", "b"], "one comes again"
    assert _fills([], marks, pieces) == []


def test_a_model_without_sentinels_is_refused():
    forward = tiny.translator("de-en")
    with pytest.raises(ValueError, match="wanted a T5-type model with the tokens <extra_id_0> to <extra_id_99>, got"):
        _sentinel_ids(forward)


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_sentence_comes_back_from_its_own_input_and_output(reference):
    found = keywords(reference)
    said = [part.partition(">")[2].strip() for part in infill_output(reference, found).split("<extra_id_")[1:]]
    assert len(said) == len(found) + 1
    assert tokens(sentence_of([one.text for one in found], said, reference)) == tokens(reference)


def test_quotes_and_what_is_not_said():
    assert _with_quotes('He said , " Go ! "') == 'He said , "Go !"' and _with_quotes('a " b') == 'a " b'
    assert sentence_of(["go"], ["", ""], "We go.") == "Go" and sentence_of(["Go"], [], "we go.") == "Go"
    assert _unmet(["old Man", "river"], "The Old man.") == ["river"]


def test_batches_have_inputs_of_similar_length():
    chance = random.Random(0)
    searches = [(n, [], [0] * chance.randint(1, 90)) for n in range(200)]
    cut = [[searches[n] for n in batch] for batch in _even_batches([len(ids) for _, _, ids in searches], 32)]
    lengths = [len(ids) for batch in cut for _, _, ids in batch]
    assert lengths == sorted(lengths) and sorted(one[0] for batch in cut for one in batch) == list(range(200))
    assert all(len(batch) <= 32 for batch in cut) and min(len(batch) for batch in cut[-4:-1]) < 15
