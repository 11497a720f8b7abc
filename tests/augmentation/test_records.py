"""The records of files as they stand: rows that were read are written back byte for byte, new rows are copies."""

import csv
import io
import json
import os

import pytest

import toolkit
from tests.augmentation.fake import Rotations
from toolkit.augmentation import _json_rows
from toolkit.augmentation._csv_rows import fields_of
from toolkit.augmentation._write_rows import Added, write_records, write_values
from toolkit.augmentation.data_files import read_file

PROVENANCE = ("augmented_from", "paraphraser", "score")


def rows_of(path):
    return read_file(str(path), "train", None)


def output_text(folder, name, text, provenance=()):
    """A file written, read, and written with one new row, that of the last row with another text."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    rows, records = rows_of(folder / name)
    more = dict(zip(PROVENANCE, ([len(rows) - 1], ["model"], [0.5]), strict=True))
    new = rows.select([len(rows) - 1]).to_dict() | {"text": ["new, text"]} | more
    for column in PROVENANCE:
        rows = rows.add_column(column, [None] * len(rows))
    all_rows = type(rows).from_dict({column: [*rows[column], *new[column]] for column in rows.column_names})
    write_records(records, Added(all_rows, ["text"], "augmented_from", provenance), folder / "out")
    return (folder / "out").read_bytes().decode()


TABLES = {
    "ids.csv": ('id,text,at\n0001,"a ""b""",2021-03-04\n+49,c,1e5\n', '+49,"new, text",1e5\n'),
    "semicolons.csv": ("text;price\r\nWell, no;0,10\r\nYes;00,5\r\n", "new, text;00,5\r\n"),
    "names.csv": ("text,a,a\nx,1,true\ny,,TRUE\n", '"new, text",,TRUE\n'),
    "breaks.csv": ('"text",n\n"a\rb\nc",\n"d",1\n', '"new, text",1\n'),
    "quotes.tsv": ('text\tn\n"a\t9007199254740993\nb\t\n', "new, text\t\n"),
    "short.csv": ("text,n,m\nx,1,2\ny", '"new, text",,\n'),
    "mark.csv": ('\ufeff"a, b",text\r\n1,x\r\n2,y', '2,"new, text"\r\n'),
    "mark.jsonl": ('\ufeff{"text": "x"}\r\n{"text": "y"}', '{"text": "new, text"}\r\n'),
    "keys.jsonl": (
        '{"text":"x", "big": 123456789012345678901234567890}\n\n{"text": "y","day": "2021-03-04", "n": 1.50}\r\n',
        '{"text": "new, text", "day": "2021-03-04", "n": 1.5}\r\n',
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_written_back_byte_for_byte(tmp_path, name):
    text, new = TABLES[name]
    before = text.replace("\n\n", "\n") if name.endswith("jsonl") else text
    line_end = "" if before.endswith("\n") else "\r\n" if "\r\n" in before else "\n"
    assert output_text(tmp_path, name, text) == before + line_end + new


def test_provenance_is_added_behind_each_record(tmp_path):
    text = output_text(tmp_path, "a.csv", 'text,n\r\n"a\rb",01\r\nc', PROVENANCE)
    assert text == ('text,n,augmented_from,paraphraser,score\r\n"a\rb",01,,,\r\nc,,,,\r\n"new, text",,1,model,0.5\r\n')
    text = output_text(tmp_path, "a.jsonl", '{"text": "a", "id": 1e2}\n{ "text": "b" }', PROVENANCE)
    none = '"augmented_from": null, "paraphraser": null, "score": null}\n'
    assert text.splitlines(keepends=True)[:2] == ['{"text": "a", "id": 1e2, ' + none, '{ "text": "b" , ' + none]
    new = {"text": "new, text", "augmented_from": 1, "paraphraser": "model", "score": 0.5}
    assert json.loads(text.splitlines()[2]) == new


def test_values_are_numbers_where_they_stay_the_same_texts(tmp_path):
    (tmp_path / "a.csv").write_text("text,n,f,t,id,exp,z\na,1,0.5,True,01,1e5,\nb,,2.0,False,2,1,\n")
    rows, _ = rows_of(tmp_path / "a.csv")
    kinds = {name: kind.dtype for name, kind in rows.features.items()}
    assert kinds == dict(text="string", n="int64", f="float64", t="bool", id="string", exp="string", z="string")
    write_values(rows, tmp_path / "b.csv", ".csv")
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


def test_another_file_under_the_same_name_and_time_is_read_anew(tmp_path):
    (tmp_path / "set").mkdir()
    for name in ("a.csv", "a.tsv", "a.jsonl", "set/train.csv"):
        for text in ("x", "y"):
            path = tmp_path / name
            path.write_text(json.dumps({"text": text}) if name.endswith("jsonl") else f"text\n{text}\n")
            os.utime(path, (1577836800, 1577836800))
            assert list(rows_of(path.parent if "set" in name else path).rows["text"]) == [text], name


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_brackets_and_stars_in_a_path_are_letters(tmp_path, suffix):
    (tmp_path / "[a] *?").mkdir()
    (tmp_path / "a.csv").write_text("text,label\nx,1\n")
    rows, _ = rows_of(tmp_path / "a.csv")
    write_values(rows, tmp_path / "[a] *?" / f"b [1]{suffix}", suffix)
    assert rows_of(tmp_path / "[a] *?" / f"b [1]{suffix}").rows.to_dict() == {"text": ["x"], "label": [1]}


def test_a_folder_whose_path_is_a_pattern_is_refused(tmp_path):
    (tmp_path / "set [1]").mkdir()
    with pytest.raises(ValueError, match=r"wanted a folder without \[ \] \* \? in its path"):
        rows_of(tmp_path / "set [1]")


def test_a_folder_of_csv_is_read_as_its_files_are(tmp_path):
    (tmp_path / "train.csv").write_text("text;id;n\nNA;001;1\nb;2;\n")
    (tmp_path / "test.csv").write_text("text;id;n\nc;3;4\n")
    assert rows_of(tmp_path).rows.to_dict() == {"text": ["NA", "b"], "id": ["001", "2"], "n": [1, None]}
    card = "configs:\n- config_name: default\n  data_files: train.csv\n  sep: ';'\n"
    (tmp_path / "README.md").write_text(f"---\n{card}---\n")
    assert rows_of(tmp_path).rows["id"][:] == ["001", "2"]


def test_a_folder_without_data_is_not_said_to_be_missing(tmp_path):
    with pytest.raises(ValueError, match=r"wanted rows in the folder .*, got .* any data files"):
        rows_of(tmp_path)


@pytest.mark.parametrize(("name", "text"), [("a.csv", "text,id\n,01\n"), ("a.jsonl", '{"text": "", "id":1e1}\n')])
def test_a_file_without_new_rows_comes_back(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    rows, records = rows_of(tmp_path / name)
    write_records(records, Added(rows, ["text"], "augmented_from", ()), tmp_path / "out")
    assert (tmp_path / "out").read_text() == text


def test_json_in_every_shape(tmp_path):
    rows = [{"text": "a", "n": 1}, {"text": "b", "n": None}]
    for text in (
        json.dumps(rows, indent=1),
        '{"text": ["a", "b"], "n": [1, null]}',
        '{"text": "a", "n": 1}\n{"text": "b"}',
    ):
        (tmp_path / "a.json").write_text(text)
        assert rows_of(tmp_path / "a.json").rows.to_list() == rows
    (tmp_path / "a.jsonl").write_text('{"text": ["a"], "tags": [1]}')  # a row of tokens, not columns
    assert rows_of(tmp_path / "a.jsonl").rows.to_list() == [{"text": ["a"], "tags": [1]}]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", b"text,n\na,b,c\n", "a.csv, line 2: wanted 2 fields, as the header has, got 3"),
        ("a.csv", b'text\n"a', "a.csv, line 2: wanted records of CSV"),
        ("a.csv", b"text\ncaf\xe9\n", "a.csv, line 2: wanted UTF-8"),
        ("a.csv", b"text\n", "got a header alone"),
        ("a.csv", b"", "got an empty file"),
        ("a.tsv", b"\xff\xfet\x00", "UTF-16"),
        ("a.jsonl", b'{"text": "a"}\n[1]\n', "line 2, '[1]', which is no object"),
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', "line 2, "),
        ("a.jsonl", b'{"text": "a\xe9"}\n', "a.jsonl, line 1: wanted UTF-8"),
        ("a.jsonl", b'{"text": "a"}\n{"text": 1}\n', "texts and other values in column 'text'"),
        ("a.jsonl", b'{"text": "\\ud83d\\ude00"}\n\n{"text": "a\\ud83d"}\n', "line 3, "),
        ("a.jsonl", b'{"text": "a\\ud83d"}\n', "with \\ud83d, half of a character, in column 'text': remove it"),
        (
            "a.json",
            b'[{"text": "a"}, {"tokens": ["\\ude00"]}]',
            "row 1, with \\ude00, half of a character, in column 'tok",
        ),
        ("a.json", b"12", "no object of JSON"),
        ("a.json", b"", "wanted rows in"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(ValueError) as error:
        rows_of(tmp_path / name)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_fields_are_those_of_the_csv_module():
    text = '"a\r""b""",,"c, d"\r\n'
    assert [fields_of(text, ",")] == list(csv.reader(io.StringIO(text, newline="")))


def augmented_lines(folder, rows):
    """The new rows of a file of JSON lines whose column "spans" holds spans of its column "text"."""
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data, records = rows_of(folder / "a.jsonl")
    settings = dict(spans={"text": "spans"}, paraphraser=Rotations(), progress=False)
    bigger = toolkit.augment(data, columns="text", **settings)
    write_records(records, Added(bigger, ["text", "spans"], "augmented_from", ()), folder / "out.jsonl")
    lines = (folder / "out.jsonl").read_text().splitlines()
    assert lines[: len(rows)] == [json.dumps(row) for row in rows]
    return [json.loads(line) for line in lines[len(rows) :]]


def test_spans_with_a_name_are_moved_in_a_file_whatever_batch_they_are_in(tmp_path, monkeypatch):
    monkeypatch.setattr(_json_rows, "BATCH", 2)
    rows = [{"text": "We go home.", "spans": []}] * 2 + [{"text": "We met Ann today.", "spans": [[7, 10, "PER"]]}]
    *_, new = augmented_lines(tmp_path, rows)
    assert new == {"text": "met Ann today. We", "spans": [[4, 7, "PER"]]}


def test_a_new_row_has_the_keys_of_its_source_alone(tmp_path):
    span = {"start": 7, "end": 10}
    rows = [{"text": "We met Ann today.", "spans": [span]}, {"text": "We met Ann.", "spans": [span | {"note": "x"}]}]
    assert [new["spans"] for new in augmented_lines(tmp_path, rows)] == [
        [{"start": 4, "end": 7}],
        [{"start": 4, "end": 7, "note": "x"}],
    ]


def test_an_object_without_answers_has_no_spans(tmp_path):
    answers = {"text": ["Ann"], "answer_start": [7]}
    rows = [{"text": "We met Ann today.", "spans": answers}, {"text": "We met Bob today.", "spans": {}}]
    assert [new["spans"] for new in augmented_lines(tmp_path, rows)] == [answers | {"answer_start": [4]}, {}]


def test_a_column_is_json_in_all_batches_if_no_type_fits_its_values(tmp_path, monkeypatch):
    monkeypatch.setattr(_json_rows, "BATCH", 1)
    values = [[], [[1, "x"]], None, {"a": 12345678901234567890123}, 1]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": "a", "m": value}) + "\n" for value in values))
    column = rows_of(tmp_path / "a.jsonl").rows["m"]
    assert [None if value is None else json.loads(value) for value in column] == values
