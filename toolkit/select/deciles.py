"""Select a part of a corpus by the deciles of a score, by length and by random sampling (ParaNMT-50M, section 5.4).

This module finds the thresholds of the deciles and of the sample, and applies them to a pair; `toolkit.select.corpus`
copies the shards.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from pathlib import Path

import duckdb

from toolkit.bitext.words import PARANMT_TOKENS
from toolkit.database import database

DECILES = 10  # ParaNMT-50M, section 5.4
MEASURES = {  # ParaNMT-50M, section 5.4: the three filters; decile 10 has the greatest numbers
    "semantic": "c.scores.semantic",
    "trigram_overlap": "c.scores.trigram_overlap",
    "translation_score": "c.scores.forward_logprob / c.scores.forward_tokens",
}

# Every ranked candidate of some shards, with the id of its row and its number in the row. `place` is a random number
# that orders equal scores, and `lot` one that draws the sample: they are the two halves of one hash, so that they are
# independent, and a decile that begins among equal scores is sampled evenly.
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

    by: str | None = None
    deciles: str = "9,10"  # section 5.4: "the top two scoring folds"
    sample: int = 5_000_000  # section 5.4
    max_tokens: int = PARANMT_TOKENS  # section 5.4
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A setting is out of its range, or given without `by`.
        """
        if self.by is not None and self.by not in MEASURES:
            raise ValueError(f"wanted by as {', '.join(MEASURES)}, got {self.by!r}")
        if self.sample < 1 or self.max_tokens < 1:
            raise ValueError(f"wanted sample and max_tokens of at least 1, got {self.sample} and {self.max_tokens}")
        numbers(self.deciles)
        self.check_by()

    def check_by(self) -> None:
        """Refuse settings that have no effect without `by`.

        Raises:
            ValueError: `by` is None, and a setting does not have its default value.
        """
        given = {name: getattr(self, name) for name in ("deciles", "sample", "max_tokens")}
        without_effect = [
            f"--{name} {value}" for name, value in given.items() if value != getattr(DecileSettings, name)
        ]
        if self.by is None and without_effect:
            raise ValueError(
                f"wanted --by with {', '.join(without_effect)}, got none: give one of {', '.join(MEASURES)}"
            )


def numbers(deciles: str) -> list[int]:
    """Parse the setting `deciles`.

    >>> numbers("9,10")
    [9, 10]

    Raises:
        ValueError: A part is no integer from 1 to 10.
    """
    parts = [part.strip() for part in deciles.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= DECILES for part in parts):
        raise ValueError(f"wanted deciles as numbers from 1 to {DECILES}, such as 9,10, got {deciles!r}")
    return sorted({int(part) for part in parts})


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of a selection.

    Attributes:
        pairs: The number of pairs of the corpus.
        candidates: The number of pairs in the selected deciles that are not too long.
        begins: For each decile the score and place of its lowest pair, and the number of the decile; with fewer than 10
            pairs, some deciles are empty and left out.
        last_lot: The greatest lot in the sample; None if there is no sampling.
    """

    pairs: int
    candidates: int
    begins: list[tuple[float, int, int]]
    last_lot: int | None


def find_thresholds(shards: list[Path], settings: DecileSettings) -> Thresholds:
    """Find the thresholds of the deciles and of the sample, in one pass over the shards; DuckDB sorts on disk.

    Pairs are ordered by score, equal scores by a hash of the seed, the row id and the candidate's number. The first
    decile is the lowest tenth in that order. Pairs that are too long are included, because the paper ranks all pairs
    before it selects.

    Args:
        shards: All finished shards of a run.
        settings: The settings of the selection; `by` is not None.

    Raises:
        ValueError: There is no pair, or a pair does not have that score.

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
        return Thresholds(pairs, candidates, connection.execute(BEGINS_SQL).fetchall(), last_lot)


def draw(connection: duckdb.DuckDBPyConnection, settings: DecileSettings) -> tuple[int, int | None]:
    """The number of pairs to draw the sample from, and the greatest lot in the sample; None if all pairs are taken."""
    parameters = {"deciles": numbers(settings.deciles), "max_tokens": settings.max_tokens}
    (candidates,), *_ = connection.execute(f"SELECT count(*) FROM ({LOTS_SQL})", parameters).fetchall()
    if candidates <= settings.sample:
        return candidates, None
    query = f"SELECT max(lot) FROM ({LOTS_SQL} ORDER BY lot LIMIT {settings.sample})"
    return candidates, connection.execute(query, parameters).fetchall()[0][0]


def refusal(pair: tuple[float, int, int, int], settings: DecileSettings, thresholds: Thresholds) -> str | None:
    """The reason why a pair is not selected, "decile", "too_long" or "not_sampled"; None if it is selected.

    Args:
        pair: The score, place, lot and number of tokens of the pair.
        settings: The settings of the selection; `by` is not None.
        thresholds: The thresholds of the corpus.
    """
    score, place, lot, tokens = pair
    decile = thresholds.begins[bisect(thresholds.begins, (score, place, DECILES)) - 1][2]
    if decile not in numbers(settings.deciles):
        return "decile"
    if tokens > settings.max_tokens:
        return "too_long"
    return "not_sampled" if thresholds.last_lot is not None and lot > thresholds.last_lot else None
