"""Find the chosen pairs of a run that are not published, because another pair or another split has them.

Pairs repeat because a bitext has references with several sources, with a row for each, and because texts differ only in
case and punctuation. Pairs are compared by the letters and digits of both sides (`toolkit.bitext.normalize.match_key`):
"Don't stop!" equals "dont stop". Of equal pairs the one with the best rank is published; of equal ranks the one with
the best score (dual, else predicted judgment, else translation score); of equal scores the first of the run.

Where a source has several references, one may be the paraphrase of another, of another split. So no paraphrase of the
training split is a reference of the validation or test split, and none of the validation split one of the test split.
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

# `reference` and `text` are hashes of the match keys; `level` is the place of the split in this order
PAIRS_SQL = """
CREATE TEMP TABLE pairs
    (shard INTEGER, candidate INTEGER, reference UBIGINT, text UBIGINT, level UTINYINT, rank INTEGER, score DOUBLE)
"""
BEST_KNOWN = ("dual", "judgment", "translation_score")  # candidates are ordered by the first of these that they have
INSERT_SQL = f"""
INSERT INTO pairs
SELECT $shard, candidate, hash(reference), hash(text), list_position(['train', 'validation', 'test'], split), rank,
    coalesce({", ".join(score_sql(name, "scores.") for name in BEST_KNOWN)})
FROM chosen
"""
HELD_OUT_SQL = """
CREATE TEMP TABLE held_out AS
SELECT shard, candidate
FROM pairs JOIN (SELECT reference AS text, max(level) AS highest FROM pairs WHERE level > 1 GROUP BY 1) USING (text)
WHERE level < highest
"""
REMAINING_SQL = "CREATE TEMP VIEW remaining AS FROM pairs ANTI JOIN held_out USING (shard, candidate)"
REPEATED_SQL = """
CREATE TEMP TABLE repeated AS
SELECT shard, candidate, reference = text AS copy FROM (
    SELECT shard, candidate, reference, text, row_number() OVER (
        PARTITION BY reference, text ORDER BY rank, score DESC NULLS LAST, shard, candidate) AS place
    FROM remaining
    SEMI JOIN (SELECT reference, text FROM remaining GROUP BY ALL HAVING count(*) > 1) USING (reference, text))
WHERE place > 1
"""
COUNTS_SQL = """
SELECT (SELECT count(*) FROM held_out),
    (SELECT count(*) FROM remaining WHERE reference = text) - (SELECT count(*) FROM repeated WHERE copy)
"""
LEFT_OUT_SQL = """
SELECT shard, candidate FROM (SELECT shard, candidate FROM repeated UNION ALL FROM held_out) ORDER BY shard, candidate
"""


@dataclass(frozen=True)
class _EqualPairs:
    """The chosen pairs of a run that are not published.

    Attributes:
        left_out: For each shard these candidates: their indices among all candidates of the shard, ascending.
        held_out: How many of them have a reference of another split as paraphrase; the others repeat a better pair.
        copies: The number of distinct pairs whose paraphrase equals the reference except for case and punctuation.
    """

    left_out: list[np.ndarray]
    held_out: int
    copies: int


def find_equal_pairs(shards: list[Path]) -> _EqualPairs:
    """Find the pairs of a run that are not published, in one pass over its shards; DuckDB sorts, on disk if needed.

    Args:
        shards: All finished shards of the run, in order.

    Raises:
        ValueError: A shard is broken.
    """
    with database(MEMORY_LIMIT, THREADS) as connection:
        connection.execute(PAIRS_SQL)
        for number, shard in enumerate(shards):
            for pairs in _chosen_pairs(shard, ["reference", "split"], ["text"], measured_parts(BEST_KNOWN)):
                connection.register("chosen", _with_keys(pairs))
                connection.execute(INSERT_SQL, {"shard": number})
        for query in (HELD_OUT_SQL, REMAINING_SQL, REPEATED_SQL):
            connection.execute(query)
        ((held_out, copies),) = connection.execute(COUNTS_SQL).fetchall()
        return _EqualPairs(_by_shard(connection, len(shards)), held_out, copies)


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
    """The indices of the candidates of each shard that are not published."""
    columns = connection.execute(LEFT_OUT_SQL).fetchnumpy()
    ends = np.searchsorted(columns["shard"], np.arange(shards + 1))
    return [np.asarray(columns["candidate"][a:b], np.int32) for a, b in pairwise(ends)]
