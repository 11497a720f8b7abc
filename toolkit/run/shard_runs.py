"""A run: a bitext or text is cut into input shards, and one or several processes apply a recipe to each shard.

The folder of a run holds its settings, its input shards and its finished shards. The bytes of a shard do not depend on
the process that makes it, because no batch spans two shards and random numbers are drawn for each row.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, ClassVar

from toolkit.bitext.languages import Language
from toolkit.chat.requests import Submitted
from toolkit.chat.settings import FREE_OF_SERVER, LM, PromptedModel
from toolkit.clean.rules import refusals
from toolkit.data.progress import RowsFailed, rows_bar
from toolkit.data.rows import Row
from toolkit.data.shards import (
    INPUTS,
    all_made,
    count_rows,
    input_shards,
    output_of,
    read_inputs,
    read_shard,
    write_inputs,
    write_shard,
)
from toolkit.run.mirror import _check_output_url, _run_folder
from toolkit.system.contents import with_contents
from toolkit.system.errors import without_secrets
from toolkit.system.lock import check_free, held
from toolkit.system.memory import release_memory
from toolkit.system.outputs import check_output_folder
from toolkit.system.processes import begin_wait, mine, wait
from toolkit.system.ranges import (
    Count,
    Dtype,
    Machine,
    Range,
    at_least,
    at_most,
    checked_by,
    one_of,
)
from toolkit.system.settings import SETTINGS, check_record, compare_code, compare_record
from toolkit.system.signals import Stopped, stoppable
from toolkit.system.whole_files import remove_unfinished

if TYPE_CHECKING:
    from accelerate import PartialState

ALL, CHOSEN = "all", "chosen"  # what `keep` may be, beside a number
PAPER = "paper"  # what `generator` may be, beside `LM`
ACCELERATE, RAY = "accelerate", "ray"  # what `engine` may be
# ours: times the median of a process's shards, and seconds, without a new shard after which others count as stopped
OVERDUE, LEAST_OVERDUE = 10, 60.0
LOOK = 1.0  # ours: seconds between looks for the shards of other processes, at most
OVERDUE_LINE = (
    "process {process} has finished no shard for {minutes:.0f} minutes, so this one makes {shard} and others of it; if "
    "it does not go on, end this command and give it again"
)
MAX_BEAM = 1000  # ours: the hypotheses of one search are decoded in one batch
MAX_SHARING = 100  # ours: no GPU has the memory for so many models
NEW_OBJECTS = 50_000  # ours: so many new objects, some MB, before Python searches them for cycles


Keep = Annotated[
    str,
    Range(
        f"{{}} as {ALL}, {CHOSEN} or a number of at least 1",
        lambda keep: keep in (ALL, CHOSEN) or (keep.isascii() and keep.isdigit() and int(keep)),
    ),
]
Beam = Annotated[int, at_least(1), at_most(MAX_BEAM)]


@dataclass(frozen=True, kw_only=True)
class RaySettings(Machine):
    """Who shares the shards.

    Attributes:
        engine: Who shares the shards among processes: "accelerate" (this command, its --processes, or a launcher), or
            "ray", whose workers may be on many machines.
        ray_address: Address of a running Ray cluster to which this machine belongs, HOST:PORT. None is that of the
            variable RAY_ADDRESS, or else starts Ray on this machine alone.
        ray_workers: Most workers of Ray at a time. Those that find no room wait until a machine joins.
        workers_per_gpu: Workers of Ray that share a GPU: while one merges and writes, it computes for the others.
    """

    GROUP = "Ray"

    engine: Annotated[str, one_of((ACCELERATE, RAY))] = ACCELERATE
    ray_address: str | None = None
    ray_workers: Count = 64  # ours: eight machines with eight GPUs
    workers_per_gpu: Annotated[int, at_least(1), at_most(MAX_SHARING)] = 1

    def __post_init__(self) -> None:
        """Refuse settings of Ray without it, and processes of this machine beside its workers."""
        super().__post_init__()
        if self.engine == RAY and self.processes > 1:
            raise ValueError(f"wanted one of --processes with --engine ray, got {self.processes}: leave it out")
        if self.ray_address is not None and self.engine != RAY:
            raise ValueError(f"wanted --ray_address with --engine ray, got {self.engine}: leave --ray_address out")
        if self.workers_per_gpu > 1 and self.engine != RAY:
            raise ValueError(
                f"wanted --workers_per_gpu with --engine ray, got {self.engine}: --processes may share a GPU, too"
            )


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings(PromptedModel):
    """The language model that writes candidates, if one does.

    Attributes:
        generator: Where candidates come from: "paper", or "lm", a language model that is asked for them.
        prompt: What it is asked: "paraphrase", "context" (for running text), "examples" (for models that do not chat),
            "several" (different paraphrases in one reply, with the text as data in JSON), or a file with {reference}
            in it.
        samples: Replies to each prompt.
    """

    GROUP = "language model"

    generator: Annotated[str, one_of((PAPER, LM))] = PAPER
    prompt: str = "paraphrase"
    samples: Count = 8

    def __post_init__(self) -> None:
        """Refuse settings of a language model without one."""
        super().__post_init__()
        self.check_model(self.generator == LM, f"--generator {LM}")


@dataclass(frozen=True, kw_only=True)
class RunSettings(LanguageModelSettings, RaySettings):
    """The settings that all builders share; `BitextRun` and `TextRun` add those of what is read.

    Attributes:
        lang: Language of the references and of the paraphrases (ISO 639-1).
        output_dir: Folder or URL ("s3://bucket/bank") of the parabank; the shards of the run are in the folder of the
            same name with ".shards".
        validation_share: Share of references in the validation split.
        test_share: Share of references in the test split.
        shard_rows: Rows of a shard; a killed process loses at most the work on one shard.
        keep: Candidates that are kept in the shards, beside those that were chosen: "all", none ("chosen"), or a number
            for each reference, the best ones. The counts of the card are those of all candidates in any case.
        processes: Processes on this machine that share the work; a launcher (`accelerate launch`) starts its own.
        threads: Threads of each process on a CPU; fixed for a run, because it can change the last bits of a number.
        dtype: "bfloat16", "float32", "auto" (bfloat16 where the processor has it, else float32), or "int8": matrix
            products in 8 bits, on a CPU with AVX-512 VNNI, and "auto" for the rest.
        decontaminate: Evaluation sets whose texts must not be in the parabank: files, globs, URLs or data sets. A line
            with a side that equals such a text, or contains nearly all of it, is refused.
        version: Version of the packaged data set, MAJOR.MINOR.PATCH.
        license: Licence of the input, for the card.
    """

    UNIT: ClassVar[str] = "lines"  # of the input, in messages
    GROUP = "run"

    lang: Language
    output_dir: Annotated[str, checked_by(_check_output_url)]
    validation_share: float = 0.01
    test_share: float = 0.01
    shard_rows: Count = 1000
    keep: Keep = ALL
    dtype: Dtype = "auto"
    decontaminate: list[str] = field(default_factory=list)
    version: str = "1.0.0"
    license: str = "unknown"

    def __post_init__(self) -> None:
        """Refuse shares of two splits that leave nothing for the third, and batch files by Ray."""
        super().__post_init__()
        if self.engine == RAY and self.batch:
            raise ValueError(f"wanted --engine {ACCELERATE} with --batch, got {RAY}: one process submits and collects")
        if not 0 <= self.validation_share + self.test_share < 1 or min(self.validation_share, self.test_share) < 0:
            shares = f"{self.validation_share} + {self.test_share}"
            raise ValueError(f"wanted validation_share + test_share in [0, 1), got {shares}")

    @property
    def shards_dir(self) -> Path:
        """The folder of the run."""
        return _run_folder(self.output_dir)

    @property
    def inputs(self) -> list[str]:
        """What is read: files, folders or Hub ids."""
        raise NotImplementedError

    def check_inputs(self) -> None:
        """Refuse inputs that cannot be used.

        Raises:
            OSError: An input does not exist.
            ValueError: An input cannot be used; the message says why.
        """
        raise NotImplementedError

    def input_rows(self) -> Iterator[Row]:
        """The rows without candidates, in the order of the inputs; rows that cleaning refuses have a reason."""
        raise NotImplementedError


# Who makes the shards; a parabank does not tell them, because its bytes are the same.
MAKERS = {"engine", "ray_address", "ray_workers", "workers_per_gpu", "processes"}
# These settings may differ between the calls of one run, because they do not affect the shards.
FREE = {"output_dir", "version", "license", "check_language"} | MAKERS | FREE_OF_SERVER


def check_run(settings: RunSettings, builder: str, contents: Mapping[str, str]) -> None:
    """Check everything that can stop a run before its models are loaded; write nothing.

    Args:
        settings: The settings of the run.
        builder: The name of the builder.
        contents: The content hashes of its files and models, by setting (`toolkit.system.contents`).

    Raises:
        OSError: The output cannot be written or holds other files; an input does not exist.
        RuntimeError: Another launch works on the run.
        ValueError: An input cannot be used, or the run began with other settings or other files.
    """
    check_output_folder(settings.shards_dir, SETTINGS, settings.inputs)
    check_free(settings.shards_dir)
    is_complete = all_made(settings.shards_dir)
    compare_record(settings.shards_dir / SETTINGS, record_of(settings, builder, contents), FREE, is_complete)
    if not (settings.shards_dir / INPUTS).exists():
        settings.check_inputs()


def record_of(settings: RunSettings, builder: str, contents: Mapping[str, str]) -> dict:
    """The record of a run: its settings, and the content hashes of the files and models that they name."""
    return with_contents({"builder": builder} | asdict(settings), contents)


@contextlib.contextmanager
def started(
    settings: RunSettings, builder: str, state: PartialState, contents: Mapping[str, str]
) -> Iterator[list[Path]]:
    """Lock the folder of a run, record its settings, and cut its input into shards unless that has been done.

    The main process does this while the others wait. The folder stays locked until the block ends.

    Yields:
        The paths of the input shards.

    Raises:
        ValueError: The folder holds a run with other settings or of other code; the message names what differs.
        RuntimeError: Another launch works on the run.
    """
    with held(settings.shards_dir, state):
        if state.is_main_process:
            prepare(settings, builder, contents)
        wait(state)
        compare_code(settings.shards_dir / SETTINGS, all_made(settings.shards_dir))
        yield input_shards(settings.shards_dir)


def prepare(settings: RunSettings, builder: str, contents: Mapping[str, str]) -> None:
    """Do the work of `started` on the main process, and print how many lines were read, kept and refused."""
    folder = settings.shards_dir
    check_record(folder / SETTINGS, record_of(settings, builder, contents), FREE, all_made(folder))
    write_inputs(folder, settings.input_rows(), settings.shard_rows)
    counts = read_inputs(folder)
    lines = counts["rows"] + sum(counts["refused"].values())
    summary = f"{without_secrets(' '.join(settings.inputs))}: {lines:,} {settings.UNIT} read, {counts['rows']:,} kept"
    print(f"{summary}, refused: {refusals(counts['refused'])}", file=sys.stderr)


def shards_done(folder: Path) -> str:
    """How many shards of a run are finished, for a message."""
    inputs = input_shards(folder) if (folder / INPUTS).exists() else []
    return f"{sum(output_of(path).exists() for path in inputs):,} of {len(inputs):,} shards are finished"


def make_run(
    folder: Path,
    rows: Iterable[Row],
    shard_rows: int,
    recipe: Callable[[Iterable[Row]], Iterator[Row]],
    state: PartialState,
    stages: int = 1,
) -> None:
    """Cut rows into shards unless that has been done, and make those that are not finished; every process calls it.

    Args:
        folder: The folder of the run, which this launch holds.
        rows: See `write_inputs`; the main process reads them.
        shard_rows: Likewise.
        recipe: See `make_shards`, with its errors.
        state: Likewise.
        stages: Likewise.
    """
    if state.is_main_process:
        remove_unfinished(folder)
        write_inputs(folder, rows, shard_rows)
    wait(state)
    make_shards(input_shards(folder), recipe, state, stages)
    wait(state)


def make_shards(
    inputs: list[Path],
    recipe: Callable[[Iterable[Row]], Iterator[Row]],
    state: PartialState,
    stages: int = 1,
    write: Callable[[Path, Iterable[Row]], None] = write_shard,
) -> None:
    """Apply a recipe to this process's share of the shards, skipping finished shards.

    Args:
        inputs: The paths of all input shards.
        recipe: Takes the rows of one shard and yields the same rows with candidates.
        state: The processes, from Accelerate.
        stages: The number of stages of the recipe that report their rows (`toolkit.data.progress`).
        write: Writes a finished shard, whole or not at all.

    Raises:
        RuntimeError: A shard failed; the message names the shard and the rows.
        Stopped: SIGTERM came; the shard that was in flight is finished.
    """
    own_shards = mine(inputs, state)
    unfinished = [path for path in own_shards if not output_of(path).exists()]
    rows = {path: count_rows(path) for path in own_shards}
    total, unfinished_rows = sum(rows.values()), sum(rows[path] for path in unfinished)
    label = "rows" if state.num_processes == 1 else f"rows of process {state.process_index + 1}/{state.num_processes}"
    progress_bar = rows_bar(total, total - unfinished_rows, stages, label, state.is_local_main_process)
    durations: list[float] = []
    waiting = 0  # requests to a language model, in batches
    with few_collections(), progress_bar as bar, stoppable() as stopped:
        finished_rows = total - unfinished_rows
        for path in unfinished:
            start_time = time.monotonic()
            if not output_of(path).exists():  # another process makes it where this one was stopped for long
                try:
                    make_shard(path, recipe, write)
                except Submitted as submitted:
                    waiting += submitted.count
                    continue
                durations.append(time.monotonic() - start_time)
            finished_rows += rows[path]
            bar.update(finished_rows - bar.n)  # count the rows that a stage skipped without reporting them
            if stopped():
                raise Stopped
    if waiting:
        raise RuntimeError(str(Submitted(waiting)))
    _make_overdue(inputs, lambda path: make_shard(path, recipe, write), state, durations)


def _make_overdue(
    inputs: list[Path], make: Callable[[Path], None], state: PartialState, durations: list[float]
) -> None:
    """Wait until all processes have made their shards; make those of a process that has stopped.

    Args:
        inputs: The paths of all input shards.
        make: Makes a shard; a shard that two processes make has the same bytes, and comes whole.
        state: The processes.
        durations: The seconds that each shard of this process took.

    Raises:
        RuntimeError: A shard failed, or another process has ended.
    """
    limit, all_came = max(LEAST_OVERDUE, OVERDUE * median(durations or [LEAST_OVERDUE])), begin_wait(state)
    unfinished, last_progress, reported_processes = inputs, time.monotonic(), set[int]()
    while not all_came() and (still_unfinished := [path for path in unfinished if not output_of(path).exists()]):
        last_progress = time.monotonic() if len(still_unfinished) < len(unfinished) else last_progress
        unfinished = still_unfinished
        if time.monotonic() - last_progress > limit:
            path = unfinished[-1 - state.process_index % len(unfinished)]
            if (process := inputs.index(path) % state.num_processes) not in reported_processes:
                reported_processes.add(process)
                print(OVERDUE_LINE.format(process=process, minutes=limit / 60, shard=path.name), file=sys.stderr)
            make(path)
        else:
            time.sleep(min(LOOK, (time.monotonic() - last_progress) / 10 + 0.01))


def make_shard(
    path: Path,
    recipe: Callable[[Iterable[Row]], Iterator[Row]],
    write: Callable[[Path, Iterable[Row]], None] = write_shard,
) -> None:
    """Apply a recipe to an input shard and write the finished shard beside it.

    Raises:
        RuntimeError: It failed; the message names the shard and the rows.
    """
    try:
        write(output_of(path), _apply_recipe(read_shard(path), recipe))
    except RowsFailed as error:
        raise RuntimeError(f"{path.name}: {_name_failing_rows(path, recipe, error)}") from error
    except (ValueError, RuntimeError, MemoryError) as error:
        raise RuntimeError(f"{path.name}: {error}") from error
    release_memory()


@contextlib.contextmanager
def few_collections() -> Iterator[None]:
    """Search for cycles of objects less often in the block, and not among the objects that are there before it.

    A shard is hundreds of thousands of objects without cycles, the models and libraries as many more; to search all of
    them whenever a few hundred are new took a fifth of the time of all that is not a model. If the caller has frozen
    objects, these stay as they are, and no others are frozen.
    """
    thresholds, is_frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    gc.collect()
    if not is_frozen:
        gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if not is_frozen:
            gc.unfreeze()


def _apply_recipe(rows: Iterable[Row], recipe: Callable[[Iterable[Row]], Iterator[Row]]) -> Iterator[Row]:
    """Apply a recipe to the rows of a shard, in order; rows that cleaning has refused are yielded unchanged."""
    shard = list(rows)
    finished_rows = recipe(row for row in shard if row.reason is None)
    yield from (next(finished_rows) if row.reason is None else row for row in shard)


def _name_failing_rows(path: Path, recipe: Callable[[Iterable[Row]], Iterator[Row]], error: RowsFailed) -> RowsFailed:
    """The error of a batch with only the rows that fail when each is tried alone.

    If all rows or none of them fail alone, as when memory is short, the error names all rows of the batch.

    Args:
        path: The input shard.
        recipe: The recipe that failed.
        error: The error of the batch.
    """
    failing = []
    for row in read_shard(path):
        if row.id in error.ids:
            try:
                list(recipe([row]))
            except (ValueError, RuntimeError, MemoryError):
                failing.append(row.id)
    failing_ids = failing if 0 < len(failing) < len(error.ids) else error.ids
    return RowsFailed(failing_ids, error.__cause__ if isinstance(error.__cause__, Exception) else error)
