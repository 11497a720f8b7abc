"""What an encoder finds of the pairs that it was not trained on, beside another encoder."""

import json

import numpy as np
import pyarrow as pa
import pytest

from toolkit.train import _held_out as held_out
from toolkit.train._held_out import MEASURE, held_out_pairs, outcome_beside, share_found, starter_for

PAIRS = [("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four", "vier")]


class Table:
    """An encoder that looks up vectors."""

    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts, **_):
        vectors = np.array([self.vectors[text] for text in texts], float)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def table(right):
    """An encoder that finds the paraphrases of so many references, and takes the others for equal."""
    vectors = {text: np.eye(5)[n if n < right else 4] for n, pair in enumerate(PAIRS) for text in pair}
    return Table(vectors)


@pytest.mark.parametrize(("right", "share"), [(4, 100.0), (3, 100.0), (2, 50.0), (0, 0.0)])
def test_only_a_paraphrase_that_is_nearer_than_all_others_is_found(right, share):
    assert share_found(table(right), PAIRS) == share


@pytest.fixture
def parabank(monkeypatch):
    rows = [("one", "eins"), ("one", "ein"), ("two", "two"), *PAIRS[1:]]
    pairs_table = pa.table(
        {"sentence1": [text for text, _ in rows], "sentence2": [paraphrase for _, paraphrase in rows]}
    )
    monkeypatch.setattr(held_out.package, "is_plain", lambda source: source.endswith(".tsv"))
    monkeypatch.setattr(
        held_out.package, "read_pairs", lambda source, split: iter([pairs_table] if split == "validation" else [])
    )


def test_the_best_paraphrase_of_each_reference_of_the_validation_splits_is_held_out(parabank):
    assert held_out_pairs(["bank", "more.tsv"]) == PAIRS
    assert held_out_pairs(["more.tsv"]) == []


def test_a_worse_encoder_than_the_other_is_warned_of(parabank):
    worse = outcome_beside(table(2), {"the base": table(4)}, ["bank"])
    assert (worse.count, worse.model, worse.others) == (4, 50.0, {"the base": 100.0})
    line, warning = worse.lines()
    assert line == f"{MEASURE}, 4 pairs: 50.00; the base 100.00"
    assert warning.startswith("warning: the base is better than this model: train it on more or cleaner pairs")
    better = outcome_beside(table(4), {"the base": table(2)}, ["bank"])
    assert len(better.lines()) == 1
    (message,) = outcome_beside(table(4), {"the base": table(2)}, ["more.tsv"]).lines()
    assert message == f"{MEASURE}: no pairs were held out, so nothing says how good this model is"


def test_the_starter_stands_beside_an_encoder_of_english_parabanks_only(tmp_path, monkeypatch):
    monkeypatch.setattr(held_out, "load_encoder", lambda name: name)
    for lang in ("en", "zh"):
        (tmp_path / lang).mkdir()
        (tmp_path / lang / "parabank.json").write_text(json.dumps({"settings": {"lang": lang}}))
    english, chinese = str(tmp_path / "en"), str(tmp_path / "zh")
    assert starter_for([english]) == {"starter/encoder": "starter/encoder"}
    assert starter_for([english, chinese]) == starter_for([chinese]) == starter_for(["pairs.tsv"]) == {}
