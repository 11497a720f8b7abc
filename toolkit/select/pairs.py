"""The chosen pairs of a shard as flat Arrow tables of a few columns, for what looks at the whole corpus.

Parquet reads no other column from the disk, so that a corpus of many millions of pairs is read in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.data.rows import measured_parts, score_sql
from toolkit.data.shards import candidates_of, read_tables, shard_number

ELEMENT = "candidates.list.element"  # the columns of a candidate, as Parquet names them
BATCH_ROWS = 10_000  # ours: rows in memory at a time, with these columns of all their candidates

# The scores by which pairs are compared over a corpus, as SQL over the column `scores`
SCORES = {
    name: score_sql(name, "scores.")
    for name in (
        *("semantic", "trigram_overlap", "translation_score", "dual", "dual_per_token"),
        *("given_reference", "relative_fluency", "judgment", "ranking"),
        *("entailment", "parapluie", "rubric"),
    )
}
PARTS = measured_parts(SCORES)  # what of `scores` they need


def _chosen_pairs(
    shard: Path,
    of_rows: Sequence[str] = (),
    of_candidates: Sequence[str] = (),
    scores: Sequence[str] = PARTS,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.Table]:
    """The chosen candidates of a shard, a batch at a time.

    Args:
        shard: A finished shard.
        of_rows: The columns of rows to read, such as "id".
        of_candidates: The columns of candidates to read, such as "text".
        scores: The fields of `scores` to read.
        batch_rows: The rows of a batch, with all their candidates.

    Yields:
        Tables with `row`, the place of the row in the shard, `number`, that of the candidate in the row, `candidate`,
        that among all candidates of the shard, `rank`, `scores`, and the columns asked for.

    Raises:
        ValueError: The file is not a shard of rows.
    """
    fields = [*of_candidates, "rank", *(f"scores.{name}" for name in scores)]
    columns = [*of_rows, *(f"{ELEMENT}.{field}" for field in fields)]
    row_offset, candidate_offset = 0, 0
    for rows in read_tables(shard, batch_rows, columns):
        candidate_lists = candidates_of(rows)
        values = pa.Table.from_struct_array(candidate_lists.flatten())
        parents = pc.list_parent_indices(candidate_lists).to_numpy()
        positions = np.arange(len(values), dtype=np.int32)
        first_positions = np.searchsorted(parents, parents).astype(np.int32)
        values = values.append_column("row", pa.array((parents + row_offset).astype(np.int32)))
        values = values.append_column("number", pa.array(positions - first_positions))
        values = values.append_column("candidate", pa.array(positions + np.int32(candidate_offset)))
        for name in of_rows:
            values = values.append_column(name, rows[name].take(pa.array(parents)))
        row_offset, candidate_offset = row_offset + len(rows), candidate_offset + len(values)
        yield values.filter(pc.is_valid(values["rank"]))


def _numbered_pairs(shards: Sequence[Path], scores: Sequence[str] = ()) -> Iterator[pa.Table]:
    """The chosen candidates of all shards with their texts, a batch at a time.

    Args:
        shards: All finished shards of a run.
        scores: The fields of `scores` to read.

    Yields:
        Tables (see `_chosen_pairs`) with `reference`, `text`, `shard`, the number of the shard, and `id`, the number of
        the pair in the order of the shards.
    """
    pair_offset = 0
    for shard in shards:
        for pairs in _chosen_pairs(shard, ["reference"], ["text"], scores):
            pairs = pairs.append_column("shard", pa.array(np.full(len(pairs), shard_number(shard), np.int32)))
            yield pairs.append_column("id", pa.array(np.arange(pair_offset, pair_offset + len(pairs))))
            pair_offset += len(pairs)


def _check_scored(connection: duckdb.DuckDBPyConnection, score: str, run: Path) -> None:
    """Refuse a corpus without pairs, or with pairs that do not have a score.

    Args:
        connection: A database with the table `pairs`, whose column `score` has it.
        score: The name of the score.
        run: The folder of the run, for the message.

    Raises:
        ValueError: There is no pair, or a pair does not have that score.
    """
    ((pairs, scored),) = connection.execute("SELECT count(*), count(score) FROM pairs").fetchall()
    if scored < pairs or not pairs:
        raise ValueError(
            f"wanted pairs that all have a {score}, got {scored} of {pairs} in {run}: choose by another score, or "
            "build again"
        )
