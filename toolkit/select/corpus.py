"""Select a part of a whole corpus: find what is refused over all shards, then copy them; an interrupted copy resumes.

The shards of the run are not changed. `write_choice` applies a rule to all of them at once and records which pairs it
refuses; `_copy_chosen` copies them to a folder of their own, where a refused pair has a reason instead of a rank. This
folder has the same files as that of a run, so it can be packaged or read like one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.data.database import database
from toolkit.data.shards import (
    INPUTS,
    candidates_of,
    dropped_of,
    named_if_broken,
    read_tables,
    shard_number,
    with_candidates,
    write_table,
)
from toolkit.system.outputs import CONTAMINATION
from toolkit.system.processes import mine, wait
from toolkit.system.settings import SETTINGS
from toolkit.system.whole_files import read_record, remove_unfinished, whole_file, write_whole

if TYPE_CHECKING:
    from accelerate import PartialState

CUT = "cut.json"  # the file with what a rule says of its selection, such as thresholds
CHOSEN = "chosen"  # in the record of a selection, the name of its folder
REFUSED = "refused.parquet"  # the file with the pairs that it refuses
BATCH_ROWS = 100_000  # ours: refused pairs that are written at a time
# `number` is the place of the candidate in its row, `row` that of the row in its shard
REFUSED_SQL = "CREATE TEMP TABLE refused (shard INTEGER, row INTEGER, number INTEGER, reason VARCHAR)"

# Takes a database and all shards, fills the table `refused`, and returns what cut.json says of it
Rule = Callable[[duckdb.DuckDBPyConnection, list[Path]], dict]


def _chosen_folder(run: Path, settings: Any) -> Path:
    """The folder of a selection, within the folder of the run; its name depends on the settings.

    >>> from toolkit.select.deciles import DecileSettings
    >>> _chosen_folder(Path("bank.shards"), DecileSettings(by="trigram_overlap")).as_posix()
    'bank.shards/chosen-3940099d'

    Args:
        run: The folder of the run.
        settings: A dataclass.
    """
    digest = hashlib.blake2b(json.dumps(asdict(settings)).encode(), digest_size=4).hexdigest()
    return run / f"chosen-{digest}"


def choose(shards: list[Path], settings: Any, rule: Rule, state: PartialState) -> Path:
    """Apply a rule to the corpus, and copy the shards of a run accordingly; every process calls it.

    Args:
        shards: All finished shards of the run.
        settings: The settings of the rule, a dataclass.
        rule: Decides on the pairs.
        state: The processes.

    Returns:
        The folder of the copies.
    """
    folder = _chosen_folder(shards[0].parent, settings)
    if state.is_main_process:
        write_choice(shards, asdict(settings), rule, folder)
    wait(state)
    _copy_chosen(list(mine(shards, state)), folder)
    wait(state)
    return folder


def write_choice(shards: list[Path], settings: dict, rule: Rule, folder: Path) -> None:
    """Create the folder of a selection: what the rule refuses, and the records of the run with its settings.

    One process calls this before any process calls `_copy_chosen`, which reads the folder.

    Args:
        shards: All finished shards of a run.
        settings: The settings of the rule.
        rule: Decides on the pairs.
        folder: The folder for the copies of the shards.

    Raises:
        ValueError: The rule cannot decide; the message says why.
    """
    write_records(shards[0].parent, settings | {CHOSEN: folder.name}, folder)
    if (folder / REFUSED).exists() and (folder / CUT).exists():
        return
    with database() as connection:
        connection.execute(REFUSED_SQL)
        record = rule(connection, shards)
        _write_refused(connection, folder / REFUSED)
    write_whole(folder / CUT, json.dumps(record, indent=1))


def _write_refused(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Write the table `refused` to a file, whole or not at all, in the order of the shards and rows."""
    reader = connection.sql("FROM refused ORDER BY ALL").to_arrow_reader(BATCH_ROWS)
    with whole_file(path) as temporary, pq.ParquetWriter(temporary, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)


def _copy_chosen(shards: list[Path], folder: Path) -> list[Path]:
    """Copy shards into the folder of a selection, skipping finished copies; refused pairs lose their rank.

    Args:
        shards: Finished shards of a run: all, or one process's share.
        folder: The folder that `write_choice` created.

    Returns:
        The paths of the copies, in order.
    """
    return copy_shards(shards, folder, lambda shard, copy: write_table(copy, _chosen_table(shard, folder / REFUSED)))


