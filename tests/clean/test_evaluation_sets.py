"""Evaluation sets are read from whatever form they have."""

import gzip
import json
import os

import datasets
import pytest

from toolkit.clean.evaluation_sets import _read_set, read_sets

ONE, TWO = "A man is playing a flute.", "Nobody was at home, was there?"
RECORDS = [{"id": 7, "label": "entailment", "texts": {"premise": ONE, "hypothesis": [TWO]}}]


def write(path, content):
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return str(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", f"main-captions\tMSRvid\t0001\t5.000\t{ONE}\t{TWO}\n"),
        ("a.tsv.gz", f"{ONE}\t{TWO}\n"),
        ("a.txt", f"{ONE}\n{TWO}\n\n"),
        ("a.csv", f'label,one,two\nyes,{ONE},"{TWO}"\n'),
        ("a.jsonl", json.dumps(RECORDS[0]) + "\n\n"),
        ("a.all", f"1 {ONE}\n{TWO}\n".replace("1 ", "")),
    ],
)
def test_texts_of_a_file(tmp_path, name, content):
    evaluation_set = _read_set(write(tmp_path / name, content))
    assert set(evaluation_set.texts) == {ONE, TWO} and len(evaluation_set.revision) == 12
    assert evaluation_set.name.endswith(f"/{name}") and str(tmp_path) not in evaluation_set.name


def test_another_content_is_another_revision(tmp_path):
    before = _read_set(write(tmp_path / "a.txt", f"{ONE}\n")).revision
    assert _read_set(write(tmp_path / "a.txt", f"{ONE}\n")).revision == before
    assert _read_set(write(tmp_path / "a.txt", f"{TWO}\n")).revision != before


def test_parquet_and_data_sets(tmp_path):
    data = datasets.Dataset.from_list([{"label": 1, "texts": [ONE, TWO], "nested": {"more": "他在吹笛子,她在唱歌。"}}])
    data.to_parquet(str(tmp_path / "a.parquet"))
    datasets.DatasetDict({"test": data}).save_to_disk(str(tmp_path / "saved"))
    for address in ("a.parquet", "saved"):
        assert set(_read_set(str(tmp_path / address)).texts) == {ONE, TWO, "他在吹笛子,她在唱歌。"}


def test_a_glob_is_several_sets(tmp_path):
    for name in ("b.txt", "a.txt"):
        write(tmp_path / name, f"{ONE}\n")
    assert [item.name.split("/")[-1] for item in read_sets([str(tmp_path / "*.txt")])] == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "yes\nno\n3.5\n", "wanted sentences in .*a.txt, got none of 12 letters: check the file"),
        ("a.jsonl", '{"a": 1}\n{"b": \n', "a.jsonl, line 2: wanted a record in JSON, got '{\"b\": '"),
        ("a.csv", 'one,two\nyes,"an open quote\nno,end\n', "a.csv, line 3: wanted records of CSV, got others"),
        ("a.csv", "x" * 200_000, "wanted sentences in .*a.csv, got none of 12 letters: check the file"),
        ("a.csv", f"text;score\n{ONE.replace(' ', '')};3,2\n", "wanted sentences in .*a.csv, got none"),
        ("a.pkl", "x", "wanted files .*, got .*a.pkl: convert it"),
    ],
)
def test_bad_files_are_one_line(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        _read_set(write(tmp_path / name, content))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"wanted an existing file, got .*lost.tsv: check the path"):
        read_sets([str(tmp_path / "lost.tsv")])
    with pytest.raises(ValueError, match=r"bytes.txt, line 1: wanted UTF-8"):
        (tmp_path / "bytes.txt").write_bytes(b"caf\xe9 au lait for everybody\n")
        _read_set(str(tmp_path / "bytes.txt"))


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.tsv", "a.all", "a.csv.gz"])
@pytest.mark.parametrize("delimiter", [";", "|", "\t", "^", "~", " ||| "])
def test_any_delimiter_separates_fields(tmp_path, name, delimiter):
    """Of CSV, that a comma, too; of a text file not, because sentences have commas."""
    if "csv" in name and delimiter in ("^", "~"):
        delimiter = ","
    texts = [ONE, TWO.replace(",", ";" if delimiter == "," else ","), "She sang, and he sang, too.".replace(",", "")]
    rows = [["7", text, "Another text, again.".replace(",", ""), "3.2"] for text in texts]
    evaluation_set = _read_set(write(tmp_path / name, "".join(delimiter.join(row) + "\n" for row in rows)))
    assert {text.strip() for text in evaluation_set.texts} == {*texts, rows[0][2]}


def test_a_single_line_has_fields_too(tmp_path):
    assert set(_read_set(write(tmp_path / "a.txt", f"7;{ONE};{TWO};3,2\n")).texts) == {ONE, TWO}


def test_signs_within_sentences_separate_nothing(tmp_path):
    lines = ["He came; I left the house.", "Well: it is 10:30, they said.", "Nobody (at all) came / went."]
    assert _read_set(write(tmp_path / "a.txt", "\n".join(lines))).texts == lines


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_folder_of_csv(tmp_path, delimiter):
    (tmp_path / "set").mkdir()
    field = TWO if delimiter == "\t" else f'"{TWO}"'
    write(
        tmp_path / "set" / "test.csv",
        delimiter.join(["id", "text", "more"]) + "\n" + delimiter.join(["1", field, ONE]),
    )
    assert set(_read_set(str(tmp_path / "set")).texts) == {ONE, TWO}


def test_a_long_field_of_csv_is_read(tmp_path):
    assert len(_read_set(write(tmp_path / "a.csv", f'context,question\n"{"word " * 40_000}",{ONE}\n')).texts) == 2


def test_a_folder_whose_file_was_replaced_under_the_same_name_size_and_time_is_read_anew(tmp_path):
    file, revisions = tmp_path / "set.csv", []
    for text in ("The dog sleeps under the table.", "The cat sleeps under the table."):
        file.write_text(f"text\n{text}\n", encoding="utf-8")
        os.utime(file, (1_000_000_000, 1_000_000_000))
        evaluation_set = _read_set(str(tmp_path))
        assert evaluation_set.texts == [text]
        revisions.append(evaluation_set.revision)
    assert revisions[0] != revisions[1] and _read_set(str(tmp_path)).revision == revisions[1]
