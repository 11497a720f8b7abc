"""Tasks of MTEB: mteb runs them, on local copies of their official files where there are any, and else on the Hub's.

A local copy has the same pairs as the data set of the Hub, in the order of the official files. mteb computes the
figures, and its files of results have the form that its leaderboard reads; they record a digest of the local files in
place of the revision of the data set.
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.evaluate import sts
from toolkit.evaluate.embeddings import CHINESE, IDENTIFICATION, SICK, VERSION
from toolkit.evaluate.sts import _Pairs
from toolkit.evaluate.tables import table
from toolkit.evaluate.transfer import SICK as SICK_FILES
from toolkit.starters import resolve, shown_name
from toolkit.system.errors import first_line
from toolkit.system.extras import require

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

GROUPS = {  # the similarity and pair classification tasks of MTEB(eng) and MTEB(cmn)
    "english": (
        *(f"STS{year}" for year in range(12, 17)),
        *("STSBenchmark", "SICK-R", "SprintDuplicateQuestions", "TwitterSemEval2015", "TwitterURLCorpus"),
    ),
    "chinese": ("AFQMC", "ATEC", "BQ", "LCQMC", "PAWSX", "STSB"),
}
TYPES = ("STS", "PairClassification")
BATCH = 128  # ours: sentences that are encoded at once; results do not depend on it


@dataclass(frozen=True)
class TaskFigure:
    """The result of a task.

    Args:
        value: mteb's main score of the task, times 100.
        measure: Its name, such as cosine_spearman.
        part: The part of the data set, such as test.
        data: The digest of the local files, or the revision of the data set of the Hub.
        version: The version of mteb.
    """

    value: float
    measure: str
    part: str
    data: str
    version: str

    @property
    def signature(self) -> str:
        """All settings that the value depends on."""
        return f"{self.measure} x100|{self.part}|data:{self.data}|mteb:{self.version}|{VERSION}"


@dataclass(frozen=True)
class _Copy:
    """The official files of the test part of a task, or of the part that has labels.

    Args:
        files: The files, below the folder of the data.
        read: Reads them; their pairs together are those of the task.
    """

    files: Sequence[Path]
    read: Callable[[Sequence[Path]], Iterable[_Pairs]]


def _year(year: int) -> _Copy:
    """A year of SemEval: all its sets are one task."""
    return _Copy(sts._set_files(Path("sts", str(year)), year), lambda files: sts.read_year(files[0].parent))


def _each(read: Callable[[Path], _Pairs], *files: Path) -> _Copy:
    """Files that are read one by one."""
    return _Copy(files, lambda paths: map(read, paths))


COPIES: Mapping[str, _Copy] = {
    **{f"STS{year - 2000}": _year(year) for year in sts.SETS},
    "STSBenchmark": _each(sts.read_benchmark, Path("sts", "benchmark", "sts-test.csv")),
    "SICK-R": _each(sts._read_sick, *(SICK / name for name in SICK_FILES)),
    "STSB": _each(sts.read_chinese, CHINESE / "sts-b-test.txt"),
    **{
        task: _each(sts.read_chinese_identification, IDENTIFICATION[name])
        for task, name in (("LCQMC", "LCQMC test"), ("AFQMC", "AFQMC dev"), ("PAWSX", "PAWS-X zh test"))
    },
}


def suite_names(names: Iterable[str]) -> list[str]:
    """The names of the tasks, with those of groups in place of the names of `GROUPS`; without repetitions.

    >>> suite_names(["STS12", "chinese", "STSB"])
    ['STS12', 'AFQMC', 'ATEC', 'BQ', 'LCQMC', 'PAWSX', 'STSB']

    Raises:
        ModuleNotFoundError: mteb is not installed.
        ValueError: mteb has no such task, or one of another type.
    """
    task_names = list(dict.fromkeys(task for name in names for task in GROUPS.get(name, (name,))))
    known = {task for group in GROUPS.values() for task in group}
    for name in task_names:
        if name not in known and (kind := _types().get(name)) not in TYPES:
            came = f"{name}, a task of {kind}" if kind else f"{name}, which mteb does not know"
            raise ValueError(f"wanted tasks of {' or '.join(TYPES)}, {' or '.join(GROUPS)}, got {came}: name others")
    return task_names


@cache
def _types() -> Mapping[str, str]:
    """The type of each task of mteb by its name."""
    return {task.metadata.name: task.metadata.type for task in require("mteb").get_tasks(exclude_superseded=False)}


def load_suite(names: Iterable[str], data: Path | None = None) -> tuple[dict[str, Any], list[str]]:
    """Load tasks with their data: once, for all encoders.

    Args:
        names: Names of tasks, from `suite_names`.
        data: The folder of the official files, as `parabank evaluate encoder` describes it; None for none.

    Returns:
        Tasks of mteb by name; and a line for every task that has neither local files nor a data set of the Hub that
        can be loaded.

    Raises:
        ModuleNotFoundError: mteb is not installed.
        ValueError: A local file is damaged, or no task has data.
    """
    missing: list[str] = []
    loaded = {name: _loaded_task(name, data, missing) for name in names}
    tasks = {name: task for name, task in loaded.items() if task is not None}
    if not tasks:
        raise ValueError(f"wanted the data of at least one task, got none: {'; '.join(missing)}")
    return tasks, missing


def evaluate_suite(
    encoder: SentenceTransformer, name: str, tasks: Mapping[str, Any], results: Path | None = None
) -> dict[str, TaskFigure]:
    """The figures of one encoder by name of the task.

    Args:
        encoder: The encoder, from `toolkit.encoder.load.load_encoder`.
        name: Its name or folder, for mteb's files.
        tasks: Tasks, from `load_suite`.
        results: The folder for mteb's files of results: `results/NAME/REVISION/TASK.json`; None for none.

    Raises:
        ModuleNotFoundError: mteb is not installed.
    """
    mteb = require("mteb")
    with _quiet():
        model = require("mteb.models").SentenceTransformerEncoderWrapper(encoder)
    model.mteb_model_meta = model.mteb_model_meta.model_copy(
        update={
            "name": name if "/" in shown_name(name) else f"local/{shown_name(name)}",
            "revision": _revision(resolve(name)),
        }
    )
    files = None if results is None else mteb.ResultCache(results)
    figures: dict[str, TaskFigure] = {}
    for task_name, task in tasks.items():
        with _quiet():
            outcome = mteb.evaluate(
                model,
                task,
                cache=files,
                overwrite_strategy="always",
                co2_tracker=False,
                encode_kwargs={"batch_size": BATCH, "show_progress_bar": False},
                show_progress_bar=False,
            ).task_results[0]
        figures[task_name] = TaskFigure(
            100 * float(outcome.get_score()),
            task.metadata.main_score,
            "+".join(task.eval_splits),
            task.metadata.dataset["revision"],
            mteb.__version__,
        )
    return figures


@contextmanager
def _quiet() -> Iterator[None]:
    """Without mteb's warnings of newer versions of its tasks, of renamed functions and of unknown models."""
    logger = logging.getLogger("mteb")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _loaded_task(name: str, data: Path | None, missing: list[str]) -> Any:
    """The task with its data; None and a line in `missing` where there are none.

    Raises:
        ValueError: A local file is damaged.
    """
    task = require("mteb").get_task(name)
    if "test" in task.metadata.eval_splits:
        task = require("mteb").get_task(name, eval_splits=["test"])
    copy = COPIES.get(name)
    if copy and data and all((data / file).is_file() for file in copy.files):
        files = [data / file for file in copy.files]
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
        data_set = {"path": name, "revision": f"sha256-{digest[:16]}"}
        task.metadata = task.metadata.model_copy(update={"dataset": data_set})
        task.dataset = {task.eval_splits[0]: _data_set(copy.read(files))}
        task.data_loaded = True
        return task
    try:
        task.load_data()
    except (OSError, ValueError) as error:  # `datasets` raises both where it cannot load a data set
        local = f"{', '.join(map(str, copy.files))} in the folder of --data, or " if copy else ""
        missing.append(
            f"{name}: wanted {local}{task.metadata.dataset['path']} of the Hub, got neither ({first_line(error)})"
        )
        return None
    return task


