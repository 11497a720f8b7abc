"""ParaPLUIE and the rubric against one forward pass for each question, and the rubric by a server."""

import json
import math

import pytest

from tests.chat_server import MODEL, chat_server
from tests.language_models import alone, rows_of, wide
from toolkit.chat.client import ChatClient
from toolkit.chat.settings import ServerSettings
from toolkit.models.language_model import chat_ids
from toolkit.score import parapluie, rubric

TEXTS = {"He left.": ["He went.", "She left.", "He left"], "Why?": ["For what?"], "It rained.": []}


def rows():
    result = rows_of(TEXTS)
    result[0].candidates[2].reason = "copy"
    return result


@pytest.fixture
def model(tmp_path):
    language_model = wide("llama", tmp_path / "llama")
    language_model.model.config.max_position_embeddings = 4096  # rotary positions have no end
    return language_model


def answered(model, messages, answers):
    """The log-probability of each answer's first letter."""
    prompt = chat_ids(messages, model.tokenizer)
    ids = [model.tokenizer(answer, add_special_tokens=False)["input_ids"][:1] for answer in answers]
    return [alone(model, prompt, answer)[0] for answer in ids]


def test_parapluie_is_the_difference_of_two_log_probabilities(model):
    for row in parapluie.parapluie_rows(rows(), model, 512):
        for candidate in row.candidates:
            if candidate.reason:
                assert candidate.scores.parapluie is None
                continue
            yes, no = answered(model, parapluie.question(row, candidate.text), ("Yes", "No"))
            assert candidate.scores.parapluie == pytest.approx(yes - no, abs=1e-4)
    single = [row.candidates[0].scores.parapluie for row in parapluie.parapluie_rows(rows()[:2], model, 1)]
    batch = [row.candidates[0].scores.parapluie for row in parapluie.parapluie_rows(rows()[:2], model, 4096)]
    assert single == pytest.approx(batch, abs=1e-4), "a batch changes nothing"


def test_the_rubric_is_the_mean_grade(model, monkeypatch):
    monkeypatch.setattr(rubric, "answer_ids", lambda answers, model: [3, 4, 5, 6, 7])  # its tokenizer has no digits
    for row in rubric.rubric_rows(rows(), model, 512):
        for candidate in row.candidates:
            if candidate.reason:
                assert candidate.scores.rubric is None
                continue
            prompt = chat_ids(rubric.question(row, candidate.text), model.tokenizer)
            weights = [math.exp(alone(model, prompt, [token])[0]) for token in (3, 4, 5, 6, 7)]
            mean = sum(grade * weight for grade, weight in zip(range(1, 6), weights, strict=True)) / sum(weights)
            assert candidate.scores.rubric == pytest.approx(mean, abs=1e-4)


def test_answers_that_a_model_cannot_tell_apart_are_refused(model):
    with pytest.raises(ValueError, match="wanted a language model that tells 1, 2, 3, 4, 5 apart by a token, got"):
        list(rubric.rubric_rows(rows(), model, 512))


def test_a_question_that_is_too_long_has_no_score(model):
    model.model.config.max_position_embeddings = 64
    assert all(
        c.scores.parapluie is None for row in parapluie.parapluie_rows(rows(), model, 512) for c in row.candidates
    )


def test_a_server_grades_each_pair_once(tmp_path):
    def say(body):
        data = json.loads(body["messages"][-1]["content"])
        return {"He went.": '{"grade": 5}', "She left.": "Grade: 2.", "For what?": "It depends: 3 or 4."}[
            data["rewritten"]
        ]

    with chat_server(say=say) as server:
        client = ChatClient(MODEL, ServerSettings(server=server.url), 4, tmp_path)
        first = list(rubric.rubric_rows(rows(), client, 512))
        assert [c.scores.rubric for c in first[0].candidates] == [5.0, 2.0, None]
        assert first[1].candidates[0].scores.rubric is None, "two grades are none"
        assert len(server.asked) == 3 and server.asked[0]["temperature"] == 0
        again = ChatClient(MODEL, ServerSettings(server=server.url), 4, tmp_path)
        assert [row.candidates for row in rubric.rubric_rows(rows(), again, 512)] == [row.candidates for row in first]
        assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ('{"grade": 4}', 4.0),
        ('```json\n{"grade": 1}\n```', 1.0),
        ("3", 3.0),
        ("4.5", None),
        ("4/5", None),
        ("6", None),
        ("15", None),
        ("", None),
        ("5, because 5 is best", 5.0),
    ],
)
def test_grades_in_replies(reply, grade):
    assert rubric.grade_in(reply) == grade
