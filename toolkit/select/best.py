"""Select the best pairs of a corpus by a score, each once, without those that nearly repeat a better one.

This is the last step of ParaZh (section 2.4) and a rule of `toolkit.select.corpus`, which copies the shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import duckdb

from toolkit.select._near import find_near, rows_of_band
from toolkit.select.equal import _with_keys
from toolkit.select.pairs import PARTS, SCORES, _check_scored, _numbered_pairs
from toolkit.system.ranges import Count, Finite, Range, Settings, one_of

# ParaZh-22M, sections 2.4 and 2.2: it kept "~22M" pairs of the "26.4M" that cleaning had left
PAPER_SHARE = 22 / 26.4

# `id` is the number of a pair in the order of the shards; `reference` and `text` are hashes of the match keys
PAIRS_SQL = """
CREATE TEMP TABLE pairs
    (id BIGINT, shard INTEGER, row INTEGER, number INTEGER, score DOUBLE, reference UBIGINT, text UBIGINT)
"""
INSERT_SQL = "INSERT INTO pairs SELECT id, shard, row, number, {score}, hash(reference), hash(text) FROM chosen"
LOST_SQL = "CREATE TEMP TABLE lost (id BIGINT, reason VARCHAR)"
LEFT_SQL = "CREATE TEMP VIEW remaining AS FROM pairs ANTI JOIN lost USING (id)"
BEST_FIRST = "score DESC, id"
REPEATED_SQL = f"""
SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY {{key}} ORDER BY {BEST_FIRST}) AS place
    FROM remaining SEMI JOIN (SELECT {{key}} FROM remaining GROUP BY {{key}} HAVING count(*) > 1) USING ({{key}}))
