"""A part of a corpus, chosen by the decile that a score falls into, by length and by lot (ParaNMT-50M, section 5.4).

Here a corpus is cut and a pair is judged by the cut; `toolkit.select.corpus` copies the shards.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from pathlib import Path

import duckdb

from toolkit.bitext.words import PARANMT_TOKENS
from toolkit.database import database

DECILES = 10  # ParaNMT-50M, section 5.4
MEASURES = {  # ParaNMT-50M, section 5.4: the three filters; more is better in each
    "semantic": "c.scores.semantic",
    "trigram_overlap": "c.scores.trigram_overlap",
    "translation_score": "c.scores.forward_logprob / c.scores.forward_tokens",
}

# Every ranked candidate of some shards, by its row and its number there. `place` orders equal scores and `lot` draws
# the sample: two halves of one hash, so that a decile that begins among equal scores is sampled evenly, too.
PAIRS_SQL = """
SELECT id, number, {measure} AS score, md5_number_lower(chance) AS place, md5_number_upper(chance) AS lot,
    greatest(token_count(reference), token_count(c.text)) AS tokens
FROM (SELECT id, reference, c, number, concat_ws(chr(31), $seed, id, number) AS chance FROM (
    SELECT id, reference, unnest(candidates) AS c, generate_subscripts(candidates, 1) - 1 AS number
    FROM read_parquet($shards)) WHERE c.rank IS NOT NULL)
"""
DECILES_SQL = f"""
CREATE TEMP TABLE pairs AS
SELECT score, place, lot, tokens,
    (row_number() OVER (ORDER BY score, place) - 1) * {DECILES} // count(*) OVER () + 1 AS decile
FROM ({PAIRS_SQL})
"""
BEGINS_SQL = """
SELECT first.score, first.place, decile
FROM (SELECT decile, min({'score': score, 'place': place}) AS first FROM pairs GROUP BY decile) ORDER BY decile
"""
LOTS_SQL = "SELECT lot FROM pairs WHERE list_contains($deciles, decile) AND tokens <= $max_tokens"


@dataclass(frozen=True)
class DecileSettings:
    """Which part of a corpus is chosen.

    Attributes:
        by: "semantic", "trigram_overlap" or "translation_score"; without it everything is chosen, as in the
            data that the paper released, and deciles, sample and max_tokens must not be given.
        deciles: Deciles of all pairs by that score to choose from, with commas; 1 has the lowest scores, 10 the best.
        sample: The most pairs that are chosen, drawn at random.
        max_tokens: Pairs with more tokens (`toolkit.bitext.words.tokens`) on either side are not chosen.
        seed: Of the draw, and of the order of equal scores.
    """

    by: str | None = None
    deciles: str = "9,10"  # section 5.4: "the top two scoring folds"
    sample: int = 5_000_000  # section 5.4
    max_tokens: int = PARANMT_TOKENS  # section 5.4
    seed: int = 0

    def __post_init__(self) -> None:
        """Check them.

        Raises:
            ValueError: One is out of its range, or given without `by`.
        """
        if self.by is not None and self.by not in MEASURES:
            raise ValueError(f"wanted by as {', '.join(MEASURES)}, got {self.by!r}")
        if self.sample < 1 or self.max_tokens < 1:
            raise ValueError(f"wanted sample and max_tokens of at least 1, got {self.sample} and {self.max_tokens}")
        numbers(self.deciles)
        self.check_by()

    def check_by(self) -> None:
        """Refuse settings that do nothing.

        Raises:
            ValueError: One is not its default, and there is no `by`.
        """
        given = {name: getattr(self, name) for name in ("deciles", "sample", "max_tokens")}
        idle = [f"--{name} {value}" for name, value in given.items() if value != getattr(DecileSettings, name)]
        if self.by is None and idle:
            raise ValueError(f"wanted --by with {', '.join(idle)}, got none: give one of {', '.join(MEASURES)}")


def numbers(deciles: str) -> list[int]:
    """The deciles that a setting names.

    >>> numbers("9,10")
    [9, 10]

    Raises:
        ValueError: One is no whole number from 1 to 10.
    """
    parts = [part.strip() for part in deciles.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= DECILES for part in parts):
        raise ValueError(f"wanted deciles as numbers from 1 to {DECILES}, such as 9,10, got {deciles!r}")
    return sorted({int(part) for part in parts})


@dataclass(frozen=True)
class Cut:
    """Where a corpus is cut.

    Attributes:
        pairs: Pairs of the corpus.
        candidates: Those in the wanted deciles that are short enough.
        begins: Score and place of the lowest pair of each decile, and the decile; of few pairs some deciles have none.
        last_lot: The greatest lot that is drawn; None if all are.
    """

    pairs: int
    candidates: int
    begins: list[tuple[float, int, int]]
    last_lot: int | None


def find_cut(shards: list[Path], settings: DecileSettings) -> Cut:
    """Find the deciles of a corpus and the lots to draw, in one pass over its shards; DuckDB sorts on disk.

    Pairs are ordered by score, equal scores by a hash of (seed, row id). The first decile has the lowest decile of that
    order; long pairs have their place there, too, as the paper ranks all pairs before it chooses.

    Args:
        shards: All finished shards of a run.
        settings: With `by`.

    Raises:
        ValueError: There is no pair, or one without that score.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), section 5.4.
    """
    with database() as connection:
        parameters = {"shards": [str(shard) for shard in shards], "seed": settings.seed}
        connection.execute(DECILES_SQL.format(measure=MEASURES[str(settings.by)]), parameters)
        (pairs, scored), *_ = connection.execute("SELECT count(*), count(score) FROM pairs").fetchall()
        if scored < pairs or not pairs:
            raise ValueError(
                f"wanted pairs that all have a {settings.by}, got {scored} of {pairs} in {shards[0].parent}: "
                "choose by another score, or build again"
            )
        candidates, last_lot = draw(connection, settings)
        return Cut(pairs, candidates, connection.execute(BEGINS_SQL).fetchall(), last_lot)


def draw(connection: duckdb.DuckDBPyConnection, settings: DecileSettings) -> tuple[int, int | None]:
    """How many pairs may be drawn, and the greatest lot that is; None if all are."""
    parameters = {"deciles": numbers(settings.deciles), "max_tokens": settings.max_tokens}
    (candidates,), *_ = connection.execute(f"SELECT count(*) FROM ({LOTS_SQL})", parameters).fetchall()
    if candidates <= settings.sample:
        return candidates, None
    query = f"SELECT max(lot) FROM ({LOTS_SQL} ORDER BY lot LIMIT {settings.sample})"
    return candidates, connection.execute(query, parameters).fetchall()[0][0]


def refusal(pair: tuple[float, int, int, int], settings: DecileSettings, cut: Cut) -> str | None:
    """Why a pair is not chosen: "decile", "too_long" or "not_sampled"; None if it is.

    Args:
        pair: Its score, place, lot and tokens.
        settings: With `by`.
        cut: Of the corpus.
    """
    score, place, lot, tokens = pair
    decile = cut.begins[bisect(cut.begins, (score, place, DECILES)) - 1][2]
    if decile not in numbers(settings.deciles):
        return "decile"
    if tokens > settings.max_tokens:
        return "too_long"
    return "not_sampled" if cut.last_lot is not None and lot > cut.last_lot else None
