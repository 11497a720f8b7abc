"""Count the references and candidates of a run by what its figures need, also the candidates that no shard has.

A shard may have been written without its losers (`toolkit.package.keep`). The file beside it has the differences: for
each kind the number in the whole shard less that in the file. Counts are integers and are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from toolkit.data.database import database
from toolkit.data.rows import score_sql
from toolkit.data.shards import dropped_of, is_whole

BINS = 12  # ours: the last bin has no upper limit
WIDTHS = {
    "dual": 0.5,
    "forward": 0.25,
    "backward": 0.25,
}  # ours: bin widths in nats; the threshold of 3.5 on the dual score is an edge of a bin
# ParaNMT-50M, table 3: the ranges of the paraphrase score, from (exclusive) and to (inclusive)
RANGES = ((-0.1, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))
MILLIONTHS = 10**6  # ours: trigram overlaps are added as integers of millionths

# ours: a word is letters, marks and digits, with apostrophes and hyphens inside
WORD = r"[\p{L}\p{M}\p{N}]+(?:[''’-][\p{L}\p{M}\p{N}]+)*"


def _bin_sql(nats: str, score: str) -> str:
    """The SQL expression for the bin of a score; NULL if there is no score (`least` ignores NULL)."""
    number = f"least(floor(({nats}) / {WIDTHS[score]}), {BINS - 1})::INTEGER"
    return f"CASE WHEN ({nats}) IS NOT NULL THEN {number} END AS {score}"


# References grouped by split and by the number of clusters of their candidates.
REFERENCES_SQL = """
SELECT split, len(list_distinct(list_transform(candidates, lambda c: c.cluster))) AS clusters, count(*) AS n,
    sum(len(candidates)) AS candidates,
    sum(coalesce(list_sum(list_transform(candidates, lambda c: c.draws)), 0)) AS draws
FROM {rows} WHERE reason IS NULL GROUP BY ALL
"""

# The candidates of the rows, or the `published` pairs, grouped by all properties that are counted. `forbidden`: the
# words that all origins of a text forbade, the first of each phrase, one phrase a line; where all phrases are single
# words of letters, a simpler expression finds them in a third of the time. `score_range`: how many lower limits of
# RANGES its paraphrase score exceeds.
CANDIDATES_SQL = rf"""
SELECT published, reason, rank IS NOT NULL AS chosen,
    cluster IS NOT NULL AS clustered, coalesce(cluster = 0, false) AS own_cluster,
    {_bin_sql("forward + backward", "dual")}, {_bin_sql("forward", "forward")}, {_bin_sql("backward", "backward")},
    coalesce(len(forbidden), 0) > 0 AS constrained,
    list_has_any(regexp_extract_all(spaced(text), '{WORD}'), forbidden) AS came_back,
    {" + ".join(f"(semantic > {above})::INTEGER" for above, _ in RANGES)} AS score_range,
    count(*) AS n, count(trigrams) AS measured, sum(trigrams) AS total, sum(trigrams * trigrams) AS squares
FROM (
    SELECT published, reason, rank, cluster, text, semantic,
        -({score_sql("translation_score")}) AS forward, -({score_sql("backward_score")}) AS backward,
        round(trigram_overlap * {MILLIONTHS})::BIGINT AS trigrams,
        CASE WHEN len(origins) < 2 THEN origins[1].negative ELSE list_reduce(
            list_transform(origins, lambda o: o.negative), lambda a, b: list_intersect(a, b)) END AS common,
        replace(array_to_string(common, chr(10)), chr(9601), '') AS phrases,
        CASE WHEN regexp_full_match(phrases, '[\p{{L}}\n]*') THEN regexp_extract_all(phrases, '\p{{L}}+')
            ELSE regexp_extract_all(phrases, '(?m)^.*?({WORD})', 1) END AS forbidden
    FROM (TEXTS)
) GROUP BY ALL
"""
SHARD_TEXTS = """
SELECT false AS published, c.reason, c.rank, c.cluster, c.text, c.origins, c.scores.semantic,
    c.scores.trigram_overlap, c.scores.forward_logprob, c.scores.forward_tokens,
    c.scores.backward_logprob, c.scores.backward_tokens
