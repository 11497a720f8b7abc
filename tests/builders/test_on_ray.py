"""`--engine ray` with real machines of a cluster, on loopback: one dies while it works, one joins; the same bytes."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders import on_ray, paranet
from builders.pipeline import Pipeline
from tests.conftest import demo_rows
from tests.run.test_shard_runs import ALONE, TERM_AT_SHARD_3, assert_same, flags, launch, names
from tests.run.test_shard_runs import parabank as parabank
from tests.tiny import ENVIRONMENT, PYTHON, ROOT
from toolkit.data.shards import output_of, write_inputs
from toolkit.system.code_version import code_version

MEGABYTES = 2**27  # of a machine's object store
# Before a machine finishes its second shard, all of it dies, as when it loses its power: a worker's parent is Ray's own
# process, with which all of its workers end.
DIE_AT_SECOND_SHARD = """
import os, signal, time
rename = os.replace
def replace(source, target):
    if "rows-" in str(target):
        if os.path.exists(os.environ["FIRST_SHARD"]):
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        open(os.environ["FIRST_SHARD"], "w").close()
    rename(source, target)
os.replace = replace
"""


@pytest.fixture
def cluster(parabank, monkeypatch) -> Iterator:
    """A cluster whose first machine computes nothing. Its folder has a short path, because it holds sockets.

    The warm interpreters' server has to run before it (`parabank`): Ray ends what one of its processes has started.
    """
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    temporary = os.path.join(folder, "ray")  # where Ray also writes the cluster's address, if it exists
    os.mkdir(temporary)
    environment = {"RAY_TMPDIR": folder, "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    # A machine whose process is gone counts as dead after five looks; one that answers slowly still has ten seconds.
    environment |= {"RAY_health_check_initial_delay_ms": "300", "RAY_health_check_period_ms": "300"}
    monkeypatch.setattr(sys, "executable", PYTHON)  # with which Ray starts workers
    for name, value in (ENVIRONMENT | environment).items():
        monkeypatch.setenv(name, value)
    head = {"num_cpus": 0, "object_store_memory": MEGABYTES, "include_dashboard": False, "temp_dir": temporary}
    ray_cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    try:
        yield ray_cluster
    finally:
        ray_cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_one_machine_dies_another_joins_and_the_bytes_are_the_same(cluster, parabank, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(DIE_AT_SECOND_SHARD)
    environment = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "FIRST_SHARD": str(tmp_path / "first")}
    dying = cluster.add_node(num_cpus=1, object_store_memory=MEGABYTES, env_vars=environment)
    output = tmp_path / "bank"
    command = [*ALONE, *flags(output), "--engine", "ray", "--ray_address", cluster.address]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        try:
            dying.all_processes["raylet"][0].process.wait(400)
            assert names(output, "rows-*") == ["rows-00000.parquet"]
            cluster.add_node(num_cpus=1, object_store_memory=MEGABYTES)
            _, stderr = running.communicate(timeout=400)
        finally:
            running.kill()
    assert running.returncode == 0, stderr.decode()
    assert b"input-00001.parquet: its worker or machine died, so another one makes it" in stderr
    assert b"raylet" not in stderr, "Ray's own messages are not shown"
    assert_same(output, parabank)


@pytest.mark.slow
def test_on_this_machine_sigterm_ends_it_after_the_shards_in_flight_and_another_engine_goes_on(parabank, tmp_path):
    pytest.importorskip("ray")
    output = tmp_path / "bank"
    ended = launch(ALONE, output, TERM_AT_SHARD_3.format(who="os.getpid()"), engine="ray", ray_workers=1)
    assert ended.returncode == 143, ended.stderr
    assert ended.stderr.splitlines()[-1] == (
        "parabank build: ended by SIGTERM; 4 of 7 shards are finished, the same command goes on from there"
    )
    again = launch(ALONE, output)
    assert again.returncode == 0, again.stderr
    assert_same(output, parabank)


class Fake:
    """A worker whose tasks say what happens to them."""

    def __init__(self) -> None:
        ready, make = (lambda: ("ready", self)), (lambda name, content: (name, self))
        self.ready = SimpleNamespace(options=lambda max_task_retries: SimpleNamespace(remote=ready))
        self.make = SimpleNamespace(remote=make)


def test_a_shard_over_which_workers_die_again_and_again_ends_the_run(monkeypatch, capsys, tmp_path):
    pytest.importorskip("ray")
    inputs = write_inputs(tmp_path, demo_rows(), 2)

    def result(task: tuple[str, Fake]) -> dict[str, bytes] | None:
        if task[0] == "ready":
            return None
        if task[0] == inputs[1].name:
            raise on_ray.Died("wanted a worker that lives")
        return {output_of(Path(task[0])).name: b"made"}

    monkeypatch.setattr(on_ray, "next_done", lambda tasks, stopped, overdue: next(iter(tasks)))
    monkeypatch.setattr(on_ray, "result", result)
    with pytest.raises(RuntimeError, match=r"input-00001.parquet: wanted a worker that lives"):
        on_ray.make_shards(inputs, lambda shard: None, Fake(), Fake, most=1)
    assert output_of(inputs[0]).read_bytes() == b"made" and not output_of(inputs[1]).exists()
    assert capsys.readouterr().err.count("input-00001.parquet: its worker or machine died") == on_ray.LIVES - 1


def making(monkeypatch, tmp_path, fails) -> list[Path]:
    """Input shards for workers that do one task after the other; `fails` has the errors of (task, worker)."""
    pytest.importorskip("ray")

    def result(task: tuple[str, Fake]) -> dict[str, bytes] | None:
        if error := fails(*task):
            raise error
        return None if task[0] == "ready" else {output_of(Path(task[0])).name: b"made"}

    monkeypatch.setattr("ray.kill", lambda worker: None)
    monkeypatch.setattr(on_ray, "next_done", lambda tasks, stopped, overdue: next(iter(tasks)))
    monkeypatch.setattr(on_ray, "result", result)
    return write_inputs(tmp_path, demo_rows(), 2)


def test_after_a_shard_whose_rows_fail_those_in_flight_are_finished_and_no_other_begins(monkeypatch, tmp_path):
    rows = RuntimeError("input-00000.parquet: row 1 fails")
    inputs = making(monkeypatch, tmp_path, lambda task, worker: rows if task == "input-00000.parquet" else None)
    shards = []
    with pytest.raises(RuntimeError, match=r"input-00000.parquet: row 1 fails"):
        on_ray.make_shards(inputs, shards.append, Fake(), Fake, most=2)
    assert len(inputs) == 3 and shards == [output_of(inputs[1])]


def test_a_worker_past_its_restarts_is_left_out_while_there_is_another(monkeypatch, capsys, tmp_path):
    lost_worker, tasks = Fake(), []

    def fails(task: str, worker: Fake) -> Exception | None:
        tasks.append(task)
        again = worker is lost_worker and tasks.count("ready") > 1
        return on_ray.Died("wanted a worker that lives") if again else None

    inputs = making(monkeypatch, tmp_path, fails)
    on_ray.make_shards(inputs, lambda shard: None, lost_worker, Fake, most=2)
    assert all(output_of(path).exists() for path in inputs)
    stderr = capsys.readouterr().err
    assert "input-00000.parquet: its worker or machine died, so another one makes it" in stderr
    assert "a worker died again and again, so the others go on without it" in stderr


def test_a_worker_whose_machine_is_away_for_long_is_asked_again_and_gets_shards(monkeypatch, capsys, tmp_path):
    distant_worker, calls = Fake(), []

    def fails(task: str, worker: Fake) -> Exception | None:
        calls.append((task, worker))
        return on_ray.Away("unavailable") if worker is distant_worker and len(calls) < 3 * on_ray.RESTARTS else None

    inputs = making(monkeypatch, tmp_path, fails)
    on_ray.make_shards(inputs, lambda shard: None, distant_worker, Fake, most=1)
    assert [task for task, _ in calls].count("ready") > 2 * on_ray.RESTARTS
    assert all(output_of(path).exists() for path in inputs) and capsys.readouterr().err.count("died") == 0


def test_a_shard_whose_worker_was_stopped_is_told_and_made_by_another(monkeypatch, capsys, tmp_path):
    stopped, now, killed = Fake(), [0.0], []
    inputs = making(monkeypatch, tmp_path, lambda task, worker: None)
    monkeypatch.setattr("ray.kill", killed.append)
    monkeypatch.setattr(on_ray, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def next_done(tasks: on_ray.Tasks, is_stopped: object, overdue: Callable[[], Path | None]) -> tuple | None:
        now[0] += 1
        working = [task for task, (worker, path) in tasks.items() if worker is not stopped or path is None]
        if not working:
            now[0] += on_ray.LEAST_OVERDUE
            assert overdue() == inputs[0]
        return working[0] if working else None

    monkeypatch.setattr(on_ray, "next_done", next_done)
    on_ray.make_shards(inputs, lambda shard: None, stopped, Fake, most=2)
    assert all(output_of(path).exists() for path in inputs) and stopped in killed
    stderr = capsys.readouterr().err
    assert (
        stderr.count("another one makes it, too") == 1
        and "input-00000.parquet: its worker has had it for 1 min" in stderr
    )


def test_the_end_of_the_head_is_told_once(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr(on_ray, "LOOK", 0.01)
        ended = threading.Event()
        watch = threading.Thread(target=on_ray._watch_head, args=(address, ended))
        watch.start()
        server.accept()[0].close()
        assert watch.is_alive()
    watch.join(60)
    assert capsys.readouterr().err == on_ray.HEAD.format(address=address) + "\n"
    ended.set()
    on_ray._watch_head(address, ended)
    assert capsys.readouterr().err == ""


def test_no_worker_left_ends_the_run(monkeypatch, tmp_path):
    inputs = making(monkeypatch, tmp_path, lambda task, worker: on_ray.Died("wanted a worker that lives"))
    with pytest.raises(RuntimeError, match="loading the models: wanted a worker that lives"):
        on_ray.make_shards(inputs, lambda shard: None, Fake(), Fake, most=3)


@pytest.mark.parametrize(("alone", "cores"), [(True, 2), (False, 8)])
def test_alone_a_worker_asks_for_no_more_cores_than_there_are(monkeypatch, alone, cores):
    pytest.importorskip("ray")
    core_counts = []
    monkeypatch.setattr("ray.cluster_resources", lambda: {"CPU": 2.0})
    monkeypatch.setattr(
        "ray.remote", lambda worker: SimpleNamespace(options=lambda **options: core_counts.append(options["num_cpus"]))
    )
    on_ray.starter(on_ray.Job(lambda state: None, 8, "all", ".", {}, {}, {}), alone)
    assert core_counts == [cores]


@pytest.mark.parametrize("per_gpu", [1, 2, 3, 7, 100])
def test_workers_ask_for_parts_of_a_gpu_that_fit_together(monkeypatch, per_gpu):
    pytest.importorskip("ray")
    requests = []
    monkeypatch.setattr("ray.cluster_resources", lambda: {"CPU": 16.0, "GPU": 1.0})
    monkeypatch.setattr(
        "ray.remote", lambda worker: SimpleNamespace(options=lambda **options: requests.append(options))
    )
    on_ray.starter(on_ray.Job(lambda state: None, 8, "all", ".", {}, {}, {}), False, per_gpu)
    parts = round(requests[0]["num_gpus"] * 10_000)  # as Ray counts them
    assert requests[0]["num_cpus"] == 1 and per_gpu * parts <= 10_000 < (per_gpu + 1) * parts


class Together:
    """Loads nothing, and is ready when another worker is there, too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, state: object) -> Pipeline:
        (self.folder / str(os.getpid())).touch()
        end = time.monotonic() + 60
        while len(list(self.folder.iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        return Pipeline(iter, None, [{"gpu": os.environ["CUDA_VISIBLE_DEVICES"]}] * len(list(self.folder.iterdir())))


def test_without_ray_nothing_shares_a_gpu_by_workers():
    folders = {"infiller": "i", "fluency_model": "f", "semantic_model": "s"}
    with pytest.raises(ValueError, match="wanted --workers_per_gpu with --engine ray, got accelerate: --processes may"):
        paranet.ParaNetRun(text=["a.txt"], lang="en", output_dir="bank", workers_per_gpu=2, **folders)


@pytest.mark.slow
def test_two_workers_share_the_only_gpu(monkeypatch, tmp_path):
    """Ray counts a GPU that this machine does not have; torch sees none, so that the sizes are those of a CPU."""
    ray = pytest.importorskip("ray")
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    for name, value in (
        ENVIRONMENT | {"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": folder}
    ).items():
        monkeypatch.setenv(name, value)
    try:
        ray.init(num_cpus=4, num_gpus=1, include_dashboard=False, object_store_memory=MEGABYTES, log_to_driver=False)
        assert on_ray._room_of_worker("auto", 2) is None
        start = on_ray.starter(on_ray.Job(Together(tmp_path), 1, "all", ".", {}, {}, {}), True, 2)
        cards = ray.get([start().card.remote() for _ in range(2)], timeout=90)
        assert cards == [([{"gpu": "0"}] * 2, None)] * 2
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def test_workers_compare_files_whose_path_is_not_normal_and_lists_that_they_read(monkeypatch):
    jobs = []

    def starter(job: on_ray.Job, alone: bool, per_gpu: int) -> None:
        jobs.append(job)
        raise RuntimeError("enough")

    monkeypatch.setattr(on_ray, "connected", lambda address: contextlib.nullcontext(True))
    monkeypatch.setattr(on_ray, "starter", starter)
    settings = {
        "idf": "./idf.json",
        "ppdb": "./ppdb.gz",
        "prompt": "paraphrase",
        "text": ["a.txt"],
        "bitext": ["b.tsv"],
    }
    run = SimpleNamespace(
        ray_address=None,
        dtype="auto",
        workers_per_gpu=1,
        threads=1,
        keep="all",
        known_words=None,
        CPU_BATCHES={},
        shards_dir=".",
        **settings,
    )
    read = {"idf": [Path("idf.json")], "ppdb": ["./ppdb.gz"], "text": ["a.txt"]}
    files = {**read, "prompt": [Path("of/the/toolkit.txt")], "bitext": ["b.tsv"], "known_words": []}
    with (
        pytest.raises(RuntimeError, match="enough"),
        on_ray.making_on_ray(run, lambda run, state: None, None, files, {}, {}, ["text", "decontaminate"]),
    ):
        pass
    assert jobs[0].files == read


@pytest.mark.parametrize("fit", [True, False])
def test_paranet_reads_its_text_to_fit_weights(monkeypatch, fit):
    lists = []
    monkeypatch.setattr(paranet, "build_parabank", lambda *settings, **options: lists.extend(options["lists"]))
    folders = {"infiller": "i", "fluency_model": "f", "semantic_model": "s"}
    run = paranet.ParaNetRun(text=["a.txt"], lang="en", output_dir="bank", fit_weights=fit, **folders)
    paranet.build(run)
    assert lists == (["text", "decontaminate"] if fit else [])


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (
            "127.0.0.1:1",
            r"wanted a Ray cluster at 127.0.0.1:1, got none \(ConnectionRefusedError.*: start one with ray",
        ),
        ("auto", r"wanted a Ray cluster at auto, got none \(ValueError: it is no HOST:PORT\): start one with ray"),
    ],
)
def test_no_cluster_is_one_line(address, message):
    pytest.importorskip("ray")
    with pytest.raises(RuntimeError, match=message), on_ray.connected(address):
        pass


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with (
        pytest.raises(ModuleNotFoundError, match=r"wanted the package ray, got none: pip install '\.\[ray\]'"),
        on_ray.connected(None),
    ):
        pass


def test_a_launcher_is_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match=r"wanted one process with --engine ray, got 2 \(WORLD_SIZE\): start it"):
        on_ray.check_alone()


def test_a_machine_with_another_model_or_toolkit_is_refused(tmp_path, monkeypatch):
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    job = on_ray.Job(lambda state: None, 1, "all", str(tmp_path), {}, {"forward": "model"}, {"forward": "sha256:0"})
    with pytest.raises(
        RuntimeError, match=r": wanted the forward of the machine with the command, got another one: copy"
    ):
        on_ray.Worker(job).ready()
    job = on_ray.Job(
        lambda state: None, 1, "all", str(tmp_path), {}, {}, {}, code_version() | {"sources": "0", "numpy": "1"}
    )
    text = r": wanted the code of the machine with the command, sources 0, got \w+; numpy 1, got \S+: install the same"
    with pytest.raises(RuntimeError, match=text):
        on_ray.Worker(job).ready()
