"""Scores that were measured before are those of the models that are asked for."""

import json
import sys

import pytest

from research.experiments import meaning_scores
from toolkit.data.rows import Candidate, Row


def test_scores_of_another_model_are_not_taken(tmp_path, monkeypatch):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps({"name": name}))
    ratings, measured = tmp_path / "ratings.json", []
    ratings.write_text(json.dumps({"results": {"texts": []}}))

    def stages(options, nli):
        def stage(rows):
            for row in rows:
                measured.append(options.asked)
                row.candidates[0].scores.parapluie = 1.0
                yield row

        return {"parapluie": lambda: stage}

    row = Row("judged-1", "judged", None, None, "A text.", "en", "test", candidates=[Candidate("Text.", "beam")])
    monkeypatch.setattr(meaning_scores, "rows_of_judgments", lambda folder: ([row], {}))
    monkeypatch.setattr(meaning_scores, "rows_of_readings", lambda texts, count: ([], []))
    monkeypatch.setattr(meaning_scores, "stages", stages)

    def measure(asked):
        first = str(tmp_path / "first")
        arguments = ["--judgments", "j", "--ratings", str(ratings), "--base_model", first, "--nli", first]
        arguments += ["--critic", first, "--asked", str(tmp_path / asked), "--work", str(tmp_path / "work")]
        monkeypatch.setattr(sys, "argv", ["meaning_scores", *arguments])
        meaning_scores.main()

    measure("first")
    measure("first")
    assert len(measured) == 1
    with pytest.raises(ValueError, match=r"holds scores of meaning of asked .*first .*, now .*second"):
        measure("second")
