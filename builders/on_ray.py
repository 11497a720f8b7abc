"""`--engine ray`: workers of Ray make the shards of a run, on this machine or on all machines of a cluster.

This process reads the input, cuts it into shards, sends each to a worker and writes what comes back, so the machines
need no file system in common. Ray places the workers, tells when one or its machine dies, and starts those that found
no room when a machine joins. What is here is only which worker makes which shard.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

from builders.pipeline import Making, Pipeline, contents_of_run
from toolkit.data.progress import rows_bar
from toolkit.data.shards import count_rows, output_of
from toolkit.run.batches import settled
from toolkit.run.shard_runs import RunSettings, few_collections, make_shard
from toolkit.system.code_version import check_code, code_version
from toolkit.system.command import EXPECTED
from toolkit.system.errors import named_line, one_line
from toolkit.system.extras import naming_extra
from toolkit.system.signals import Stopped, stoppable
from toolkit.system.whole_files import write_whole

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.score.overlap import PieceSplitter

R = TypeVar("R", bound=RunSettings)
LIVES = 5  # ours: workers that may die over one shard before the run stops
RESTARTS = 50  # ours: times that Ray starts a worker again, wherever there is room, before it counts as dead
DIED = "wanted a worker that lives, got one that died again and again: see whether memory runs out; Ray's logs say more"
WAITING = (
    "no worker of Ray is ready yet; each takes a GPU, or its part by --workers_per_gpu, if the cluster has one, else a "
    "core for each of --threads"
)
PATIENCE = 60.0  # ours: seconds without a worker until a line says what is waited for
OVERDUE, LEAST_OVERDUE = 10, 60.0  # ours: times the median of the shards, and seconds, after which one is overdue
LOOK, FAILURES = 5.0, 2  # ours: seconds between looks at the head of the cluster, and failures until it is gone
HEAD = (
    "the head of Ray's cluster at {address} is gone, so Ray will end this command in about a minute: start a cluster "
    "again, then the same command goes on from the shards that are finished"
)
REACH = 10.0  # ours: seconds in which a cluster answers
WHENEVER = -1  # Ray repeats a task until the worker is there again, however long no machine has room for it
OBJECTS = 2**28  # ours: bytes for shards on their way, where Ray is started here; a shard has some megabytes

# What workers do, by Ray's reference to its result: the worker, and the input shard, or None while it gets ready.
Tasks = dict[Any, tuple[Any, Path | None]]


@dataclass(frozen=True)
class Job:
    """What a worker has to know of a run.

    Attributes:
        load: Loads the models.
        threads: Threads on a CPU, as recorded with the run.
        keep: Candidates that are kept in the shards.
        folder: The working folder of the driver, where relative paths begin.
        files: The files that `load` reads, by setting.
        models: The models that it loads, by setting.
        contents: What these are known by on the driver's machine, by setting.
        code: The code there (`toolkit.system.code_version`).
    """

    load: Callable[[PartialState], Pipeline]
    threads: int
    keep: str
    folder: str
    files: Mapping[str, list[str | Path]]
    models: Mapping[str, str]
    contents: Mapping[str, str]
    code: Mapping[str, str] = field(default_factory=code_version)


class Worker:
    """Loads the models of a run once, and makes one shard after the other; an actor of Ray."""

    def __init__(self, job: Job) -> None:
        """Load nothing yet."""
        self.job = job
        self.pipeline: Pipeline | None = None

    def load(self) -> Pipeline:
        """The pipeline with its models, which the first call loads.

        Raises:
            RuntimeError: They cannot be loaded, or are others than the driver's; the message names the machine.
        """
        if self.pipeline is None:
            try:
                self.pipeline = _load_pipeline(self.job)
            except EXPECTED as error:
                raise RuntimeError(f"{socket.gethostname()}: {one_line(error)}") from error
        return self.pipeline

    def ready(self) -> None:
        """Return when the models are loaded."""
        self.load()

    def card(self) -> tuple[list[dict], PieceSplitter | None]:
        """What the card says of the models, and how it cuts words."""
        return self.load().models, self.load().pieces

    def make(self, name: str, content: bytes) -> dict[str, bytes]:
        """Make a shard.

        Args:
            name: The name of the input shard.
            content: Its bytes.

        Returns:
            The files of the finished shard by their names; the shard itself is the last.

        Raises:
            RuntimeError: It failed; the message names the shard and the rows.
        """
        from toolkit.package.keep import write_kept

        recipe = self.load().recipe
        with tempfile.TemporaryDirectory() as folder, few_collections():
            path = Path(folder, name)
            path.write_bytes(content)
            make_shard(path, recipe, partial(write_kept, keep=self.job.keep))
            files = sorted(Path(folder).iterdir(), key=lambda file: file == output_of(path))
            return {file.name: file.read_bytes() for file in files if file != path}


def _load_pipeline(job: Job) -> Pipeline:
    """Load the models of a job on this machine.

    Raises:
        ValueError: The toolkit, a model or a file is another one than on the driver's machine.
    """
    import torch

    from toolkit.system.processes import processes

    check_code(job.code, "the machine with the command")
    if os.path.isdir(job.folder):
        os.chdir(job.folder)
    contents = contents_of_run(job.files, job.models)
    if changed := [setting for setting in contents if contents[setting] != job.contents[setting]]:
        raise ValueError(f"wanted the {', '.join(changed)} of the machine with the command, got another one: copy it")
    torch.set_num_threads(job.threads)
    return job.load(processes(exchange=False))


@contextlib.contextmanager
def making_on_ray(
    run: R,
    load: Callable[[R, PartialState], Pipeline],
    state: PartialState,
    files: Mapping[str, list[str | Path]],
    models: Mapping[str, str],
    contents: Mapping[str, str],
    lists: Collection[str] = (),
) -> Iterator[Making]:
    """Connect to Ray, and wait until a first worker has loaded the models.

    Args:
        run: The settings of the run.
        load: See `builders.build.build_parabank`.
        state: This process, which computes nothing.
        files: The files that the run reads, by setting.
        models: The models that it loads, by setting.
        contents: What files and models are known by.
        lists: See `builders.build.build_parabank`.

    Raises:
        RuntimeError: There is no Ray or no cluster; the models cannot be loaded; a launcher has started this process.
    """
    check_alone()
    named_files = {
        setting: paths
        for setting, paths in files.items()
        if setting in lists or _names(getattr(run, setting, None), paths)
    }
    with connected(run.ray_address) as alone:
        run = settled(
            run, run.shards_dir, models.values(), state, partial(_room_of_worker, run.dtype, run.workers_per_gpu)
        )
        job = Job(partial(load, run), run.threads, run.keep, os.getcwd(), named_files, models, contents)
        start = starter(job, alone, run.workers_per_gpu)
        first = start()
        card = first.card.options(max_task_retries=WHENEVER).remote()
        models_of_card, pieces = result(next_done({card: (first, None)}))
        make = partial(make_shards, first=first, start=start, most=run.ray_workers)
        yield Making(make, pieces, models_of_card, run.batch_sizes)


def _room_of_worker(dtype: str, per_gpu: int) -> int | None:
    """`toolkit.models.batch_sizes.room` on a machine of the cluster, before a worker has loaded anything there.

    Args:
        dtype: Of the run.
        per_gpu: Workers that share a GPU.
    """
    import ray

    from toolkit.models.batch_sizes import room
    from toolkit.models.precision import default_device

    if not _has_gpus():
        return None
    asked = ray.remote(lambda: room(default_device(), dtype, per_gpu)).options(num_gpus=_share(per_gpu), num_cpus=0)
    return result(asked.remote())


def _share(per_gpu: int) -> float:
    """The part of a GPU that a worker asks for, in Ray's steps of 1/10,000, so that all of a GPU's have room.

    >>> _share(1), _share(4), _share(7)
    (1.0, 0.25, 0.1428)
    """
    return 10_000 // per_gpu / 10_000


def _has_gpus() -> bool:
    """Whether the cluster has a GPU, so that every worker gets one."""
    import ray

    return ray.cluster_resources().get("GPU", 0) >= 1


def _names(value: object, paths: list[str | Path]) -> bool:
    """Whether a setting is the path of its only file; a starter or a prompt of the toolkit is no path.

    >>> _names("./idf.json", [Path("idf.json")]), _names("starter/de-en", [Path("idf.json")])
    (True, False)
    """
    return paths == [value] or paths == [Path(str(value))]


def check_alone() -> None:
    """Refuse to be one of several processes.

    Raises:
        RuntimeError: A launcher has started this process among others.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise RuntimeError(
            f"wanted one process with --engine ray, got {os.environ['WORLD_SIZE']} (WORLD_SIZE): start it without a "
            "launcher, Ray starts the others"
        )


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[bool]:
    """Connect to a cluster, or start Ray on this machine; leave it, or end it, after the block.

    Yields:
        Whether Ray was started here.

    Raises:
        ModuleNotFoundError: Ray is not installed.
        RuntimeError: There is no cluster.
    """
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_worker_niceness"):  # Ray's workers otherwise yield to all other work
        os.environ.setdefault(name, "0")
    with naming_extra():
        import ray
    address, handler = address or os.environ.get("RAY_ADDRESS") or "local", signal.getsignal(signal.SIGTERM)
    local_options: dict[str, Any] = (
        {"include_dashboard": False, "object_store_memory": OBJECTS} if address == "local" else {}
    )
    try:
        if address != "local":
            _check_reached(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, **local_options)
    except (OSError, RuntimeError, ValueError) as error:
        raise RuntimeError(
            f"wanted a Ray cluster at {address}, got none ({named_line(error)}): start one with ray start --head"
        ) from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray has put its own there, which prints a trace
    watching = threading.Event()
    if address != "local":
        threading.Thread(target=_watch_head, args=(address, watching), daemon=True).start()
    try:
        # Ray prints there what its daemons say of each worker that ends, with pages of their logs.
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            yield address == "local"
    finally:
        watching.set()
        ray.shutdown()


