"""Select a part of a corpus by the deciles of a score, by length and by random sampling (ParaNMT-50M, section 5.4).

This is a rule of `toolkit.select.corpus`, which copies the shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import duckdb

from toolkit.bitext.words import PARANMT_TOKENS
from toolkit.data.shards import shard_number
from toolkit.select.pairs import SCORES, _check_scored, _chosen_pairs
from toolkit.system.ranges import Range, Seed, Settings, checked_by, one_of

DECILES = 10  # ParaNMT-50M, section 5.4
MEASURES = ("semantic", "trigram_overlap", "translation_score")  # section 5.4: the three filters

# `place` is a random number that orders equal scores, and `lot` one that draws the sample: they are the two halves of
# one hash, so that they are independent, and a decile that begins among equal scores is sampled evenly.
PAIRS_SQL = """
CREATE TEMP TABLE pairs
    (shard INTEGER, row INTEGER, number INTEGER, score DOUBLE, place UBIGINT, lot UBIGINT, tokens BIGINT)
"""
INSERT_SQL = """
INSERT INTO pairs
SELECT $shard, row, number, {score}, md5_number_lower(chance), md5_number_upper(chance),
    greatest(token_count(reference), token_count(text))
FROM (SELECT *, concat_ws(chr(31), $seed, id, number) AS chance FROM chosen)
"""
DECILES_SQL = f"""
CREATE TEMP TABLE ranked AS
SELECT *, (row_number() OVER (ORDER BY score, place) - 1) * {DECILES} // count(*) OVER () + 1 AS decile FROM pairs
"""
BEGINS_SQL = "SELECT decile, min(score) FROM ranked GROUP BY decile ORDER BY decile"
DRAWN_SQL = "FROM ranked WHERE list_contains($deciles, decile) AND tokens <= $max_tokens"
# Of the pairs of the chosen deciles that are not too long, `sample` are drawn: those with the lowest lots.
REFUSED_SQL = """
INSERT INTO refused
SELECT shard, row, number, CASE WHEN NOT list_contains($deciles, decile) THEN 'decile'
    WHEN tokens > $max_tokens THEN 'too_long' WHEN lot > $last_lot THEN 'not_sampled' END AS reason
FROM ranked WHERE reason IS NOT NULL
"""
PairCount = Annotated[
    int, Range("sample and max_tokens of at least 1", lambda count: count >= 1, shown=("sample", "max_tokens"))
]


@dataclass(frozen=True)
class DecileSettings(Settings):
    """Which part of a corpus is selected.

    Attributes:
        by: Score to select by: "semantic", "trigram_overlap" or "translation_score". Without it all pairs are selected,
            as in the data that the paper released, and deciles, sample and max_tokens must not be given.
        deciles: Deciles of all pairs by that score to select from, with commas; 1 has the lowest scores, 10 the
            highest.
        sample: The most pairs to select; if there are more, a random sample is drawn.
        max_tokens: Pairs with more tokens (`toolkit.bitext.words.tokens`) on either side are not selected.
        seed: Seed of the sample and of the order of equal scores.
    """

    GROUP = "choice over the corpus"

    by: Annotated[str, one_of(MEASURES, "as")] | None = None
    deciles: Annotated[str, checked_by(_numbers)] = "9,10"  # section 5.4: "the top two scoring folds"
    sample: PairCount = 5_000_000  # section 5.4
    max_tokens: PairCount = PARANMT_TOKENS  # section 5.4
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Refuse what has no effect without `by`."""
        super().__post_init__()
        self.check_by()

    def check_by(self) -> None:
        """Refuse settings that have no effect without `by`.

        Raises:
            ValueError: `by` is None, and a setting does not have its default value.
        """
        options = {name: getattr(self, name) for name in ("deciles", "sample", "max_tokens")}
        without_effect = [
            f"--{name} {value}" for name, value in options.items() if value != getattr(DecileSettings, name)
        ]
        if self.by is None and without_effect:
            raise ValueError(
                f"wanted --by with {', '.join(without_effect)}, got none: give one of {', '.join(MEASURES)}"
            )


def _numbers(deciles: str) -> list[int]:
    """Parse the setting `deciles`.

    >>> _numbers("9,10")
    [9, 10]

    Raises:
        ValueError: A part is no integer from 1 to 10.
    """
    parts = [part.strip() for part in deciles.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= DECILES for part in parts):
        raise ValueError(f"wanted deciles as numbers from 1 to {DECILES}, such as 9,10, got {deciles!r}")
    return sorted({int(part) for part in parts})


def refuse_by_deciles(connection: duckdb.DuckDBPyConnection, shards: list[Path], settings: DecileSettings) -> dict:
    """Refuse the pairs of other deciles, those that are too long, and those that are not drawn; DuckDB sorts on disk.

    Pairs are ordered by score, equal scores by a hash of the seed, the row id and the candidate's number. The first
    decile is the lowest tenth in that order; 10 has the greatest numbers. Pairs that are too long are included, because
    the paper ranks all pairs before it selects. The reasons are "decile", "too_long" and "not_sampled", the first that
    holds.

    Args:
        connection: A database with the table `refused` of `toolkit.select.corpus`.
        shards: All finished shards of a run.
        settings: The settings of the selection; `by` is not None.

    Returns:
        The number of `pairs`, that of the `candidates` of the sample, the score at which each decile `begins`, and
        `last_lot`, the greatest lot of the sample, None if all are taken. With fewer than 10 pairs, some deciles are
        empty and left out.

    Raises:
        ValueError: There is no pair, or a pair does not have that score.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 5.4.
    """
    connection.execute(PAIRS_SQL)
    insert = INSERT_SQL.format(score=SCORES[str(settings.by)])
    for shard in shards:
        for pair_table in _chosen_pairs(shard, ["id", "reference"], ["text"]):
            connection.register("chosen", pair_table)
            connection.execute(insert, {"shard": shard_number(shard), "seed": settings.seed})
    _check_scored(connection, str(settings.by), shards[0].parent)
    connection.execute(DECILES_SQL)
    parameters = {"deciles": _numbers(settings.deciles), "max_tokens": settings.max_tokens}
    (candidates,), *_ = connection.execute(f"SELECT count(*) {DRAWN_SQL}", parameters).fetchall()
    last_lot = None
    if candidates > settings.sample:
        query = f"SELECT max(lot) FROM (SELECT lot {DRAWN_SQL} ORDER BY lot LIMIT {settings.sample})"
        ((last_lot,),) = connection.execute(query, parameters).fetchall()
    connection.execute(REFUSED_SQL, parameters | {"last_lot": last_lot})
    ((pairs,),) = connection.execute("SELECT count(*) FROM ranked").fetchall()
    begins = dict(connection.execute(BEGINS_SQL).fetchall())
    return {"pairs": pairs, "candidates": candidates, "begins": begins, "last_lot": last_lot}
