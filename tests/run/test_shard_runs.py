"""Real processes on seven shards: the same bytes for any number of them and of kills, and errors of one line."""

import errno
import gc
import importlib.util
import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from accelerate import PartialState
from safetensors.torch import load_file, save_file

from tests.tiny import BRIEF, DEMO, ENVIRONMENT, PYTHON, ROOT, folder, killing_at, pairs
from toolkit.data.rows import Row
from toolkit.data.shards import read_shard, write_shard
from toolkit.run.shard_runs import few_collections
from toolkit.system.lock import held

SCRIPT = ROOT / "scripts" / "build_parabank.py"
ALONE = [PYTHON, str(SCRIPT)]
KILL_AT_SHARD_3 = killing_at("rows-00003.parquet")
# Sends SIGTERM to a process when shard 3 of the run is about to get its name, and waits until it has come here, and for
# a moment for others to which a launcher passes it on.
TERM_AT_SHARD_3 = """
import os, signal, time
rename = os.replace
def replace(source, target):
    if str(target).endswith("bank.shards/rows-00003.parquet"):
        note, came = signal.getsignal(signal.SIGTERM), []
        signal.signal(signal.SIGTERM, lambda *signalled: came.append(note(*signalled)))
        os.kill({who}, signal.SIGTERM)
        while not came:
            time.sleep(0.05)
        time.sleep(0.3)
    rename(source, target)
os.replace = replace
"""


def ranks(count: int) -> list[str]:
    launcher = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(count)]
    return [*launcher, str(SCRIPT)]


def flags(output: Path, **changed: object) -> list[str]:
    settings = {
        "bitext": DEMO,
        "source_lang": "de",
        "lang": "en",
        "forward": folder(BRIEF) / "de-en",
        "backward": folder(BRIEF) / "en-de",
        "output_dir": output,
        "limit": 21,
        "shard_rows": 3,
        "constraint_sets": 2,
        "samples_per_set": 5,
        "max_dual_nll": 60.0,
        "threads": 1,
        "dtype": "float32",
        **changed,
    }
    return ["parabank2", *(part for key, value in settings.items() for part in (f"--{key}", str(value)))]


def launch(program: list[str], output: Path, before: str = "", **changed: object) -> subprocess.CompletedProcess:
    """Run the script in real processes; `before` is Python that each of them runs when it starts."""
    start = output.parent / "start"
    start.mkdir(parents=True, exist_ok=True)
    (start / "sitecustomize.py").write_text(before)
    environment = ENVIRONMENT | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": f"{start}{os.pathsep}{ROOT}"}
    command = [*program, *flags(output, **changed)]
    return subprocess.run(command, env=environment, cwd=output.parent, capture_output=True, text=True, timeout=300)


def contents(output: Path) -> dict[str, bytes]:
    """Every shard of a run and every file of the data set made of it."""
    shards = output.with_name(output.name + ".shards")
    files = [*shards.glob("*.parquet"), *(p for p in output.rglob("*") if p.is_file())]
    return {p.relative_to(output.parent).as_posix(): p.read_bytes() for p in sorted(files)}


def names(output: Path, pattern: str) -> list[str]:
    return sorted(p.name for p in output.with_name(output.name + ".shards").glob(pattern))


