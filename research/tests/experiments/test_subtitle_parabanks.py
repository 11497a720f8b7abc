"""What a step of the subtitles has finished is not made again, wherever it was stopped."""

import argparse
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from research.experiments import subtitle_parabanks
from research.experiments.subtitle_parabanks import parabank, text

NAMES = ("inputs", "lengths", "candidates", "copies", "diversity", "paraphrase_scores")


@pytest.fixture
def options(tmp_path, monkeypatch):
    """The options of a command whose builder writes a shard first, and is stopped there if a file says so."""

    def build(command, check):
        run, folder = tmp_path / "parazh.shards", tmp_path / "parazh"
        run.mkdir(exist_ok=True)
        (run / "0.parquet").write_bytes(bytes(30))
        if (tmp_path / "stop").exists():
            raise KeyboardInterrupt
        folder.mkdir()
        statistics = dict.fromkeys(NAMES, 1) | {"total": {"references": 10}}
        (folder / "statistics.json").write_text(json.dumps(statistics))
        (folder / "contamination.json").write_text("{}")

    monkeypatch.setattr(subtitle_parabanks.subprocess, "run", build)
    monkeypatch.setattr(subtitle_parabanks, "finished_shards", lambda run: sorted(run.glob("*.parquet")))
    return argparse.Namespace(data=tmp_path / "data", work=tmp_path, processes=2)


def test_a_build_without_interruption_has_its_cost(options):
    figures = parabank(options, "parazh", {})
    assert figures["bytes_per_reference"] == 3 and figures["processes"] == 2 and "seconds" in figures
    assert parabank(options, "parazh", {}) == figures


def test_a_build_that_was_stopped_has_no_cost(options):
    (options.work / "stop").touch()
    with pytest.raises(KeyboardInterrupt):
        parabank(options, "parazh", {})
    (options.work / "stop").unlink()
    assert "seconds" not in parabank(options, "parazh", {})  # the time of a part of the work


def test_a_build_that_was_stopped_before_its_clock_is_read(options):
    parabank(options, "parazh", {})
    (options.work / "parazh.seconds").unlink()
    figures = parabank(options, "parazh", {})
    assert figures["bytes_per_reference"] == 3 and "seconds" not in figures


def test_clean_subtitles_are_not_cleaned_again(options):
    pq.write_table(pa.table({"source": ["Hello."], "reference": ["你好。"]}), options.work / "clean.parquet")
    text(options)
    assert (options.work / "train.tsv").read_text(encoding="utf-8") == "Hello.\t你好。\n"
