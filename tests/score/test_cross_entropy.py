"""Dual conditional cross-entropy: against forced decoding pair by pair, and on pairs that are no translations."""

import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.commands.filter_bitext import main
from tests.tiny import DEMO, ENVIRONMENT, PYTHON, ROOT, folder, translator
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.likelihood import log_likelihood
from toolkit.score.cross_entropy import BitextFilter, _judged, _limit_of
from toolkit.score.filter_bitext import filter_bitext

pytestmark = pytest.mark.usefixtures("on_a_cpu")
LINES = [line.split("\t") for line in DEMO.read_text(encoding="utf-8").splitlines()][:24]


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "demo.tsv").write_text("".join("\t".join(line) + "\n" for line in [*LINES, LINES[0], ("", "x")]))
    return BitextFilter(
        bitext=[str(tmp_path / "demo.tsv")],
        source_lang="de",
        lang="en",
        forward=str(folder() / "de-en"),
        backward=str(folder() / "en-de"),
        output=str(tmp_path / "kept.parquet"),
        refused=str(tmp_path / "refused.tsv"),
        shard_rows=10,
        threads=1,
        dtype="float32",
    )


def by_hand(source, reference):
    """x of one pair, by forced decoding of each side by itself."""
    nats = []
    for model, read, output in ((translator("de-en"), source, reference), (translator("en-de"), reference, source)):
        ids = model.target.encode([output])
        (total,) = log_likelihood(engine_of(model.model), model.source.encode([read]), ids, 1000)
        nats.append(-total / len(ids[0]))
    return abs(nats[0] - nats[1]) + sum(nats) / 2


@pytest.mark.slow
def test_every_pair_is_scored_and_those_above_the_threshold_are_refused(settings, tmp_path):
    expected = {tuple(line): by_hand(*line) for line in LINES}
    threshold = float(np.median(list(expected.values())))
    counts = filter_bitext(replace(settings, max_cross_entropy=threshold))
    rows = pq.read_table(tmp_path / "kept.parquet").to_pylist()
    assert [(row["source"], row["reference"]) for row in rows] == [p for p, x in expected.items() if x <= threshold]
    for row in rows:
        assert row["cross_entropy"] == pytest.approx(expected[row["source"], row["reference"]], abs=1e-4)
        assert row["score"] == pytest.approx(np.exp(-row["cross_entropy"]))
    assert counts == {"kept": len(rows), "cross_entropy": 24 - len(rows), "duplicate": 1, "empty": 1}
    refusals = [line.split("\t") for line in (tmp_path / "refused.tsv").read_text().splitlines()]
    assert [line[:2] for line in refusals][-2:] == [["25", "duplicate"], ["26", "empty"]]
    assert {tuple(line[2:]) for line in refusals[:-2]} == {pair for pair, x in expected.items() if x > threshold}


@pytest.mark.slow
def test_another_share_needs_no_other_scoring(settings, tmp_path):
    filter_bitext(replace(settings, best_share=0.5))
    x = sorted(by_hand(*line) for line in LINES)
    values = pq.read_table(tmp_path / "kept.parquet")["cross_entropy"].to_pylist()
    assert sorted(values) == pytest.approx(x[:12], abs=1e-4)
    shards = sorted((tmp_path / "kept.parquet.shards").glob("rows-*"))
    times = [shard.stat().st_mtime_ns for shard in shards]
    assert filter_bitext(replace(settings, best_share=0.25))["kept"] == 6
    assert [shard.stat().st_mtime_ns for shard in shards] == times and len(shards) == 3
    (tmp_path / "notes.tsv").write_text("mine")
    with pytest.raises(FileExistsError, match=r"wanted a new file to write, got .*notes.tsv"):
        filter_bitext(replace(settings, refused=str(tmp_path / "notes.tsv")))
    with pytest.raises(ValueError, match="length_grace was 10, now 11"):
        filter_bitext(replace(settings, length_grace=11))


def test_a_choice_alone_loads_no_model(settings, tmp_path, monkeypatch):
    filter_bitext(replace(settings, best_share=1.0))
    monkeypatch.setattr("toolkit.score.filter_bitext.load_translator", None)
    assert filter_bitext(replace(settings, best_share=0.5))["kept"] == 12