@pytest.fixture(scope="session")
def parabank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process makes, not interrupted."""
    output = tmp_path_factory.mktemp("alone") / "bank"
    process = launch(ALONE, output)
    assert process.returncode == 0, process.stderr
    return output


def assert_same(output: Path, expected: Path) -> None:
    files, expected_files = contents(output), contents(expected)
    assert sorted(files) == sorted(expected_files)
    assert [name for name in expected_files if files[name] != expected_files[name]] == []


def test_one_process_makes_seven_shards_and_a_data_set(parabank):
    assert names(parabank, "rows-*") == [f"rows-{n:05d}.parquet" for n in range(7)]
    assert names(parabank, ".*.tmp") == []
    assert (parabank / "README.md").exists()
    rows = [row for n in range(7) for row in read_shard(parabank.with_name("bank.shards") / f"rows-{n:05d}.parquet")]
    assert [(row.source, row.reference) for row in rows] == pairs(21)
    assert all(sum(c.draws for c in row.candidates) == 10 for row in rows)
    assert all((c.rank is None) != (c.reason is None) for row in rows for c in row.candidates)
    assert sum(len(row.paraphrases) for row in rows) > 40, "nothing would be compared"


@pytest.mark.slow
def test_three_processes_make_the_same_bytes(parabank, tmp_path):  # two of them: below
    process = launch(ranks(3), tmp_path / "bank")
    assert process.returncode == 0, process.stderr
    assert_same(tmp_path / "bank", parabank)


@pytest.mark.slow
@pytest.mark.parametrize("program", [ALONE, ranks(2)], ids=["the process", "one rank of two"])
def test_killed_and_started_again_it_makes_the_same_bytes(program, parabank, tmp_path):
    output = tmp_path / "bank"
    killed = launch(program, output, KILL_AT_SHARD_3)
    assert killed.returncode == (-signal.SIGKILL if program is ALONE else 1)
    assert "rows-00003.parquet" not in names(output, "rows-*")
    assert 1 <= len(names(output, "rows-*")) < 7
    (half,) = output.with_name("bank.shards").glob(".rows-00003.parquet.*")
    half.write_bytes(half.read_bytes()[:100])
    times = {name: (output.with_name("bank.shards") / name).stat().st_mtime_ns for name in names(output, "rows-*")}
    again = launch(program, output)
    assert again.returncode == 0, again.stderr
    assert_same(output, parabank)
    assert names(output, ".*.tmp") == [], "the killed process's temporary file is gone"
    assert all((output.with_name("bank.shards") / n).stat().st_mtime_ns == t for n, t in times.items()), "done is done"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "processes", "who"),
    [(ALONE, 1, "os.getpid()"), (ALONE, 2, "os.getppid()"), (ranks(2), 1, "os.getppid()")],
    ids=["the process", "the launcher of two", "torchrun"],
)
def test_after_sigterm_shards_in_flight_are_finished_and_no_other_begins(program, processes, who, parabank, tmp_path):
    output = tmp_path / "bank"
    ended = launch(program, output, TERM_AT_SHARD_3.format(who=who), processes=processes)
    shards = names(output, "rows-*")
    assert "rows-00003.parquet" in shards and len(shards) < 7 and not (output / "README.md").exists()
    assert names(output, ".*.tmp") == []
    if program is ALONE:
        assert ended.returncode == 143, ended.stderr
        assert ended.stderr.splitlines()[-1] == (
            f"parabank build: ended by SIGTERM; {len(shards)} of 7 shards are finished, the same command goes on "
            "from there"
        )
    again = launch(program, output)
    assert again.returncode == 0, again.stderr
    assert_same(output, parabank)


# The second process stops at its first shard; the first is patient for a second.
STOP_RANK_1 = """
import os, signal
import toolkit.run.shard_runs
toolkit.run.shard_runs.LEAST_OVERDUE, toolkit.run.shard_runs.OVERDUE = 1.0, 0
rename = os.replace
def replace(source, target):
    if os.environ.get("RANK") == "1" and "bank.shards/rows-" in str(target) and not os.path.exists("stopped"):
        with open("stopped", "w") as file:
            file.write(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
    rename(source, target)
os.replace = replace
"""


@pytest.mark.slow
def test_the_shards_of_a_process_that_was_stopped_are_made_by_another(parabank, tmp_path):
    output, stopped = tmp_path / "bank", tmp_path / "stopped"

    def go_on() -> None:
        """Let the process go on when all shards are there."""
        for _ in range(1200):
            if stopped.exists() and len(names(output, "rows-*")) == 7:
                break
            time.sleep(0.1)
        os.kill(int(stopped.read_text()), signal.SIGCONT)

    with ThreadPoolExecutor() as pool:
        gone_on = pool.submit(go_on)
        process = launch(ALONE, output, STOP_RANK_1, processes=2)
        gone_on.result()
    assert process.returncode == 0, process.stderr
    assert "process 1 has finished no shard for 0 minutes, so this one makes input-0000" in process.stderr
    assert_same(output, parabank)


@pytest.mark.slow
def test_a_rank_that_believes_it_is_alone_stops(tmp_path):
    start = {**ENVIRONMENT, "WORLD_SIZE": "2"}
    start.pop("ACCELERATE_USE_CPU", None)
    process = subprocess.run(
        [*ALONE, *flags(tmp_path / "bank")], env=start, capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 1
    assert (
        process.stderr.strip()
        .splitlines()[-1]
        .startswith("parabank build: wanted 2 processes (WORLD_SIZE), got this one")
    )
    assert "Traceback" not in process.stderr
    assert not list(tmp_path.rglob("*.parquet"))


# From here on in this process: `main` returns what the script exits with, and an exception would be the traceback.


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], int]:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    spec = importlib.util.spec_from_file_location("build_parabank", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def last_line(capsys: pytest.CaptureFixture) -> str:
    return capsys.readouterr().err.strip().splitlines()[-1]


@pytest.mark.slow
def test_in_this_process_it_makes_the_same_shards(main, parabank, tmp_path):
    assert main(flags(tmp_path / "bank")) == 0
    assert_same(tmp_path / "bank", parabank)
    assert main(flags(tmp_path / "bank")) == 0, "again, with nothing to do"
    assert_same(tmp_path / "bank", parabank)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"), [("seed", 1), ("samples_per_set", 6), ("shard_rows", 4), ("threads", 2), ("limit", 22)]
)
def test_a_changed_setting_is_named(main, capsys, tmp_path, key, value):
    output = tmp_path / "bank"
    assert main(flags(output, limit=3)) == 0
    before = contents(output)
    assert main(flags(output, **{"limit": 3, key: value})) == 1
    error = last_line(capsys)
    assert f"{key} was " in error
    assert error.count(" was ") == 1
    assert "take them back or choose another output" in error
    assert contents(output) == before


@pytest.mark.slow
def test_what_changes_no_shard_may_change(main, tmp_path):
    assert main(flags(tmp_path / "bank", limit=3)) == 0
    assert main(flags(tmp_path / "bank", limit=3, version="1.0.1", license="cc0-1.0")) == 0


@pytest.mark.slow
def test_a_bitext_that_grew_is_found(main, capsys, tmp_path):
    bitext = tmp_path / "mine.tsv"
    bitext.write_text("".join(f"{source}\t{reference}\n" for source, reference in pairs(3)), encoding="utf-8")
    assert main(flags(tmp_path / "bank", bitext=bitext)) == 0
    with bitext.open("a", encoding="utf-8") as file:
        file.write("Und noch einer.\tAnd one more.\n")
    assert main(flags(tmp_path / "bank", bitext=bitext)) == 1
    assert "content of bitext was" in last_line(capsys)


@pytest.mark.slow
def test_a_model_that_was_trained_on_in_place_is_found(main, capsys, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(folder() / "de-en", model)
    assert main(flags(tmp_path / "bank", limit=3, forward=model)) == 0
    weights = load_file(model / "model.safetensors")
    save_file({name: weight + 1e-3 for name, weight in weights.items()}, model / "model.safetensors")
    assert main(flags(tmp_path / "bank", limit=3, forward=model)) == 1
    assert "content of forward was" in last_line(capsys)


@pytest.mark.slow
@pytest.mark.parametrize(
    "typo",
    [{"bitext": "lost.tsv"}, {"forward": "lost"}, {"backward": "lost"}, {"known_words": "lost.txt"}, {"lang": "fr"}],
)
def test_after_a_typo_the_corrected_command_runs(main, tmp_path, typo):
    bitext = tmp_path / "mine.tsv"
    bitext.write_text("".join(f"{source}\t{reference}\n" for source, reference in pairs(21)), encoding="utf-8")
    settings = {"bitext": bitext, "limit": 12, "shard_rows": 12}
    assert main(flags(tmp_path / "bank", **settings | typo)) == 1
    assert main(flags(tmp_path / "bank", **settings)) == 0


@pytest.mark.slow
def test_swapped_columns_are_found_unless_told(main, capsys, tmp_path):
    swapped = {"source_column": 1, "reference_column": 0, "limit": 12, "shard_rows": 12}
    assert main(flags(tmp_path / "bank", **swapped)) == 1
    assert "the columns are swapped" in last_line(capsys)
    assert main([*flags(tmp_path / "bank", **swapped), "--no-check_language"]) == 0


def test_what_became_of_the_lines_is_told(main, capsys, tmp_path):
    bitext = tmp_path / "mine.tsv"
    bitext.write_text("Hallo!\tHello!\nHallo!\tHello!\nkein Tab\n\tempty\n", encoding="utf-8")
    assert main(flags(tmp_path / "bank", bitext=bitext, forward=folder() / "de-en")) == 0
    stderr = capsys.readouterr().err
    assert f"{bitext}: 4 lines read, 1 kept, refused: 1 as columns (too few or too many columns between TABs)" in stderr
    assert "), 1 as duplicate (the same text before)" in stderr
    assert "1 as empty (a side has too few characters)" in stderr


@pytest.mark.slow
def test_the_bar_counts_rows_and_ends_full(main, capsys, tmp_path):
    assert main(flags(tmp_path / "bank")) == 0
    assert "100%" in (stderr := capsys.readouterr().err)
    assert "21/21 rows" in stderr


@pytest.mark.slow
def test_a_second_launcher_is_told_who_is_at_work(main, capsys, tmp_path):
    output = tmp_path / "bank"
    assert main(flags(output, limit=3)) == 0
    with held(output.with_name("bank.shards"), PartialState(cpu=True)):
        assert main(flags(output, limit=3)) == 1
    assert f"got it held by process {os.getpid()}" in last_line(capsys)


def test_a_failing_shard_names_its_rows(main, capsys, monkeypatch, tmp_path):
    from toolkit.generate import sample

    def failing(*_: object) -> None:
        raise RuntimeError("out of something")

    monkeypatch.setattr(sample, "choose_words", failing)
    assert main(flags(tmp_path / "bank", limit=3)) == 1
    error = last_line(capsys)
    assert "input-00000.parquet: row bitext-" in error
    assert error.endswith("out of something")


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.slow
def test_a_full_disk_leaves_no_half_shard(main, capsys, monkeypatch, parabank, tmp_path):
    output, rename = tmp_path / "bank", os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: full_disk() if "rows-00002" in str(b) else rename(a, b))
    assert main(flags(output)) == 1
    error = last_line(capsys)
    assert "No space left on device" in error
    assert "rows-00002.parquet, which was not written; every file that was finished is kept" in error
    assert names(output, "rows-*") == ["rows-00000.parquet", "rows-00001.parquet"]
    assert names(output, ".*.tmp") == []
    monkeypatch.undo()
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert main(flags(output)) == 0
    assert_same(output, parabank)


def test_a_write_that_the_system_cuts_short_leaves_nothing(tmp_path):
    rows = [Row(f"a-{n}", "a", os.urandom(20).hex(), "de", os.urandom(20).hex(), "en", "train") for n in range(50)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            write_shard(tmp_path / "rows-00000.parquet", rows)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_bitext_without_usable_pairs(main, capsys, tmp_path):
    bitext = tmp_path / "bad.tsv"
    bitext.write_text("same\tsame\n\tempty\nno tab\n", encoding="utf-8")
    assert main(flags(tmp_path / "bank", bitext=bitext)) == 1
    first = last_line(capsys)
    assert "wanted at least one usable pair" in first
    assert "1 as columns" in first
    assert main(flags(tmp_path / "bank", bitext=bitext)) == 1
    assert last_line(capsys) == first, "the same command says the same"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"forward": "nonsense"}, "wanted a model, got 'nonsense'"),
        ({"backward": "starter/xx-yy"}, "wanted a starter model of"),
        ({"bitext": "lost.tsv"}, "lost.tsv"),
        ({"version": "one"}, "version"),
    ],
)
def test_errors_are_one_line(main, capsys, tmp_path, changed, message):
    assert main(flags(tmp_path / "bank", **{"limit": 3} | changed)) == 1
    error = last_line(capsys)
    assert error.startswith("parabank build: ")
    assert message in error


@pytest.mark.parametrize(
    "knob",
    ["threads", "top_k", "constraint_sets", "samples_per_set", "shard_rows", "clusters", "batch_rows", "limit"],
)
def test_a_knob_out_of_range_is_refused_before_any_work(main, capsys, tmp_path, knob):
    with pytest.raises(SystemExit) as stopped:
        main(flags(tmp_path / "bank", **{"limit": 3} | {knob: 0}))
    assert stopped.value.code == 2
    error = last_line(capsys)
    assert "wanted" in error and knob in error
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_model_is_one_line(main, capsys, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    for file in (folder() / "de-en").iterdir():
        (model / file.name).write_bytes(file.read_bytes()[: 500 if file.suffix == ".safetensors" else None])
    assert main(flags(tmp_path / "bank", limit=3, forward=model)) == 1
    assert str(model) in last_line(capsys)


def test_a_folder_that_is_no_parabank_is_not_replaced(main, capsys, tmp_path):
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank" / "thesis.txt").write_text("mine")
    assert main(flags(tmp_path / "bank", limit=3)) == 1
    assert "which holds files but no parabank.json of this toolkit" in last_line(capsys)
    assert [p.name for p in (tmp_path / "bank").iterdir()] == ["thesis.txt"]


def test_settings_are_recorded(parabank):
    record = json.loads((parabank.with_name("bank.shards") / "settings.json").read_text())
    assert record["builder"] == "parabank2"
    assert (record["shard_rows"], record["top_k"], record["samples_per_set"]) == (3, 10, 5)


@pytest.mark.parametrize("arguments", [[], ["paranoia"]])
def test_without_a_builder_the_names_of_all_are_one_line(main, capsys, arguments):
    assert main(arguments) == 2
    streams = capsys.readouterr()
    assert streams.out == "" and streams.err.count("\n") == 1
    assert "wanted one of parabank2, parabank, paranmt, parazh, paranet, got " in streams.err
    assert streams.err.endswith(": see parabank build --help\n")


def test_the_usage_shows_every_builder(main, capsys):
    assert main(["--help"]) == 0
    stdout = capsys.readouterr().out
    assert "accelerate launch" in stdout and "parabank build parabank2 --help" in stdout


@pytest.mark.parametrize("is_frozen", [False, True])
def test_python_searches_for_cycles_less_often_while_shards_are_made_and_as_before_after_an_error(is_frozen):
    gc.unfreeze()
    if is_frozen:
        gc.freeze()
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="stop"), few_collections():
        assert gc.get_threshold()[0] > before[0] and gc.get_freeze_count() > 0
        raise ValueError("stop")
    assert gc.get_threshold() == before and (gc.get_freeze_count() > 0) == is_frozen
    gc.freeze()
