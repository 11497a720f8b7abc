"""Answers from the server and from spreadsheets, and what is wrong with them."""

import pytest

from toolkit.annotation.answers import append_answers, read_answers, read_table
from toolkit.annotation.sheets import PARABANK, PARAZH

ITEMS = ["1", "2", "3"]


def test_the_last_answer_holds_and_an_unfinished_line_is_cut(tmp_path):
    file = tmp_path / "anna.csv"
    append_answers(file, PARABANK, "1", {"similarity": 80.0, "ungrammatical": 0.0, "nonsensical": 0.0})
    append_answers(file, PARABANK, "2", {"similarity": 7.0, "ungrammatical": 1.0, "nonsensical": 0.0})
    append_answers(file, PARABANK, "1", {"similarity": 81.5, "ungrammatical": 0.0, "nonsensical": 1.0})
    wanted = {
        "1": {"similarity": 81.5, "ungrammatical": 0.0, "nonsensical": 1.0},
        "2": {"similarity": 7.0, "ungrammatical": 1.0, "nonsensical": 0.0},
    }
    assert read_answers(file, PARABANK, ITEMS) == wanted
    whole = file.read_bytes()
    for cut in range(1, 12):
        file.write_bytes(whole + b"3,50,0,0,2026-11"[:cut])
        assert read_answers(file, PARABANK, ITEMS) == wanted
    append_answers(file, PARABANK, "3", {"similarity": 1.0})
    assert file.read_bytes().startswith(whole) and read_answers(file, PARABANK, ITEMS)["3"]["similarity"] == 1.0
    assert len(read_table(file, ["item"])) == 4


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_spreadsheet(tmp_path, delimiter):
    file = tmp_path / "ben.csv"
    rows = [
        ["item", "page", "reference", "paraphrase", "similarity", "ungrammatical", "nonsensical"],
        ["1", "1", '"He said, ""go"""', "a", "90", "", "x"],
        ["2", "1", "b", "c", "", "", ""],
        ["3", "2", "d", "e", " 12 ", "1", "0"],
    ]
    file.write_text("\ufeff" + "\r\n".join(delimiter.join(row) for row in rows))
    assert read_answers(file, PARABANK, ITEMS) == {
        "1": {"similarity": 90.0, "ungrammatical": 0.0, "nonsensical": 1.0},
        "3": {"similarity": 12.0, "ungrammatical": 1.0, "nonsensical": 0.0},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,similarity\n1,101\n", "wanted similarity from 0 to 100, got '101' in .*ben.csv, line 2"),
        ("item,similarity\n1,50\n2,good\n", "got 'good' in .*ben.csv, line 3: correct it"),
        ("item,similarity\n9,50\n", "wanted an item of the sheet, got '9' in .*ben.csv, line 2"),
        ("item,score\n1,50\n", "wanted the columns item, similarity, got .* without similarity"),
        ("item,similarity,nonsensical\n1,50,maybe\n", "wanted nonsensical as 1 or nothing, got 'maybe'"),
        ('item,similarity\n1,"50\n', "wanted a CSV file, got .*ben.csv"),
    ],
)
def test_a_wrong_answer_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "ben.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_answers(tmp_path / "ben.csv", PARABANK, ITEMS)


def test_levels_and_other_encodings(tmp_path):
    file = tmp_path / "ben.csv"
    file.write_text("item,consistency,fluency,diversity\n1,5,4,\n2,,,\n")
    assert read_answers(file, PARAZH, ITEMS) == {"1": {"consistency": 5.0, "fluency": 4.0}}
    file.write_text("item,consistency,fluency,diversity\n1,4.5,4,1\n")
    with pytest.raises(ValueError, match=r"wanted consistency as one of 5, 4, 3, 2, 1, got '4\.5'"):
        read_answers(file, PARAZH, ITEMS)
    file.write_bytes("item,consistency\n1,ä\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"wanted UTF-8, got .*ben\.csv in another encoding"):
        read_answers(file, PARAZH, ITEMS)
