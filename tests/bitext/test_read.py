"""Every way in gives the same pairs; every bad bitext says in one line what was wanted, what came and what to do."""

import gzip
import itertools
import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from toolkit.bitext.read import Pair, pairs_of, read_bitext, read_sentences

SOURCES = ["Hallo!", "Zwei\u2028Zeilen?", "", "\u200fשלום 🙂"]
REFERENCES = ["Hello!", "Two\x0blines?", "nothing there", "Peace 🙂\x00"]
PAIRS = [Pair(line, s, r) for line, (s, r) in enumerate(zip(SOURCES, REFERENCES, strict=True), 1)]
TSV = "".join(f"{s}\t{r}\textra\n" for s, r in zip(SOURCES, REFERENCES, strict=True)).encode()
TABLE = pa.table({"source": SOURCES, "reference": REFERENCES, "number": [1, 2, 3, 4]})
NESTED = pa.table(
    {"translation": [{"de": s, "en": r} for s, r in zip(SOURCES, REFERENCES, strict=True)], "number": [1, 2, 3, 4]}
)


def write(path, data):
    """Write bytes, making the folder; return the path as text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def message(error):
    """The text of an error, which must be one line that says wanted, got and a remedy."""
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith("wanted ") and ", got " in text and ": " in text
    return text


def fails(kind, *arguments, **settings):
    """The message of the error that reading to the end raises."""
    with pytest.raises(kind) as error:
        list(read_bitext(*arguments, **settings))
    return message(error)


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.tsv", bytes), ("a.txt", bytes), ("a.tsv.gz", gzip.compress), ("a.tsv.zst", zstandard.compress)],
)
def test_tsv_plain_and_compressed(tmp_path, name, pack):
    assert list(read_bitext([write(tmp_path / name, pack(TSV))])) == PAIRS


@pytest.mark.parametrize("name", ["A.CSV", "a.Csv", "A.CSV.GZ"])
def test_a_suffix_in_capital_letters_is_the_same(tmp_path, name):
    data = b"source,reference\nHallo!,Hello!\n"
    path = write(tmp_path / name, gzip.compress(data) if name.endswith("GZ") else data)
    assert list(read_bitext([path])) == [Pair(1, "Hallo!", "Hello!")]


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_concatenated_compressed_parts_are_all_read(tmp_path, suffix, pack):
    path = write(tmp_path / f"a.tsv.{suffix}", pack(TSV) + pack(TSV))
    assert [p.source for p in read_bitext([path])] == SOURCES * 2


def test_tsv_columns_and_windows_line_ends(tmp_path):
    path = write(tmp_path / "a.tsv", b"1\tHi\tHallo\r\n2\tYes\tJa\r\n")
    expected = [Pair(1, "Hallo", "Hi"), Pair(2, "Ja", "Yes")]
    assert list(read_bitext([path], 2, 1)) == expected
    assert list(read_bitext([path], "2", "1")) == expected  # as a command line gives them


def test_tsv_without_last_line_end(tmp_path):
    assert list(read_bitext([write(tmp_path / "a.tsv", b"Ja\tYes")])) == [Pair(1, "Ja", "Yes")]


def test_bad_lines_are_marked_and_reading_goes_on(tmp_path):
    path = write(tmp_path / "a.tsv", b"caf\xe9\tcoffee\nno tab\n\nJa\t\xffYes\nJa\tYes\n")
    assert list(read_bitext([path])) == [
        Pair(1, "caf\ufffd", "coffee", "invalid_utf8"),
        Pair(2, "no tab", "", "columns"),
        Pair(3, "", "", "columns"),
        Pair(4, "Ja", "\ufffdYes", "invalid_utf8"),
        Pair(5, "Ja", "Yes"),
    ]


def test_invalid_utf8_in_a_column_that_is_not_read_is_no_fault(tmp_path):
    assert list(read_bitext([write(tmp_path / "a.tsv", b"Ja\tYes\t\xff\n")])) == [Pair(1, "Ja", "Yes")]


def test_two_aligned_files_with_any_suffix(tmp_path):
    source = write(tmp_path / "a.de", "".join(f"{s}\n" for s in SOURCES).encode())
    reference = write(tmp_path / "a.en.gz", gzip.compress("".join(f"{r}\n" for r in REFERENCES).encode()))
    assert list(read_bitext([source, reference])) == PAIRS


@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (0, 2), (3, 4)])
def test_unequal_line_counts_names_both(tmp_path, left, right):
    paths = [write(tmp_path / "a.de", b"Ja\n" * left), write(tmp_path / "a.en", b"Yes\n" * right)]
    text = fails(ValueError, paths)
    assert f"{left} in {paths[0]}" in text and f"{right} in {paths[1]}" in text


@pytest.mark.parametrize("table", [TABLE, TABLE.cast(TABLE.schema.set(0, pa.field("source", pa.large_string())))])
def test_parquet_file(tmp_path, table):
    pq.write_table(table, tmp_path / "a.parquet")
    assert list(read_bitext([str(tmp_path / "a.parquet")])) == PAIRS


def test_parquet_nested_column(tmp_path):
    pq.write_table(NESTED, tmp_path / "a.parquet")
    assert list(read_bitext([str(tmp_path / "a.parquet")], "translation.de", "translation.en")) == PAIRS


def test_parquet_glob_is_sorted_and_counts_on(tmp_path):
    for start in (2, 0):
        pq.write_table(TABLE.slice(start, 2), tmp_path / f"part-{start}.parquet")
    assert list(read_bitext([str(tmp_path / "part-*.parquet")])) == PAIRS


def test_parquet_null_is_empty_and_bad_bytes_are_a_fault(tmp_path):
    bad = pa.array([None, b"\xff", b"Ja"], pa.binary()).view(pa.string())  # Parquet writers check no UTF-8
    pq.write_table(pa.table({"source": bad, "reference": ["a", "b", "c"]}), tmp_path / "a.parquet")
    assert list(read_bitext([str(tmp_path / "a.parquet")])) == [
        Pair(1, "", "a"),
        Pair(2, "\ufffd", "b", "invalid_utf8"),
        Pair(3, "Ja", "c"),
    ]


@pytest.mark.parametrize("folder", ["", "data"])
def test_local_dataset_directory(tmp_path, folder):
    (tmp_path / folder).mkdir(exist_ok=True)
    pq.write_table(TABLE, tmp_path / folder / "train-00000-of-00001.parquet")
    pq.write_table(TABLE.slice(0, 1), tmp_path / folder / "test-00000-of-00001.parquet")
    assert list(read_bitext([str(tmp_path)])) == PAIRS
    assert list(read_bitext([str(tmp_path)], data_split="test")) == PAIRS[:1]


def test_local_dataset_of_json_lines_with_nested_column(tmp_path):
    write(tmp_path / "train.jsonl", "".join(json.dumps(r) + "\n" for r in NESTED.to_pylist()).encode())
    assert list(read_bitext([str(tmp_path)], "translation.de", "translation.en")) == PAIRS


def test_dataset_written_by_save_to_disk(tmp_path):
    dataset = datasets.Dataset(TABLE)
    dataset.save_to_disk(str(tmp_path / "one"))
    datasets.DatasetDict({"test": dataset}).save_to_disk(str(tmp_path / "many"))
    assert list(read_bitext([str(tmp_path / "one")])) == PAIRS
    assert list(read_bitext([str(tmp_path / "many")], data_split="test")) == PAIRS
    assert "'train'" in fails(ValueError, [str(tmp_path / "many")])


def test_dataset_null_is_an_empty_text(tmp_path):
    write(tmp_path / "train.jsonl", b'{"source": "Ja", "reference": "Yes"}\n{"source": null, "reference": "No"}\n')
    assert list(read_bitext([str(tmp_path)])) == [Pair(1, "Ja", "Yes"), Pair(2, "", "No")]


def test_the_first_records_may_be_null(tmp_path):
    records = [{"translation": None}, {"translation": {"de": "Ja", "en": "Yes"}}]
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    write(tmp_path / "folder" / "train.jsonl", lines)
    datasets.Dataset.from_list(records).save_to_disk(str(tmp_path / "saved"))
    translation = datasets.Features({"translation": datasets.Translation(("de", "en"))})
    datasets.Dataset.from_list(records, translation).save_to_disk(str(tmp_path / "translation"))
    for name in ("folder", "saved", "translation"):
        read = list(read_bitext([str(tmp_path / name)], source_lang="de", lang="en"))
        assert read == [Pair(1, "", ""), Pair(2, "Ja", "Yes")], name
    file = write(tmp_path / "a.jsonl", b"\n" + lines + b" \n")
    pairs = list(read_bitext([file], source_lang="de", lang="en"))
    assert [pair.fault for pair in pairs] == ["columns", "columns", None, "columns"] and pairs[2].source == "Ja"
    assert "got only translation, translation.de, translation.en in" in fails(ValueError, [file], "left", "right")
    assert "got b''" in fails(ValueError, [write(tmp_path / "empty.jsonl", b"\n\n")])


def test_missing_column_lists_those_there(tmp_path):
    pq.write_table(NESTED, tmp_path / "train.parquet")
    for bitext in ([str(tmp_path / "train.parquet")], [str(tmp_path)]):  # as a file and as a dataset
        text = fails(ValueError, bitext)
        assert "'source'" in text and "translation.de, translation.en, number" in text


def test_column_without_text(tmp_path):
    pq.write_table(TABLE, tmp_path / "train.parquet")
    for bitext in ([str(tmp_path / "train.parquet")], [str(tmp_path)]):
        assert "'number', got int" in fails(ValueError, bitext, reference_column="number")


def test_missing_split_and_empty_directory(tmp_path):
    pq.write_table(TABLE, tmp_path / "train.parquet")
    assert "Available splits: ['train']" in fails(ValueError, [str(tmp_path)], data_split="dev")
    (tmp_path / "empty").mkdir()
    assert "does not load" in fails(ValueError, [str(tmp_path / "empty")])


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.zst"])
def test_empty_file(tmp_path, name):
    assert "empty" in fails(ValueError, [write(tmp_path / name, b"")])


def test_two_empty_files_and_empty_parquet(tmp_path):
    pq.write_table(TABLE.slice(0, 0), tmp_path / "train.parquet")
    aligned = [write(tmp_path / "a.de", b""), write(tmp_path / "a.en", b"")]
    for bitext in (aligned, [str(tmp_path / "train.parquet")]):
        assert "empty" in fails(ValueError, bitext)


def test_dataset_without_records_or_with_a_broken_file(tmp_path):
    (tmp_path / "parquet").mkdir()
    pq.write_table(TABLE.slice(0, 0), tmp_path / "parquet" / "train.parquet")
    write(tmp_path / "broken" / "train.parquet", b"Ja")
    write(tmp_path / "json" / "train.jsonl", b"")
    write(tmp_path / "no-json" / "train.jsonl", b"Ja\n")
    for name in ("parquet", "broken", "json", "no-json"):
        assert name in fails(ValueError, [str(tmp_path / name)])


def test_only_an_empty_line_is_not_an_empty_file(tmp_path):
    assert list(read_bitext([write(tmp_path / "a.de", b"\n"), write(tmp_path / "a.en", b"\n")])) == [Pair(1, "", "")]


@pytest.mark.parametrize("name", ["lost.tsv", "lost.tsv.gz", "lost.parquet", "lost-*.parquet", "lost"])
def test_lost_file(tmp_path, name):
    path = str(tmp_path / name)
    assert path in fails(FileNotFoundError, [path])
    assert path in fails(FileNotFoundError, [write(tmp_path / "a.de", b"Ja\n"), path])


@pytest.mark.parametrize("name", ["a.doc", "a.gz", "noSuffix"])
def test_unknown_suffix_lists_the_known(tmp_path, name):
    assert ".tsv, .txt, .parquet" in fails(ValueError, [write(tmp_path / name, b"Ja\tYes\n")])


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", zstandard.compress)])
def test_damaged_compression(tmp_path, suffix, pack):
    many = b"".join(b"%d\t%d\n" % (i, i * i) for i in range(5000))
    assert "whole file" in fails(ValueError, [write(tmp_path / f"cut.tsv.{suffix}", pack(many)[:-100])])
    assert [pair.reference for pair in read_bitext([write(tmp_path / f"plain.tsv.{suffix}", b"Ja\tYes\n")])] == ["Yes"]


def test_parquet_that_is_none(tmp_path):
    assert "Parquet" in fails(ValueError, [write(tmp_path / "a.parquet", b"Ja\tYes\n")])


@pytest.mark.parametrize("bitext", ["ab", []])
def test_a_text_or_nothing_instead_of_files(bitext):
    assert "one or two" in fails(ValueError, bitext)


def test_columns_of_the_wrong_kind(tmp_path):
    tsv = write(tmp_path / "a.tsv", TSV)
    pq.write_table(TABLE, tmp_path / "a.parquet")
    assert "number" in fails(ValueError, [tsv], "de", "en")
    assert "number" in fails(ValueError, [tsv], -1)
    assert "name" in fails(ValueError, [str(tmp_path / "a.parquet")], 0, 1)
    source = write(tmp_path / "a.de", b"Ja\n")
    assert "no columns" in fails(ValueError, [source, tsv], 0, 1)
    assert "two text files" in fails(ValueError, [source, str(tmp_path / "a.parquet")])


def test_an_unusable_bitext_is_an_error_at_the_call(tmp_path):
    with pytest.raises(ValueError):
        read_bitext([write(tmp_path / "a.tsv", b"")])  # no pair has been asked for


def test_reading_streams(tmp_path):
    """The first pairs come before the damage at the end of the file is met."""
    many = b"".join(b"%d\t%d\n" % (i, i * i) for i in range(50_000))
    pairs = read_bitext([write(tmp_path / "a.tsv.gz", gzip.compress(many)[:-50])])
    assert [p.line for p in itertools.islice(pairs, 1000)] == list(range(1, 1001))
    with pytest.raises(ValueError):
        list(pairs)


def test_a_line_with_more_columns_than_the_others_is_a_fault(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("Ja.\tYes.\nHallo\tWelt\tHello world\nNein.\tNo.\n\n")
    assert [(pair.line, pair.source, pair.fault) for pair in read_bitext([str(path)])] == [
        (1, "Ja.", None), (2, "Hallo\tWelt\tHello world", "columns"), (3, "Nein.", None), (4, "", "columns"),
    ]  # fmt: skip
    path.write_text("Ja.\tYes.\t1\nHallo\tWelt\nNein.\tNo.\t2\n")
    assert [pair.fault for pair in read_bitext([str(path)])] == [None, "columns", None]


def test_a_tab_within_a_sentence_is_a_fault(tmp_path):
    (tmp_path / "a.txt").write_text("Yes.\nHello\tworld\nNo.\n")
    pairs = [pair for block in read_sentences([str(tmp_path / "a.txt")]) for pair in pairs_of(block)]
    assert [pair.fault for pair in pairs] == [None, "columns", None]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["train.csv", "train-1.csv"])
def test_a_folder_of_csv_keeps_words_that_pandas_takes_for_none(tmp_path, delimiter, name):
    rows = [
        ["source", "reference"],
        ["Null", "null"],
        ["Keine", "None"],
        ["NA", "nan"],
        ["Nein; nie.", "No, never."],
        ["", "N/A"],
    ]
    quote = "" if delimiter == "\t" else '"'
    (tmp_path / name).write_text(
        "".join(delimiter.join(f"{quote}{field}{quote}" if field else "" for field in row) + "\n" for row in rows)
    )
    assert [[pair.source, pair.reference] for pair in read_bitext([str(tmp_path)])] == rows[1:]


@pytest.mark.parametrize("name", ["train.tsv", "train.csv"])
def test_between_tabs_quotes_are_letters_in_a_folder_as_in_a_file(tmp_path, name):
    rows = [["source", "reference"], ['"Er', "He"], ["ging", "went"], ['weg"', 'away"'], ['"Gut"', 'a "word"']]
    path = write(tmp_path / "set" / name, "".join("\t".join(row) + "\n" for row in rows).encode())
    read = [[[pair.source, pair.reference] for pair in read_bitext([place])] for place in (path, str(tmp_path / "set"))]
    assert read == [rows[1:], rows[1:]]
