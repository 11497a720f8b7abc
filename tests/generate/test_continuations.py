"""Candidates that depart from their text at one place: against searches one by one, in any batch."""

import pytest
import torch

from tests.language_models import wide
from toolkit.data.rows import Row
from toolkit.generate.continuations import BACK, EACH, LONGER, MORE_TOKENS, continued_rows
from toolkit.models.language_model import BREAK, beginning_of

TEXTS = ("Tom is ill.", "We met at the station, Ann.", "No", "A dog, a cat")


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def model(request, tmp_path_factory):
    return wide(request.param, tmp_path_factory.mktemp(request.param))


def rows(texts=TEXTS):
    return [Row(str(n), "t", None, "en", text, "en", "") for n, text in enumerate(texts)]


def by_hand(text, model, each):
    """The same by one forward pass for each token, without keys and values that are kept."""
    tokenizer = model.tokenizer
    first, copy = beginning_of(text, tokenizer), tokenizer(text, add_special_tokens=False)["input_ids"]
    stops = {tokenizer(BREAK, add_special_tokens=False)["input_ids"][-1], tokenizer.eos_token_id}
    branches = []
    for place in range(len(copy)):
        logs = next_logs(model, first + copy[:place])
        order = [token for token in logs.argsort(descending=True).tolist() if token != copy[place]][:EACH]
        branches += [(logs[token].item(), place, token) for token in order]
    found = {}
    for _, place, token in sorted(branches, reverse=True)[:each]:
        if token in stops:
            continue
        said = [*copy[:place], token]
        while said[-1] not in stops and len(said) < round(LONGER * len(copy)) + MORE_TOKENS:
            said.append(next_logs(model, first + said).argmax().item())
            ends = [n for n in range(place + BACK, len(copy) + 1) if copy[n - BACK : n] == said[-BACK:]]
            if len(said) > place + BACK and ends:
                said += [*copy[ends[0] :], tokenizer.eos_token_id]
        ended = said[-1] in stops
        text = tokenizer.decode(said[:-1] if ended else said, skip_special_tokens=True).strip()
        found[text, None if ended else "unfinished"] = None
    return [(text, reason) for text, reason in found if text]


def next_logs(model, ids):
    with torch.no_grad():
        return model.model(torch.tensor([ids]), use_cache=False).logits[0, -1].log_softmax(-1)


def said(rows):
    return [[(candidate.text, candidate.reason) for candidate in row.candidates] for row in rows]


@pytest.mark.slow
def test_candidates_are_those_of_searches_one_by_one(model):
    found = said(continued_rows(rows(), model, 6))
    assert found == [by_hand(text, model, 6) for text in TEXTS]
    if model.model.config.model_type == "llama":  # the other one ends no line
        assert any(reason is None for some in found for _, reason in some)


def test_a_text_has_the_same_candidates_beside_others_and_alone(model):
    together = said(continued_rows(rows(), model, 5))
    assert together == [said(continued_rows(rows([text]), model, 5))[0] for text in TEXTS]


def test_a_row_has_at_most_so_many_candidates_of_the_model_and_none_that_begins_like_the_text_and_goes_on(model):
    for row in continued_rows(rows(), model, 3):
        assert len(row.candidates) <= 3
        for candidate in row.candidates:
            assert candidate.generator == model.signature and candidate.method == "continuation"
            assert not candidate.text.startswith(row.reference)


def test_a_line_that_does_not_end_is_unfinished(model):
    class Endless:
        """The tokenizer with a token at the end that no model says."""

        def __init__(self, tokenizer):
            self.tokenizer, self.eos_token_id = tokenizer, None

        def __call__(self, text, **kwargs):
            found = self.tokenizer(text, **kwargs)
            return {"input_ids": [-1]} if text == BREAK else found

        def decode(self, ids, **kwargs):
            return self.tokenizer.decode(ids, **kwargs)

    endless = model.__class__("m", model.model, Endless(model.tokenizer), "m")
    (row,) = continued_rows(rows(["Tom is ill."]), endless, 4)
    assert {candidate.reason for candidate in row.candidates} == {"unfinished"}


def test_a_text_that_the_model_has_no_positions_for_has_no_candidates(model):
    long, short = continued_rows(rows(["A dog, a cat, " * 6, "No"]), model, 4)
    assert long.candidates == [] and short.candidates != []


def test_no_rows_have_no_candidates(model):
    assert list(continued_rows([], model, 4)) == []
