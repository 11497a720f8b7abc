"""Make a new version of a parabank by a condition on the scores of its run, without decoding again."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow.parquet as pq

from builders.pipeline import contents_of_run
from toolkit.chat.requests import Submitted
from toolkit.chat.settings import LM
from toolkit.data.rows import Row
from toolkit.data.shards import read_shard, write_shard
from toolkit.package.folder import check_version, is_parabank
from toolkit.score.meaning import MODELS, MeaningModels
from toolkit.select.best import BestBy, BestSettings, refuse_but_best
from toolkit.select.corpus import CHOSEN, choose, copy_shards, run_beside, shards_beside, write_records
from toolkit.select.rank import rank_all, rank_by_dual_sum, rank_by_judgment, rank_by_ranking, rank_by_usable, rank_rows
from toolkit.select.where import check_measured, check_where, chosen_anew, meeting
from toolkit.system.outputs import LOCK, MANIFEST, check_output_folder
from toolkit.system.ranges import Dtype, checked_by
from toolkit.system.settings import SETTINGS
from toolkit.system.whole_files import read_record

if TYPE_CHECKING:
    from accelerate import PartialState

    from toolkit.score.overlap import Pieces

CHOICES = tuple(
    f"--{name}" for name in ("where", "ranks", *(setting.name for setting in fields(BestSettings)), *MODELS.values())
)
Rank = Callable[[Iterable[Row]], Iterator[Row]]
RANKINGS: dict[str, Callable[[dict], Rank]] = {  # by builder, how its recipe ranks, with the settings of a run
    "parabank2": lambda settings: lambda rows: rank_rows(rows, settings["paraphrases"]),
    "parabank": lambda settings: lambda rows: rank_by_judgment(rows, settings["paraphrases"]),
    "paranmt": lambda settings: rank_all,
    "parazh": lambda settings: rank_by_dual_sum,
    "paranet": lambda settings: lambda rows: rank_by_ranking(rows, settings["paraphrases"]),
}


@dataclass(frozen=True, kw_only=True)
class Filter(BestBy, MeaningModels):
    """What is chosen, and where it goes; what is compared over the corpus is chosen last, by `by`.

    Attributes:
        parabank: A packaged parabank, with the folder of its run beside it.
        output_dir: The folder of the new version.
        where: A condition of SQL on the scores of a candidate; None is met by all.
        ranks: The ranks that remain, counted from 1: "1", "1-3", or "2-" without an end; None for as many as the
            parabank has.
        version: MAJOR.MINOR.PATCH; None is the next MINOR after that of the parabank.
        dtype: Arithmetic of language models that measure meaning.
    """

    parabank: str
    output_dir: str
    where: Annotated[str, checked_by(check_where)] | None = None
    ranks: Annotated[str, checked_by(parse_ranks)] | None = None
    version: Annotated[str, checked_by(check_version)] | None = None
    dtype: Dtype = "auto"

    def __post_init__(self) -> None:
        """Refuse to filter nothing."""
        super().__post_init__()
        if self.server is not None and self.rubric is None:
            raise ValueError("wanted --rubric, the name of a model, with --server, got none: leave --server out")
        if self.where is None and self.ranks is None and not self.over_corpus and not self.scores:
            raise ValueError(f"wanted one of {', '.join(CHOICES)}, got none: the new version would be the old one")

    @property
    def best(self) -> BestBy:
        """The settings of the choice over the corpus; without a number, a share and a least score all are taken."""
        settings = {setting.name: getattr(self, setting.name) for setting in fields(BestBy)}
        limits = (self.best_pairs, self.best_share, self.least_score)
        return BestBy(**settings | ({"best_share": 1.0} if limits == (None, None, None) else {}))

    @property
    def over_corpus(self) -> bool:
        """Whether something is compared over the corpus."""
        return self.best != BestBy(best_share=1.0, by=self.by)


def parse_ranks(ranks: str) -> tuple[int, int | None]:
    """The first and the last rank, counted from 1; None for the last if there is no end.

    >>> parse_ranks("1-3"), parse_ranks("2"), parse_ranks("2-")
    ((1, 3), (2, 2), (2, None))

    Raises:
        ValueError: The text has another form.
    """
    first, dash, last = ranks.partition("-")
    numbers = [int(part) for part in (first, last) if part.isascii() and part.isdigit()]
    if len(numbers) < (2 if last else 1) or not first or 0 in numbers or numbers != sorted(numbers):
        raise ValueError(f"wanted ranks such as 1, 1-3 or 2-, got {ranks!r}")
    return numbers[0], numbers[-1] if last or not dash else None


def filter_parabank(settings: Filter) -> dict:
    """Choose the paraphrases of a parabank anew among all candidates that its run kept, and package them.

    Beside the new version are its shards, as beside the old one, so that it can be filtered again: by a further
    condition, and to other ranks.

    A paraphrase that does not meet the condition is refused; a candidate that only lost to it may take its place, as
    the recipe of the parabank ranks them. Thresholds of the run stay: what it refused by them does not come back. Where
    the run had a judge, the paraphrases are ranked by it, and no candidate comes back that it has not read. Where the
    pairs were chosen over the corpus, no candidate comes back, and the ranks are those of the pairs that are left.

    Where models of meaning are given, they measure the paraphrases first, and only these. The scores stay beside the
    run, so that another condition on them measures nothing again, and a command that was ended goes on. Every process
    of a launch measures its share of the shards.

    Returns:
        The measured figures of the new version (`toolkit.package.statistics.measure`) on the main process; an empty
        dictionary on others.

    Raises:
        ValueError: The folder is no parabank, its run is not beside it or has not measured a score, or no paraphrase
            remains.
        OSError: The output cannot be written.
        RuntimeError: A server gives no reply, the cost has reached its limit, or requests wait in batches.
    """
    from toolkit.package.build import package_parabank
    from toolkit.package.parquet import finished_shards
    from toolkit.system.lock import held
    from toolkit.system.processes import processes, wait

    parabank, new_parabank = Path(settings.parabank), Path(settings.output_dir)
    run, manifest = _find_run(parabank)
    folder = shards_beside(new_parabank)
    for output, record in ((new_parabank, MANIFEST), (folder, SETTINGS)):
        check_output_folder(output, record, [parabank, run])
    shards, recorded = finished_shards(run), read_record(run / SETTINGS)
    floors = [f"{score} >= {floor!r}" for score, floor in settings.floors.items()]
    state, scores = processes(exchange=False), settings.scores
    if settings.where is not None:
        check_measured(shards, settings.where, [*scores, *(("entailed", "entails") if settings.nli else ())])
    conditions = [f"({condition})" for condition in (recorded.get("where"), settings.where, *floors) if condition]
    where, ranks = " and ".join(conditions) or "true", settings.ranks or recorded.get("ranks", "1-")
    check_where(where)  # also what the record of the run says
    pieces = _load_pieces(recorded)
    models, signatures = settings.alone(run), dict[str, str]()
    if models is not None:
        shards, signatures = _measure(shards, models, settings.dtype, state)
    choice = {"where": where, "ranks": ranks} | signatures
    is_judged, is_cut = recorded.get("min_usable") is not None, CHOSEN in recorded
    rank = rank_by_usable if is_judged else RANKINGS[recorded["builder"]](recorded)
    first, last = parse_ranks(settings.ranks or "1-" if is_cut else ranks)

    def write_copy(shard: Path, copy: Path) -> None:
        write_shard(copy, chosen_anew(read_shard(shard), meeting(shard, where), rank, first, last, is_judged, is_cut))

    with held(folder, state):
        if state.is_main_process:
            _remove_other(folder, recorded | choice, new_parabank)
            write_records(run, choice, folder)
            copy_shards(shards, folder, write_copy)
        wait(state)
        shards_folder = folder
        if settings.over_corpus:
            rule = partial(refuse_but_best, settings=settings.best, lang=recorded["lang"], lines=0)
            shards_folder = choose(finished_shards(folder), settings.best, rule, state)
        if not state.is_main_process:
            return {}
        return package_parabank(
            shards_folder,
            new_parabank,
            new_parabank.name,
            settings.version or _next_minor(manifest["version"]),
            manifest["license"],
            manifest["models"],
            manifest["builder"],
            pieces=pieces.split if pieces else None,
        )


def _measure(
    shards: list[Path], models: MeaningModels, dtype: str, state: PartialState
) -> tuple[list[Path], dict[str, str]]:
    """Copies of shards in which models of meaning have measured the paraphrases; finished copies are kept.

    Args:
        shards: All finished shards of a run.
        models: The models.
        dtype: Of language models.
        state: The processes.

    Returns:
        All copies, which are in a folder of the run, and the signatures of the scores.
    """
    import torch

    from toolkit.data.progress import rows_bar
    from toolkit.score.meaning import load_meaning
    from toolkit.system.lock import held
    from toolkit.system.processes import mine, wait

    scorer = load_meaning(models, dtype, state.device)
    on_server = {"rubric"} if models.server is not None else set()
    local_models = {name: getattr(models, name) for name in scorer.signatures if name not in on_server}
    measured_by = scorer.signatures | contents_of_run({}, local_models)  # two models may have the same name
    digest = hashlib.blake2b(json.dumps(measured_by, sort_keys=True).encode(), digest_size=4).hexdigest()
    folder = shards[0].parent / f"measured-{digest}"
    own_shards = list(mine(shards, state))
    counts = {shard: pq.read_metadata(shard).num_rows for shard in own_shards}
    stages = len(scorer.signatures)
    waiting = 0
    with held(folder, state), torch.inference_mode():
        finished_rows = sum(count for shard, count in counts.items() if (folder / shard.name).exists())
        with rows_bar(sum(counts.values()), finished_rows, stages, "measuring", state.is_main_process):
            for shard in own_shards:
                try:
                    copy_shards([shard], folder, lambda shard, copy: write_shard(copy, scorer.fill(read_shard(shard))))
                except Submitted as submitted:
                    waiting += submitted.count
        if waiting:
            raise RuntimeError(str(Submitted(waiting)))
        wait(state)
    return [folder / shard.name for shard in shards], scorer.signatures


def _find_run(parabank: Path) -> tuple[Path, dict]:
    """The folder of the shards that a parabank was packaged from, and its manifest.

    Raises:
        ValueError: The folder is no parabank, or its run is not beside it.
    """
    if not is_parabank(parabank):
        raise ValueError(f"wanted a packaged parabank, got {parabank} without {MANIFEST}: check the path")
    manifest = read_record(parabank / MANIFEST)
    run = run_beside(parabank, manifest["settings"])
    if not (run / SETTINGS).is_file():
        raise ValueError(f"wanted the run of {parabank} beside it, got no {run}: without it nothing can be chosen")
    return run, manifest


def _remove_other(folder: Path, expected: dict, packaged: Path) -> None:
    """Remove the shards of another choice, of which no parabank came; refuse those of a parabank.

    Raises:
        ValueError: The folder holds the shards of a run, or of another choice that was packaged.
    """
    if (folder / SETTINGS).is_file() and (existing := read_record(folder / SETTINGS)) != expected:
        if "ranks" in existing and not is_parabank(packaged):
            for path in folder.iterdir():
                if path.name != LOCK:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            return
        key = next(key for key in {**expected, **existing} if existing.get(key) != expected.get(key))
        raise ValueError(
            f"{folder} holds another choice: {key} was {existing.get(key)!r}, now {expected.get(key)!r}; choose "
            "another --output_dir"
        )


def _load_pieces(recorded: dict) -> Pieces | None:
    """The pieces in which a card counts overlaps; None, said on the terminal, if the run's model is not here."""
    from toolkit.generate.sentinels import load_infiller
    from toolkit.translator.load import load_translator

    from_text = recorded["builder"] == "paranet"
    if from_text and recorded["generator"] == LM:
        return None
    name = recorded["infiller"] if from_text else recorded.get("forward") or recorded["pivot"][1]
    try:
        if from_text:
            return load_infiller(name, "float32", "cpu", recorded["lang"]).target
        source_lang = recorded.get("source_lang") or recorded.get("pivot_lang")
        return load_translator(name, "float32", "cpu", source_lang, recorded["lang"]).target
    except (OSError, ValueError):
        print(f"{name} is not here: the card counts overlaps in words, not in its pieces", file=sys.stderr)
        return None


def _next_minor(version: str) -> str:
    """The next MINOR version.

    >>> _next_minor("1.2.3")
    '1.3.0'
    """
    major, minor, _ = map(int, version.split("."))
    return f"{major}.{minor + 1}.0"
