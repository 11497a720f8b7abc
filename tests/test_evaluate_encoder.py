import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

SCRIPT = Path(__file__).parents[1] / "scripts" / "evaluate_encoder.py"
DEV = "g\tf\ty\t1\t3\tdog\thound\ng\tf\ty\t2\t1\tdog\tcat\ng\tf\ty\t3\t5\tdog\tdog\n"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("evaluate_encoder", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path) -> Path:
    (tmp_path / "data/sts/benchmark").mkdir(parents=True)
    (tmp_path / "data/sts/benchmark/sts-dev.csv").write_text(DEV)
    return tmp_path / "data"


def save(folder: Path, words: dict[str, list[float]]) -> str:
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    module = StaticEmbedding(tokenizer, embedding_weights=np.array(list(words.values()), np.float32))
    SentenceTransformer(modules=[module], device="cpu").save(str(folder))
    return str(folder)


@pytest.fixture
def encoders(tmp_path) -> list[str]:
    good = save(tmp_path / "good", {"[UNK]": [0, 0], "dog": [1, 0], "hound": [1, 1], "cat": [0, 1]})
    bad = save(tmp_path / "bad", {"[UNK]": [0, 0], "dog": [1, 0], "hound": [-1, 0], "cat": [0, 2]})
    return [good, bad]


def line(printed: str, name: str) -> list[str]:
    row = next(text for text in printed.splitlines() if text.startswith(f"| {name} |"))
    return [column.strip() for column in row.strip("|").split("|")][1:]


def test_encoders_side_by_side(script, data, encoders, tmp_path, capsys):
    figures, tables = tmp_path / "figures.json", tmp_path / "tables.md"
    options = ["--encoders", *encoders, "--data", str(data), "--tasks", "benchmark"]
    assert script.main([*options, "--json", str(figures), "--markdown", str(tables)]) == 0
    printed = capsys.readouterr().out
    good = 100 * np.corrcoef([0.5**0.5, 0, 1], [3, 1, 5])[0, 1]
    assert line(printed, "good") == ["-", "-", f"{good:.1f}", "100.0"]
    assert line(printed, "bad") == ["-", "-", "50.0", "50.0"]  # cosines -1, 0, 1 of scores 3, 1, 5
    assert line(printed, "ParaNMT, table 9: WORD, 300")[0] == "79.2"
    assert "- STS Benchmark test: wanted sts/benchmark/sts-test.csv" in printed and "## STS 2016" not in printed
    assert tables.read_text() == printed
    results = json.loads(figures.read_text())["encoders"]
    assert list(results) == ["good", "bad"] and str(tmp_path) not in figures.read_text()
    assert results["good"]["figures"]["STS Benchmark dev"]["value"] == pytest.approx(good, abs=1e-3)
    assert script.main([*options, "--json", str(figures), "--markdown", str(tables)]) == 0  # its own files are replaced


def test_sentences_are_left_out_and_counted(script, data, encoders, tmp_path, capsys):
    (tmp_path / "seen.txt").write_text("Hound!\n")
    arguments = ["--encoders", encoders[0], "--data", str(data), "--without", str(tmp_path / "seen.txt")]
    assert script.main([*arguments, "--tasks", "benchmark"]) == 0
    printed = capsys.readouterr().out
    assert line(printed, "good")[2] == "100.0" and "|pairs:2|left out:1|" in printed


def test_folders_of_one_name_stay_apart(script, data, encoders, tmp_path, capsys):
    (tmp_path / "other").mkdir()
    path = (tmp_path / "bad").rename(tmp_path / "other" / "good")
    assert script.main(["--encoders", encoders[0], str(path), "--data", str(data), "--tasks", "benchmark"]) == 0
    printed = capsys.readouterr().out
    assert line(printed, encoders[0]) != line(printed, str(path))


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"--encoders": "nowhere"}, "wanted a sentence encoder, got 'nowhere'"),
        ({"--encoders": "starter/nothing"}, "wanted a starter model"),
        ({"--data": "nowhere"}, "wanted a folder of evaluation sets, got nowhere"),
        ({"--without": "nowhere"}, "wanted an existing file, got nowhere"),
    ],
)
def test_errors_are_one_line(script, data, encoders, tmp_path, monkeypatch, capsys, changed, message):
    monkeypatch.chdir(tmp_path)
    options = {"--encoders": encoders[0], "--data": str(data)} | changed
    assert script.main([word for pair in options.items() for word in pair]) == 1
    output = capsys.readouterr()
    assert output.out == "" and output.err.startswith("parabank evaluate encoder: ") and message in output.err
    assert len(output.err.splitlines()) == 1


def test_pairs_of_ones_own_in_any_form(script, encoders, tmp_path, capsys):
    scored = tmp_path / "mine.csv"
    scored.write_text("text1,text2,score\ndog,hound,3\ndog,cat,1\ndog,dog,5\n")
    (tmp_path / "triplets.jsonl").write_text('["dog", "hound", "cat"]\n["cat", "cat", "dog"]\n')
    triplets = str(tmp_path / "triplets.jsonl")
    # cosines 0.7071, 0, 1 with scores 3, 1, 5; and 0.7071, 0, 1, 0 with labels 1, 0, 1, 0
    for flags, pearson in ((["--pairs", str(scored), "--scored"], 97.3), (["--pairs", triplets], 97.2)):
        assert script.main(["--encoders", *encoders, *flags, "--json", str(tmp_path / "out.json")]) == 0
        printed = capsys.readouterr().out
        good, bad = (float(line(printed, name)[0]) for name in ("good", "bad"))
        assert good == pytest.approx(pearson, abs=0.06) and bad < good
        assert list(json.loads((tmp_path / "out.json").read_text())["pairs"]["good"]) == [flags[1]]


def test_labels_have_average_precision_and_accuracy(script, encoders, tmp_path, capsys):
    (tmp_path / "labelled.tsv").write_text("dog\tdog\t1\ndog\thound\t0\nhound\thound\t1\ndog\tcat\t0\n")
    assert script.main(["--encoders", *encoders, "--pairs", str(tmp_path / "labelled.tsv")]) == 0
    printed = capsys.readouterr().out
    assert "| encoder | Pearson | Spearman | average precision | accuracy |" in printed
    assert line(printed, "good")[2:] == ["100.0", "100.0"]


@pytest.mark.slow
def test_suite_beside_pairs(script, data, encoders, tmp_path, capsys):
    (tmp_path / "labelled.tsv").write_text("dog\tdog\t1\ndog\thound\t0\n")
    (data / "sts/benchmark/sts-dev.csv").rename(data / "sts/benchmark/sts-test.csv")
    arguments = ["--encoders", *encoders, "--suite", "STSBenchmark", "--data", str(data)]
    arguments += ["--pairs", str(tmp_path / "labelled.tsv"), "--markdown", str(tmp_path / "tables.md")]
    arguments += ["--json", str(tmp_path / "out.json"), "--results", str(tmp_path / "results")]
    assert script.main(arguments) == 0 and script.main(arguments) == 0  # its own files are replaced
    printed = capsys.readouterr().out
    assert line(printed, "good")[0] == "100.0" and line(printed, "bad")[0] == "50.0"
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["suite"]["good"]["STSBenchmark"]["measure"] == "cosine_spearman"
    assert len(list((tmp_path / "results").rglob("STSBenchmark.json"))) == 2
    for flags in (["--suite", "STS12", "--tasks", "sts"], ["--pairs", "x", "--results", "y"]):
        with pytest.raises(SystemExit):
            script.main(["--encoders", encoders[0], *flags])