def _watch_head(address: str, ended: threading.Event) -> None:
    """Say so once if the head of a cluster is gone: Ray goes on for a minute, and then ends this process itself.

    Args:
        address: HOST:PORT.
        ended: Set when nothing is to be watched any more.
    """
    failed = 0
    while not ended.wait(LOOK) and failed < FAILURES:
        try:
            _check_reached(address)
            failed = 0
        except OSError:
            failed += 1
    if failed == FAILURES:
        print(HEAD.format(address=address), file=sys.stderr)


def _check_reached(address: str) -> None:
    """Refuse an address at which nothing answers; Ray would try it for ever.

    Raises:
        OSError: Nothing answers.
        ValueError: It is no HOST:PORT.
    """
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit():
        raise ValueError("it is no HOST:PORT")
    socket.create_connection((host, int(port)), timeout=REACH).close()


def starter(job: Job, alone: bool, per_gpu: int = 1) -> Callable[[], Any]:
    """A function that starts a worker for a job: with its part of a GPU if there is one, else with a core a thread.

    Ray starts it on a machine that has the room, now or when one joins, and again after a death. It does not repeat the
    shard that a dead worker was making, because another worker may be free before this one is there again.

    Args:
        job: What the worker has to know.
        alone: Whether this is the only machine; a worker asks for no more cores than it has, because none joins.
        per_gpu: Workers that share a GPU.
    """
    import ray

    resources = ray.cluster_resources()
    cores = min(job.threads, int(resources.get("CPU", 1))) if alone else job.threads
    room = {"num_gpus": _share(per_gpu), "num_cpus": 1.0} if _has_gpus() else {"num_cpus": cores}
    start = ray.remote(Worker).options(max_restarts=RESTARTS, max_task_retries=0, **room)
    return lambda: start.remote(job)


