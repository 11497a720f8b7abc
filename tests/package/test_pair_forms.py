"""Pairs in the forms that others publish: triplets, lists, sets, labels, scores, and data sets of `datasets`."""

import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value, load_dataset

from tests.package.test_pair_files import FORMS, PAIRS, write_table
from toolkit.package._pair_sets import DataSet
from toolkit.package.read import is_plain, read_labelled, read_pairs, read_references, understood_columns
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.train.encoder_pairs import number_pairs
from toolkit.train.encoder_pairs import read_pairs as read_text_pairs
from toolkit.train.paraphraser_pairs import read_training

SETS = [["We go.", "We leave.", "Off we go."], ["Stay.", "Do stay."]]
SET_PAIRS = [("We go.", "We leave."), ("We go.", "Off we go."), ("Stay.", "Do stay.")]
TRIPLETS = [("We go.", "We leave.", "We stay."), ("It rained.", "Rain fell.", "It snowed.")]


def texts(source, **options):
    tables = list(read_pairs(source, **options))
    return [(row["sentence1"], row["sentence2"]) for table in tables for row in table.to_pylist()]


def negatives(source):
    return [row["negatives"] or [] for table in read_pairs(source, negatives=True) for row in table.to_pylist()]


def labelled(source, **options):
    return [tuple(row.values()) for table in read_labelled(source, **options) for row in table.to_pylist()]


def lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    "names", [("anchor", "positive", "negative"), ("query", "pos", "neg"), ("text", "paraphrase", "negative_1")]
)
def test_triplets_keep_their_negatives_in_every_form(tmp_path, name, names, capfd):
    path = write_table(tmp_path, name, names, TRIPLETS)
    assert texts(path) == [triplet[:2] for triplet in TRIPLETS]
    assert negatives(path) == [["We stay."], ["It snowed."]]
    assert f"negatives are in {names[2]!r}" in capfd.readouterr().err
    assert [pair.negatives for pair in read_text_pairs([str(path)])] == [("We stay.",), ("It snowed.",)]
    assert labelled(path)[:2] == [("We go.", "We leave.", 1.0), ("We go.", "We stay.", 0.0)]


def test_queries_have_lists_as_flagembedding_writes_them(tmp_path):
    records = [
        {"query": "We go.", "pos": ["We leave.", "Off we go."], "neg": ["We stay.", "I go."], "pos_scores": [1, 1]},
        {"query": "Stay.", "pos": ["Do stay."], "neg": [], "prompt": "p"},
    ]
    for path in (lines(tmp_path / "a.jsonl", records), tmp_path / "a.parquet"):
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(records), path)
        assert texts(path) == SET_PAIRS
        assert negatives(path) == [["We stay.", "I go."]] * 2 + [[]]
        assert labelled(path) == [
            ("We go.", "We leave.", 1.0), ("We go.", "We stay.", 0.0), ("We go.", "I go.", 0.0),
            ("We go.", "Off we go.", 1.0), ("We go.", "We stay.", 0.0), ("We go.", "I go.", 0.0),
            ("Stay.", "Do stay.", 1.0),
        ]  # fmt: skip


