import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from toolkit.bitext.idf import Idf
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.evaluate.corpus import one_minus_bleu
from toolkit.evaluate.parsers import parse
from toolkit.evaluate.report import _cells, _paper_cells, evaluate, markdown, read_pieces, texts_of


def row(reference: str, texts: list[str], semantic: float | None = None) -> Row:
    candidates = [Candidate(text, "", rank=i, scores=Scores(semantic=semantic)) for i, text in enumerate(texts)]
    return Row("a-0", "", None, None, reference, "", "", candidates=candidates)


ROWS = [
    row("We will go home now.", ["We go home now.", "Home we will go now."], 0.5),
    row("She sees the old dog again.", ["She sees the old hound again."], 0.8),
]


def by_hand(texts):
    """One tree for short texts and another for long ones."""
    return ["(S (NP a) (VP b))" if len(text.split()) < 5 else "(S (NP (DT a)) (VP b) (. .))" for text in texts]


def full() -> dict:
    return evaluate(ROWS, idf=Idf(8, {"home": 2, "dog": 4}), parses=parse(texts_of(ROWS), by_hand, "by hand"))


def test_figures_are_those_of_their_measures():
    figures = full()
    references, best = [r.reference for r in ROWS], [r.paraphrases[0].text for r in ROWS]
    assert figures["ranks"]["by_rank"][0]["one_minus_bleu"] == one_minus_bleu(references, best)
    assert figures["ranks"]["by_rank"][0]["tree_edit_distance"] == 1  # DT and . deleted from one pair of two
    assert figures["paraphrases"]["semantic_mean"] == pytest.approx(0.6)
    assert figures["paraphrases"]["sentences"] == 3 and figures["references"]["sentences"] == 2
    assert "semantic_mean" not in figures["references"]
    assert len(figures["signatures"]) == 10 and json.loads(json.dumps(figures)) == figures


def test_scores_that_some_paraphrases_lack_are_left_out():
    assert "semantic_mean" not in evaluate([*ROWS, row("a b c", ["d"])])["paraphrases"]


def test_no_line_of_the_papers_is_without_ours():
    rows = [*ROWS, row("They go.", ["Go.", "Gone.", "They went.", "Going.", "They left."])]
    cells = _cells(evaluate(rows, idf=Idf(8, {"home": 2, "they": 4}), parses=parse(texts_of(rows), by_hand, "by hand")))
    cells["Paraphrases"] |= _cells(full())["Paraphrases"]  # with the score that only ROWS have
    for title, lines in _paper_cells().items():
        missing = set(lines) - set(cells[title])
        assert not {name for name in missing if "words" not in name and name != "average"}, title
    assert sum(map(len, _paper_cells().values())) == 5 * 4 + 3 * 3 + 5 + 8


def test_the_papers_numbers_are_in_their_places():
    paper = _paper_cells()
    assert paper["Against the reference"]["tree edit distance, rank 5"] == 7.80
    assert paper["Against the reference"]["length ratio, rank 1"] == 1.04
    assert paper["Between ranks"]["intersection/union x 100, rank 3 / rank 5"] == 45.00
    assert paper["BLEU by length of the reference"]["40 words"] == 33.84


def lines_of(text: str) -> dict[str, list[str]]:
    rows = [re.split(r" \| ", line.strip("| ")) for line in text.splitlines() if line.startswith("| ")]
    return {name: values for name, *values in rows}


def test_markdown_puts_parabanks_side_by_side():
    figures = evaluate([row("One two three four.", ["Five six."])])
    printed = markdown({"a": [full()], "b": [figures]})
    lines = lines_of(printed)
    assert lines["tree edit distance, rank 1"] == ["1.00", "-", "7.16"]
    assert lines["(1-BLEU) x 100, rank 2"][1:] == ["-", "76.98"]
    assert lines["references, 5 words"] == ["2", "1", "-"]
    assert lines["paraphrase score, mean"] == ["0.60", "-", "0.84"]
    widths = {line.count(" | ") for line in printed.splitlines() if line.startswith("|")}
    assert widths == {3}
    assert printed.count("- `IoU|unit:word") == 1 and "±" not in printed


def test_ranks_that_no_reference_has_are_no_lines():
    """They would all be the best paraphrase again; nor is a difference of nothing printed as -0.00."""
    rows = [
        row("We will go home now, he said.", ["We will go home now, he said."]),
        row("She sees it.", ["It is seen."]),
    ]
    figures = evaluate(rows)
    assert [line["rank"] for line in figures["ranks"]["by_rank"]] == [1] and not figures["ranks"]["between_ranks"]
    printed = markdown({"one each": [figures]})
    assert "rank 1 |" in printed and "rank 2" not in printed and "## Between ranks" not in printed
    three = evaluate([*rows, row("I go.", ["I went.", "I leave.", "I left."])])["ranks"]
    assert [line["rank"] for line in three["by_rank"]] == [1, 2, 3]
    assert [line["ranks"] for line in three["between_ranks"]] == [[1, 3]]
    copies = evaluate([row("We will go home now, he said.", ["We will go home now, he said!"])] * 3)
    assert copies["ranks"]["by_rank"][0]["one_minus_bleu"] >= 0 and "-0.00" not in markdown({"copies": [copies]})


def test_runs_give_mean_and_standard_deviation():
    runs = [evaluate([row("a b c d e", ["a b c d e", "x"])]), evaluate([row("a b c d e", ["y", "x"])])]
    lines = lines_of(markdown({"two": runs}))
    assert lines["(1-BLEU) x 100, rank 1"] == ["50.00 ± 70.71", "75.83"]  # n - 1: 50 times the root of 2
    assert lines["(1-BLEU) x 100, rank 2"] == ["100.00 ± 0.00", "76.98"]
    assert lines["references"][0] == "1"


def test_rows_without_paraphrases_are_passed_over():
    assert evaluate([*ROWS, replace(ROWS[0], candidates=[])]) == evaluate(ROWS)


def test_pieces_of_a_model():
    model = files("toolkit").joinpath("starters/de-en/target.spm")
    assert "".join(read_pieces(Path(str(model)))("We go home.")) == "▁We▁go▁home."


def test_what_is_no_sentencepiece_model_is_refused(tmp_path):
    (tmp_path / "a.spm").write_text("no model")
    for name in ("a.spm", "nowhere.spm"):
        with pytest.raises(ValueError, match=f"wanted a SentencePiece model, got .*{name}"):
            read_pieces(tmp_path / name)