def test_of_equal_pairs_the_first_are_kept(tmp_path, monkeypatch):
    x = [2.0, 1.0, 2.0, 2.0, np.nan, 3.0]
    assert _limit_of(np.array(x), 0.6) == (2.0, 2) and _limit_of(np.array(x), 0.01) == (1.0, 1)
    assert _limit_of(np.array([np.nan]), 0.6) == (np.inf, 0)
    reasons = pa.array([None, None, None, None, "empty", None], pa.string())
    columns = {"line": range(6), "source": ["s"] * 6, "reference": ["r"] * 6, "reason": reasons, "x": x}
    whole = pa.table(columns)
    monkeypatch.setattr("toolkit.score.cross_entropy._scored_pairs", lambda shard: [whole[:3], whole[3:]])
    share = BitextFilter(
        bitext=["b.tsv"], source_lang="de", lang="en", forward="f", backward="b", output="o.tsv", best_share=0.6
    )
    table = pa.concat_tables(_judged([tmp_path], share))
    assert table["reason"].to_pylist() == [None, None, None, "cross_entropy", "empty", "cross_entropy"]
    assert table["cross_entropy"].to_pylist() == [2.0, 1.0, 2.0, 2.0, None, 3.0]


@pytest.mark.slow
def test_pairs_that_are_no_translations_are_found(settings, tmp_path):
    lines = [line.split("\t") for line in DEMO.read_text(encoding="utf-8").splitlines()][:60]
    wrong = [(lines[n][0], lines[(n + 30) % 60][1]) for n in range(60)]
    (tmp_path / "demo.tsv").write_text("".join("\t".join(line) + "\n" for line in [*lines, *wrong]))
    models = {"forward": "starter/de-en", "backward": "starter/en-de", "best_share": 0.5, "shard_rows": 1000}
    counts = filter_bitext(replace(settings, **models))
    numbers = pq.read_table(tmp_path / "kept.parquet")["line"].to_pylist()
    assert counts["kept"] == len(numbers) == 60 and sum(line <= 60 for line in numbers) >= 57


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(settings, tmp_path):
    filter_bitext(replace(settings, best_share=0.5, output=str(tmp_path / "one.tsv")))
    flags = [f"--{name}={getattr(settings, name)}" for name in ("forward", "backward", "source_lang", "lang", "dtype")]
    flags += ["--bitext", *settings.bitext, "--shard_rows=10", "--threads=1", "--best_share=0.5", "--processes=2"]
    command = [PYTHON, str(ROOT / "scripts" / "filter_bitext.py"), *flags, f"--output={tmp_path / 'two.tsv'}"]
    process = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert process.returncode == 0 and "12 of 26 lines kept" in process.stdout, process.stderr
    assert (tmp_path / "one.tsv").read_bytes() == (tmp_path / "two.tsv").read_bytes()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"best_share": 0.5, "max_cross_entropy": 2.0},
            "wanted a share above 0 or a threshold, got best_share 0.5",
        ),
        ({"best_share": 0.0}, "wanted a share above 0"),
        ({"best_share": 1.5}, r"wanted best_share in \[0, 1\], got 1.5"),
        ({"max_cross_entropy": -1.0}, "wanted max_cross_entropy above 0, got -1.0"),
        ({"output": "kept.csv"}, "wanted a file in .tsv"),
        ({"refused": "kept.parquet", "output": "kept.parquet"}, "wanted two files"),
    ],
)
def test_settings_out_of_range(settings, changed, message):
    with pytest.raises(ValueError, match=message):
        replace(settings, **changed)


@pytest.mark.slow
def test_the_command_says_in_one_line_what_went_wrong(settings, tmp_path, capsys):
    flags = ["--bitext", *settings.bitext, "--source_lang", "de", "--lang", "en", "--output", str(tmp_path / "k.tsv")]
    assert main([*flags, "--forward", "starter/en-de", "--backward", "starter/de-en"]) == 1
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("parabank filter bitext: wanted a translator from de to en, got 'starter/en-de'")
    shutil.rmtree(tmp_path / "k.tsv.shards", ignore_errors=True)
    strict = ["--forward", settings.forward, "--backward", settings.backward, "--max_cross_entropy", "0.001"]
    assert main([*flags, *strict]) == 1
    assert "wanted at least one usable" in capsys.readouterr().err and not (tmp_path / "k.tsv").exists()
    assert json.loads((tmp_path / "k.tsv.shards" / "settings.json").read_text())["max_cross_entropy"] == 0.001
