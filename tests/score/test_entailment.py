"""Entailment both ways against the model of transformers, one pair at a time."""

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from tests.cross_encoders import saved_cross_encoder
from tests.language_models import rows_of
from toolkit.data.rows import Scores
from toolkit.score.entailment import entailment_rows, load_nli

TEXTS = {"He left the house.": ["He left home.", "He left.", "He left home."], "Nobody saw her.": ["No one saw her."]}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return saved_cross_encoder(tmp_path_factory.mktemp("nli"))


def alone(path, premise, hypothesis, label=1):
    network, tokenizer = AutoModelForSequenceClassification.from_pretrained(path), AutoTokenizer.from_pretrained(path)
    with torch.no_grad():
        return network(**tokenizer(premise, hypothesis, return_tensors="pt")).logits.softmax(-1)[0, label].item()


def test_both_directions_are_those_of_one_pair_at_a_time(path):
    shard = rows_of(TEXTS)
    shard[0].candidates[1].reason = "copy"
    score_pairs = set()
    for row in entailment_rows(shard, load_nli(path), 3):
        for candidate in row.candidates:
            scores, text = candidate.scores, candidate.text
            if candidate.reason:
                assert scores.entailed is scores.entails is scores.entailment is None
                continue
            assert scores.entailed == pytest.approx(alone(path, row.reference, text), abs=2e-6)
            assert scores.entails == pytest.approx(alone(path, text, row.reference), abs=2e-6)
            assert scores.entailment == min(scores.entailed, scores.entails)
            score_pairs.add((scores.entailed, scores.entails))
    assert len(score_pairs) == 2, "equal texts have equal scores"
    assert all(first != second for first, second in score_pairs)


def test_what_the_model_cannot_read_whole_has_no_score(path):
    long, short = rows_of({"He left. " * 12: ["He went. " * 3, "He left."]})[0].candidates
    (row,) = entailment_rows(rows_of({"He left. " * 12: ["He went. " * 3, "He left."]}), load_nli(path), 8)
    assert row.candidates[0].scores == Scores() and row.candidates[1].scores.entailed is not None
    assert (long.text, short.text) == tuple(c.text for c in row.candidates)


@pytest.mark.parametrize(
    ("labels", "number"),
    [
        (("entailment", "neutral", "contradiction"), 0),
        (("NOT_ENTAILMENT", "ENTAILMENT"), 1),
        (("LABEL_0", "LABEL_1"), 1),
        (("entailment", "not_entailment"), 0),
    ],
)
def test_the_label_is_found_by_its_name(labels, number, tmp_path):
    assert load_nli(saved_cross_encoder(tmp_path / "m", labels)).label == number


@pytest.mark.parametrize("labels", [("LABEL_0", "LABEL_1", "LABEL_2"), ("LABEL_0",), ("no", "yes")])
def test_a_model_without_a_label_for_entailment_is_refused(labels, tmp_path):
    with pytest.raises(
        ValueError, match=r"wanted a model with a label for entailment, got .* with .*: name its labels"
    ):
        load_nli(saved_cross_encoder(tmp_path / "m", labels))


def test_a_model_without_an_output_layer_is_refused(path, tmp_path):
    network = AutoModelForSequenceClassification.from_pretrained(path)
    network.base_model.save_pretrained(tmp_path / "bare")
    AutoTokenizer.from_pretrained(path).save_pretrained(tmp_path / "bare")
    with pytest.raises(ValueError, match=r"bare.*classifier"):
        load_nli(str(tmp_path / "bare"))
    with pytest.raises(ValueError, match="wanted a cross-encoder for natural language inference, got 'no-such-folder'"):
        load_nli("no-such-folder")
