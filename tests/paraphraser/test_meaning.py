"""Scores of meaning in a paraphraser: measured last, with floors, an order and reasons, on servers and here."""

import json
import pickle
from dataclasses import replace

import pytest

import toolkit
from tests.chat_server import MODEL, chat_server
from tests.cross_encoders import saved_cross_encoder
from toolkit.chat.settings import PromptedModel
from toolkit.score.meaning import MeaningModels

TEXTS = ["She closed the door and walked away."]
GRADES = {"She shut the door and walked away.": 5, "She shut the door and left.": 3, "She closed the door and left.": 4}


def say(body):
    """Several paraphrases, or the grade of one."""
    data = json.loads(body["messages"][-1]["content"])
    if "rewritten" in data:
        return json.dumps({"grade": GRADES[data["rewritten"]]})
    return json.dumps({"paraphrases": list(GRADES)})


def paraphraser_of(server, folder, **changed):
    reply_cache = str(folder / "kept.sqlite")
    lm = PromptedModel(model=MODEL, server=server.url, reply_cache=reply_cache)
    options = {name: changed.pop(name) for name in ("settings",) if name in changed}
    on_server = {"server": server.url, "reply_cache": reply_cache} if "rubric" in changed else {}
    return toolkit.Paraphraser(lm=lm, meaning=MeaningModels(**changed, **on_server), **options)


def test_a_judge_on_a_server_refuses_and_ranks(tmp_path):
    with chat_server(say=say) as server:
        paraphraser = paraphraser_of(server, tmp_path, rubric=MODEL, min_rubric=4.0)
        candidates = paraphraser.candidates(TEXTS, n=3)[0]
        assert {c.text: (c.scores.rubric, c.reason) for c in candidates} == {
            text: (float(grade), "rubric" if grade < 4 else None) for text, grade in GRADES.items()
        }
        by_rubric = replace(paraphraser.settings, rank_by="rubric")
        ranker = paraphraser_of(server, tmp_path, rubric=MODEL, settings=by_rubric)
        assert ranker.paraphrase(TEXTS, n=3) == [sorted(GRADES, key=GRADES.__getitem__, reverse=True)]
        count = len(server.asked)
        assert pickle.loads(pickle.dumps(ranker)).paraphrase(TEXTS, n=3) == ranker.paraphrase(TEXTS, n=3)
        assert len(server.asked) == count, "nothing is asked twice"


def test_entailment_is_measured_of_what_is_left(tmp_path):
    path = saved_cross_encoder(tmp_path / "nli")
    with chat_server(say=say) as server:
        free = paraphraser_of(server, tmp_path, nli=path).candidates(TEXTS, n=3, avoid=["left"])[0]
        entailments = {c.text: c.scores.entailment for c in free}
        assert {text for text, score in entailments.items() if score is None} == {t for t in GRADES if "left" in t}
        (score,) = (score for score in entailments.values() if score is not None)
        strict = paraphraser_of(server, tmp_path, nli=path, min_entailment=min(1.0, score + 1e-5))
        assert [c.reason for c in strict.candidates(TEXTS, n=3)[0]].count("entailment") >= 1
        by_score = replace(strict.settings, rank_by="entailment")
        ranked = paraphraser_of(server, tmp_path, nli=path, settings=by_score).candidates(TEXTS, n=3)[0]
        scores = [c.scores.entailment for c in ranked if c.rank is not None]
        assert len(scores) == 3 and scores == sorted(scores, reverse=True)


@pytest.mark.slow
def test_other_paraphrasers_have_them_too(tmp_path):
    path = saved_cross_encoder(tmp_path / "nli")
    starter = toolkit.Paraphraser("starter/paraphraser", meaning=MeaningModels(nli=path))
    (candidates,) = starter.candidates(TEXTS, n=2)
    assert all(c.scores.entailed is not None for c in candidates if c.rank is not None)
    plain = toolkit.Paraphraser("starter/paraphraser").paraphrase(TEXTS, n=2)
    assert [[c.text for c in candidates if c.rank is not None]] == plain, "a model without a floor changes nothing"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_entailment": 0.5}, "wanted --nli with --min_entailment, got none"),
        ({"nli": "x", "min_entailment": 1.5}, r"min_entailment in \[0, 1\]"),
        ({"rubric": "x", "min_rubric": 0.0}, r"min_rubric in \[1, 5\]"),
        ({"rubric": "x", "server": "http://example.org/v1"}, "wanted https for a server on another machine"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        MeaningModels(**settings)


def test_an_order_wants_its_model(tmp_path):
    with pytest.raises(ValueError, match="wanted meaning with the model of entailment, by which is ranked, got none"):
        toolkit.Paraphraser("starter/paraphraser", settings=toolkit.Paraphrasing(rank_by="entailment"))
