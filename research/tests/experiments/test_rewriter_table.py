"""A rewriter under ParaBank's systems: what is measured, and what is shown."""

from research.experiments import rewriter_table
from toolkit.data.rows import Row
from toolkit.translator.load import load_translator

ROWS = [
    Row(f"r-{n}", "r", "Ja.", "de", text, "en", "test")
    for n, text in enumerate(("We will go home now.", "I can see it from here."))
]


def test_figures_are_of_the_references_that_are_asked_for():
    references = {row.id: row.reference for row in ROWS}
    texts = {"r-0": "We will go home today.", "r-1": "i can see it from here."}
    scores = {
        (references["r-0"], texts["r-0"]): (0.5, 60.0),
        (references["r-1"], texts["r-1"]): (1.0, 90.0),
    }
    figures = rewriter_table.figures(references, texts, scores)
    assert figures["references"] == 2 and figures["copies"] == 50
    assert figures["judgment"][0] == 75 and figures["cosine"][0] == 0.75
    assert 0 < figures["bleu"] < 100


def test_the_outputs_of_all_systems_are_merged():
    rows = rewriter_table.merged(ROWS, load_translator("starter/de-en", "float32"))
    assert [row["reference"] for row in rows] == [row.reference for row in ROWS]
    for row in rows:
        counts = [len(of) for of in row["outputs"].values()]
        assert counts and min(counts) >= 1 and max(counts) > 1
        assert all(1 <= number <= 34 for of in row["outputs"].values() for number in of)