WHERE place > 1
"""
PLACES_SQL = f"CREATE TEMP TABLE places AS SELECT id, row_number() OVER (ORDER BY {BEST_FIRST}) AS place FROM remaining"
WORSE_SQL = f"SELECT id FROM remaining ORDER BY {BEST_FIRST} OFFSET {{best}}"
REFUSED_SQL = "INSERT INTO refused SELECT shard, row, number, reason FROM pairs JOIN lost USING (id)"
PositiveShare = Annotated[float, Range("{} in (0, 1]", lambda share: 0 < share <= 1)]


@dataclass(frozen=True)
class BestSettings(Settings):
    """Which pairs of a corpus are selected by a score.

    Without a number, a share and a least score as many as ParaZh kept: 22 pairs for 26.4 lines that cleaning kept.

    Attributes:
        best_pairs: The number of pairs to select, those with the highest scores.
        best_share: Share of the pairs to select, in (0, 1], but at least one pair; 1 selects all.
        least_score: Pairs with a lower score are not selected, in nats per token.
        one_per_reference: Of the pairs of equal references only the best may be selected.
        max_similarity: Pairs that are as similar as this to a better one are not selected: Jaccard similarity of their
            character n-grams, in (0, 1]; 0.8 is good, 1 compares none.
    """

    GROUP = "choice over the corpus"

    best_pairs: Count | None = None
    best_share: PositiveShare | None = None
    least_score: Finite | None = None
    one_per_reference: bool = False  # ours: one line of a bitext has one reference in the paper
    max_similarity: PositiveShare = 1.0  # ours: not in the paper

    def __post_init__(self) -> None:
        """Refuse settings of which two say how many pairs are selected."""
        super().__post_init__()
        options = [
            f"--{name}" for name in ("best_pairs", "best_share", "least_score") if getattr(self, name) is not None
        ]
        if len(options) > 1:
            raise ValueError(f"wanted one of --best_pairs, --best_share and --least_score, got {' and '.join(options)}")


@dataclass(frozen=True)
class BestBy(BestSettings):
    """Which pairs of a corpus are selected, and by which score.

    Attributes:
        by: The score, one of `toolkit.select.pairs.SCORES`.
    """

    GROUP = "choice over the corpus"

    # ParaZh-22M, section 2.4: "the per-token probability ... based on p_dual"
    by: Annotated[str, one_of(SCORES)] = "dual_per_token"


def check_enough(settings: BestSettings, count: int, unit: str) -> None:
    """Refuse to select more pairs than there are.

    Args:
        settings: They may have `best_pairs`.
        count: How many there are.
        unit: What was counted, for the message.

    Raises:
        ValueError: There are fewer.
    """
    if settings.best_pairs is not None and settings.best_pairs > count:
        raise ValueError(
            f"wanted --best_pairs of at most {count}, the number of {unit}, got {settings.best_pairs}: lower it"
        )


def refuse_but_best(
    connection: duckdb.DuckDBPyConnection, shards: list[Path], settings: BestBy, lang: str, lines: int
) -> dict:
    """Refuse the pairs that repeat a better one, those that nearly do, and those that are not among the best.

    The reasons are "duplicate", "better_pair" for another pair of the same reference, "near_duplicate", and the name of
    the score. Of pairs with equal scores the first of the run is the better one.

    Args:
        connection: A database with the table `refused` of `toolkit.select.corpus`.
        shards: All finished shards of a run.
        settings: The settings of the selection.
        lang: The language of the texts (ISO 639-1).
        lines: The number of lines of the bitext that cleaning has kept; without a number, a share or a least score,
            `PAPER_SHARE` of them is the most pairs that are selected.

    Returns:
        What cut.json says: the numbers of `pairs`, of those `refused` by reason, of those `selected`, and the
        `least_score` of these.

    Raises:
        ValueError: There is no pair, a pair does not have that score, or there are fewer than `best_pairs`.

    Source: ParaZh-22M (Hao et al. 2022), section 2.4: "only retain ~22M sentence pairs with the highest per-token
    probability".
    """
    by = settings.by
    connection.execute(PAIRS_SQL)
    connection.execute(LOST_SQL)
    connection.execute(LEFT_SQL)
    _read_pairs(connection, shards, by)
    _check_scored(connection, by, shards[0].parent)
    refused = {"duplicate": _lose(connection, REPEATED_SQL.format(key="reference, text"), "duplicate")}
    if settings.one_per_reference:
        refused["better_pair"] = _lose(connection, REPEATED_SQL.format(key="reference"), "better_pair")
    if settings.max_similarity < 1:
        connection.execute(PLACES_SQL)
        query = find_near(connection, shards, settings.max_similarity, lang)
        refused["near_duplicate"] = _lose(connection, query, "near_duplicate")
    refused[by] = _lose(connection, _worse_sql(connection, settings, lines), by)
    connection.execute(REFUSED_SQL)
    ((pairs,),) = connection.execute("SELECT count(*) FROM pairs").fetchall()
    ((selected, minimum),) = connection.execute("SELECT count(*), min(score) FROM remaining").fetchall()
    record = {"by": by, "pairs": pairs, "refused": refused, "selected": selected, "least_score": minimum}
    if settings.max_similarity < 1:
        record["values_per_band"] = rows_of_band(settings.max_similarity)
    return record


def _read_pairs(connection: duckdb.DuckDBPyConnection, shards: list[Path], by: str) -> None:
    """Fill the table `pairs`."""
    insert = INSERT_SQL.format(score=SCORES[by])
    for pairs in _numbered_pairs(shards, PARTS):
        connection.register("chosen", _with_keys(pairs))
        connection.execute(insert)


def _lose(connection: duckdb.DuckDBPyConnection, query: str, reason: str) -> int:
    """Add the pairs of a query to the table `lost`, with a reason; return their number."""
    connection.execute(f"INSERT INTO lost SELECT id, '{reason}' FROM ({query})")
    ((count,),) = connection.execute("SELECT count(*) FROM lost WHERE reason = ?", [reason]).fetchall()
    return count


def _worse_sql(connection: duckdb.DuckDBPyConnection, settings: BestSettings, lines: int) -> str:
    """The query for the remaining pairs that are not among the best.

    Raises:
        ValueError: There are fewer than `best_pairs`.
    """
    if settings.least_score is not None:
        return f"SELECT id FROM remaining WHERE score < {settings.least_score!r}"
    ((remaining,),) = connection.execute("SELECT count(*) FROM remaining").fetchall()
    check_enough(settings, remaining, "pairs to select from")
    if settings.best_pairs is not None:
        return WORSE_SQL.format(best=settings.best_pairs)
    pair_count = lines * PAPER_SHARE if settings.best_share is None else remaining * settings.best_share
    return WORSE_SQL.format(best=max(1, round(pair_count)))
