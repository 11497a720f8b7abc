"""Pairs for paraphrase identification, with an encoder whose vectors are set by hand."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

from toolkit.package.load import load_parabank
from toolkit.pair_classifier.pairs import LabelledPair, _sentences_of, identification_pairs

ANGLES = {"dog": 0, "hound": 8, "puppy": 10, "wolf": 30, "fox": 35, "vixen": 50, "car": 80, "auto": 90}  # degrees
ROWS = [
    {"id": id, "sentence1": first, "sentence2": second}
    for id, first, second in [("a", "dog", "hound"), ("a", "dog", "puppy"), ("b", "wolf", "fox"), ("c", "car", "auto")]
]


@pytest.fixture(scope="module")
def encoder():
    words = {"[UNK]": [0.0, 0.0]} | {w: [np.cos(np.radians(a)), np.sin(np.radians(a))] for w, a in ANGLES.items()}
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.array(list(words.values()), np.float32)
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu")


def negatives(pairs):
    return {p.sentence1: p.sentence2 for p in pairs if p.label == 0}


def test_by_hand(encoder):
    pairs = identification_pairs(ROWS, encoder)
    assert negatives(pairs) == {
        "dog": "wolf", "hound": "wolf", "puppy": "wolf", "wolf": "puppy", "fox": "puppy", "car": "fox", "auto": "fox",
    }  # fmt: skip
    positives = {p.sentence1: p.sentence2 for p in pairs if p.label}
    assert positives.pop("dog") in ("hound", "puppy")
    assert positives == {"hound": "dog", "puppy": "dog", "wolf": "fox", "fox": "wolf", "car": "auto", "auto": "car"}
    assert [p.label for p in pairs] == [1, 0] * 7
    assert all(first.sentence1 == second.sentence1 for first, second in zip(pairs[::2], pairs[1::2], strict=True))


def test_a_sentence_of_two_references_bars_both(encoder):
    rows = [*ROWS, {"id": "b", "sentence1": "wolf", "sentence2": "puppy"}]
    result = negatives(identification_pairs(rows, encoder))
    assert result["puppy"] == "car" and result["wolf"] == "hound" and result["dog"] == "wolf"


def test_texts_that_differ_in_case_or_marks_are_one(encoder):
    rows = [*ROWS, {"id": "d", "sentence1": "Dog!", "sentence2": "vixen"}]
    sentences = _sentences_of(rows)
    assert "Dog!" not in sentences.texts and sentences.texts[sentences.partners[0][-1]] == "vixen"
    assert negatives(identification_pairs(rows, encoder))["vixen"] == "fox"
    assert (
        negatives(identification_pairs([*rows, {"id": "d", "sentence1": "vixen", "sentence2": "fox"}], encoder))["dog"]
        == "wolf"
    )


def test_too_near_is_passed_over(encoder):
    result = negatives(identification_pairs(ROWS, encoder, max_cosine=float(np.cos(np.radians(21)))))
    assert result["puppy"] == "fox" and result["hound"] == "wolf"  # wolf is 20 degrees from puppy, 22 from hound


def test_a_limit_draws_sentences_but_not_neighbours(encoder):
    pairs, sample = (identification_pairs(ROWS, encoder, limit, seed=3) for limit in (None, 4))
    assert len(pairs) == 14 and len(sample) == 4
    assert sample[1::2] == pairs[1:4:2]  # the same sentences first, with neighbours among all
    assert {tuple(identification_pairs(ROWS, encoder, 4, seed=seed)) for seed in range(9)} != {tuple(sample)}
    assert sample == identification_pairs(ROWS, encoder, 4, seed=3)


def test_rows_of_a_parabank(demo_parabank, encoder):
    rows = load_parabank(demo_parabank, split="train")
    pairs = identification_pairs(rows, encoder)
    ids = {text: row["id"] for row in rows for text in (row["sentence1"], row["sentence2"])}
    assert len(pairs) == 2 * len(ids) == 14
    assert all((ids[p.sentence1] == ids[p.sentence2]) == bool(p.label) for p in pairs)
    assert isinstance(pairs[0], LabelledPair)


@pytest.mark.parametrize("rows", [[], [{"id": "a", "sentence1": "Dog.", "sentence2": "dog"}]])
def test_no_pairs(rows, encoder):
    with pytest.raises(ValueError, match="wanted pairs of two different sentences, got none"):
        identification_pairs(rows, encoder)


def test_one_reference_has_no_negatives(encoder):
    with pytest.raises(ValueError, match="wanted sentences of different references, got 3 without"):
        identification_pairs(ROWS[:2], encoder)
