"""The summary of judgments: means, who is left out, agreement; from sheets and from the released file."""

import csv
import gzip
import json
import random
from statistics import fmean

import pytest

from builders.commands.annotate import main
from tests.annotation.test_make import write_bank
from toolkit.annotation._answers import read_items, read_table
from toolkit.annotation.make import make_sheet
from toolkit.annotation.sheets import PARABANK, PARANMT, PARAZH
from toolkit.annotation.summary import _alpha, markdown, summarise
from toolkit.evaluate.judged import COPIES


def answer(folder, name, columns, give):
    """Write the answers of an annotator, as a spreadsheet would have them; `give` says them for an item."""
    with (folder / "answers" / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", *columns])
        for item in read_items(folder):
            if (values := give(item)) is not None:
                writer.writerow([item.item, *values])


COLUMNS = ["similarity", "ungrammatical", "nonsensical"]


@pytest.fixture
def sheet(tmp_path):
    """Two parabanks of 60 references: "good" and "bad"."""
    texts = [f"The reference has number {n}." for n in range(60)]
    good = write_bank(tmp_path, "good", [(text, f"{text} good") for text in texts])
    bad = write_bank(tmp_path, "bad", [(text, f"{text} bad") for text in texts])
    make_sheet([good, bad], PARABANK, tmp_path / "sheet", size=60)
    return tmp_path / "sheet"


def test_means_flags_and_agreement(sheet):
    def give(shift):
        def of(item):
            if item.paraphrase == item.reference:
                return 100, "", ""
            bad = item.paraphrase.endswith("bad")
            return (20 if bad else 80) + shift, "x" if bad and item.item.endswith("1") else "", ""

        return of  # fmt: skip

    for name, shift in (("anna", 5), ("ben", -5), ("cleo", 0)):
        answer(sheet, name, COLUMNS, give(shift))
    report = summarise(sheet)
    assert (
        report["systems"]["good.tsv"]["score"] == pytest.approx(80)
        and report["systems"]["good.tsv"]["score_error"] == 0
    )
    bad = report["systems"]["bad.tsv"]
    count = sum(line["system"] == "bad.tsv" and line["item"].endswith("1")
                  for line in read_table(sheet / "key.csv", ("item", "system")))  # fmt: skip
    assert bad["score"] == pytest.approx(20) and bad["grammatical"] == pytest.approx(100 * (1 - count / 60))
    assert report["systems"][COPIES]["score"] == 100
    assert 0.9 < report["agreement"]["similarity"]["alpha"] < 1 and report["agreement"]["grammaticality"]["alpha"] == 1
    table = markdown(report)
    assert "| good.tsv | 60 | 80.0 ± 0.0 | 100.0 |" in table and "fewer than" not in table and report["too_few"] == 0


def test_inattentive_annotators_are_left_out_and_named(sheet):
    answer(sheet, "anna", COLUMNS, lambda item: (100 if item.paraphrase == item.reference else 70, "", ""))
    answer(sheet, "lazy", COLUMNS, lambda item: (10, "x", "x"))
    answer(
        sheet,
        "few",
        COLUMNS,
        lambda item: (0, "", "") if int(item.item) <= 24 and item.paraphrase != item.reference else None,
    )
    controls = sum(item.paraphrase == item.reference for item in read_items(sheet))
    report = summarise(sheet)
    reasons = {name: record["left_out"] for name, record in report["annotators"].items()}
    assert controls and reasons["anna"] is None
    assert reasons["lazy"] == f"{controls} of {controls} controls failed, more than 10%"
    assert reasons["few"].endswith("judgments, fewer than 25")
    assert report["too_few"] == report["texts"], "of each text one judgment is left"
    assert f"{report['texts']} of {report['texts']} texts have fewer than 3 judgments." in markdown(report)
    assert report["systems"]["good.tsv"]["score"] == 70 and report["systems"]["good.tsv"]["grammatical"] == 100


def test_levels_by_range_and_by_parabank(tmp_path):
    scored = write_bank(tmp_path, "scored", [(f"the {n}", f"a {n}", str(n / 100)) for n in range(1, 101)])
    make_sheet([scored], PARANMT, tmp_path / "nmt", size=10)
    columns = ["strength", "fluency"]
    answer(tmp_path / "nmt", "anna", columns, lambda item: (3 if int(item.reference.split()[1]) > 60 else 1, 3))
    answer(tmp_path / "nmt", "ben", columns, lambda item: (2, 3) if item.page <= 25 else (2, ""))
    report = summarise(tmp_path / "nmt")
    ranges = report["systems"]["scored.tsv"]
    assert list(ranges) == ["(-0.1, 0.2]", "(0.2, 0.4]", "(0.4, 0.6]", "(0.6, 0.8]", "(0.8, 1]"]
    assert [row["pairs"] for row in ranges.values()] == [20] * 5 and all(row["judged"] == 10 for row in ranges.values())
    strength = [row["questions"]["strength"]["ratings"] for row in ranges.values()]
    assert [(counts[1], counts[3]) for counts in strength] == [(10, 0)] * 3 + [(0, 10)] * 2
    assert sum(counts[2] for counts in strength) == 25, "an answer that is not complete does not count"
    assert report["annotators"]["ben"] == {"judgments": 25, "incomplete": 25}
    assert report["agreement"]["fluency"]["alpha"] is None, "all ratings are equal"
    table = markdown(report)
    assert "| (0.8, 1] | 20 | 10 | 0.00 ± 0.00 | 0.0 | " in table and "strength 1, % | strength 2, %" in table

    banks = [write_bank(tmp_path, name, [(f"the {name} {n}", f"a {n}") for n in range(30)]) for name in ("one", "two")]
    make_sheet(banks, PARAZH, tmp_path / "zh", size=20)
    columns = ["consistency", "fluency", "diversity"]
    answer(tmp_path / "zh", "anna", columns, lambda item: (5 if " one " in item.reference else 3, 5, 1))
    answer(tmp_path / "zh", "ben", columns, lambda item: (4 if " one " in item.reference else 3, 5, 2))
    report = summarise(tmp_path / "zh")
    grades = report["systems"]["one.tsv"]["all"]["questions"]
    assert grades["consistency"]["mean"] == 4.5 and grades["consistency"]["at_least"] == {2: 100, 3: 100, 4: 100, 5: 0}
    assert grades["fluency"]["at_least"][5] == 100 and grades["diversity"]["deviation"] == 0
    assert "| mean | 4.50 ± 0.00 | 3.00 ± 0.00 |" in markdown(report)


def test_alpha_is_that_of_a_published_example():
    """Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: nominal data of four observers."""
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .",
    ]  # fmt: skip
    ratings = [(str(annotator), unit, float(rating)) for annotator, line in enumerate(observers)
               for unit, rating in enumerate(line.split()) if rating != "."]  # fmt: skip
    levels = {level: _alpha(ratings, level)["alpha"] for level in ("nominal", "ordinal", "interval")}
    assert levels == pytest.approx({"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}, abs=0.001)
    assert _alpha(ratings, "nominal")["texts"] == 11, "the last unit has one rating"
    chance = random.Random(0)
    noise = [(annotator, unit, float(chance.randint(0, 100))) for annotator in "abc" for unit in range(300)]
    assert abs(_alpha(noise, "interval")["alpha"]) < 0.1
    assert _alpha([("a", 1, 2.0)], "ordinal") == {"alpha": None, "level": "ordinal", "texts": 0}


def test_released_judgments_go_through_the_same_code(tmp_path, capsys):
    rows = [("w", "1", "5", "0", "Go!", 100, 2)] * 3
    rows += [("w", str(n), "5" if n < 15 else "40", "28" if n % 2 else "35", f"Text {n}.", n, 2) for n in range(30)]
    rows += [("v", "1", "5", "0", "Go!", 99, 2)] + [("v", "1", "5", "28", "Text 1.", 0, 0)] * 30
    head = "worker_id_anon\tref_id\tref_len\tsys_id\tcandidate\thuman_score\tgm"
    for name, lines in {
        "ref": ["ref_id\tref_sent", *(f"{n}\tGo!" for n in range(30))],
        "candidates": [head, *("\t".join(map(str, row)) for row in rows)],
    }.items():
        with gzip.open(tmp_path / f"{name}.tsv.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    output = tmp_path / "figures.json"
    assert main(["summarise", str(tmp_path), "--json", str(output)]) == 0
    report = json.loads(output.read_text())
    assert report["annotators"]["v"]["left_out"] == "1 of 1 controls failed, more than 10%"
    odd = [n for n in range(30) if n % 2]
    assert report["systems"]["ParaBank 28"]["score"] == pytest.approx(fmean(odd))
    assert report["systems"]["ParaBank 28"]["lengths"] == {
        "5": fmean(n for n in odd if n < 15), "40": fmean(n for n in odd if n >= 15),
    }  # fmt: skip
    assert "| ParaBank 28 | 15 | 15.0 ± " in capsys.readouterr().out


def test_one_line_for_what_cannot_be_summarised(sheet, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for folder, message in ((tmp_path / "empty", "wanted the folder of a sheet, got "), (sheet, "wanted answers in ")):
        assert main(["summarise", str(folder)]) == 1
        output = capsys.readouterr().err
        assert message in output and output.count("\n") == 1


def test_texts_that_nobody_judged_are_too_few(sheet):
    for name in ("anna", "ben", "carl"):
        answer(sheet, name, COLUMNS, lambda item: (100, "", "") if int(item.item) <= 30 else None)
    report, pairs = summarise(sheet), {(item.reference, item.paraphrase) for item in read_items(sheet)}
    judged_pairs = {(item.reference, item.paraphrase) for item in read_items(sheet) if int(item.item) <= 30}
    assert report["texts"] == len(pairs) and report["too_few"] == len(pairs) - len(judged_pairs) > 0
