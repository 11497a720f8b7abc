import gzip
import json

import pytest

from toolkit.package.references import read_references, samples


def texts(path) -> list[tuple[str, list[str]]]:
    return [(row.reference, [c.text for c in row.paraphrases]) for row in read_references(path)]


def test_a_run_and_its_package_are_the_same_rows(demo_parabank, demo_run):
    packaged, shards = texts(demo_parabank), texts(demo_run)
    assert sorted(packaged) == sorted(pair for pair in shards if pair[1])
    assert (
        "It is raining again.",
        ["It rains again.", "Rain falls once more.", "Once again there is rain."],
    ) in packaged
    assert len(shards) == 5 and len(packaged) == 4
    row = next(row for row in read_references(demo_parabank) if row.reference == "The dog sleeps.")
    assert row.paraphrases[0].scores.forward_logprob == -3 and row.lang == "en"


def test_a_table_and_lines_of_json(tmp_path):
    expected = [("We go.", ["We leave.", "Off we go.", "Bye."]), ("Stay.", ["Do stay."])]
    table = tmp_path / "a.tsv"
    table.write_text("We go.\tWe leave.\tOff we go.\nWe go.\tBye.\t\n\nStay.\tDo stay.\r\n", encoding="utf-8")
    assert texts(table) == expected
    lines = [
        {"reference": "We go.", "paraphrases": ["We leave.", "Off we go."]},
        {"sentence1": "We go.", "sentence2": "Bye."},
        {"reference": "Stay.", "paraphrase": "Do stay."},
    ]
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    assert texts(tmp_path / "a.jsonl.gz") == expected


@pytest.mark.parametrize(
    "name, line",
    [
        ("a.tsv", "We go."),
        ("a.tsv", "\tWe go."),
        ("a.jsonl", "We go."),
        ("a.jsonl", '["We go."]'),
        ("a.jsonl", '{"reference": "We go."}'),
        ("a.jsonl", '{"reference": "We go.", "paraphrases": [1]}'),
    ],
)
def test_a_wrong_line_is_named(tmp_path, name, line):
    good = "a\tb" if name == "a.tsv" else '{"reference": "a", "paraphrase": "b"}'
    (tmp_path / name).write_text(f"{good}\n\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{name}, line 3: wanted .*reference.*got .*correct it"):
        texts(tmp_path / name)


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.jsonl"])
def test_a_line_that_is_not_utf8_is_named(tmp_path, name):
    good = b"We go.\tWe leave.\n" if "tsv" in name else b'{"reference": "We go.", "paraphrase": "We leave."}\n'
    content = good + b"\n" + good.replace(b"leave", b"le\xe9ve")
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(ValueError, match=rf"{name}, line 3: wanted UTF-8, got .*le\ufffdve.*: convert"):
        texts(tmp_path / name)


def test_what_is_no_parabank_is_refused(tmp_path, demo_run, empty_run):
    with pytest.raises(FileNotFoundError, match="nowhere, which does not exist: check the path"):
        read_references(tmp_path / "nowhere")
    (tmp_path / "plain").mkdir()
    with pytest.raises(ValueError, match=r"got the folder .*plain: check the path"):
        read_references(tmp_path / "plain")
    (tmp_path / "a.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"got the file .*a.csv: give a file that ends in"):
        read_references(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"wanted a parabank with paraphrases, got none in .*empty.shards"):
        samples(empty_run, 10, 0)
    (demo_run / "rows-00001.parquet").unlink()
    with pytest.raises(ValueError, match=r"rows-00001.parquet is missing"):
        read_references(demo_run)


def test_samples_are_all_or_two_draws(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"reference {i}\tparaphrase {i}\n" for i in range(200)), encoding="utf-8")
    (everything,) = samples(path, 200, seed=0)
    assert [row.reference for row in everything] == [f"reference {i}" for i in range(200)]
    one, other = [{row.reference for row in run} for run in samples(path, 50, seed=0)]
    assert len(one) == len(other) == 50 and one != other
    assert other == {row.reference for row in samples(path, 50, seed=1)[0]}
    with pytest.raises(ValueError, match="at least 1 reference, got 0"):
        samples(path, 0, seed=0)


def test_parabanks_of_one_bitext_give_the_same_sample(tmp_path):
    for name, order in (("a.tsv", range(100)), ("b.tsv", reversed(range(100)))):
        lines = [f"reference {i}\t{name} {i}\n" for i in order]
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
    one, other = (samples(tmp_path / name, 20, seed=3) for name in ("a.tsv", "b.tsv"))
    assert [[row.reference for row in run] for run in one] == [[row.reference for row in run] for run in other]
