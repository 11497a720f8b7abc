"""A pair stands once: which chosen candidates repeat a better pair of their reference, in their own row or another.

A bitext has references with several sources, a row for each, and texts that differ in case and punctuation only. Pairs
are compared by the letters and digits of both sides (`toolkit.bitext.normalize.match_key`): "Don't stop!" equals "dont
stop". Of equal pairs the one with the best rank stays; of those with equal ranks the one with the best score: dual,
else predicted judgment, else translation score; of those the first of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.bitext.normalize import match_key
from toolkit.database import database
from toolkit.package.parquet import candidates_of, read_tables

# Beside the texts only what orders equal pairs; Parquet reads no other column from the disk.
SCORES = ("forward_logprob", "forward_tokens", "backward_logprob", "backward_tokens", "judgment")
COLUMNS = [
    "reference",
    *(f"candidates.list.element.{name}" for name in ("text", "rank", *(f"scores.{score}" for score in SCORES))),
]

PAIRS_SQL = """
CREATE TEMP TABLE pairs
    (shard INTEGER, candidate INTEGER, key UHUGEINT, copy BOOLEAN, rank INTEGER, score DOUBLE)
"""
INSERT_SQL = """
INSERT INTO pairs
SELECT $shard, candidate, md5_number(concat(reference, chr(31), text)), reference = text, rank, coalesce(
    s.forward_logprob / s.forward_tokens + s.backward_logprob / s.backward_tokens,
    s.judgment,
    s.forward_logprob / s.forward_tokens)
FROM (SELECT *, scores AS s FROM chosen)
"""
REPEATED_SQL = """
CREATE TEMP TABLE repeated AS
SELECT shard, candidate, copy FROM (
    SELECT shard, candidate, copy,
        row_number() OVER (PARTITION BY key ORDER BY rank, score DESC NULLS LAST, shard, candidate) AS place
    FROM pairs SEMI JOIN (SELECT key FROM pairs GROUP BY key HAVING count(*) > 1) USING (key))
WHERE place > 1
"""
COPIES_SQL = "SELECT (SELECT count(*) FROM pairs WHERE copy) - (SELECT count(*) FROM repeated WHERE copy)"


@dataclass(frozen=True)
class EqualPairs:
    """What repeats in a run.

    Attributes:
        repeated: For each shard the chosen candidates that repeat a better pair: their numbers among all candidates of
            the shard, ascending.
        copies: Pairs, each counted once, whose paraphrase is its own reference but for case and punctuation.
    """

    repeated: list[np.ndarray]
    copies: int


def find_equal_pairs(shards: list[Path]) -> EqualPairs:
    """Find the pairs of a run that repeat a better one, in one pass over its shards; DuckDB sorts, on disk if need be.

    Args:
        shards: All finished shards of a run, in order.

    Raises:
        ValueError: A shard is broken.
    """
    with database() as connection:
        connection.execute(PAIRS_SQL)
        for number, shard in enumerate(shards):
            for chosen in chosen_texts(shard):
                connection.register("chosen", chosen)
                connection.execute(INSERT_SQL, {"shard": number})
        connection.execute(REPEATED_SQL)
        ((copies,),) = connection.execute(COPIES_SQL).fetchall()
        return EqualPairs(by_shard(connection, len(shards)), copies)


def chosen_texts(shard: Path) -> Iterator[pa.Table]:
    """The chosen candidates of a shard, a batch at a time.

    Yields:
        Tables with `candidate`, the number among all candidates of the shard, `rank`, `scores`, and `reference` and
        `text`, both bare; a text without any letter or digit stays as it is.
    """
    before = 0
    for rows in read_tables(shard, columns=COLUMNS):
        listed = candidates_of(rows)
        values = pa.Table.from_struct_array(listed.flatten())
        values = values.append_column("candidate", pa.array(np.arange(before, before + len(values)), pa.int32()))
        values = values.append_column("row", pc.list_parent_indices(listed))
        before += len(values)
        chosen = values.filter(pc.is_valid(values["rank"]))
        references = pa.array([match_key(text) or text for text in rows["reference"].to_pylist()], pa.string())
        texts = pa.array([match_key(text) or text for text in chosen["text"].to_pylist()], pa.string())
        yield (
            chosen.select(["candidate", "rank", "scores"])
            .append_column("reference", references.take(chosen["row"]))
            .append_column("text", texts)
        )


def by_shard(connection: duckdb.DuckDBPyConnection, shards: int) -> list[np.ndarray]:
    """The repeated candidates of each shard."""
    found = connection.execute("SELECT shard, candidate FROM repeated ORDER BY shard, candidate").fetchnumpy()
    ends = np.searchsorted(found["shard"], np.arange(shards + 1))
    return [np.asarray(found["candidate"][a:b], np.int32) for a, b in pairwise(ends)]