def make_shards(
    inputs: list[Path], send: Callable[[Path], None], first: Any, start: Callable[[], Any], most: int
) -> None:
    """Have the unfinished shards made; each worker that is free gets the next one.

    A shard whose worker died is the next one. A worker for which no shard is left ends, so that others have its room. A
    worker that Ray starts no more is left out while there is another. A shard that takes far longer than the others is
    given to another worker, too. After an error no further shard begins, and those in flight are finished.

    Args:
        inputs: The paths of all input shards.
        send: Called with each finished shard; sends it to where the run is mirrored.
        first: A worker that has loaded the models.
        start: Starts a worker.
        most: Workers at a time.

    Raises:
        RuntimeError: A shard failed, the message names the shard and the rows; or its workers, or all workers, died
            again and again. It is the first error.
        Stopped: SIGTERM came; the shards that were in flight are finished.
    """
    import ray

    rows = {path: count_rows(path) for path in inputs}
    waiting = deque(path for path in inputs if not output_of(path).exists())
    finished_count = sum(rows.values()) - sum(rows[path] for path in waiting)
    workers = [first, *(start() for _ in range(min(len(waiting), most) - 1))]
    tasks: Tasks = {_get_ready(worker): (worker, None) for worker in workers}
    deaths, errors, slow = Counter[Path](), list[Exception](), _Overdue()
    with rows_bar(sum(rows.values()), finished_count, 1, "rows", True) as bar, stoppable() as stopped:
        while (waiting and not errors and not stopped()) or _has_unmade_shard(tasks):
            task = next_done(tasks, stopped, slow.shard)
            if task is None:
                path = slow.name()
                if path and not errors and not stopped():
                    waiting.appendleft(path)
                    if all(made_by in slow.told for _, made_by in tasks.values()):  # nobody else would take it
                        worker = start()
                        tasks[_get_ready(worker)] = worker, None
                continue
            worker, path = tasks.pop(task)
            try:
                files = result(task)
            except Died as died:
                slow.begun.pop(path, None)
                if (path is None and isinstance(died, Away)) or (path is not None and output_of(path).exists()):
                    tasks[_get_ready(worker)] = worker, None
                elif path is None and tasks:
                    print("a worker died again and again, so the others go on without it", file=sys.stderr)
                elif path is None or deaths[path] + 1 == LIVES:
                    errors.append(RuntimeError(f"{path.name if path else 'loading the models'}: {died}"))
                else:
                    print(f"{path.name}: its worker or machine died, so another one makes it", file=sys.stderr)
                    deaths[path] += 1
                    waiting.appendleft(path)
                    tasks[_get_ready(worker)] = worker, None
                continue
            except Exception as error:  # it is raised when the shards in flight are finished
                slow.begun.pop(path, None)
                errors.append(error)
                continue
            if path is not None and not output_of(path).exists():
                for name, content in files.items():
                    write_whole(path.with_name(name), content)
                send(output_of(path))
                bar.update(rows[path])
                slow.end(path)
            while waiting and output_of(waiting[0]).exists():  # two workers had it
                waiting.popleft()
            if waiting and not errors and not stopped():
                path = waiting.popleft()
                tasks[worker.make.remote(path.name, path.read_bytes())] = worker, path
                slow.begun.setdefault(path, time.monotonic())
            else:
                for useless in (worker, *(other for other, made_by in tasks.values() if made_by is None)):
                    ray.kill(useless)
                tasks = {task: pair for task, pair in tasks.items() if pair[1] is not None}
        for worker, _ in tasks.values():  # whose shards others have made
            ray.kill(worker)
        if errors:
            raise errors[0]
        if stopped():
            raise Stopped


