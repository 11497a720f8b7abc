"""Lines of evaluation sets are not in a parabank, and the card says so."""

import json

import pytest

from builders.paranet import ParaNetRun
from builders.paranet import build as build_paranet
from builders.parazh import ParaZhRun, build
from tests.tiny import DEMO, folder
from toolkit.data.shards import read_shard

pytestmark = pytest.mark.usefixtures("on_a_cpu")
LINES = [line.split("\t") for line in DEMO.read_text(encoding="utf-8").splitlines()][:40]


@pytest.fixture
def settings(tmp_path):
    """A run of 40 lines, of which two are in one evaluation set, by their reference and by their source."""
    (tmp_path / "sts.tsv").write_text(f"0.5\t{LINES[3][1].upper()}\tSomething else altogether.\n")
    (tmp_path / "other.txt").write_text(f"{LINES[7][0]}\nNobody has ever said this.\n")

    def make_run(**changed):
        inputs = {"bitext": [str(DEMO)], "source_lang": "de", "lang": "en", "limit": 40, "shard_rows": 20, "threads": 1}
        models = {"forward": str(folder() / "de-en"), "backward": str(folder() / "en-de"), "dtype": "float32"}
        sets = {"decontaminate": [str(tmp_path / "sts.tsv"), str(tmp_path / "other.txt")]}
        output = {"output_dir": str(tmp_path / "bank"), "beam": 2, "best_share": 1.0}
        return ParaZhRun(**{**inputs, **models, **sets, **output, **changed})

    return make_run


@pytest.mark.slow
def test_lines_of_evaluation_sets_are_refused_and_the_card_names_them(settings, tmp_path):
    figures = build(settings())
    rows = [row for shard in sorted((tmp_path / "bank.shards").glob("rows-*")) for row in read_shard(shard)]
    row_ids = {row.id for row in rows if row.reason == "contaminated"}
    assert {"bitext-4", "bitext-8"} <= row_ids and figures["inputs"]["refused"]["contaminated"] == len(row_ids)
    records = json.loads((tmp_path / "bank" / "contamination.json").read_text())
    assert [record["set"].split("/")[-1] for record in records] == ["sts.tsv", "other.txt"]
    assert sum(record["lines equal"] + record["lines that contain one"] for record in records) == len(row_ids)
    card = (tmp_path / "bank" / "README.md").read_text()
    assert "### Test sets" in card and f"| {records[1]['set']} | {records[1]['revision']} | 2 |" in card


@pytest.mark.slow
def test_another_evaluation_set_is_another_run(settings, tmp_path):
    build(settings(limit=20))
    (tmp_path / "other.txt").write_text("Nobody has ever said this, nor will anybody.\n")
    with pytest.raises(ValueError, match="decontaminate"):
        build(settings(limit=20))


def test_a_bad_set_is_an_error_before_anything_is_made(settings, tmp_path):
    (tmp_path / "sts.tsv").write_text("1\t0.5\n")
    with pytest.raises(ValueError, match=r"wanted sentences in .*sts.tsv, got none of 12 letters"):
        build(settings())
    assert not (tmp_path / "bank.shards").exists()


def test_traditional_evaluation_texts_are_found_in_what_is_cleaned_to_simplified(tmp_path):
    (tmp_path / "a.tsv").write_text(
        "The lift is broken again.\t這個電梯又壞了。\nHe left.\t他離開了。\n", encoding="utf-8"
    )
    (tmp_path / "set.txt").write_text("這個電梯又壞了。\n", encoding="utf-8")
    run = ParaZhRun(
        bitext=[str(tmp_path / "a.tsv")], source_lang="en", lang="zh", simplified=True, forward="f", backward="b",
        decontaminate=[str(tmp_path / "set.txt")], output_dir=str(tmp_path / "bank"),
    )  # fmt: skip
    run.shards_dir.mkdir()
    rows = list(run.input_rows())
    assert [(row.reference, row.reason) for row in rows] == [("这个电梯又坏了。", "contaminated"), ("他离开了。", None)]


@pytest.mark.slow
def test_sentences_of_books_too(tmp_path):
    sentences = [reference for _, reference in LINES]
    (tmp_path / "book.txt").write_text("\n".join(sentences))
    sentence = next(text for text in sentences if len(text) > 40)
    (tmp_path / "sts.txt").write_text(f"{sentence}\n")
    models = {"infiller": "starter/infiller", "fluency_model": "starter/infiller", "dtype": "float32", "threads": 1}
    knobs = {"min_chars": 30, "permutations": 2, "beam": 1, "context": 40, "decontaminate": [str(tmp_path / "sts.txt")]}
    run = ParaNetRun(text=[str(tmp_path / "book.txt")], lang="en", output_dir=str(tmp_path / "net"), **models, **knobs)
    assert build_paranet(run)["inputs"]["refused"] == {"contaminated": 1}
    (record,) = json.loads((tmp_path / "net" / "contamination.json").read_text())
    assert record["sentences equal"] == 1
