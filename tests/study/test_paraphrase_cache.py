"""The cache gives what the paraphraser gives, and asks it once."""

import pytest

import toolkit
from toolkit.paraphraser.paraphraser import Paraphraser, defaults
from toolkit.study._paraphrase_cache import CachedParaphraser

TEXTS = ["The elevator is broken.", "It is late, so we will go home.", "The old man was born in Paris."]


@pytest.fixture(scope="module")
def paraphraser():
    return toolkit.Paraphraser("starter/paraphraser", settings=defaults("en", True))  # without a floor


def counting(monkeypatch):
    """The texts that reach the model, as a list that grows."""
    inputs, chunk = [], Paraphraser._chunk

    def count_chunk(self, texts, sets, settings, template):
        inputs.extend(texts)
        return chunk(self, texts, sets, settings, template)

    monkeypatch.setattr(Paraphraser, "_chunk", count_chunk)
    return inputs


def test_the_paraphrases_are_the_same_whatever_the_seed_and_each_text_is_asked_for_once(paraphraser, monkeypatch):
    expected = paraphraser.paraphrase(TEXTS, n=2)
    inputs = counting(monkeypatch)
    cached = CachedParaphraser(paraphraser, TEXTS)
    assert cached.paraphrase(TEXTS[:1], n=2, seed=7) == expected[:1]
    assert sorted(inputs) == sorted(TEXTS), "all texts that will come are paraphrased together"
    assert cached.paraphrase(TEXTS[::-1] + TEXTS, n=2, seed=8) == expected[::-1] + expected
    assert len(inputs) == len(TEXTS)
    assert (cached.name, cached.lang, cached.settings) == (paraphraser.name, paraphraser.lang, paraphraser.settings)


def test_other_questions_have_other_answers(paraphraser, monkeypatch):
    inputs = counting(monkeypatch)
    cached = CachedParaphraser(paraphraser)
    (plain,) = cached.paraphrase(TEXTS[:1], n=3)
    (avoiding,) = cached.paraphrase(TEXTS[:1], n=3, avoid=["elevator"])
    (fewer,) = cached.paraphrase(TEXTS[:1], n=1)
    assert any("elevator" in text for text in plain) and not any("elevator" in text for text in avoiding)
    assert len(fewer) == 1 and inputs == TEXTS[:1] * 3
    assert cached.paraphrase(TEXTS[:1], n=3, avoid=["elevator"]) == [avoiding] and len(inputs) == 3
