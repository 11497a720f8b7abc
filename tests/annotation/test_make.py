"""Which paraphrases come on a sheet, how they are arranged, and that annotators cannot see where they are from."""

import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from builders.commands.annotate import main
from toolkit.annotation import make
from toolkit.annotation._answers import read_items, read_table
from toolkit.annotation.make import make_sheet
from toolkit.annotation.sheets import PARABANK, PARANMT, PARAZH, SHEETS
from toolkit.evaluate.judged import COPIES
from toolkit.evaluate.lengths import length_class
from toolkit.score.overlap import trigram_overlap

KEY = ("item", "system", "id", "length", "range", "trigram_overlap")


def references(number):
    return [f"This is the reference with number {n} {'and more words ' * (n % 4 * 3)}." for n in range(number)]


def write_bank(folder, name, lines):
    """A parabank in a .tsv file: references with their paraphrases."""
    (folder / f"{name}.tsv").write_text("".join("\t".join(line) + "\n" for line in lines))
    return str(folder / f"{name}.tsv")


@pytest.fixture
def banks(tmp_path):
    """Two parabanks that share 150 of 200 references; rank 1 is the same text in every fifth."""
    texts = references(250)
    first = [(text, f"{text} first", f"{text} second", f"{text} third") for text in texts[:200]]
    second = [
        (text, f"{text} {'first' if n % 5 == 0 else 'other'}", f"{text} 2") for n, text in enumerate(texts) if n >= 50
    ]
    return [write_bank(tmp_path, "one", first), write_bank(tmp_path, "two", second)]


def pages_of(folder):
    pages = defaultdict(list)
    for item in read_items(folder):
        pages[item.page].append(item)
    return list(pages.values())


def systems_of(folder):
    systems = defaultdict(set)
    for line in read_table(folder / "key.csv", KEY):
        systems[line["item"]].add(line["system"])
    return systems


def test_a_page_has_paraphrases_of_one_reference_from_all_parabanks(banks, tmp_path):
    record = make_sheet(banks, PARABANK, tmp_path / "sheet", size=100, ranks=(1, 2))
    pages, systems = pages_of(tmp_path / "sheet"), systems_of(tmp_path / "sheet")
    shared = set(references(250)[50:200])
    assert len({page[0].reference for page in pages}) == 100 and record["pages"] == len(pages)
    assert record["sampled"] == {"all": 100}
    for page in pages:
        assert len(page) <= 5 and len({item.reference for item in page}) == 1 and page[0].reference in shared
        assert len({item.paraphrase for item in page}) == len(page)
    counts = Counter(system for names in systems.values() for system in names)
    assert {name: counts[name] for name in counts if name != COPIES} == {
        "one.tsv, rank 1": 100, "one.tsv, rank 2": 100, "two.tsv, rank 1": 100, "two.tsv, rank 2": 100,
    }  # fmt: skip
    merged = [names for names in systems.values() if len(names - {COPIES}) == 2]
    assert merged and all(names == {"one.tsv, rank 1", "two.tsv, rank 1"} for names in merged)
    for item in (item for page in pages for item in page):
        assert (COPIES in systems[item.item]) == (item.paraphrase == item.reference)


def test_the_share_of_controls(banks, tmp_path):
    shares = []
    for seed in range(5):
        record = make_sheet(banks, PARABANK, tmp_path / f"sheet{seed}", size=150, seed=seed)
        shares.append(record["controls"] / (record["controls"] + record["texts"]))
        places = [page.index(item) for page in pages_of(tmp_path / f"sheet{seed}") for item in page
                  if item.paraphrase == item.reference]  # fmt: skip
        assert len(places) == record["controls"]
    assert sum(shares) / 5 == pytest.approx(PARABANK.controls, abs=0.02)
    assert len(set(places)) > 1, "a control is at any place"


