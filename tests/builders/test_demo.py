"""What the demo prints of a parabank: its counts, its table and its rows, against the files."""

import json
import re

import pyarrow.parquet as pq
import pytest

from builders.demo import show
from toolkit.evaluate.corpus import PAPER_BETWEEN_RANKS, PAPER_BY_RANK


@pytest.fixture
def printed(demo_parabank, monkeypatch, capsys):
    monkeypatch.chdir(demo_parabank.parent)  # it changes the folder, so that the test's is restored
    monkeypatch.setenv("COLUMNS", "110")
    figures = json.loads((demo_parabank / "statistics.json").read_text())
    capsys.readouterr()
    show(demo_parabank.resolve(), demo_parabank.with_name("demo.html"), figures, 12.3)
    return capsys.readouterr().out


def test_it_counts_the_pairs_and_references_of_every_split(printed, demo_parabank):
    counts = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"(\w+) +(\d+) pairs of +(\d+) references", printed)}
    assert counts == {"train": (5, 2), "validation": (1, 1), "test": (1, 1)}
    for split, (pairs, references) in counts.items():
        rows = {name: pq.read_table(demo_parabank / "data" / name / f"{split}-00000-of-00001.parquet").num_rows
                for name in ("pairs", "references")}  # fmt: skip
        assert rows == {"pairs": pairs, "references": references}
    assert "4 of 5 references kept at least one paraphrase" in printed


def test_it_says_where_the_parabank_is_and_how_it_is_loaded(printed, demo_parabank):
    assert f"{demo_parabank.resolve()}   built in 12 s; its card is README.md" in printed
    assert f"open {demo_parabank.with_name('demo.html')} in a browser" in printed
    assert f">>> load_dataset('demo')        # in {demo_parabank.resolve().parent}" in printed


def test_its_table_has_the_measured_figures_beside_the_papers(printed, demo_parabank):
    diversity = json.loads((demo_parabank / "statistics.json").read_text())["diversity"]
    lines = {line.split("   ")[0].strip(): line for line in printed.splitlines() if " / r" in line}
    assert set(lines) == {*(f"rank {rank} / reference" for rank in (1, 2, 3)), "rank 1 / rank 3"}, (
        "nothing has a fourth"
    )
    for row in diversity["by_rank"][:3]:
        numbers = [float(n) for n in re.findall(r"\d+\.\d+", lines[f"rank {row['rank']} / reference"])]
        paper = PAPER_BY_RANK[row["rank"]]
        ours = (row["one_minus_bleu"], row["intersection_over_union"], row["length_ratio"])
        expected = [ours[0], paper[0], ours[1], paper[1], ours[2], paper[2]]
        assert numbers == pytest.approx(expected, abs=0.051)
    for row in diversity["between_ranks"][:1]:
        ranks = tuple(row["ranks"])
        numbers = [float(n) for n in re.findall(r"\d+\.\d+", lines["rank {} / rank {}".format(*ranks)])]
        paper = PAPER_BETWEEN_RANKS[ranks]
        expected = [row["one_minus_bleu"], paper[0], row["intersection_over_union"], paper[1], row["length_ratio"]]
        assert numbers == pytest.approx(expected, abs=0.051)


def test_it_shows_a_reference_beside_its_paraphrases(printed):
    assert re.search(r"^  She can't swim\. +\| 1  She is unable to swim\.$", printed, re.M)  # of those it shows, demo-3
    assert "The dog sleeps" not in printed
