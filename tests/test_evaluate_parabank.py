import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "evaluate_parabank.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("evaluate_parabank", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "table.tsv"
    passive = "Number {0} is seen by us."
    templates = ["Number {0} of all was seen by us, I think.", passive, passive]
    lines = [f"We see number {i} of all.\t{templates[i % 3].format(i)}\tWe see it {i} times.\n" for i in range(30)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def line(printed: str, name: str) -> list[str]:
    row = next(text for text in printed.splitlines() if text.startswith(f"| {name} |"))
    return [column.strip() for column in row.strip("|").split("|")][1:]


def test_a_package_and_its_run_have_equal_columns(script, demo_parabank, demo_run, tmp_path, capsys):
    assert script.main([str(demo_parabank), str(demo_run), "--json", str(tmp_path / "figures.json")]) == 0
    printed = capsys.readouterr().out
    assert line(printed, "references") == ["4", "4", "-"]
    package, run, _ = line(printed, "(1-BLEU) x 100, rank 1")
    assert package == run
    assert "Tree edit distance and parse entropy are left out: give a --parser" in printed
    figures = json.loads((tmp_path / "figures.json").read_text())["parabanks"]
    assert list(figures) == [str(demo_parabank), str(demo_run)]
    assert figures[str(demo_run)][0]["references"]["sentences"] == 4


def test_samples_and_runs_are_printed_with_their_spread(script, table, tmp_path, capsys):
    assert script.main([str(table), f"{table},{table}"]) == 0
    printed = capsys.readouterr().out
    single, double, _ = line(printed, "(1-BLEU) x 100, rank 2")
    assert double == f"{single} ± 0.00"
    figures = tmp_path / "figures.json"
    assert script.main([str(table), "--sample", "7", "--seed", "4", "--json", str(figures)]) == 0
    printed = capsys.readouterr().out
    assert line(printed, "references")[0] == "7" and "±: the sample's standard deviation" in printed
    first, second = [
        run["ranks"]["by_rank"][0]["length_ratio"] for run in json.loads(figures.read_text())["parabanks"][str(table)]
    ]
    assert first != second
    middle, spread = map(float, line(printed, "length ratio, rank 1")[0].split(" ± "))
    assert middle == pytest.approx((first + second) / 2, abs=0.006)
    assert spread == pytest.approx(abs(first - second) / 2**0.5, abs=0.006)  # of a sample of two


def test_trees_by_way_of_a_file(script, table, tmp_path, capsys):
    texts, parses = tmp_path / "texts.txt", tmp_path / "parsed.tsv"
    assert script.main([str(table), "--write_texts", str(texts)]) == 0
    assert capsys.readouterr().out == ""
    lines = texts.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 90 and lines[0] == "We see number 0 of all."
    trees = ["(S (NP x))" if text.startswith("Number") else "(S (NP x) (VP x))" for text in lines]
    parses.write_text("".join(f"{a}\t{b}\n" for a, b in zip(lines, trees, strict=True)), encoding="utf-8")
    assert script.main([str(table), "--parser", f"file:{parses}"]) == 0
    printed = capsys.readouterr().out
    assert line(printed, "tree edit distance, rank 1")[0] == "1.00"
    assert line(printed, "tree edit distance, rank 2")[0] == "0.00"
    assert "parser:file:parsed.tsv" in printed and "left out" not in printed


def test_one_paraphrase_each_has_one_rank(script, tmp_path, capsys):
    path = tmp_path / "one.tsv"
    path.write_text("".join(f"We see number {i} of all.\tWe see number {i} of all!\n" for i in range(9)))
    assert script.main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert line(printed, "(1-BLEU) x 100, rank 1")[0] == "0.00"
    assert "rank 2" not in printed and "-0.00" not in printed


def test_the_idf_table_of_a_starter(script, table, capsys):
    assert script.main([str(table), "--idf", "starter/de-en"]) == 0
    assert float(line(capsys.readouterr().out, "IDF, mean (bits)")[0]) > 5


def test_idf_and_pieces(script, table, tmp_path, capsys):
    (tmp_path / "idf.tsv").write_text("# sentences\t16\nsee\t8\nof\t4\n", encoding="utf-8")
    model = SCRIPT.parents[1] / "toolkit" / "starters" / "de-en" / "target.spm"
    assert script.main([str(table), "--idf", str(tmp_path / "idf.tsv"), "--pieces", str(model)]) == 0
    printed = capsys.readouterr().out
    assert line(printed, "IDF, mean (bits)")[0] == "1.50"
    assert "unit:piece" in printed


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nowhere.tsv"], "which does not exist"),
        (["nowhere"], "a Hub name has the form owner/name"),
        (["a.xml"], "a.xml: rename it if it is one of these"),
        (["empty.tsv"], "wanted a parabank with paraphrases, got none in"),
        (["table.tsv", "--parser", "malt"], "wanted a parser"),
        (["table.tsv", "--parser", "file:nowhere"], "wanted a file of trees"),
        (["table.tsv", "--idf", "nowhere"], "wanted an IDF table"),
        (["table.tsv", "--idf", "starter/nowhere"], "wanted a starter model of"),
        (["latin1.tsv"], "latin1.tsv, line 2: wanted UTF-8"),
        (["encoder"], "got the folder encoder: check the path"),
        (["table.tsv", "--pieces", "nowhere"], "wanted a SentencePiece model"),
        (["table.tsv", "--sample", "0"], "at least 1 reference"),
    ],
)
def test_errors_are_one_line(script, table, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("a.xml").write_text("a,b\n")
    Path("empty.tsv").write_text("")
    Path("latin1.tsv").write_bytes(b"We go.\tOff we go.\nWe go.\tOn y va, caf\xe9.\n")
    Path("encoder").mkdir()
    Path("encoder/modules.json").write_text("[]")
    assert script.main(arguments) == 1
    output = capsys.readouterr()
    assert output.out == "" and output.err.startswith("parabank evaluate parabank: ") and message in output.err
    assert len(output.err.splitlines()) == 1
