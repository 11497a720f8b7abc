"""Texts that are read as trees against one forward pass for each, in float64."""

import pytest
import torch

from tests.language_models import alone, saved, wide
from toolkit.models import token_trees
from toolkit.models.language_model import load_language_model
from toolkit.models.token_trees import _TokenTrees, check_reads_trees, log_probabilities_after

BEGINNING = [9, 12, 30, 4, 4, 17]
TEXTS = [[5, 6, 7], [5, 6, 8, 9, 2], [5], [], [11, 6, 7], [5, 6, 7]]
ASKED = [(BEGINNING, TEXTS), ([7], [[3, 3, 3], [3, 3]]), ([], [[5, 6, 7], [5, 6, 9], [8]]), ([4, 4], [])]


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def model(request, tmp_path_factory):
    return wide(request.param, tmp_path_factory.mktemp(request.param))


def test_equal_beginnings_stand_in_a_tree_once():
    trees = _TokenTrees()
    trees.add([1, 2], [[3, 4], [3, 5]])
    trees.add([1], [[3]])
    trees.add([6], [[3]])
    assert trees.ids == [1, 2, 3, 4, 5, 3, 6, 3] and trees.parents == [-1, 0, 1, 2, 2, 0, -1, 6]
    assert trees.paths == [[2, 3], [2, 4], [5], [7]]
    expected = [{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 4}, {0, 5}, {6}, {6, 7}]
    assert [set(row.nonzero()[:, 0].tolist()) for row in trees.mask()] == expected


@pytest.mark.parametrize("batch_tokens", [1, 9, 10_000])
def test_sums_and_tokens_are_those_of_a_forward_pass_for_each_text(model, batch_tokens):
    results = log_probabilities_after(ASKED, model, batch_tokens)
    for (beginning, texts), scores in zip(ASKED, results, strict=True):
        for text, logs in zip(texts, scores, strict=True):
            expected, tokens = alone(model, beginning, text)
            assert len(logs) == tokens and sum(logs) == pytest.approx(expected, rel=1e-9)
    assert results[0][0] == results[0][5] and results[0][0] != results[0][4] and results[0][3] == []
    assert results[2][2] == [], "its only token has nothing before it"


def test_only_logits_that_are_needed_are_computed(model, monkeypatch):
    shapes, plain = [], token_trees._tree_logits

    def noted(*arguments):
        logits = plain(*arguments)
        shapes.append(logits.shape[0])
        return logits

    monkeypatch.setattr(token_trees, "_tree_logits", noted)
    log_probabilities_after([(BEGINNING, [[5, 6, 7], [5, 6, 8]])], model, 100)
    assert shapes == [3], "those after the beginning, after 5 and after 6"


def test_a_tree_whose_logits_need_too_much_memory_is_cut(model, monkeypatch):
    whole = log_probabilities_after(ASKED, model, 100)
    monkeypatch.setattr(token_trees, "LOGITS", 10 * model.model.config.vocab_size)
    cut = log_probabilities_after(ASKED, model, 100)
    for whole_logs, cut_logs in zip(whole, cut, strict=True):
        assert [len(logs) for logs in whole_logs] == [len(logs) for logs in cut_logs]
        assert [sum(logs) for logs in whole_logs] == pytest.approx([sum(logs) for logs in cut_logs], rel=1e-9)


def test_what_the_model_has_no_positions_for_is_cut(model):
    ((logs,),) = log_probabilities_after([(BEGINNING * 40, [[5] * 500])], model, 100)
    beginning = (BEGINNING * 40)[-64:]
    assert len(logs) == 64 and sum(logs) == pytest.approx(alone(model, beginning, [5] * 64)[0], rel=1e-9)


@pytest.mark.parametrize("kind", ["mamba", "mpt"])
def test_a_model_that_would_read_the_texts_as_one_is_refused(kind, tmp_path):
    model = load_language_model(saved(kind, tmp_path / "m"), "float32")
    with pytest.raises(ValueError, match=r"wanted a model of the kind of Llama.* follow a given attention mask"):
        check_reads_trees(model)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_model_that_follows_the_mask_is_accepted(kind, dtype, tmp_path):
    model = load_language_model(saved(kind, tmp_path / "m"), dtype)
    check_reads_trees(model)
    assert model.model.dtype == getattr(torch, dtype)