def test_sets_and_bare_lists(tmp_path):
    pairs = texts(lines(tmp_path / "a.jsonl", [{"set": texts_} for texts_ in SETS]))
    assert pairs == SET_PAIRS
    pq.write_table(pa.table({"set": SETS}), tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet") == SET_PAIRS
    assert [row.reference for row in read_references(tmp_path / "a.parquet")] == ["We go.", "Stay."]
    pq.write_table(pa.table({"pair_of_sentences": PAIRS}), tmp_path / "b.parquet")
    assert texts(tmp_path / "b.parquet") == PAIRS
    nested = [{"set": {"query": "We go.", "pos": ["We leave."], "neg": ["We stay."]}}]
    assert negatives(lines(tmp_path / "b.jsonl", nested)) == [["We stay."]]
    assert texts(lines(tmp_path / "c.jsonl", PAIRS)) == PAIRS
    assert negatives(lines(tmp_path / "d.jsonl", TRIPLETS)) == [["We stay."], ["It snowed."]]
    with pytest.raises(
        ValueError, match=r"e.jsonl, line 1: wanted .*a list of two texts and at most one negative, got"
    ):
        texts(lines(tmp_path / "e.jsonl", [["a", "b", "c", "d"]]))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_lists_that_are_written_out_are_lists_in_columns_of_lists(tmp_path, name):
    rows = [
        ["We go.", "['We leave.', 'Off we go.']"],
        ["Stay.", '["Do stay."]' if name == "a.parquet" else "['Do stay.']"],
    ]
    assert texts(write_table(tmp_path, name, ["text", "paraphrases"], rows)) == SET_PAIRS
    odd = write_table(tmp_path, f"odd-{name}", ["text", "paraphrases"], [["We go.", "['We leave.' 'Off we go.']"]])
    with pytest.raises(ValueError, match=r"line 1: wanted a list with commas|line 2: wanted a list with commas"):
        texts(odd)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("column", ["score", "similarity_score", "relatedness_score"])
def test_human_scores_have_a_limit_for_training_and_all_are_read_for_measures(tmp_path, name, column):
    numbers = [0.0, 4.5, 3.9, 4.0, 5.0, 1.0]
    values = numbers if name.endswith(("jsonl", "parquet")) else [f"{number}" for number in numbers]
    path = write_table(
        tmp_path, name, ["sentence1", "sentence2", column], [[*p, v] for p, v in zip(PAIRS, values, strict=True)]
    )
    refused = Counter()
    assert texts(path, refused=refused, min_score=4.0) == [PAIRS[1], PAIRS[3], PAIRS[4]]
    assert refused == {"human score": 3}
    assert all(table["semantic"].null_count == len(table) for table in read_pairs(path, min_score=4.0))
    assert understood_columns([path], 4.0)[0].endswith(f"human score is {column!r}, 4 and more")
    assert labelled(path, scored=True) == [(*p, number) for p, number in zip(PAIRS, numbers, strict=True)]
    with pytest.raises(ValueError, match=r"wanted labels 0 and 1, got .* with the column .*: .*give --scored"):
        labelled(path)


def test_a_score_without_a_name_has_a_limit_too(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{a}\t{b}\t{n}\n" for n, (a, b) in enumerate(PAIRS)))
    assert texts(tmp_path / "a.tsv", min_score=3) == PAIRS[3:]
    assert [row[2] for row in labelled(tmp_path / "a.tsv", scored=True)] == [0, 1, 2, 3, 4, 5]


def test_both_labels_are_for_classifiers_only(tmp_path):
    rows = [[*pair, f"{n % 2}"] for n, pair in enumerate(PAIRS)]
    path = write_table(tmp_path, "a.csv", ["question1", "question2", "is_duplicate"], rows)
    assert texts(path) == PAIRS[1::2]
    assert labelled(path) == [(*pair, float(n % 2)) for n, pair in enumerate(PAIRS)]
    plain = write_table(tmp_path, "b.csv", ["sentence1", "sentence2"], PAIRS)
    with pytest.raises(ValueError, match=r"wanted labels 0 and 1, or negatives, got neither in .*b.csv: name a column"):
        labelled(plain)


def test_names_that_are_not_understood_are_answered_with_all_forms(tmp_path):
    pq.write_table(pa.table({"premise": ["a b"], "hypothesis": ["b c"]}), tmp_path / "a.parquet")
    (tmp_path / "a.tsv").write_text("premise\thypothesis\na b\tb c\n")
    lines(tmp_path / "a.jsonl", [{"premise": "a b", "hypothesis": "b c"}])
    for name in ("a.parquet", "a.tsv", "a.jsonl"):
        with pytest.raises(ValueError, match=r"wanted .*premise.*") as raised:
            texts(tmp_path / name)
        assert "query, pos and neg; a set of texts" in str(raised.value) and "\n" not in str(raised.value)


@pytest.fixture
def labelled_set():
    rows = {"text1": [a for a, _ in PAIRS], "text2": [b for _, b in PAIRS], "label": [0, 1] * 3}
    return Dataset.from_dict(
        rows, Features({"text1": Value("string"), "text2": Value("string"), "label": ClassLabel(names=["no", "yes"])})
    )


def test_folders_of_save_to_disk(tmp_path, labelled_set, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    labelled_set.save_to_disk(str(tmp_path / "one"))
    DatasetDict(train=labelled_set, validation=labelled_set.select([1])).save_to_disk(str(tmp_path / "several"))
    DatasetDict(a=labelled_set, b=labelled_set).save_to_disk(str(tmp_path / "unknown"))
    for name in ("one", "several", "several/validation"):
        assert is_plain(tmp_path / name)
        assert texts(tmp_path / name) == (PAIRS[1:2] if name == "several/validation" else PAIRS[1::2])
    assert [row[2] for row in labelled(tmp_path / "one")] == [0, 1] * 3
    assert "label" in understood_columns([tmp_path / "one"])[0]
    with pytest.raises(ValueError, match=r"unknown, which does not load \(it has the splits a, b; name one\)"):
        texts(tmp_path / "unknown")


def test_a_folder_of_data_files_streams_in_batches(tmp_path):
    (tmp_path / "set").mkdir()
    write_table(tmp_path / "set", "train.jsonl", ["anchor", "positive"], PAIRS)
    assert texts(tmp_path / "set") == PAIRS
    assert [len(table) for table in DataSet(str(tmp_path / "set")).tables(4)] == [4, 2]
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.parquet").write_bytes(b"broken")
    with pytest.raises(
        ValueError, match=r"wanted a data set of pairs, got .*bad, which does not load .*: check"
    ) as raised:
        texts(tmp_path / "bad")
    assert "\n" not in str(raised.value)


def test_trainings_read_data_sets_and_scores(tmp_path):
    numbers = [5.0, 4.0, 0.0, 4.2, 4.9, 1.0]
    Dataset.from_dict(
        {"sentence1": [a for a, _ in PAIRS], "sentence2": [b for _, b in PAIRS], "score": numbers}
    ).save_to_disk(str(tmp_path / "sts"))
    settings = ParaphraserTraining(
        pairs=[str(tmp_path / "sts")], min_score=4.0, held_out=0, base_model="", output_dir=str(tmp_path / "out")
    )
    training = read_training(settings)
    assert {(pair.text, pair.output) for pair in training.pairs} >= {PAIRS[0], PAIRS[3]}
    assert training.refused["human score"] == 2 and "4 and more" in training.columns[0]
    pairs = number_pairs(read_text_pairs([str(tmp_path / "sts")], min_score=4.0), 30)
    assert len(pairs) == 4 and pairs.negatives is None


def test_negatives_of_no_use_are_left_out_and_counted(tmp_path):
    records = [
        {"id": "a", "query": "We go.", "pos": ["We leave."], "neg": ["Off we go.", "", "We stay.", "x " * 40, "I go."]},
        {"id": "a", "query": "We go.", "pos": ["Off we go."], "neg": ["We leave."]},
        {"id": "b", "query": "Stay.", "pos": ["Do stay."]},
    ]
    pairs = number_pairs(read_text_pairs([str(lines(tmp_path / "a.jsonl", records))]), 30)
    assert pairs.refused == {"negatives of no use": 3}, "two paraphrases of the same reference, and one too long"
    numbers = pairs.negatives_of([0, 1, 2], 0), pairs.negatives_of([0, 1, 2], 1), pairs.negatives_of([0, 1, 2], 2)
    names = [[pairs.texts[n] if n >= 0 else None for n in turn] for turn in numbers]
    assert names == [["We stay.", None, None], ["I go.", None, None], ["We stay.", None, None]]


def test_load_dataset_reads_what_we_read(tmp_path):
    path = write_table(tmp_path, "a.parquet", ["anchor", "positive", "negative"], TRIPLETS)
    assert load_dataset("parquet", data_files=str(path), split="train")["negative"][:] == ["We stay.", "It snowed."]
