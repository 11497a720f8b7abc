"""Records of CSV with any delimiter."""

import pytest

from toolkit.bitext.csv_records import csv_records, delimiter_of


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_that_of_all_records(delimiter):
    signs = "".join(sign for sign in ",;|" if sign != delimiter)
    assert delimiter_of(["a" + delimiter + "b", f'1{delimiter}"x {signs} y"', f"2{delimiter}z"]) == delimiter


def test_a_quoted_field_may_have_several_lines_and_any_length():
    lines = ["a;b", '"one', "", 'two, three";' + "x" * 200_000, "", "c;d"]
    assert list(csv_records(lines, "a.csv")) == [
        (1, ["a", "b"]), (4, ["one\n\ntwo, three", "x" * 200_000]), (6, ["c", "d"]),
    ]  # fmt: skip


def test_between_tabs_a_quote_is_a_letter():
    """As in the files of the STS Benchmark, which have lonely quotes and a varying number of columns."""
    lines = ['a\tset\t4.2\tHe said: "no.\t"Go!" he said.', 'a\tset\t0\t"Never, he said.\tB, b\tmore']
    assert [record for _, record in csv_records(lines, "a.csv")] == [line.split("\t") for line in lines]


def test_a_ragged_record_does_not_change_the_delimiter():
    lines = ["a;b", "x, y;z", "p;q;r, s, t"]
    assert [record for _, record in csv_records(lines, "a.csv")] == [["a", "b"], ["x, y", "z"], ["p", "q", "r, s, t"]]


def test_a_quoted_field_that_goes_on_beyond_the_first_lines(monkeypatch):
    monkeypatch.setattr("toolkit.bitext.csv_records.SAMPLE_LINES", 2)
    assert [record for _, record in csv_records(["a;b", '"x', 'y";z'], "a.csv")] == [["a", "b"], ["x\ny", "z"]]


def test_wrong_quotes_are_named_with_their_line():
    with pytest.raises(ValueError, match=r"a.csv, line 2: wanted records of CSV, got others"):
        list(csv_records(["a,b", '"x"y,z'], "a.csv"))
