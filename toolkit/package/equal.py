"""Find repeated pairs, so that each pair is published once: chosen candidates that equal a better pair of the run.

Pairs repeat because a bitext has references with several sources, with a row for each, and because texts differ only in
case and punctuation. Pairs are compared by the letters and digits of both sides (`toolkit.bitext.normalize.match_key`):
"Don't stop!" equals "dont stop". Of equal pairs the one with the best rank is kept; of equal ranks the one with the
best score (dual, else predicted judgment, else translation score); of equal scores the first of the run.
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

# The scores that order equal pairs; beside them and the texts, Parquet reads no column from the disk.
SCORES = ("forward_logprob", "forward_tokens", "backward_logprob", "backward_tokens", "judgment")
COLUMNS = [
    "reference",
    *(f"candidates.list.element.{name}" for name in ("text", "rank", *(f"scores.{score}" for score in SCORES))),
]

# ours: DuckDB's part of the memory, whatever the number of pairs, and the threads that share it. Beyond some million
# pairs it spills; most of the time goes into the keys of the texts, so that neither makes packaging slower.
MEMORY_LIMIT, THREADS = "256MB", 2

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
    """The repeated pairs of a run.

    Attributes:
        repeated: For each shard the chosen candidates that repeat a better pair: their indices among all candidates of
            the shard, ascending.
        copies: The number of distinct pairs whose paraphrase equals the reference except for case and punctuation.
    """

    repeated: list[np.ndarray]
    copies: int


def find_equal_pairs(shards: list[Path]) -> EqualPairs:
    """Find the pairs of a run that repeat a better pair, in one pass over its shards; DuckDB sorts, on disk if needed.

    Args:
        shards: All finished shards of the run, in order.

    Raises:
        ValueError: A shard is broken.
    """
    with database(MEMORY_LIMIT, THREADS) as connection:
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
        Tables with `candidate`, the index among all candidates of the shard, `rank`, `scores`, and the match keys
        `reference` and `text`; the key of a text without letters and digits is the text itself.
    """
    seen = 0
    for rows in read_tables(shard, columns=COLUMNS):
        listed = candidates_of(rows)
        values = pa.Table.from_struct_array(listed.flatten())
        values = values.append_column("candidate", pa.array(np.arange(seen, seen + len(values)), pa.int32()))
        values = values.append_column("row", pc.list_parent_indices(listed))
        seen += len(values)
        chosen = values.filter(pc.is_valid(values["rank"]))
        references = pa.array([match_key(text) or text for text in rows["reference"].to_pylist()], pa.string())
        texts = pa.array([match_key(text) or text for text in chosen["text"].to_pylist()], pa.string())
        yield (
            chosen.select(["candidate", "rank", "scores"])
            .append_column("reference", references.take(chosen["row"]))
            .append_column("text", texts)
        )


def by_shard(connection: duckdb.DuckDBPyConnection, shards: int) -> list[np.ndarray]:
    """The indices of the repeated candidates of each shard."""
    columns = connection.execute("SELECT shard, candidate FROM repeated ORDER BY shard, candidate").fetchnumpy()
    ends = np.searchsorted(columns["shard"], np.arange(shards + 1))
    return [np.asarray(columns["candidate"][a:b], np.int32) for a, b in pairwise(ends)]
