"""Synonyms in place of keywords: what the starter would say second, and only what is a synonym."""

import re

import pytest
import torch

from toolkit.data.rows import Row
from toolkit.generate._substitute import MOST_TOKENS, replaced, substituted
from toolkit.generate.keywords import _Keyword, keywords
from toolkit.generate.sentinels import load_infiller, masked_input
from toolkit.generate.synonyms import Synonyms, bases

TEXTS = [
    "A large sofa was shoved against the wall, covered in a thin blanket.",
    "The old man walked slowly along the river and sat down under a tree.",
    "She had a small house in the country, and a garden with many flowers.",
    "He could not remember the name of the street where they had lived.",
]


class Anything(Synonyms):
    """Every word means the same as every other: what comes second is taken."""

    def __init__(self):
        super().__init__(
            {base: frozenset({0}) for text in TEXTS for word in re.findall(r"\w+", text) for base in bases(word)}
        )

    def holds(self, word, other):
        return True


@pytest.fixture(scope="module")
def infiller():
    return load_infiller("starter/infiller", "float32", "cpu", "en")


@pytest.fixture(scope="module")
def rows():
    return [Row(f"a-{n}", "a", None, None, text, "en", "train", "It was late.", "") for n, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def chosen():
    return [keywords(text) for text in TEXTS]


def second_of(infiller, text):
    """The second hypothesis of transformers' own beam search."""
    tokenizer = infiller.source.tokenizer
    model = type(infiller.model).from_pretrained(infiller.model.config.name_or_path)
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.inference_mode():
        said = model.generate(ids, num_beams=2, num_return_sequences=2, max_new_tokens=MOST_TOKENS)
    return tokenizer.decode(said[1], skip_special_tokens=False).split("<extra_id_0>")[1].split("<")[0].strip()


@pytest.mark.slow
def test_the_second_prediction_of_beam_search_is_taken(infiller, rows, chosen):
    compared = 0
    for row, own, said in zip(rows, chosen, substituted(rows, chosen, infiller, Anything(), 64), strict=True):
        for keyword, text in zip(own, said, strict=True):
            if keyword.text.isalpha():
                second = second_of(infiller, masked_input(row.reference, keyword, row.context_before, ""))
                assert text == (second if second.isalpha() else keyword.text) or text[1:] == second[1:]
                compared += text != keyword.text
    assert compared > 3


def test_only_synonyms_replace_a_word(infiller, rows, chosen):
    """The error of appendix B: "large" must not become "small", however probable that is."""
    words = [[one.text for one in own] for own in chosen]
    everything = substituted(rows, chosen, infiller, Anything(), 64)
    assert everything != words
    opposites = Synonyms({"large": frozenset({0}), "big": frozenset({0}), "small": frozenset({1})})
    assert substituted(rows, chosen, infiller, opposites, 64)[0][0] in ("large sofa", "big sofa")
    assert substituted(rows, chosen, infiller, Synonyms({}), 64) == words


@pytest.mark.slow
@pytest.mark.parametrize("batch_rows", [2, 6])
def test_batches_change_nothing(infiller, rows, chosen, batch_rows):
    assert substituted(rows, chosen, infiller, Anything(), batch_rows) == substituted(
        rows, chosen, infiller, Anything(), 640
    )


def test_words_of_a_phrase_and_capitals():
    phrase, word = _Keyword("Large sofa", 2, 12), _Keyword("Large", 2, 7)
    assert replaced(phrase, "A Large sofa.", {(0, word): "big"}, 0) == "Big sofa"
    assert replaced(phrase, "A Large sofa.", {(1, word): "big"}, 0) == "Large sofa"
    other = _Keyword("sofa", 8, 12)
    assert replaced(phrase, "A Large sofa.", {(0, word): "big", (0, other): "couch"}, 0) == "Big couch"
