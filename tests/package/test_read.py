"""A parabank in every form that it has is read as the same pairs and the same references."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import DatasetDict

from tests.conftest import candidate, demo_rows, row, write_run
from toolkit.package import _pair_files as pair_files
from toolkit.package._pair_files import PAIRS
from toolkit.package.load import load_parabank
from toolkit.package.read import read_pairs, read_references


def texts(source, split=None) -> list[tuple[str, list[str]]]:
    return [(record.reference, [c.text for c in record.paraphrases]) for record in read_references(source, split)]


def pairs(source, split=None) -> list[tuple]:
    tables = list(read_pairs(source, split))
    assert all(table.schema == PAIRS for table in tables)
    return [tuple(record.values()) for table in tables for record in table.to_pylist()]


def test_a_split_that_a_parabank_of_the_hub_lacks_has_no_rows(demo_parabank, monkeypatch):
    def load(name, config):
        splits = load_parabank(demo_parabank, config)
        return DatasetDict({"train": splits["train"]})

    monkeypatch.setattr("toolkit.package.load.load_parabank", load)
    assert pairs("someone/bank", "train") == pairs(demo_parabank, "train") != []
    assert pairs("someone/bank", "validation") == texts("someone/bank", "validation") == []
    assert pairs("someone/bank") == pairs(demo_parabank, "train")


@pytest.mark.slow
def test_a_run_and_its_package_are_the_same(demo_parabank, demo_run):
    records = [(record, record.paraphrases) for record in demo_rows() if record.paraphrases]
    assert sorted(texts(demo_run)) == sorted((record.reference, [c.text for c in best]) for record, best in records)
    assert sorted(texts(demo_run)) == sorted(texts(demo_parabank))
    expected = sorted((record.id, record.reference, c.text, None) for record, best in records for c in best)
    assert sorted(pairs(demo_run)) == sorted(pairs(demo_parabank)) == expected
    for split in ("train", "validation", "test"):
        assert pairs(demo_run, split) == pairs(demo_parabank, split) != []
        assert texts(demo_run, split) == texts(demo_parabank, split) != []
    assert [record.reference for record in read_references(demo_parabank, "test")] == ["She can't swim."]


def test_paraphrases_keep_their_scores(demo_parabank):
    record = next(record for record in read_references(demo_parabank) if record.reference == "The dog sleeps.")
    assert record.paraphrases[0].scores.forward_logprob == -3 and record.lang == "en"


def test_a_run_shows_equal_pairs_once(tmp_path):
    rows = [row(n, "train", "Stop it!", [candidate("Stop this!", 0, -1.0 - n, -1.0, 1)]) for n in range(3)]
    rows[0].candidates[0].scores.semantic = 0.5
    run = write_run(tmp_path / "equal.shards", rows)
    assert pairs(run) == [("demo-0", "Stop it!", "Stop this!", 0.5)]
    assert texts(run) == [("Stop it!", ["Stop this!"])]


GROUPED = [("We go.", ["We leave.", "Off we go.", "Bye."]), ("Stay.", ["Do stay."])]


def test_a_table_of_paraphrases(tmp_path):
    table = tmp_path / "a.tsv"
    table.write_text("We go.\tWe leave.\tOff we go.\nWe go.\tBye.\t\n\nStay.\tDo stay.\r\n", encoding="utf-8")
    assert texts(table) == GROUPED
    rows = [(reference, reference, text, None) for reference, paraphrases in GROUPED for text in paraphrases]
    assert pairs(table) == [*rows[:3], ("We go.", "We go.", "", None), rows[3]]


def test_a_table_of_scores(tmp_path):
    (tmp_path / "a.tsv").write_text("We go.\tWe leave.\nWe go.\tBye.\t0.25\nStay.\tDo stay.\t-1e-1\n")
    scores = [(1, None), (2, 0.25), (3, -0.1)]
    assert [(n, pair[3]) for n, pair in enumerate(pairs(tmp_path / "a.tsv"), 1)] == scores
    assert texts(tmp_path / "a.tsv") == [("We go.", ["We leave.", "Bye."]), ("Stay.", ["Do stay."])]
    first, _ = read_references(tmp_path / "a.tsv")
    assert [c.scores.semantic for c in first.paraphrases] == [None, 0.25]


def test_lines_of_json(tmp_path):
    lines = [
        {"reference": "We go.", "paraphrases": ["We leave.", "Off we go."]},
        {"sentence1": "We go.", "sentence2": "Bye."},
        {"reference": "Stay.", "paraphrase": "Do stay."},
    ]
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    assert texts(tmp_path / "a.jsonl.gz") == GROUPED


def test_ids_say_what_belongs_together(tmp_path):
    records = [
        {"id": "one", "sentence1": "a", "sentence2": "b", "semantic": 0.5},
        {"id": "one", "sentence1": "b", "sentence2": "c", "semantic": None},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    expected = [("one", "a", "b", 0.5), ("one", "b", "c", None)]
    assert pairs(tmp_path / "a.jsonl") == pairs(tmp_path / "a.parquet") == expected
    assert texts(tmp_path / "a.jsonl") == texts(tmp_path / "a.parquet") == [("a", ["b"]), ("b", ["c"])]


def test_parquet_needs_two_columns_only(tmp_path):
    pq.write_table(pa.table({"sentence1": ["a", None], "sentence2": ["b", "c"]}), tmp_path / "a.parquet")
    assert pairs(tmp_path / "a.parquet") == [("a", "a", "b", None), ("", "", "c", None)]


def test_batches_make_no_difference(tmp_path, monkeypatch, demo_parabank):
    (tmp_path / "a.tsv").write_text("".join(f"one{n}\tother{n}\n" for n in range(7)))
    whole, packaged = pairs(tmp_path / "a.tsv"), pairs(demo_parabank)
    monkeypatch.setattr(pair_files, "BATCH_ROWS", 3)
    assert pairs(tmp_path / "a.tsv") == whole and len(list(read_pairs(tmp_path / "a.tsv"))) == 3
    assert pairs(demo_parabank) == packaged and len(list(read_pairs(demo_parabank, "train"))) == 2


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.tsv", "We go."),
        ("a.jsonl", "We go."),
        ("a.jsonl", '["We go."]'),
        ("a.jsonl", '{"reference": "We go."}'),
        ("a.jsonl", '{"reference": "We go.", "paraphrases": [1]}'),
        ("a.jsonl", '{"reference": "We go.", "paraphrase": "b", "semantic": "high"}'),
        ("a.jsonl", '{"reference": "We go.", "paraphrase": "b", "semantic": NaN}'),
    ],
)
def test_a_wrong_line_is_named(tmp_path, name, line):
    good = "a\tb" if name == "a.tsv" else '{"reference": "a", "paraphrase": "b"}'
    (tmp_path / name).write_text(f"{good}\n\n{line}\n", encoding="utf-8")
    for reader in (texts, pairs):
        with pytest.raises(ValueError, match=rf"{name}, line 3: wanted .*reference.*got .*correct it"):
            reader(tmp_path / name)


@pytest.mark.parametrize("line", ["alone", "a\tb\tc", "a\tb\tnan", "a\tb\t0.5\t1", "a\tb\t"])
def test_a_line_without_a_score_among_scores_is_named(tmp_path, line):
    (tmp_path / "a.tsv").write_text(f"a\tb\t1\n\n{line}\n")
    message = r"a.tsv, line 3: wanted reference TAB paraphrase TAB score, got '.*': correct it$"
    with pytest.raises(ValueError, match=message):
        pairs(tmp_path / "a.tsv")


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.jsonl"])
def test_a_line_that_is_not_utf8_is_named(tmp_path, name):
    good = b"We go.\tWe leave.\n" if "tsv" in name else b'{"reference": "We go.", "paraphrase": "We leave."}\n'
    content = good + b"\n" + good.replace(b"leave", b"le\xe9ve")
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(ValueError, match=rf"{name}, line 3: wanted UTF-8, got .*le\ufffdve.*: convert"):
        texts(tmp_path / name)


@pytest.mark.parametrize("reader", [read_pairs, read_references])
def test_what_is_no_parabank_is_refused_at_once(tmp_path, demo_run, reader):
    with pytest.raises(FileNotFoundError, match=r"got 'nobody/nothing': there is no folder .* and that failed"):
        reader("nobody/nothing")
    with pytest.raises(FileNotFoundError, match=r"nowhere.tsv.gz, which does not exist: check the path"):
        reader(tmp_path / "nowhere.tsv.gz")
    (tmp_path / "plain").mkdir()
    with pytest.raises(ValueError, match=r"got the folder .*plain: check the path"):
        reader(tmp_path / "plain")
    (tmp_path / "a.xml").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"got the file .*a.xml: rename it if it is one of these"):
        reader(tmp_path / "a.xml")
    (demo_run / "rows-00001.parquet").unlink()
    with pytest.raises(ValueError, match=r"rows-00001.parquet is missing"):
        reader(demo_run)


def test_damaged_and_foreign_parquet_is_refused(tmp_path, demo_parabank):
    file = tmp_path / "p.parquet"
    file.write_bytes(b"broken")
    with pytest.raises(ValueError, match=r"^wanted a Parquet file, got .*: write it again$"):
        pairs(file)
    pq.write_table(pa.table({"text": ["a"]}), file)
    with pytest.raises(
        ValueError,
        match=r"with sentence1 and sentence2, got .* with text .* without sentence1 .*: rename its columns$",
    ):
        pairs(file)
    pq.write_table(pa.table({"sentence1": ["a"], "sentence2": ["b"], "semantic": ["high"]}), file)
    with pytest.raises(ValueError, match=r"p.parquet, line 1: wanted a finite score, got 'high': correct it"):
        pairs(file)
    next(demo_parabank.glob("data/pairs/train-*")).write_bytes(b"broken")
    with pytest.raises(
        ValueError, match=r"^wanted a whole Parquet file, got .*train-00000.*: fetch the data set again"
    ):
        read_pairs(demo_parabank)
