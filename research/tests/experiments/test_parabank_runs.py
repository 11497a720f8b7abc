"""The authors' released outputs as a run, and the oracle systems of a run of ours."""

import gzip
from pathlib import Path

from research.experiments import judged_table, parabank_runs, parabank_tables, systems
from toolkit.data.rows import Row


def write_judgments(folder: Path) -> Path:
    lines = {
        "ref": ['1\t"""Go,"" she said."', "2\tWe will leave the old house now."],
        "candidates": [
            '1\t17 35\t"""Leave,"" she said."\t90\t2', "1\t28\tShe said go.\t70\t2", "1\t21 31 34\tGo go.\t10\t0",
            "2\t17 21\tWe leave the old house now.\t80\t2", "2\t28 31\tWe will now leave it.\t60\t2",
            "2\t34\tHouse leaves.\t5\t1", "2\t3\tIt is not asked for.\t5\t1",
        ],
    }  # fmt: skip
    heads = {
        "ref": "ref_id\tref_sent",
        "candidates": "worker_id_anon\tref_len\tref_id\tsys_id\tcandidate\thuman_score\tgm",
    }
    for name, records in lines.items():
        with gzip.open(folder / f"{name}.tsv.gz", "wt", encoding="utf-8") as file:
            start = "0\t5\t" if name == "candidates" else ""
            file.write("\n".join([heads[name], *(start + record for record in records)]) + "\n")
    return folder


def test_the_files_quotes_are_not_the_texts(tmp_path):
    rows, run = parabank_runs.authors_run(write_judgments(tmp_path))
    assert [row.reference for row in rows] == ['"Go," she said.', "We will leave the old house now."]
    assert run["ParaNMT"] == {"1": '"Leave," she said.'}
    assert run["ParaBank 34"] == {"1": "Go go.", "2": "House leaves."}
    assert list(run) == list(systems.PAPER_JUDGED)


def test_oracles_by_what_people_gave(tmp_path):
    against, between = judged_table.oracles(write_judgments(tmp_path))
    assert {name: figures["score"] for name, figures in against.items()} == {"max": 85, "median": 35, "min": 7.5}
    assert {name: figures["grammatical"] for name, figures in against.items()} == {"max": 100, "median": 50, "min": 0}
    assert between["max / min"]["references"] == 2


def test_oracles_by_predicted_judgment():
    rows = [Row("a", "demo", None, "de", "We go.", "en", "test")]
    ranks = {f"ParaBank 2, rank {rank}": {"a": f"text {rank}"} for rank in range(1, 6)}
    scores = {("We go.", f"text {rank}"): (0.5, float(judged)) for rank, judged in enumerate((40, 90, 10, 50, 60), 1)}
    assert parabank_tables.oracles(rows, ranks, scores) == {
        "ParaBank 2, max": {"a": "text 2"},
        "ParaBank 2, median": {"a": "text 4"},
        "ParaBank 2, min": {"a": "text 3"},
    }
    assert parabank_tables.oracles(rows, {"ParaNMT": {"a": "text 1"}}, scores) == {}
    paper = parabank_tables.paper()["against"]
    assert paper["ParaBank 2, max"] == {
        "one_minus_bleu": 76.71, "intersection_over_union": 37.15, "tree_edit_distance": 7.38, "length_ratio": 1.05,
        "judgment": 91.2,
    }  # fmt: skip