def test_the_same_seed_makes_the_same_sheet_and_another_one_another(banks, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        make_sheet(banks, PARABANK, tmp_path / name, size=20, seed=seed)
    a, b, c = ((tmp_path / name / "items.csv").read_bytes() for name in "abc")
    assert a == b != c


def test_references_that_are_there_twice_count_once(tmp_path):
    lines = [(text, f"{text} {time}") for text in references(30) for time in range(4)]
    shuffled = random.Random(0).sample(lines, len(lines))
    banks = [write_bank(tmp_path, name, shuffled) for name in ("one", "two")]
    make_sheet(banks, PARABANK, tmp_path / "sheet", size=30)
    assert len({item.reference for item in read_items(tmp_path / "sheet")}) == 30


def test_ids_of_different_parabanks_are_not_mixed(banks, tmp_path):
    make_sheet(banks, PARABANK, tmp_path / "sheet", size=100)
    items = {item.item: item.reference for item in read_items(tmp_path / "sheet")}
    ids = {(items[line["item"]], line["id"]) for line in read_table(tmp_path / "sheet" / "key.csv", KEY)}
    assert len(ids) == len({reference for reference, _ in ids}) == len({row_id for _, row_id in ids}) == 100


def test_references_by_length(banks, tmp_path):
    make_sheet(banks, PARABANK, tmp_path / "sheet", size=10, by_length=True)
    key = {line["item"]: int(line["length"]) for line in read_table(tmp_path / "sheet" / "key.csv", KEY)}
    lengths = {item.reference: key[item.item] for item in read_items(tmp_path / "sheet")}
    assert all(length_class(reference) == length for reference, length in lengths.items())
    assert Counter(lengths.values()) == {5: 10, 20: 10, 40: 10}, "no reference has about 10 words"


def test_pairs_of_each_range_of_the_score(tmp_path):
    scores = [n / 100 for n in range(-10, 101)]
    lines = [(f"the reference {score}", f"the paraphrase {score}", str(score)) for score in scores]
    path = write_bank(tmp_path, "scored", lines)
    record = make_sheet([path], PARANMT, tmp_path / "sheet", size=7)
    edges = [(-0.1, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0)]
    counts = {"({:g}, {:g}]".format(*edge): sum(edge[0] < score <= edge[1] for score in scores) for edge in edges}
    assert record["sampled"] == {"scored.tsv": counts} and sum(counts.values()) == 110, "-0.1 is outside"
    items = {item.item: item for item in read_items(tmp_path / "sheet")}
    key = read_table(tmp_path / "sheet" / "key.csv", KEY)
    assert Counter(line["range"] for line in key) == dict.fromkeys(counts, 7) and record["pages"] == 35
    for line in key:
        low, high = map(float, line["range"].strip("(]").split(","))
        item = items[line["item"]]
        assert low < float(item.reference.split()[-1]) <= high
        assert float(line["trigram_overlap"]) == pytest.approx(
            trigram_overlap(item.reference, item.paraphrase), abs=1e-6
        )


def test_pairs_of_two_parabanks_are_mixed(banks, tmp_path):
    make_sheet(banks, PARAZH, tmp_path / "sheet", size=40)
    systems = [names for names in systems_of(tmp_path / "sheet").values()]
    assert Counter(name for names in systems for name in names) == {"one.tsv": 40, "two.tsv": 40}
    assert len({"one.tsv" in names for names in systems[:10]}) == 2


@pytest.mark.parametrize("sheet", SHEETS)
def test_what_annotators_see_names_no_parabank(sheet, tmp_path):
    path = write_bank(tmp_path, "secret", [(f"the text {n}", f"another {n}", str(n / 50)) for n in range(50)])
    assert main(["make", sheet, path, "--output_dir", str(tmp_path / "sheet"), "--size", "3"]) == 0
    assert "secret" not in (tmp_path / "sheet" / "items.csv").read_text()
    assert "secret" in (tmp_path / "sheet" / "key.csv").read_text()
    assert json.loads((tmp_path / "sheet" / "sheet.json").read_text())["sheet"] == sheet


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("parabank {one} --size 0", "wanted numbers of at least 1, got size 0"),
        ("parabank {one} --ranks 3-2", "wanted numbers of at least 1, got .* ranks"),
        ("parabank {one} --ranks best", "wanted ranks such as 1 or 1-5, got 'best'"),
        ("parabank {one} {one}", "wanted parabanks with different names"),
        ("paranmt {one}", "wanted pairs with a score .semantic., got none in .*one.tsv"),
        ("parazh nowhere.tsv", "nowhere.tsv"),
        (
            "parabank {one} {other}",
            "wanted references with paraphrases that all of them have, letter by letter, got none",
        ),
    ],
)
def test_one_line_for_what_cannot_be_made(arguments, message, tmp_path, capsys):
    first = write_bank(tmp_path, "one", [(text, f"{text} a", f"{text} b") for text in references(5)])
    second = write_bank(tmp_path, "other", [("Hello there!", "Hi there!")])
    line = arguments.format(one=first, other=second).split()
    assert main(["make", *line, "--output_dir", str(tmp_path / "sheet")]) == 1
    output = capsys.readouterr().err
    assert output.count("\n") == 1 and re.search(message, output)
    assert not (tmp_path / "sheet").exists()


