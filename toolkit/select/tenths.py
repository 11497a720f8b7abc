"""A part of a corpus, chosen by the tenth that a score falls into, by length and by lot (ParaNMT-50M, section 5.4).

A finished run's shards stay as they are. `write_cut` reads all of them once and notes where the corpus is cut;
`choose_shards` copies them into a folder of its own, where a paraphrase that is not chosen has a reason instead of a
rank. That folder has all that a run's has, so whatever takes a finished run takes it.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from toolkit.bitext.words import PARANMT_TOKENS
from toolkit.database import database
from toolkit.rows import Row
from toolkit.shards import read_record, read_shard, remove_unfinished, write_shard, write_whole

TENTHS = 10  # ParaNMT-50M, section 5.4
CUT = "cut.json"
MEASURES = {  # ParaNMT-50M, section 5.4: the three filters; more is better in each
    "paraphrase_score": "c.scores.semantic",
    "trigram_overlap": "c.scores.trigram_overlap",
    "translation_score": "c.scores.forward_logprob / c.scores.forward_tokens",
}

# Every ranked candidate of some shards, by its row and its number there. `place` orders equal scores and `lot` draws
# the sample: two halves of one hash, so that a tenth that begins among equal scores is sampled evenly, too.
PAIRS_SQL = """
SELECT id, number, {measure} AS score, md5_number_lower(chance) AS place, md5_number_upper(chance) AS lot,
    greatest(token_count(reference), token_count(c.text)) AS tokens
FROM (SELECT id, reference, c, number, concat_ws(chr(31), $seed, id, number) AS chance FROM (
    SELECT id, reference, unnest(candidates) AS c, generate_subscripts(candidates, 1) - 1 AS number
    FROM read_parquet($shards)) WHERE c.rank IS NOT NULL)
"""
TENTHS_SQL = f"""
CREATE TEMP TABLE pairs AS
SELECT score, place, lot, tokens,
    (row_number() OVER (ORDER BY score, place) - 1) * {TENTHS} // count(*) OVER () + 1 AS tenth
FROM ({PAIRS_SQL})
"""
BEGINS_SQL = """
SELECT first.score, first.place, tenth
FROM (SELECT tenth, min({'score': score, 'place': place}) AS first FROM pairs GROUP BY tenth) ORDER BY tenth
"""
LOTS_SQL = "SELECT lot FROM pairs WHERE list_contains($tenths, tenth) AND tokens <= $max_tokens"


@dataclass(frozen=True)
class TenthsSettings:
    """Which part of a corpus is chosen.

    Attributes:
        by: "paraphrase_score", "trigram_overlap" or "translation_score"; without it everything is chosen, as in the
            data that the paper released, and tenths, sample and max_tokens must not be given.
        tenths: Tenths of all pairs by that score to choose from, with commas; 1 has the lowest scores, 10 the highest.
        sample: The most pairs that are chosen, drawn at random.
        max_tokens: Pairs with more tokens (`toolkit.bitext.words.tokens`) on either side are not chosen.
        seed: Of the draw, and of the order of equal scores.
    """

    by: str | None = None
    tenths: str = "9,10"  # section 5.4: "the top two scoring folds"
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
        numbers(self.tenths)
        self.check_by()

    def check_by(self) -> None:
        """Refuse settings that do nothing.

        Raises:
            ValueError: One is not its default, and there is no `by`.
        """
        given = {name: getattr(self, name) for name in ("tenths", "sample", "max_tokens")}
        idle = [f"--{name} {value}" for name, value in given.items() if value != getattr(TenthsSettings, name)]
        if self.by is None and idle:
            raise ValueError(f"wanted --by with {', '.join(idle)}, got none: give one of {', '.join(MEASURES)}")


def numbers(tenths: str) -> list[int]:
    """The tenths that a setting names.

    >>> numbers("9,10")
    [9, 10]

    Raises:
        ValueError: One is no whole number from 1 to 10.
    """
    parts = [part.strip() for part in tenths.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= TENTHS for part in parts):
        raise ValueError(f"wanted tenths as numbers from 1 to {TENTHS}, such as 9,10, got {tenths!r}")
    return sorted({int(part) for part in parts})


@dataclass(frozen=True)
class Cut:
    """Where a corpus is cut.

    Attributes:
        pairs: Pairs of the corpus.
        candidates: Those in the wanted tenths that are short enough.
        begins: Score and place of the lowest pair of each tenth, and the tenth; of few pairs some tenths have none.
        last_lot: The greatest lot that is drawn; None if all are.
    """

    pairs: int
    candidates: int
    begins: list[tuple[float, int, int]]
    last_lot: int | None


def find_cut(shards: list[Path], settings: TenthsSettings) -> Cut:
    """Find the tenths of a corpus and the lots to draw, in one pass over its shards; DuckDB sorts on disk.

    Pairs are ordered by score, equal scores by a hash of (seed, row id). The first tenth has the lowest tenth of that
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
        connection.execute(TENTHS_SQL.format(measure=MEASURES[str(settings.by)]), parameters)
        (pairs, scored), *_ = connection.execute("SELECT count(*), count(score) FROM pairs").fetchall()
        if scored < pairs or not pairs:
            raise ValueError(
                f"wanted pairs that all have a {settings.by}, got {scored} of {pairs} in {shards[0].parent}: "
                "choose by another score, or build again"
            )
        candidates, last_lot = draw(connection, settings)
        return Cut(pairs, candidates, connection.execute(BEGINS_SQL).fetchall(), last_lot)