def _has_unmade_shard(tasks: Tasks) -> bool:
    """Whether a worker has a shard that no other one has made."""
    return any(path is not None and not output_of(path).exists() for _, path in tasks.values())


class _Overdue:
    """Which shard takes far longer than the others did, as where its worker was stopped or its machine hangs.

    Attributes:
        begun: When the shards that workers have were first given to one.
        taken: The seconds that finished shards took.
        told: The shards that were named.
    """

    def __init__(self) -> None:
        """No shard was begun."""
        self.begun: dict[Path | None, float] = {}
        self.taken: list[float] = []
        self.told: set[Path] = set()

    def end(self, path: Path) -> None:
        """Note that a shard is finished."""
        self.taken.append(time.monotonic() - self.begun.pop(path, time.monotonic()))

    def name(self) -> Path | None:
        """Say on the terminal which shard takes too long, once for each, and return it."""
        if path := self.shard():
            self.told.add(path)
            minutes = (time.monotonic() - self.begun[path]) / 60
            print(
                f"{path.name}: its worker has had it for {minutes:.0f} min, another one makes it, too", file=sys.stderr
            )
        return path

    def shard(self) -> Path | None:
        """A shard that takes far longer than the others and was not named; None if there is none."""
        if not self.taken:
            return None
        limit = max(LEAST_OVERDUE, OVERDUE * median(self.taken))
        now = time.monotonic()
        return next(
            (path for path, since in self.begun.items() if path and path not in self.told and now - since > limit), None
        )


class Died(RuntimeError):
    """A worker of Ray or its machine died."""


class Away(Died):
    """A worker of Ray is not there now, and comes again when a machine has room for it."""


def _get_ready(worker: Any) -> Any:
    """Ask a worker to load its models; Ray repeats that where the worker dies."""
    return worker.ready.options(max_task_retries=WHENEVER).remote()


def next_done(
    tasks: Tasks, stopped: Callable[[], bool] = lambda: False, overdue: Callable[[], object] = lambda: None
) -> Any:
    """Wait until a task has ended, and return it; say what is waited for where no worker is there for long.

    Args:
        tasks: What workers do.
        stopped: Whether to wait no longer, if no shard is being made.
        overdue: A shard that takes too long, for which None is returned; None if there is none.

    Raises:
        Stopped: No longer.
    """
    import ray

    since, is_told = time.monotonic(), any(path for _, path in tasks.values())
    while not (ended := ray.wait([*tasks], timeout=1.0)[0]):
        if stopped() and not any(path for _, path in tasks.values()):
            raise Stopped
        if overdue():
            return None
        if not is_told and time.monotonic() - since > PATIENCE:
            is_told = True
            print(WAITING, file=sys.stderr)
    return ended[0]


def result(task: Any) -> Any:
    """What a task returned.

    Raises:
        Away: The worker is not there now; what it was making is lost.
        Died: The worker died.
        Exception: What the task raised, without Ray's traceback.
    """
    import ray

    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.ActorUnavailableError as error:
        raise Away(f"{DIED} ({named_line(error)})") from None
    except ray.exceptions.RayError as error:
        raise Died(f"{DIED} ({named_line(error)})") from None
