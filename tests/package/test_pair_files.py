"""Files of pairs: which columns are understood, and what is no pair of paraphrases."""

import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toolkit.lexicon._pairs import fill_tokens
from toolkit.package import _pair_files as pair_files
from toolkit.package.pair_columns import check_texts
from toolkit.package.read import read_pairs, read_references, say_once, understood_columns

PAIRS = [
    ("The dog is asleep.", "The hound sleeps."),
    ("It rained all night.", "Rain fell all night; all of it."),
    ("A man eats bread.", "A man is eating bread."),
    ("She is at the piano.", "She plays the piano."),
    ("We sold the car.", "The car was sold."),
    ("He writes a letter.", "He is writing letters."),
]
FORMS = ["a.tsv", "a.csv", "a-semicolons.csv", "a.jsonl", "a.parquet"]


def write_table(folder, name, columns, rows):
    """A table with names, in the form that the file's name says."""
    path = folder / name
    if path.suffix == ".parquet":
        pq.write_table(pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    else:
        delimiter = "\t" if path.suffix == ".tsv" else ";" if "semicolons" in name else ","
        quote = "" if path.suffix == ".tsv" else '"'
        lines = [delimiter.join(f"{quote}{field}{quote}" for field in row) for row in [columns, *rows]]
        path.write_text("".join(line + "\n" for line in lines))
    return path


def texts(path, refused=None):
    return [(r["sentence1"], r["sentence2"]) for table in read_pairs(path, refused=refused) for r in table.to_pylist()]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    "columns",
    [
        ("sentence1", "sentence2"),
        ("anchor", "positive", "negative"),
        ("id", "text", "paraphrase"),
        ("#1 String", "#2 String", "Negative"),
        ("Sentence_A", "SENTENCE-B"),
    ],
)
def test_usual_names_are_understood_in_every_form(tmp_path, name, columns):
    reference, paraphrase = [column for column in columns if column.casefold() not in ("id", "negative")]
    rows = []
    for number, pair in enumerate(PAIRS):
        fields = {"id": f"demo-{number}", "negative": "Something else.", "Negative": "Something else."}
        rows.append([(fields | {reference: pair[0], paraphrase: pair[1]})[column] for column in columns])
    path = write_table(tmp_path, name, columns, rows)
    assert texts(path) == PAIRS
    assert [row.reference for row in read_references(path)] == [reference for reference, _ in PAIRS]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("label", ["label", "is_duplicate", "Quality"])
def test_pairs_with_label_0_are_left_out_and_counted(tmp_path, name, label, capfd):
    rows = [[f"{n}", f"{2 * n}", *pair, f"{n % 2}"] for n, pair in enumerate(PAIRS)]
    path = write_table(tmp_path, name, ["id", "qid1", "question1", "question2", label], rows)
    refused = Counter()
    assert texts(path, refused) == PAIRS[1::2] and refused == {"label 0": 3}
    assert texts(path) == PAIRS[1::2]
    assert capfd.readouterr().err == (
        f"{path}: reference is 'question1'; paraphrase is 'question2'; rows with 0 in {label!r} are left out; "
        "not read: id, qid1\n"
    ), "it is said once"
    assert [line.split(": ")[0] for line in understood_columns([path])] == [name]


@pytest.mark.parametrize("name", FORMS)
def test_labels_of_numbers_and_truth_values_count_too(tmp_path, name):
    labels = [True, False, True, False, True, False] if name.endswith(("jsonl", "parquet")) else ["1.0", "0.0"] * 3
    path = write_table(tmp_path, name, ["sentence1", "sentence2", "label"], [
        [*pair, label] for pair, label in zip(PAIRS, labels, strict=True)
    ])  # fmt: skip
    assert texts(path) == PAIRS[::2]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("label", ["2", "entailment", ""])
def test_another_label_is_refused_with_its_line(tmp_path, name, label):
    path = write_table(tmp_path, name, ["sentence1", "sentence2", "label"], [[*PAIRS[0], "1"], [*PAIRS[1], label]])
    with pytest.raises(ValueError, match=rf"{name}, line [23]: wanted .*0 (or|and) 1.*label|line [23]: wanted a label"):
        texts(path)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("column", ["score", "similarity_score", "relatedness_score"])
def test_human_scores_are_refused_by_their_name(tmp_path, name, column):
    rows = [[*pair, f"{n / 2}"] for n, pair in enumerate(PAIRS)]
    path = write_table(tmp_path, name, ["sentence1", "sentence2", column], rows)
    with pytest.raises(
        ValueError,
        match=rf"with the column '{column}', .*: give --min_score .* scores out, or name it semantic$",
    ):
        texts(path)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite_is_refused_in_every_form(tmp_path, name, score):
    values = [0.5, score] if name.endswith(("jsonl", "parquet")) else ["0.5", str(score)]
    rows = [[*pair, value] for pair, value in zip(PAIRS[:2], values, strict=True)]
    path = write_table(tmp_path, name, ["sentence1", "sentence2", "semantic"], rows)
    with pytest.raises(ValueError, match=rf"{name}, line [23]: wanted .*finite"):
        texts(path)


def test_a_decimal_comma_is_a_number(tmp_path):
    path = write_table(tmp_path, "a.tsv", ["sentence1", "sentence2", "semantic"], [[*PAIRS[0], "0,25"]])
    assert [table["semantic"].to_pylist() for table in read_pairs(path)] == [[0.25]]
    (tmp_path / "b.tsv").write_text("".join(f"{a}\t{b}\t0,{n}\n" for n, (a, b) in enumerate(PAIRS, 1)))
    assert [table["semantic"].to_pylist() for table in read_pairs(tmp_path / "b.tsv")] == [
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    ]


