"""Find repeated pairs, so that each pair is published once: chosen candidates that equal a better pair of the run.

Pairs repeat because a bitext has references with several sources, with a row for each, and because texts differ only in
case and punctuation. Pairs are compared by the letters and digits of both sides (`toolkit.bitext.normalize.match_key`):
"Don't stop!" equals "dont stop". Of equal pairs the one with the best rank is kept; of equal ranks the one with the
best score (dual, else predicted judgment, else translation score); of equal scores the first of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from toolkit.clean.match_keys import match_keys
from toolkit.data.database import database
from toolkit.data.rows import measured_parts, score_sql
from toolkit.select.pairs import _chosen_pairs

# ours: DuckDB's part of the memory, whatever the number of pairs, and the threads that share it. Beyond some million
# pairs it spills; most of the time goes into the keys of the texts, so that neither makes packaging slower.
MEMORY_LIMIT, THREADS = "256MB", 2

PAIRS_SQL = """
CREATE TEMP TABLE pairs
    (shard INTEGER, candidate INTEGER, key UHUGEINT, copy BOOLEAN, rank INTEGER, score DOUBLE)
"""
BEST_KNOWN = ("dual", "judgment", "translation_score")  # candidates are ordered by the first of these that they have
INSERT_SQL = f"""
INSERT INTO pairs
SELECT $shard, candidate, md5_number(concat(reference, chr(31), text)), reference = text, rank,
    coalesce({", ".join(score_sql(name, "scores.") for name in BEST_KNOWN)})
FROM chosen
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
class _EqualPairs:
    """The repeated pairs of a run.

    Attributes:
        repeated: For each shard the chosen candidates that repeat a better pair: their indices among all candidates of
            the shard, ascending.
        copies: The number of distinct pairs whose paraphrase equals the reference except for case and punctuation.
    """

    repeated: list[np.ndarray]
    copies: int


def find_equal_pairs(shards: list[Path]) -> _EqualPairs:
    """Find the pairs of a run that repeat a better pair, in one pass over its shards; DuckDB sorts, on disk if needed.

    Args:
        shards: All finished shards of the run, in order.

    Raises:
        ValueError: A shard is broken.
    """
    with database(MEMORY_LIMIT, THREADS) as connection:
        connection.execute(PAIRS_SQL)
        for number, shard in enumerate(shards):
            for pairs in _chosen_pairs(shard, ["reference"], ["text"], measured_parts(BEST_KNOWN)):
                connection.register("chosen", _with_keys(pairs))
                connection.execute(INSERT_SQL, {"shard": number})
        connection.execute(REPEATED_SQL)
        ((copies,),) = connection.execute(COPIES_SQL).fetchall()
        return _EqualPairs(_by_shard(connection, len(shards)), copies)


def _with_keys(pairs: pa.Table) -> pa.Table:
    """Pairs with match keys as `reference` and `text`; the key of a text without letters and digits is the text.

    Args:
        pairs: As `_chosen_pairs` yields them.
    """
    for name in ("reference", "text"):
        keys = match_keys(pairs[name].combine_chunks())
        pairs = pairs.set_column(pairs.column_names.index(name), name, keys)
    return pairs


def _by_shard(connection: duckdb.DuckDBPyConnection, shards: int) -> list[np.ndarray]:
    """The indices of the repeated candidates of each shard."""
    columns = connection.execute("SELECT shard, candidate FROM repeated ORDER BY shard, candidate").fetchnumpy()
    ends = np.searchsorted(columns["shard"], np.arange(shards + 1))
    return [np.asarray(columns["candidate"][a:b], np.int32) for a, b in pairwise(ends)]