def copy_shards(shards: list[Path], folder: Path, write_copy: Callable[[Path, Path], None]) -> list[Path]:
    """Copy shards into the folder of a selection, skipping finished copies.

    Args:
        shards: Finished shards of a run: all, or one process's share.
        folder: The folder of the selection.
        write_copy: Writes the copy of a shard, which has other rows: whole, or not at all.

    Returns:
        The paths of the copies, in order.
    """
    copies = [folder / shard.name for shard in shards]
    for shard, copy in zip(shards, copies, strict=True):
        if not copy.exists():
            if dropped_of(shard).exists():
                write_whole(dropped_of(copy), dropped_of(shard).read_bytes())
            write_copy(shard, copy)
    return copies


def shards_beside(parabank: Path) -> Path:
    """The folder of the run of a parabank.

    >>> shards_beside(Path("/build/my-parabank")).as_posix()
    '/build/my-parabank.shards'
    """
    return parabank.resolve().with_name(f"{parabank.resolve().name}.shards")


def run_beside(parabank: Path, settings: Mapping[str, Any]) -> Path:
    """The folder of the shards that a parabank was packaged from: that of its run, or of a choice in that.

    Args:
        parabank: The folder of the parabank, beside which the run is.
        settings: Those of its manifest.
    """
    run = shards_beside(parabank)
    chosen_run = run / settings.get(CHOSEN, "")
    return chosen_run if chosen_run.is_dir() else run


def write_records(run: Path, settings: dict, folder: Path) -> None:
    """Create the folder of a selection: the records of its run, with the settings of the selection added."""
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder)
    write_whole(folder / SETTINGS, json.dumps(read_record(run / SETTINGS) | settings, indent=1))
    write_whole(folder / INPUTS, (run / INPUTS).read_bytes())
    if (run / CONTAMINATION).exists():
        write_whole(folder / CONTAMINATION, (run / CONTAMINATION).read_bytes())


def _chosen_table(shard: Path, refused: Path) -> pa.Table:
    """The rows of a shard after the selection: refused pairs have a reason, all others are ranked anew from 0.

    Args:
        shard: A finished shard of the run.
        refused: The file of `_write_refused`.
    """
    rows = pa.concat_tables(read_tables(shard)).combine_chunks()
    candidate_lists = candidates_of(rows)
    values = pa.Table.from_struct_array(candidate_lists.flatten())
    with named_if_broken(refused):
        lost = pq.read_table(
            refused, columns=["row", "number", "reason"], filters=[("shard", "==", shard_number(shard))]
        ).combine_chunks()
    first_of_row = np.concatenate([[0], np.cumsum(pc.list_value_length(candidate_lists))])
    positions = first_of_row[lost["row"].to_numpy()] + lost["number"].to_numpy()
    is_lost = np.zeros(len(values), bool)
    is_lost[positions] = True
    reasons = np.full(len(values), None, object)
    reasons[positions] = lost["reason"].to_numpy()
    ranks = pc.if_else(pa.array(is_lost), pa.scalar(None, pa.int32()), values["rank"])
    new_ranks = _ranks_anew(ranks.combine_chunks(), pc.list_parent_indices(candidate_lists).to_numpy())
    new_reasons = pc.if_else(pa.array(is_lost), pa.array(reasons, pa.string()), values["reason"])
    for name, column in (("rank", new_ranks), ("reason", new_reasons)):
        position = values.column_names.index(name)
        values = values.set_column(position, values.schema.field(position), column)
    return with_candidates(rows, values)


def _ranks_anew(ranks: pa.Int32Array, rows: np.ndarray) -> pa.Array:
    """Ranks that count from 0 in each row, in the order of other ranks.

    >>> _ranks_anew(pa.array([3, None, 1, 0, 5], pa.int32()), np.array([0, 0, 0, 1, 1])).to_pylist()
    [1, None, 0, 0, 1]

    Args:
        ranks: Of all candidates, null where one is not chosen: (N,).
        rows: The row of each, ascending: (N,).
    """
    ranked_positions = np.flatnonzero(ranks.is_valid().to_numpy(zero_copy_only=False))
    order = ranked_positions[np.lexsort((ranks.take(pa.array(ranked_positions)).to_numpy(), rows[ranked_positions]))]
    new_ranks = np.zeros(len(ranks), np.int32)
    new_ranks[order] = np.arange(len(order)) - np.searchsorted(rows[order], rows[order])
    is_missing = np.ones(len(ranks), bool)
    is_missing[order] = False
    return pa.array(new_ranks, mask=is_missing)