def draw(connection: duckdb.DuckDBPyConnection, settings: TenthsSettings) -> tuple[int, int | None]:
    """How many pairs may be drawn, and the greatest lot that is; None if all are."""
    parameters = {"tenths": numbers(settings.tenths), "max_tokens": settings.max_tokens}
    (candidates,), *_ = connection.execute(f"SELECT count(*) FROM ({LOTS_SQL})", parameters).fetchall()
    if candidates <= settings.sample:
        return candidates, None
    query = f"SELECT max(lot) FROM ({LOTS_SQL} ORDER BY lot LIMIT {settings.sample})"
    return candidates, connection.execute(query, parameters).fetchall()[0][0]


def refusal(pair: tuple[float, int, int, int], settings: TenthsSettings, cut: Cut) -> str | None:
    """Why a pair is not chosen: "tenth", "too_long" or "not_sampled"; None if it is.

    Args:
        pair: Its score, place, lot and tokens.
        settings: With `by`.
        cut: Of the corpus.
    """
    score, place, lot, tokens = pair
    tenth = cut.begins[bisect(cut.begins, (score, place, TENTHS)) - 1][2]
    if tenth not in numbers(settings.tenths):
        return "tenth"
    if tokens > settings.max_tokens:
        return "too_long"
    return "not_sampled" if cut.last_lot is not None and lot > cut.last_lot else None


def chosen_folder(run: Path, settings: TenthsSettings) -> Path:
    """The folder of a choice, in the run's: another choice, another folder.

    >>> chosen_folder(Path("bank.shards"), TenthsSettings(by="trigram_overlap")).as_posix()
    'bank.shards/chosen-df27bd72'
    """
    digest = hashlib.blake2b(json.dumps(asdict(settings)).encode(), digest_size=4).hexdigest()
    return run / f"chosen-{digest}"


def write_cut(shards: list[Path], settings: TenthsSettings, folder: Path) -> None:
    """Make the folder of a choice: the cut, and the run's records with this choice's settings.

    What another process is to do follows from the folder, so one process does this before any chooses.

    Args:
        shards: All finished shards of a run.
        settings: With `by`.
        folder: Where the chosen shards will go.

    Raises:
        ValueError: As `find_cut`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder)
    run = shards[0].parent
    record = read_record(run / "settings.json") | asdict(settings)
    write_whole(folder / "settings.json", json.dumps(record, indent=1))
    write_whole(folder / "inputs.json", (run / "inputs.json").read_bytes())
    if not (folder / CUT).exists():
        write_whole(folder / CUT, json.dumps(asdict(find_cut(shards, settings)), indent=1))


def choose_shards(shards: list[Path], settings: TenthsSettings, folder: Path) -> list[Path]:
    """Copy shards into the folder of a choice, skipping what is done; pairs that are not chosen lose their rank.

    Args:
        shards: Finished shards of a run: all, or one process's share.
        settings: With `by`.
        folder: What `write_cut` made.

    Returns:
        The chosen shards, in order.
    """
    found = read_record(folder / CUT)
    cut = Cut(**found | {"begins": [tuple(begin) for begin in found["begins"]]})
    targets = [folder / shard.name for shard in shards]
    for shard, target in zip(shards, targets, strict=True):
        if not target.exists():
            write_shard(target, chosen_rows(shard, settings, cut))
    return targets


def chosen_rows(shard: Path, settings: TenthsSettings, cut: Cut) -> Iterator[Row]:
    """The rows of a shard with the choice made: reasons "tenth", "too_long" and "not_sampled", the rest ranked anew."""
    query = PAIRS_SQL.format(measure=MEASURES[str(settings.by)])
    with database() as connection:
        found = connection.execute(query, {"shards": [str(shard)], "seed": settings.seed}).fetchall()
    reasons = {one[:2]: refusal(one[2:], settings, cut) for one in found}
    for row in read_shard(shard):
        for number, candidate in enumerate(row.candidates):
            if reason := reasons.get((row.id, number)):
                candidate.rank, candidate.reason = None, reason
        for rank, candidate in enumerate(row.paraphrases):
            candidate.rank = rank
        yield row
