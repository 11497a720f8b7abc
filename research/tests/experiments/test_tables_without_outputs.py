"""Tables in which nothing is left have a dash there, and data of which nothing is left is refused."""

import gzip
import math

import pytest

from research.benchmarks.data import TATOEBA
from research.experiments import guards_table, syntax_table
from research.reports.figures_paraphrasers import obeyed_table, refused_table


@pytest.mark.parametrize(("refused", "figure"), [(True, "score_kept"), (False, "score_refused")])
def test_guards_that_refuse_all_or_nothing(refused, figure):
    texts = [("1", "A text.", "Another.", 90.0), ("2", "A line.", "A row.", 30.0)]
    figures = guards_table.compare(texts, lambda output: refused)
    assert figures[figure] is None and figures["difference"] == [] and figures["share"] == 100 * refused
    assert sum(value == 60 for name, value in figures.items() if name.startswith("score")) == 1
    assert "| - |" in refused_table({"all": figures})


def test_judgments_without_scores_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(guards_table, "read_judged", lambda folder: ({"1": "A text."}, []))
    with pytest.raises(ValueError, match="wanted outputs with scores that are no copies, got none in "):
        guards_table.judged_outputs(tmp_path)


def test_a_model_without_outputs(monkeypatch):
    class Silent:
        encoder = object()

        def paraphrase(self, texts, method, template, progress):
            return [[] for _ in texts]

    monkeypatch.setattr(syntax_table, "forms", lambda texts: ["" for _ in texts])
    figures, outputs = syntax_table.obeyed(Silent(), [("A text.", "Another.")], ["(S (NP) (VP))"])
    assert outputs["(S (NP) (VP))"] == [""]
    assert figures["(S (NP) (VP))"] == {"not_asked": 0, "asked": 0, "answered": 0, "cosine": None}
    assert figures[syntax_table.ANOTHER]["asked"] is None  # no text has a form to ask for
    assert "nan" not in obeyed_table({"captions": figures}).lower()
    assert not any(isinstance(value, float) and math.isnan(value) for value in figures["(S (NP) (VP))"].values())


def test_no_held_out_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(syntax_table, "natural", lambda data: {})
    file = tmp_path / TATOEBA.format("test")
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.compress(b"Zu kurz.\tToo short.\n"))
    with pytest.raises(ValueError, match="wanted held-out texts of tatoeba, got none in "):
        syntax_table.tested(tmp_path, "tatoeba", 10, 0)