def _data_set(sets: Iterable[_Pairs]) -> Any:
    """Pairs as the data set of a similarity task of mteb."""
    columns: dict[str, list] = {"sentence1": [], "sentence2": [], "score": []}
    for pairs in sets:
        columns["sentence1"] += pairs.sentences1
        columns["sentence2"] += pairs.sentences2
        columns["score"] += pairs.scores.tolist()
    return require("datasets").Dataset.from_dict(columns)


def _revision(name: str) -> str:
    """A digest of the weights of a folder; of a name of the Hub that it was its newest revision."""
    folder = Path(name)
    if not folder.is_dir():
        return "main"
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.safetensors")):
        digest.update(file.read_bytes())
    return f"sha256-{digest.hexdigest()[:16]}"


def suite_markdown(encoders: Mapping[str, Mapping[str, TaskFigure]], missing: Sequence[str] = ()) -> str:
    """A Markdown table with a row for each encoder; then missing data sets and signatures.

    Args:
        encoders: The results of `evaluate_suite`, by name of the encoder; all have the same tasks.
        missing: Lines of `load_suite`.
    """
    figures = next(iter(encoders.values()))
    rows = [[name, *(f"{by_task[task].value:.1f}" for task in figures)] for name, by_task in encoders.items()]
    parts = [f"## MTEB, main score x 100\n\n{table(['', *figures], rows)}"]
    if missing:
        parts.append("\n".join(["Without their data:", "", *(f"- {line}" for line in missing)]))
    return "\n\n".join([*parts, "\n".join(f"- `{task}: {figure.signature}`" for task, figure in figures.items())])


def suite_json(figures: Mapping[str, TaskFigure]) -> dict[str, dict]:
    """The results of `evaluate_suite`, as JSON can represent them."""
    return {task: asdict(figure) for task, figure in figures.items()}
