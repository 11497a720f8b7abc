"""Reading labelled pairs, and figures against counts by hand."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from toolkit.pair_classifier.pairs import LabelledPair
from toolkit.pair_classifier.tasks import (
    MRPC,
    NUMBERED,
    SCORES_SIGNATURE,
    SIGNATURE,
    STS_BENCHMARK,
    figures,
    read_task,
    score_figures,
)


def file(tmp_path, content, name="task.tsv"):
    path = tmp_path / name
    path.write_bytes(content.encode())
    return path


def test_mrpc_has_a_byte_order_mark_and_lonely_quotes(tmp_path):
    lines = (
        '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\t"He went.\tHe left, "so.\r\n0\t9\t9\tA\tB\r\n'
    )
    pairs = read_task(file(tmp_path, lines), MRPC)
    assert pairs == [LabelledPair('"He went.', 'He left, "so.', 1), LabelledPair("A", "B", 0)]


def test_without_a_header(tmp_path):
    path = file(tmp_path, "怎么弄？\t怎么开？\t1\n谁\u2028美女\t爱情\t0\n", "dev.txt")  # a line separator ends no line
    assert read_task(path, NUMBERED) == [
        LabelledPair("怎么弄？", "怎么开？", 1),
        LabelledPair("谁\u2028美女", "爱情", 0),
    ]
    assert read_task(path, ["1", "0", "2"])[0] == LabelledPair("怎么开？", "怎么弄？", 1)


def test_csv_has_quotes(tmp_path):
    path = file(tmp_path, 'label,sentence1,sentence2\n1,"Yes, I do.","I ""do""."\n', "task.csv")
    assert read_task(path) == [LabelledPair("Yes, I do.", 'I "do".', 1)]


def test_sts_benchmark_is_a_tsv_file_called_csv(tmp_path):
    lines = 'ours\tset\t2012\t0007\t3.250\tHe said "no, thanks.\tHe refused, politely.\nours\tset\t2012\t8\t0\tA\tB\n'
    assert read_task(file(tmp_path, lines, "sts.csv"), STS_BENCHMARK, scored=True) == [
        LabelledPair('He said "no, thanks.', "He refused, politely.", 3.25),
        LabelledPair("A", "B", 0.0),
    ]


@pytest.mark.parametrize("score", ["", "5.1", "-0.1", "nan", "good"])
def test_no_score_is_refused(tmp_path, score):
    path = file(tmp_path, f"a\tb\t3\nc\td\t{score}\n")
    with pytest.raises(ValueError, match=r"task.tsv, line 2: wanted (two sentences and a score from 0 to 5|a finite)"):
        read_task(path, NUMBERED, scored=True)


def test_a_score_is_no_label(tmp_path):
    with pytest.raises(ValueError, match=r"task.tsv, line 1: wanted a label 0 or 1, got '3'"):
        read_task(file(tmp_path, "a\tb\t3\n"), NUMBERED)


def test_score_figures_against_ranks_by_hand():
    scores, predicted = [1.0, 2.0, 3.0, 4.0], [0.2, 0.1, 0.4, 2.0]  # ranks 2 1 3 4: 1 - 6 * 2 / (4 * 15)
    result = score_figures(scores, predicted)
    assert result["spearman"] == 80 and result["pairs"] == 4
    assert result["pearson"] == round(100 * float(np.corrcoef(scores, predicted)[0, 1]), 3)
    assert "Spearman" in SCORES_SIGNATURE


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("a\tb\tlabel\n1\t2\t0\n", ["a", "c", "label"], r"wanted columns a, c, label, got a, b, label in .*task.tsv"),
        ("", ["a", "b", "label"], "wanted labelled pairs, got none in"),
        ("a\tb\tlabel\n", ["a", "b", "label"], "wanted labelled pairs, got none in"),
        ("a\tb\tlabel\nx\ty\t2\n", ["a", "b", "label"], r"task.tsv, line 2: wanted a label 0 or 1, got '2'"),
        ("x\ty\t1\nx\ty\n", NUMBERED, r"task.tsv, line 2: wanted 3 columns and more, .*, got 'x.ty'"),
        ("x\ty\t1\n", ["0", "1"], "wanted the columns of two sentences and a label, got 0, 1: name three"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, content, columns, message):
    with pytest.raises(ValueError, match=message) as error:
        read_task(file(tmp_path, content), columns)
    assert "\n" not in str(error.value)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"wanted .*, got .*nothing\.tsv, which does not exist: check the path"):
        read_task(tmp_path / "nothing.tsv")


def test_figures_by_hand():
    labels, predicted = [1] * 6 + [0] * 4, [1, 1, 1, 1, 0, 0, 1, 0, 0, 0]
    result = figures(labels, predicted)  # 4 right of 5 said, of 6 there are; 3 of 4 others
    assert result["accuracy"] == 70 and result["f1"] == round(100 * 2 * (4 / 5) * (4 / 6) / (4 / 5 + 4 / 6), 3)
    assert result["f1"] != round(100 * f1_score(labels, predicted, average="macro"), 3)
    assert figures([1, 0], [0, 0])["f1"] == 0
    assert "positive:1" in SIGNATURE


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_usual_names_and_any_delimiter_of_csv(tmp_path, delimiter):
    rows = [
        ["id", "question1", "question2", "is_duplicate"],
        ["7", '"Yes, I do."', "None", "1"],
        ["8", "null", "NA", "0"],
    ]
    pairs = read_task(file(tmp_path, "".join(delimiter.join(row) + "\n" for row in rows), "task.csv"))
    first = '"Yes, I do."' if delimiter == "\t" else "Yes, I do."
    assert pairs == [LabelledPair(first, "None", 1), LabelledPair("null", "NA", 0)]


def test_columns_of_numbers_are_no_sentences(tmp_path):
    with pytest.raises(
        ValueError, match=r"wanted texts in column 'qid2', got numbers or ids in .*task.tsv, such as '8'"
    ):
        read_task(file(tmp_path, "text\tqid2\tlabel\na\t8\t1\nb\t9\t0\n"), ["text", "qid2", "label"])


def test_a_line_with_more_columns_than_the_header_is_named(tmp_path):
    with pytest.raises(
        ValueError, match=r"task.tsv, line 3: wanted 3 columns, as in the first line, .*, got 'x.tz.t1.t0'"
    ):
        read_task(file(tmp_path, "a\tb\tlabel\nx\ty\t1\nx\tz\t1\t0\n"), ["a", "b", "label"])


def test_a_score_has_a_decimal_comma(tmp_path):
    pairs = read_task(
        file(tmp_path, "sentence1;sentence2;score\na;b;4,2\n", "a.csv"), ["sentence1", "sentence2", "score"], True
    )
    assert pairs == [LabelledPair("a", "b", 4.2)]