@pytest.mark.parametrize("word", ["None", "null", "NA", "nan", "N/A"])
def test_words_of_pandas_are_texts_in_csv(tmp_path, word):
    rows = [*PAIRS, (word, f"{word} it is.")]
    assert texts(write_table(tmp_path, "a.csv", ["sentence1", "sentence2"], rows)) == rows


@pytest.mark.parametrize("name", FORMS)
def test_a_column_of_numbers_or_ids_is_no_text(tmp_path, name):
    for number in ("{n}", "4.{n}", "demo-{n}", "qid:{n}", "0123456789abcdef{n}"):
        rows = [[number.format(n=n), pair[1]] for n, pair in enumerate(PAIRS)]
        with pytest.raises(
            ValueError, match=r"wanted texts in column 'text', got numbers or ids in .*: name the columns"
        ):
            texts(write_table(tmp_path, name, ["text", "paraphrase"], rows))


@pytest.mark.parametrize(
    "row", ["{n}\t{a}\t{b}", "{a}\t{b}\t0.5\t4.{n}", "{a}\t{b}\t{n}\t{n}", "q-{n}\t{a}\t{b}\t1", "{a}\t4,{n}"]
)
def test_numbers_and_ids_are_no_texts_without_names(tmp_path, row):
    lines = [row.format(n=n, a=a, b=b) for n, (a, b) in enumerate(PAIRS)]
    (tmp_path / "a.tsv").write_text("\n".join(lines) + "\n")
    with pytest.raises(
        ValueError, match=r"a.tsv.*(wanted texts in column \d|numbers or ids)|numbers or ids in .*a.tsv"
    ):
        texts(tmp_path / "a.tsv")


@pytest.mark.parametrize(
    "names", ["source\ttarget", "sent_a\tsent_b\tscore", "question\tanswer", "premise\thypothesis"]
)
def test_names_that_do_not_say_what_is_a_paraphrase_are_refused(tmp_path, names):
    width = names.count("\t") + 1
    (tmp_path / "a.tsv").write_text("\n".join([names, *("\t".join([*pair, "3"][:width]) for pair in PAIRS)]))
    with pytest.raises(ValueError, match=r"wanted names of a reference and a paraphrase, got .*: name the columns"):
        texts(tmp_path / "a.tsv")


def test_a_third_column_of_0_and_1_is_a_label_without_names(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{a}\t{b}\t{n % 2}\n" for n, (a, b) in enumerate(PAIRS)))
    refused = Counter()
    assert texts(tmp_path / "a.tsv", refused) == PAIRS[1::2] and refused == {"label 0": 3}


def test_ones_of_the_first_batch_are_labels_of_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_files, "BATCH_ROWS", 3)
    (tmp_path / "a.tsv").write_text("".join(f"{a}\t{b}\t{int(n < 3)}\n" for n, (a, b) in enumerate(PAIRS)))
    assert texts(tmp_path / "a.tsv") == PAIRS[:3]


def test_scores_from_0_to_5_are_refused_without_names(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{a}\t{b}\t{n}.2\n" for n, (a, b) in enumerate(PAIRS)))
    message = (
        r"a.tsv, line 2: wanted a score from -1 to 1, got 1.2, by which .* no paraphrases: give --min_score .*keep"
    )
    with pytest.raises(ValueError, match=message):
        texts(tmp_path / "a.tsv")


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a-semicolons.csv"])
@pytest.mark.parametrize("extra", [["more"], None])
def test_a_row_of_another_width_is_counted_and_named(tmp_path, name, extra):
    odd = [*PAIRS[0], *extra] if extra else PAIRS[0][:1]
    for columns in (["sentence1", "sentence2"], None):
        path = write_table(tmp_path, name, columns or PAIRS[0], [*PAIRS[1:], odd, odd])
        with pytest.raises(ValueError, match=rf"{name}, line 7: wanted .*, got 'The dog.*', and 1 more: correct it"):
            texts(path)


def test_lists_of_any_length_have_the_name_paraphrases(tmp_path):
    lines = ["reference\tparaphrases", *("\t".join(pair) for pair in PAIRS), "Stay.\tDo stay.\tDon't go.\tStay here."]
    (tmp_path / "a.tsv").write_text("\n".join(lines))
    assert texts(tmp_path / "a.tsv")[6:] == [("Stay.", "Do stay."), ("Stay.", "Don't go."), ("Stay.", "Stay here.")]


def test_plain_pairs_are_not_spoken_of(tmp_path, capfd):
    (tmp_path / "a.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    say_once.cache_clear()
    assert texts(tmp_path / "a.tsv") == PAIRS and capfd.readouterr().err == ""
    assert understood_columns([tmp_path / "a.tsv"]) == ["a.tsv: no names; reference and paraphrases"]


def test_few_numbers_among_texts_are_texts():
    check_texts(pa.array(["42", "7", "The answer is 42.", "", "It is COVID-19.", "1984"]), "column 1", "a.tsv")


def test_a_lexicon_counts_no_pair_with_label_0(tmp_path):
    from toolkit.data.database import database

    rows = [[*pair, f"{n % 2}"] for n, pair in enumerate(PAIRS)]
    path = write_table(tmp_path, "a.csv", ["sentence1", "sentence2", "label"], rows)
    with database() as connection:
        assert fill_tokens(connection, path)["pairs"] == 3