def test_a_missing_rank_is_filled_with_the_last_paraphrase(tmp_path):
    path = write_bank(tmp_path, "one", [("Hello there!", "Hi there!"), ("Go away!", "Leave!", "Get lost!")])
    make_sheet([path], PARABANK, tmp_path / "sheet", size=2, ranks=(1, 3))
    items, systems = read_items(tmp_path / "sheet"), systems_of(tmp_path / "sheet")
    ranks = {item.paraphrase: {system[-1] for system in systems[item.item] - {COPIES}} for item in items}
    assert ranks["Hi there!"] == {"1", "2", "3"} and ranks["Leave!"] == {"1"} and ranks["Get lost!"] == {"2", "3"}


def test_a_small_parabank_beside_a_large_one(tmp_path, monkeypatch):
    """The large one is read once for the sample, and once more for what the small one has."""
    small = write_bank(tmp_path, "small", [(text, f"{text} a") for text in references(500)[490:]])
    large = write_bank(tmp_path, "large", [(text, f"{text} b") for text in references(500)])
    reads = []
    original = make.read_references
    monkeypatch.setattr(make, "read_references", lambda path: reads.append(Path(path).name) or original(path))
    record = make_sheet([large, small], PARABANK, tmp_path / "sheet", size=20)
    assert record["sampled"] == {"all": 10} and reads.count("large.tsv") == 2
    assert {item.reference for item in read_items(tmp_path / "sheet")} == set(references(500)[490:])


def test_what_cannot_be_judged_or_found_is_said(tmp_path, capsys):
    lines = [(f"The text {n}.", f"Another {n}." if n % 2 else " ") for n in range(20)]
    path = write_bank(tmp_path, "half", lines)
    for sheet in ("parabank", "parazh"):
        assert main(["make", sheet, path, "--output_dir", str(tmp_path / sheet), "--size", "50"]) == 0
        items = read_items(tmp_path / sheet)
        assert len({item.reference for item in items}) == 10 and all(item.paraphrase.strip() for item in items)
    output = capsys.readouterr().err
    assert (
        "wanted 50 references, found only 10" in output
        and "half.tsv: 10 pairs with an empty text are left out" in output
    )


def test_a_sheet_is_not_overwritten(tmp_path, capsys):
    path = write_bank(tmp_path, "one", [("Hello there!", "Hi there!")])
    line = ["make", "parabank", path, "--output_dir", str(tmp_path / "sheet")]
    assert main(line) == 0 and main(line) == 1
    assert "which holds one: choose another" in capsys.readouterr().err
