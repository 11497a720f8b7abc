"""A choice that sees the whole corpus: cut once, then copied shard by shard into a folder of its own; it resumes.

A finished run's shards stay as they are. `write_cut` reads all of them once and notes where the corpus is cut;
`choose_shards` copies them, and a paraphrase that is not chosen has a reason instead of a rank. The folder has all that
a run's has, so whatever takes a finished run takes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from toolkit.database import database
from toolkit.rows import Row
from toolkit.select.deciles import MEASURES, PAIRS_SQL, Cut, DecileSettings, find_cut, refusal
from toolkit.settings import SETTINGS
from toolkit.shards import INPUTS, read_record, read_shard, remove_unfinished, write_shard, write_whole

CUT = "cut.json"


def chosen_folder(run: Path, settings: DecileSettings) -> Path:
    """The folder of a choice, in the run's: another choice, another folder.

    >>> chosen_folder(Path("bank.shards"), DecileSettings(by="trigram_overlap")).as_posix()
    'bank.shards/chosen-3940099d'
    """
    digest = hashlib.blake2b(json.dumps(asdict(settings)).encode(), digest_size=4).hexdigest()
    return run / f"chosen-{digest}"


def write_cut(shards: list[Path], settings: DecileSettings, folder: Path) -> None:
    """Make the folder of a choice: the cut, and the run's records with this choice's settings.

    What another process is to do follows from the folder, so one process does this before any chooses.

    Args:
        shards: All finished shards of a run.
        settings: With `by`.
        folder: Where the chosen shards will go.

    Raises:
        ValueError: As `find_cut`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder)
    run = shards[0].parent
    record = read_record(run / SETTINGS) | asdict(settings)
    write_whole(folder / SETTINGS, json.dumps(record, indent=1))
    write_whole(folder / INPUTS, (run / INPUTS).read_bytes())
    if not (folder / CUT).exists():
        write_whole(folder / CUT, json.dumps(asdict(find_cut(shards, settings)), indent=1))


def choose_shards(shards: list[Path], settings: DecileSettings, folder: Path) -> list[Path]:
    """Copy shards into the folder of a choice, skipping what is done; pairs that are not chosen lose their rank.

    Args:
        shards: Finished shards of a run: all, or one process's share.
        settings: With `by`.
        folder: What `write_cut` made.

    Returns:
        The chosen shards, in order.
    """
    found = read_record(folder / CUT)
    cut = Cut(**found | {"begins": [tuple(begin) for begin in found["begins"]]})
    targets = [folder / shard.name for shard in shards]
    for shard, target in zip(shards, targets, strict=True):
        if not target.exists():
            write_shard(target, chosen_rows(shard, settings, cut))
    return targets


def chosen_rows(shard: Path, settings: DecileSettings, cut: Cut) -> Iterator[Row]:
    """The rows of a shard after the choice: reasons "decile", "too_long" and "not_sampled", the rest ranked anew."""
    query = PAIRS_SQL.format(measure=MEASURES[str(settings.by)])
    with database() as connection:
        found = connection.execute(query, {"shards": [str(shard)], "seed": settings.seed}).fetchall()
    reasons = {one[:2]: refusal(one[2:], settings, cut) for one in found}
    for row in read_shard(shard):
        for number, candidate in enumerate(row.candidates):
            if reason := reasons.get((row.id, number)):
                candidate.rank, candidate.reason = None, reason
        for rank, candidate in enumerate(row.paraphrases):
            candidate.rank = rank
        yield row
