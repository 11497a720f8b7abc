"""Answers from the server and from spreadsheets, and what is wrong with them."""

import subprocess
import sys
from pathlib import Path

import pytest

from toolkit.annotation._answers import answer_files, append_answers, checked_name, read_answers, read_table, table_text
from toolkit.annotation.make import make_sheet
from toolkit.annotation.serve import Desk
from toolkit.annotation.sheets import PARABANK, PARAZH
from toolkit.annotation.summary import summarise

ITEMS = ["1", "2", "3"]
ROOT = Path(__file__).parents[2]


def test_the_last_answer_holds_and_an_unfinished_line_is_cut(tmp_path):
    file = tmp_path / "anna.csv"
    append_answers(file, PARABANK, "1", {"similarity": 80.0, "ungrammatical": 0.0, "nonsensical": 0.0})
    append_answers(file, PARABANK, "2", {"similarity": 7.0, "ungrammatical": 1.0, "nonsensical": 0.0})
    append_answers(file, PARABANK, "1", {"similarity": 81.5, "ungrammatical": 0.0, "nonsensical": 1.0})
    expected = {
        "1": {"similarity": 81.5, "ungrammatical": 0.0, "nonsensical": 1.0},
        "2": {"similarity": 7.0, "ungrammatical": 1.0, "nonsensical": 0.0},
    }
    assert read_answers(file, PARABANK, ITEMS) == expected
    whole = file.read_bytes()
    for cut in range(1, 12):
        file.write_bytes(whole + b"3,50,0,0,2026-11"[:cut])
        assert read_answers(file, PARABANK, ITEMS) == expected
    for cut in (0, 3, 12):
        (tmp_path / "cut.csv").write_bytes(whole[:cut])
        assert read_answers(tmp_path / "cut.csv", PARABANK, ITEMS) == {}
        append_answers(tmp_path / "cut.csv", PARABANK, "3", {"similarity": 1.0})
        assert list(read_answers(tmp_path / "cut.csv", PARABANK, ITEMS)) == ["3"]
    append_answers(file, PARABANK, "3", {"similarity": 1.0})
    assert file.read_bytes().startswith(whole) and read_answers(file, PARABANK, ITEMS)["3"]["similarity"] == 1.0
    assert len(read_table(file, ["item"])) == 4


@pytest.mark.parametrize("text", ["one\rtwo", "\r", "one\r\ntwo", "one\ntwo", '"one", two', "=1\r"])
def test_a_text_with_any_line_end_comes_back(tmp_path, text):
    table = table_text(["item", "text"], [{"item": "1", "text": text}, {"item": "2", "text": "last"}])
    (tmp_path / "items.csv").write_bytes(table.encode())
    assert [row["text"] for row in read_table(tmp_path / "items.csv", ["text"])] == [text, "last"]


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


@pytest.mark.parametrize("content", ["item;similarity\n1;5\n", "item,page,reference,paraphrase,similarity\n"])
def test_nothing_is_appended_to_what_another_program_wrote(tmp_path, content):
    (tmp_path / "ben.csv").write_text(content)
    with pytest.raises(ValueError, match=r"wanted a new name, got that of ben\.csv, which another program wrote"):
        append_answers(tmp_path / "ben.csv", PARABANK, "1", {"similarity": 5.0})
    assert (tmp_path / "ben.csv").read_text() == content


@pytest.mark.slow
def test_a_full_disk_leaves_what_was_there(tmp_path):
    """In a process of its own that may write no more than 150 bytes to a file."""
    code = """
import resource, signal, sys
from pathlib import Path
from toolkit.annotation._answers import append_answers
from toolkit.annotation.sheets import PARABANK
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for item in "123":
    try:
        append_answers(Path(sys.argv[1]), PARABANK, item, {"similarity": 80.0})
    except OSError as error:
        print(item, error.strerror)
"""
    for limit, missing in ((10, "123"), (100, "23"), (1000, "")):
        file = tmp_path / f"anna{limit}.csv"
        process = subprocess.run(
            [sys.executable, "-c", code, str(file), str(limit)], cwd=ROOT, capture_output=True, text=True
        )
        assert process.stdout == "".join(f"{item} File too large\n" for item in missing), process.stderr
        items = [item for item in ITEMS if item not in missing]
        assert not items or list(read_answers(file, PARABANK, ITEMS)) == items
        append_answers(file, PARABANK, "3", {"similarity": 1.0})
        assert list(read_answers(file, PARABANK, ITEMS)) == [*(item for item in items if item != "3"), "3"]


