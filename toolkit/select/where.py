"""Choose paraphrases anew by a condition on their scores, from what the shards of a run have; nothing is decoded again.

A condition is an expression of SQL over named scores, such as "semantic >= 0.7 and trigram_overlap < 0.5".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from toolkit.data.database import database, lock
from toolkit.data.rows import Row, Scores, hints_of, measured_parts, score_sql
from toolkit.data.shards import named_if_broken
from toolkit.system.errors import first_line

LOST = ("cluster", "rank")  # reasons of candidates that only lost to a better one
DERIVED = ("dual", "dual_sum", "dual_per_token", "translation_score", "entailment")
NAMES = {  # what a condition may name, and how it is found in a candidate `c`; arithmetic of integers would overflow
    **{name: f"({score_sql(name, 'c.scores.')})::DOUBLE" for name in (*hints_of(Scores), *DERIVED)},
    "draws": "c.draws::DOUBLE",
}
PARTS = {name: measured_parts([name]) for name in NAMES if name != "draws"} | {"draws": []}  # fields of the scores
EXAMPLE = "semantic >= 0.7 and trigram_overlap < 0.5"
CANDIDATES_SQL = """
SELECT id, number, {columns}
FROM (SELECT id, unnest(candidates) AS c, generate_subscripts(candidates, 1) - 1 AS number
      FROM read_parquet($shards))
WHERE c.rank IS NOT NULL OR list_contains($lost, c.reason)
"""
HALVES_SQL = f"SELECT {', '.join(f'0.5::DOUBLE AS {name}' for name in NAMES)}"  # a row to try a condition on


def check_where(where: str) -> None:
    """Refuse an expression that is no condition on the named scores.

    >>> check_where("dual > -2 and not semantic is null")

    Raises:
        ValueError: It is no expression of SQL, names something else, or is neither true nor false.
    """
    with database() as connection:
        lock(connection)
        try:
            _check_expression(connection, where)
            ((_, kind, *_),) = connection.sql(f"DESCRIBE SELECT ({where}) FROM ({HALVES_SQL})").fetchall()
            connection.sql(f"SELECT 1 FROM ({HALVES_SQL}) WHERE ({where})").fetchall()
        except duckdb.Error as error:
            if unknown := re.search(r'Referenced column "(.*?)"', str(error)):
                raise ValueError(f"wanted scores of {', '.join(NAMES)} in a condition, got {unknown[1]!r}") from None
            raise _no_condition(where, error) from None
    if kind != "BOOLEAN":
        raise ValueError(f"wanted a condition such as {EXAMPLE!r}, got {where!r}, which is neither true nor false")


def _no_condition(where: str, error: duckdb.Error) -> ValueError:
    """The error for a condition that DuckDB does not take, or that it cannot compute."""
    return ValueError(f"wanted a condition such as {EXAMPLE!r}, got {where!r} ({first_line(error)})")


def _check_expression(connection: duckdb.DuckDBPyConnection, where: str) -> None:
    """Refuse a text that is more than one expression of SQL, or that has queries or lists of columns in it.

    Raises:
        duckdb.Error: It is refused.
    """
    duckdb.SQLExpression(where)
    ((parsed,),) = connection.execute("SELECT json_serialize_sql($1)", [f"SELECT ({where})"]).fetchall()
    if '"error":true' in parsed or any(f'"class":"{kind}"' in parsed for kind in ("SUBQUERY", "STAR")):
        raise duckdb.ParserException("it is more than one expression of the scores of a candidate")


def _candidates_sql(shard: Path) -> str:
    """The query for the candidates of a shard, and of shards of the same version; scores that they lack are null."""
    candidates = pq.read_schema(shard).field("candidates").type.value_type
    known = {field.name for field in candidates.field("scores").type}
    columns = {name: sql if known >= set(PARTS[name]) else "NULL::DOUBLE" for name, sql in NAMES.items()}
    return CANDIDATES_SQL.format(columns=", ".join(f"{sql} AS {name}" for name, sql in columns.items()))


def check_measured(shards: list[Path], where: str, names_to_come: Collection[str] = ()) -> None:
    """Refuse a condition on a score that no candidate has: it would refuse all of them.

    Args:
        shards: All finished shards of a run.
        where: The condition.
        names_to_come: Scores that are measured later.

    Raises:
        ValueError: Such a score is named.
    """
    used_names = [name for name in NAMES if re.search(rf"\b{name}\b", where, re.IGNORECASE)]
    with database() as connection, named_if_broken(*shards):
        counts = ", ".join(f"count({name})" for name in NAMES)
        parameters = {"shards": [str(shard) for shard in shards], "lost": list(LOST)}
        query = f"SELECT {counts} FROM ({_candidates_sql(shards[0])})"
        ((*score_counts,),) = connection.execute(query, parameters).fetchall()
    measured_names = [name for name, n in zip(NAMES, score_counts, strict=True) if n or name in names_to_come]
    if missing_names := [name for name in used_names if name not in measured_names]:
        raise ValueError(
            f"wanted scores that this run has measured ({', '.join(measured_names)}), got {missing_names[0]}: "
            "build with it"
        )


def meeting(shard: Path, where: str) -> set[tuple[str, int]]:
    """The row ids and numbers of the candidates of a shard that were not refused and meet a condition.

    A score that a candidate does not have meets no condition on it.

    Raises:
        ValueError: The condition cannot be computed, such as a cast out of range, or the shard is broken.
    """
    with database() as connection:
        with named_if_broken(shard):
            parameters = {"shards": [str(shard)], "lost": list(LOST)}
            connection.execute(f"CREATE TEMP TABLE candidates AS {_candidates_sql(shard)}", parameters)
        lock(connection)
        try:
            return set(connection.sql(f"SELECT id, number FROM candidates WHERE ({where})").fetchall())
        except duckdb.Error as error:
            raise _no_condition(where, error) from None


def chosen_anew(
    rows: Iterable[Row],
    matches: set[tuple[str, int]],
    rank: Callable[[Iterable[Row]], Iterator[Row]],
    first: int,
    last: int | None,
    is_judged: bool = False,
    is_cut: bool = False,
) -> Iterator[Row]:
    """Rows whose paraphrases are chosen anew among the candidates that meet a condition.

    A paraphrase that does not meet it is refused: reason "where". Candidates that only lost to a better one and meet it
    may take its place. Of the new ranks those from `first` to `last` remain; the others have the reason "rank".

    Args:
        rows: Rows of a finished run.
        matches: The candidates that meet the condition, as row id and number.
        rank: Ranks the candidates of rows that have no reason, as the recipe of the run does.
        first: The first rank that remains, counted from 1.
        last: The last rank that remains; None is the last there is.
        is_judged: Whether the run judged the paraphrases that it chose. Then no candidate comes back that the judge has
            not read.
        is_cut: Whether the pairs of the run were chosen over the corpus. Then no candidate comes back: it has not been
            compared with the corpus.
    """
    for row in rows:
        for number, candidate in enumerate(row.candidates):
            meets, ranked = (row.id, number) in matches, candidate.rank is not None
            may_return = not is_cut and (candidate.scores.usable is not None or not is_judged)
            if ranked or (candidate.reason in LOST and meets and may_return):
                candidate.rank, candidate.reason = None, None if meets else "where"
        (row,) = rank([row])
        for candidate in row.candidates:
            if candidate.rank is not None and not first <= candidate.rank + 1 <= (last or candidate.rank + 1):
                candidate.rank, candidate.reason = None, "rank"
        for new_rank, candidate in enumerate(row.paraphrases):
            candidate.rank = new_rank
        yield row
