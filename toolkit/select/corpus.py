"""Select a part of a whole corpus: find thresholds over all shards, then copy the shards; an interrupted copy resumes.

The shards of the run are not changed. `write_thresholds` reads all of them once and records the thresholds;
`choose_shards` copies them to a folder of their own, where a paraphrase that is not selected has a reason instead of a
rank. This folder has the same files as that of a run, so it can be packaged or read like one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from toolkit.database import database
from toolkit.rows import Row
from toolkit.select.deciles import MEASURES, PAIRS_SQL, DecileSettings, Thresholds, find_thresholds, refusal
from toolkit.settings import SETTINGS
from toolkit.shards import INPUTS, dropped_of, read_record, read_shard, remove_unfinished, write_shard, write_whole

THRESHOLDS = "cut.json"  # the file with the thresholds of a selection


def chosen_folder(run: Path, settings: DecileSettings) -> Path:
    """The folder of a selection, within the folder of the run; its name depends on the settings.

    >>> chosen_folder(Path("bank.shards"), DecileSettings(by="trigram_overlap")).as_posix()
    'bank.shards/chosen-3940099d'
    """
    digest = hashlib.blake2b(json.dumps(asdict(settings)).encode(), digest_size=4).hexdigest()
    return run / f"chosen-{digest}"


def write_thresholds(shards: list[Path], settings: DecileSettings, folder: Path) -> None:
    """Create the folder of a selection: the thresholds, and the records of the run with the settings of the selection.

    One process calls this before any process calls `choose_shards`, which reads the thresholds from the folder.

    Args:
        shards: All finished shards of a run.
        settings: The settings of the selection; `by` is not None.
        folder: The folder for the copies of the shards.

    Raises:
        ValueError: As `find_thresholds`.
    """
    write_records(shards[0].parent, asdict(settings), folder)
    if not (folder / THRESHOLDS).exists():
        write_whole(folder / THRESHOLDS, json.dumps(asdict(find_thresholds(shards, settings)), indent=1))


def choose_shards(shards: list[Path], settings: DecileSettings, folder: Path) -> list[Path]:
    """Copy shards into the folder of a selection, skipping finished copies; pairs not selected lose their rank.

    Args:
        shards: Finished shards of a run: all, or one process's share.
        settings: The settings of the selection; `by` is not None.
        folder: The folder that `write_thresholds` created.

    Returns:
        The paths of the copies, in order.
    """
    record = read_record(folder / THRESHOLDS)
    thresholds = Thresholds(**record | {"begins": [tuple(begin) for begin in record["begins"]]})
    return copy_shards(shards, folder, lambda shard: chosen_rows(shard, settings, thresholds))


def copy_shards(shards: list[Path], folder: Path, rows_of: Callable[[Path], Iterable[Row]]) -> list[Path]:
    """Copy shards with other rows into the folder of a selection, skipping finished copies.

    Args:
        shards: Finished shards of a run: all, or one process's share.
        folder: The folder of the selection.
        rows_of: The rows of the copy of a shard.

    Returns:
        The paths of the copies, in order.
    """
    copies = [folder / shard.name for shard in shards]
    for shard, copy in zip(shards, copies, strict=True):
        if not copy.exists():
            if dropped_of(shard).exists():
                write_whole(dropped_of(copy), dropped_of(shard).read_bytes())
            write_shard(copy, rows_of(shard))
    return copies


def write_records(run: Path, settings: dict, folder: Path) -> None:
    """Create the folder of a selection: the records of its run, with the settings of the selection added."""
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder)
    write_whole(folder / SETTINGS, json.dumps(read_record(run / SETTINGS) | settings, indent=1))
    write_whole(folder / INPUTS, (run / INPUTS).read_bytes())


def chosen_rows(shard: Path, settings: DecileSettings, thresholds: Thresholds) -> Iterator[Row]:
    """The rows of a shard after the selection: refused pairs have a reason, all others are ranked anew from 0."""
    query = PAIRS_SQL.format(measure=MEASURES[str(settings.by)])
    with database() as connection:
        pairs = connection.execute(query, {"shards": [str(shard)], "seed": settings.seed}).fetchall()
    reasons = {pair[:2]: refusal(pair[2:], settings, thresholds) for pair in pairs}
    for row in read_shard(shard):
        for number, candidate in enumerate(row.candidates):
            if reason := reasons.get((row.id, number)):
                candidate.rank, candidate.reason = None, reason
        for rank, candidate in enumerate(row.paraphrases):
            candidate.rank = rank
        yield row