FROM (SELECT unnest(candidates) AS c FROM {rows})
"""
PAIR_TEXTS = """
SELECT true AS published, NULL::VARCHAR AS reason, rank, cluster, sentence2 AS text, origins, semantic,
    trigram_overlap, forward_logprob, forward_tokens, backward_logprob, backward_tokens
FROM {rows}
"""

# A row is counted once for each of its recipes; its id is in no other row, so that no ids are compared.
RECIPES_SQL = """
SELECT recipe, count(*) FILTER (WHERE counted = 'row') AS n,
    count(*) FILTER (WHERE counted = 'candidate' AND text <> '') AS candidates,
    count(*) FILTER (WHERE counted = 'candidate' AND unmet) AS unmet, 0 AS paraphrases
FROM (SELECT 'row' AS counted, unnest(list_distinct(flatten(list_transform(candidates,
          lambda c: list_transform(c.origins, lambda o: o.recipe))))) AS recipe, '' AS text, false AS unmet
      FROM {rows}
      UNION ALL
      SELECT 'candidate', o.recipe, text, len(o.unmet) > 0
      FROM (SELECT c.text, unnest(c.origins) AS o FROM (SELECT unnest(candidates) AS c FROM {rows})))
WHERE recipe IS NOT NULL GROUP BY 1
"""
PAIR_RECIPES_SQL = """
SELECT o.recipe AS recipe, 0 AS n, 0 AS candidates, 0 AS unmet, count(*) AS paraphrases
FROM (SELECT unnest(origins) AS o FROM {rows}) WHERE o.recipe IS NOT NULL GROUP BY 1
"""

ROWS = "{rows}"  # in a query, the table that it reads

# By table: the query over rows, that over published pairs, and the columns that are added; the others name the kind.
TABLES = {
    "references_by_kind": (REFERENCES_SQL, None, ("n", "candidates", "draws")),
    "candidates_by_kind": (
        CANDIDATES_SQL.replace("TEXTS", SHARD_TEXTS),
        CANDIDATES_SQL.replace("TEXTS", PAIR_TEXTS),
        ("n", "measured", "total", "squares"),
    ),
    "recipes_by_kind": (RECIPES_SQL, PAIR_RECIPES_SQL, ("n", "candidates", "unmet", "paraphrases")),
}
SIGNS = {1: "whole", -1: "kept"}  # of the tables whose counts are subtracted
SHARDS, PAIRS, DROPPED = (f"read_parquet(${name})" for name in ("shards", "pairs", "dropped"))


def _count(connection: duckdb.DuckDBPyConnection, shards: Sequence[Path], pairs: Sequence[str] = ()) -> None:
    """Make `TABLES` of a run: its shards, what was dropped from them, and the published pairs.

    Args:
        connection: The database for the tables. A kind may stand in several rows of a table: add them.
        shards: The shards of the run.
        pairs: The published files of config `pairs`.
    """
    dropped = [str(file) for shard in shards if (file := dropped_of(shard)).exists()]
    _check_counts(map(Path, dropped))
    for name, (of_rows, of_pairs, count_columns) in TABLES.items():
        query = f"CREATE TEMP TABLE {name} AS {of_rows.replace(ROWS, SHARDS)}"
        connection.execute(query, {"shards": [str(shard) for shard in shards]})
        if pairs and of_pairs:
            connection.execute(f"INSERT INTO {name} BY NAME {of_pairs.replace(ROWS, PAIRS)}", {"pairs": list(pairs)})
        if dropped:
            query = f"SELECT unnest({name}, recursive := true) FROM {DROPPED}"
            connection.execute(f"INSERT INTO {name} BY NAME {query}", {"dropped": dropped})
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {_sum_query(name, count_columns)}")


def _check_counts(files: Iterable[Path]) -> None:
    """Refuse broken counts of what shards no longer have; DuckDB does not look at the checksums of pages.

    Raises:
        ValueError: A file is broken; the message names it and its shard, which are made again together.
    """
    for file in files:
        if not is_whole(file):
            shard = file.name.replace("dropped-", "rows-")
            raise ValueError(
                f"wanted the counts of a shard, got a broken {file}: delete it and {shard} beside it, then run the "
                "same command again, which makes them again"
            )


def _sum_query(table: str, count_columns: Sequence[str], factor: str = "1") -> str:
    """The SQL query for the kinds of a table with the sums of their counts, without those that are all zero.

    Args:
        table: The name of the table, or a query in brackets.
        count_columns: The columns that are added; the others name the kind.
        factor: A column by which the counts are multiplied, and which does not name a kind.
    """
    sums = {column: f"sum({factor} * {column})::BIGINT" for column in count_columns}
    excluded_columns = [*count_columns, *([factor] if factor != "1" else [])]
    return (
        f"SELECT * EXCLUDE ({', '.join(excluded_columns)}), "
        f"{', '.join(f'{total} AS {name}' for name, total in sums.items())} "
        f"FROM {table} GROUP BY ALL HAVING {' OR '.join(f'{total} <> 0' for total in sums.values())} ORDER BY ALL"
    )


def _differences(all_rows: pa.Table, kept_rows: pa.Table) -> pa.Table:
    """What the counts of a shard have more than those of the part of it that is kept.

    Args:
        all_rows: All rows with all candidates, as `toolkit.data.rows.to_table` makes them.
        kept_rows: The same rows with fewer candidates.

    Returns:
        One row with a list for each of `TABLES`: the kinds whose counts differ.
    """
    lists = []
    for name, (query, _, count_columns) in TABLES.items():
        parts = [f"SELECT {sign} AS sign, * FROM ({query.replace(ROWS, rows)})" for sign, rows in SIGNS.items()]
        kinds = _sum_query(f"({' UNION ALL '.join(parts)})", count_columns, "sign")
        lists.append(f"(SELECT list(kind) FROM ({kinds}) AS kind) AS {name}")
    with database() as connection:
        connection.register("whole", all_rows)
        connection.register("kept", kept_rows)
        return connection.sql(f"SELECT {', '.join(lists)}").to_arrow_table()


def _no_paraphrase_message(shards: Sequence[Path], where: str | None = None, ranks: str = "1-") -> str:
    """The error message for a run without paraphrases: how many candidates were refused for each reason.

    Args:
        shards: The shards of the run.
        where: The condition of a filter ("true" for none), which alone is then to blame; None for a run that decoded.
        ranks: The ranks that this filter keeps.
    """
    with database() as connection:
        _count(connection, shards)
        query = "SELECT coalesce(reason, 'without a reason'), sum(n)::BIGINT AS all_of_it FROM candidates_by_kind"
        reasons = connection.execute(f"{query} GROUP BY 1 ORDER BY all_of_it DESC, 1").fetchall()
    if where is not None:
        refused = dict(reasons).get("where", 0)
        if not refused:
            return f"wanted at least one paraphrase, got none of ranks {ranks}: give --ranks that some reference has"
        wider = "" if ranks == "1-" else f", or give more --ranks than {ranks}"
        return (
            f"wanted at least one paraphrase, got none: the condition {where} refused {refused:,}; "
            f"make it less strict{wider}"
        )
    counts = ", ".join(f"{n:,} {reason}" for reason, n in reasons) or "the decoder gave none"
    return (
        f"wanted at least one paraphrase, got none of the {sum(n for _, n in reasons):,} candidates in "
        f"{shards[0].parent}: {counts}; relax what refused most and build again"
    )
