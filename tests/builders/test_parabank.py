"""ParaBank from a bitext to a data set, with tiny models: every system, real processes, and what may be missing."""

import json
import math
import signal
import subprocess

import datasets
import pytest

from builders.commands.build_parabank import main
from builders.parabank import ParaBankRun, build
from tests.run.test_shard_runs import KILL_AT_SHARD_3, contents, last_line
from tests.tiny import DEMO, ENVIRONMENT, PYTHON, ROOT, folder, pairs
from toolkit.bitext.idf import count_idf, write_idf
from toolkit.data.shards import read_shard
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.score.judgment import predict

PPDB = ROOT / "tests" / "generate" / "ppdb.txt"
SCRIPT = [str(ROOT / "scripts" / "build_parabank.py"), "parabank"]


@pytest.fixture(scope="module")
def idf_path(tmp_path_factory):
    """A table in which most words of the demo bitext are rare enough."""
    path = tmp_path_factory.mktemp("idf") / "idf.tsv"
    rare = [reference for _, reference in pairs(320) for _ in range(2)]
    write_idf(path, count_idf([*rare, *["nothing of this"] * 30_000]))
    return path


def settings(output, idf_path, **changed):
    source = {"bitext": [str(DEMO)], "source_lang": "de", "lang": "en", "limit": 12, "shard_rows": 3, "threads": 1}
    models = {"forward": str(folder() / "de-en"), "idf": str(idf_path), "dtype": "float32"}
    return {**source, **models, "output_dir": str(output), "beam": 4, "batch_rows": 60, **changed}


def flags(output, idf_path, **changed):
    options = settings(output, idf_path, **changed) | {"bitext": str(DEMO)}
    return [part for key, value in options.items() for part in (f"--{key}", str(value))]


def launch(program, output, idf_path, before="", **changed):
    """Run the script in real processes; `before` is Python that each of them runs when it starts."""
    start = output.parent / "start"
    start.mkdir(parents=True, exist_ok=True)
    (start / "sitecustomize.py").write_text(before)
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": f"{start}:{ROOT}"}
    return subprocess.run(
        [*program, *SCRIPT, *flags(output, idf_path, **changed)],
        env=environment,
        cwd=output.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def parabank(idf_path, tmp_path_factory):
    """All 37 systems on twelve references, in one process."""
    output = tmp_path_factory.mktemp("parabank") / "bank"
    process = launch([PYTHON], output, idf_path, systems="all", ppdb=PPDB)
    assert process.returncode == 0, process.stderr
    return output


@pytest.mark.slow
def test_a_table_that_no_word_passes_is_one_line_and_not_recorded(idf_path, tmp_path):
    table = tmp_path / "other.tsv"
    write_idf(table, count_idf(["czech words", "czech words", *["nothing of this"] * 1000]))
    process = launch([PYTHON], tmp_path / "bank", table, systems="evaluated")
    assert process.returncode == 1
    (line,) = [line for line in process.stderr.splitlines() if line.startswith("parabank build")]
    assert "got no word that passes these limits in 12 references: give --idf a table" in line
    build(ParaBankRun(**settings(tmp_path / "bank", idf_path, systems="17", limit=3)))  # the corrected command


def rows_of(output):
    return [row for shard in sorted(output.with_name("bank.shards").glob("rows-*")) for row in read_shard(shard)]


def test_every_text_names_the_systems_that_reached_it_and_meets_their_constraints(parabank):
    rows = rows_of(parabank)
    assert [(row.source, row.reference) for row in rows] == pairs(12)
    systems = {origin.recipe for row in rows for c in row.candidates for origin in c.origins}
    assert systems >= {str(n) for n in range(1, 35)}
    for row in rows:
        texts = [c.text for c in row.candidates]
        assert len(set(texts)) == len(texts)
        for candidate in row.candidates:
            for origin in candidate.origins:
                anchored = tuple(p.removeprefix("<BOS> ") for p in origin.negative if p.startswith("<BOS> "))
                negative = tuple(p for p in origin.negative if not p.startswith("<BOS> "))
                assert origin.unmet == ConstraintSet(tuple(origin.positive), negative, anchored).unmet(candidate.text)
            assert (candidate.rank is None) == (candidate.reason is not None)
            assert candidate.reason or not all(origin.unmet for origin in candidate.origins)
    assert sum(len(row.paraphrases) for row in rows) > 40, "nothing would be compared"


def test_ranks_follow_the_predicted_judgment(parabank):
    for row in rows_of(parabank):
        scores = [c.scores.judgment for c in row.paraphrases]
        expected = predict([row.reference] * len(scores), [c.text for c in row.paraphrases])
        assert [math.nan if score is None else score for score in scores] == pytest.approx(expected, nan_ok=True)
        judged = [score for score in expected if score == score]
        assert judged == sorted(judged, reverse=True) == expected[: len(judged)]


def test_the_card_counts_what_each_system_reached(parabank):
    card, statistics = (parabank / "README.md").read_text(), json.loads((parabank / "statistics.json").read_text())
    rows = rows_of(parabank)
    for line in statistics["systems"]:
        of = [c for row in rows for c in row.candidates for o in c.origins if o.recipe == line["recipe"]]
        assert line["paraphrases"] == sum(c.rank is not None for c in of)
        assert f"| {line['recipe']} | {line['references']} | {line['candidates']} | {line['unmet']} |" in card
    assert "{{" not in card and "Undefined" not in card
    published = datasets.load_dataset(str(parabank), "pairs", cache_dir=str(parabank.parent / "cache"))
    assert sum(map(len, published.values())) == statistics["total"]["pairs"]


@pytest.mark.slow
def test_two_processes_and_a_kill_make_the_same_bytes(parabank, idf_path, tmp_path):
    output = tmp_path / "bank"
    ranks = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    killed = launch([PYTHON], output, idf_path, KILL_AT_SHARD_3, systems="all", ppdb=PPDB)
    assert killed.returncode == -signal.SIGKILL
    process = launch(ranks, output, idf_path, systems="all", ppdb=PPDB)
    assert process.returncode == 0, process.stderr
    files, expected = contents(output), contents(parabank)
    assert sorted(files) == sorted(expected) and [n for n in expected if files[n] != expected[n]] == []


@pytest.mark.slow
def test_a_limit_of_paraphrases_and_no_copies(idf_path, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    build(ParaBankRun(**settings(tmp_path / "bank", idf_path, paraphrases=1, systems="evaluated")))
    rows = rows_of(tmp_path / "bank")
    assert all(len(row.paraphrases) <= 1 for row in rows)
    assert any(c.reason == "rank" for row in rows for c in row.candidates)
    assert not any(c.text == row.reference for row in rows for c in row.paraphrases)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"systems": "35"}, "wanted PPDB for system 35, got none: give --ppdb FILE"),
        ({"systems": "38"}, "wanted systems 1 to 37"),
        ({"beam": 0}, "wanted beam and batch_rows of at least 1"),
    ],
)
def test_settings_that_cannot_be(changed, message, idf_path, tmp_path):
    with pytest.raises(ValueError, match=message):
        ParaBankRun(**settings(tmp_path / "bank", idf_path, **changed))


@pytest.mark.parametrize(
    "changed", [{"idf": "nowhere.tsv"}, {"ppdb": "nowhere.txt", "systems": "35"}, {"known_words": "nowhere"}]
)
def test_files_that_are_missing_are_one_line(changed, idf_path, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert main(["parabank", *flags(tmp_path / "bank", idf_path, **changed)]) == 1
    message = last_line(capsys)
    assert "wanted" in message and "nowhere" in message