def test_names_and_their_files(tmp_path):
    assert checked_name("A\u0308nne_2") == "änne_2" and checked_name("हिन्दी") == "हिन्दी"
    for name in ("", "a b", "../x", "a.b", "x" * 41, "😀"):
        with pytest.raises(ValueError, match="wanted a name of up to 40 letters"):
            checked_name(name)
    folder = tmp_path / "answers"
    folder.mkdir()
    (folder / "Anna.CSV").touch()
    (folder / ".~lock.Anna.csv#").touch()
    assert answer_files(tmp_path) == {"anna": folder / "Anna.CSV"}
    for file_name in ("anna.csv", "anna (1).csv", "ben.txt"):
        (folder / file_name).touch()
        with pytest.raises(ValueError, match=r"wanted a file NAME.csv for each annotator, got .*: rename it"):
            answer_files(tmp_path)
        (folder / file_name).unlink()


def test_levels_and_other_encodings(tmp_path):
    file = tmp_path / "ben.csv"
    file.write_text("item,consistency,fluency,diversity\n1,5,4,\n2,,,\n")
    assert read_answers(file, PARAZH, ITEMS) == {"1": {"consistency": 5.0, "fluency": 4.0}}
    file.write_text("item,consistency,fluency,diversity\n1,4.5,4,1\n")
    with pytest.raises(ValueError, match=r"wanted consistency as one of 5, 4, 3, 2, 1, got '4\.5'"):
        read_answers(file, PARAZH, ITEMS)
    file.write_bytes("item,consistency\n1,ä\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"ben\.csv, line 2: wanted UTF-8"):
        read_answers(file, PARAZH, ITEMS)


@pytest.fixture
def sheets(tmp_path):
    """Two sheets of other texts, and the rows of each one's items.csv with its first questions answered."""
    folders = []
    for name in ("one", "two"):
        lines = [f"The text {n} of {name}.\tText {n} is {name}'s.\n" for n in range(3)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
        make_sheet([str(tmp_path / f"{name}.tsv")], PARABANK, tmp_path / name, size=3)
        folders.append(tmp_path / name)
    return folders


def fill_in(folder, target, left_out=()):
    """Save a sheet's items.csv with answers as those of an annotator of the sheet `target`."""
    rows = read_table(folder / "items.csv", ())
    rows = [{name: value for name, value in row.items() if name not in left_out} | {"similarity": "50"} for row in rows]
    (target / "answers" / "anna.csv").write_text(table_text(list(rows[0]), rows))


@pytest.mark.parametrize("left_out", [(), ("sheet",), ("reference", "paraphrase")])
def test_answers_of_another_sheet_are_refused(sheets, left_out):
    first, second = sheets
    fill_in(first, first, left_out)
    assert summarise(first)["annotators"] and Desk(first).answers["anna"]
    fill_in(second, first, left_out)
    for read in (summarise, Desk):
        with pytest.raises(
            ValueError, match=r"wanted answers to this sheet \(\w+\), got .* in .*anna.csv, line 2: take"
        ):
            read(first)


def test_answers_of_the_page_carry_the_id_of_their_sheet(sheets):
    first, second = sheets
    Desk(second).save("anna", "1", {"similarity": "50"})
    (first / "answers" / "anna.csv").write_bytes((second / "answers" / "anna.csv").read_bytes())
    with pytest.raises(ValueError, match=r"got those of sheet '\w+' in .*anna.csv, line 2"):
        summarise(first)


def test_a_file_that_was_begun_without_an_id_goes_on_without(tmp_path):
    append_answers(tmp_path / "anna.csv", PARABANK, "1", {"similarity": 80.0})
    append_answers(tmp_path / "anna.csv", PARABANK, "2", {"similarity": 81.0}, "0123")
    assert list(read_answers(tmp_path / "anna.csv", PARABANK, ITEMS)) == ["1", "2"]


def test_items_that_a_spreadsheet_wrote_anew_are_the_same(sheets):
    sheet, _ = sheets
    rows = read_table(sheet / "items.csv", ())
    for row in rows:
        row["reference"], row["similarity"] = f" {row['reference']}".replace("'", "’"), "50"
    (sheet / "answers" / "anna.csv").write_text(table_text(list(rows[0]), rows))
    assert summarise(sheet)["annotators"]
