"""The pairs of a parabank that a lexicon is counted on, as sets of words in DuckDB.

A parabank is read once, from disk, under DuckDB's memory limit. What A.1 leaves out is counted by reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from toolkit.bitext.read import decode, lines, text_suffix
from toolkit.bitext.words import PARANMT_TOKENS
from toolkit.errors import first_line
from toolkit.package.parquet import finished_shards
from toolkit.package.statistics import WORD
from toolkit.package.version import is_parabank

MIN_SCORE = 0.35  # ParaNMT-50M, A.1: pairs "with a paraphrase score less than 0.35" are removed
BATCH_PAIRS = 50_000  # ours: lines of a text file in memory at a time
FORMS = "a packaged parabank, a run's folder of shards, or a .parquet or .tsv file of references and paraphrases"
TABLE = pa.schema([("one", pa.string()), ("other", pa.string()), ("score", pa.float64())])

RUN_SQL = """
SELECT reference AS one, c.text AS other, c.scores.semantic AS score
FROM (SELECT reference, unnest(candidates) AS c FROM read_parquet($files)) WHERE c.rank IS NOT NULL
"""
PAIRS_SQL = "SELECT sentence1 AS one, sentence2 AS other, {score} AS score FROM read_parquet($files)"


def tokens_of(pairs: str) -> str:
    """The query that turns texts into sets of tokens, or names what keeps a pair out.

    What is counted with is a lower-cased word, as a card counts them; punctuation is none. That is ours. The length of
    a sentence is of all its tokens (`toolkit.bitext.words.tokens`).

    Args:
        pairs: A query of `one`, `other` and `score`.
    """
    word = WORD.replace("'", "''")
    return f"""
    SELECT reason, score IS NULL OR isnan(score::DOUBLE) AS unscored,
        CASE WHEN reason IS NULL THEN hash(one) END AS reference,
        CASE WHEN reason IS NULL THEN hash(other) END AS paraphrase,
        CASE WHEN reason IS NULL THEN list_distinct(one_tokens) END AS one,
        CASE WHEN reason IS NULL THEN list_distinct(other_tokens) END AS other
    FROM (
        SELECT *, CASE WHEN score < {MIN_SCORE} THEN 'score'
            WHEN greatest(token_count(one), token_count(other)) > {PARANMT_TOKENS} THEN 'too_long'
            WHEN least(len(one_tokens), len(other_tokens)) = 0 THEN 'empty' END AS reason
        FROM (
            SELECT *, regexp_extract_all(lower(coalesce(one, '')), '{word}') AS one_tokens,
                regexp_extract_all(lower(coalesce(other, '')), '{word}') AS other_tokens
            FROM ({pairs})
        )
    )
    """


def read_pairs(connection: duckdb.DuckDBPyConnection, parabank: Path) -> dict:
    """Fill a table `tokens` with the pairs of a parabank: hashes and distinct tokens of both sides.

    Args:
        connection: From `toolkit.package.statistics.database`.
        parabank: `FORMS`. A line of a table is reference TAB paraphrase, and may go on with TAB paraphrase score; it
            may be compressed. The Parquet file has `sentence1`, `sentence2` and perhaps `semantic`.

    Returns:
        Counts: `pairs` read, `kept`, `refused` by reason ("score", "too_long", and "empty": a side without a word), and
        `unscored`, those of the kept that have no paraphrase score, so that nothing could be said against them.

    Raises:
        FileNotFoundError: There is no such file or folder.
        ValueError: It is of another form; a line is wrong, with its number; no pair is left.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), appendix A.1. That pairs without a score stay is ours.
    """
    empty = tokens_of("SELECT '' AS one, '' AS other, 0.0::DOUBLE AS score")
    connection.execute(f"CREATE TEMP TABLE tokens AS FROM ({empty}) LIMIT 0")
    if parabank.is_file() and text_suffix(str(parabank)) == ".tsv":
        for batch in read_table(parabank):
            connection.register("batch", batch)
            connection.execute(f"INSERT INTO tokens {tokens_of('FROM batch')}")
    else:
        query, files = parquet_source(parabank)
        parameters = {"files": [str(file) for file in files]}
        try:
            connection.execute(f"INSERT INTO tokens {tokens_of(query)}", parameters)
        except duckdb.Error as error:
            raise ValueError(f"wanted {FORMS}, got {parabank} ({first_line(error)}): write it again") from None
    return counts(connection, parabank)


def counts(connection: duckdb.DuckDBPyConnection, parabank: Path) -> dict:
    """What became of the pairs in `tokens`.

    Raises:
        ValueError: None is left.
    """
    query = "SELECT reason, count(*), count(*) FILTER (WHERE unscored) FROM tokens GROUP BY reason"
    found = {reason: numbers for reason, *numbers in connection.execute(query).fetchall()}
    kept, unscored = found.pop(None, (0, 0))
    refused = {reason: number for reason, (number, _) in sorted(found.items())}
    if not kept:
        raise ValueError(
            f"wanted pairs with a score of at least {MIN_SCORE} and 1 to {PARANMT_TOKENS} tokens a side, got none in "
            f"{parabank} (refused: {refused or 'none, it is empty'}): give another parabank"
        )
    return {"pairs": kept + sum(refused.values()), "kept": kept, "refused": refused, "unscored": unscored}


def parquet_source(parabank: Path) -> tuple[str, list[Path]]:
    """The query that reads `one`, `other` and `score` of a parabank's Parquet files, and the files.

    Raises:
        FileNotFoundError: There is no such file or folder.
        ValueError: It is of another form, or a run is not finished.
    """
    if not parabank.exists():
        raise FileNotFoundError(f"wanted {FORMS}, got {parabank}, which does not exist: check the path")
    if (parabank / "inputs.json").is_file():
        return RUN_SQL, finished_shards(parabank)
    files = sorted(parabank.glob("data/pairs/*.parquet")) if is_parabank(parabank) else [parabank]
    if not files or files[0].suffix != ".parquet":
        raise ValueError(f"wanted {FORMS}, got {parabank}: check the path")
    return PAIRS_SQL.format(score="semantic" if "semantic" in columns(files[0]) else "NULL::DOUBLE"), files


def columns(file: Path) -> list[str]:
    """The columns of a Parquet file of pairs.

    Raises:
        ValueError: It is none.
    """
    try:
        names = pq.read_schema(file).names
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"wanted a Parquet file, got {file} ({first_line(error)}): write it again") from None
    if not {"sentence1", "sentence2"} <= set(names):
        raise ValueError(f"wanted a Parquet file with sentence1 and sentence2, got {file} with {', '.join(names)}")
    return names


def read_table(path: Path) -> Iterator[pa.Table]:
    """The pairs of a text file, `BATCH_PAIRS` at a time, columns `TABLE`; empty lines are left out.

    Raises:
        ValueError: A line is wrong, with its number.
    """
    numbered = ((n, decode(raw)[0]) for n, raw in enumerate(lines(str(path)), 1) if raw.strip())
    while batch := [read_line(line, n, path) for n, line in islice(numbered, BATCH_PAIRS)]:
        yield pa.table(list(map(list, zip(*batch, strict=True))), schema=TABLE)


def read_line(line: str, number: int, path: Path) -> tuple[str, str, float | None]:
    r"""Reference, paraphrase and paraphrase score of a line, None where it has no score.

    >>> read_line("We go.\tWe leave.\t0.8", 1, Path("pairs.tsv")), read_line("We go.\tWe leave.", 2, Path("pairs.tsv"))
    (('We go.', 'We leave.', 0.8), ('We go.', 'We leave.', None))

    Raises:
        ValueError: It has another form, or its score is no number.
    """
    fields = line.split("\t")
    try:
        if len(fields) not in (2, 3) or not math.isfinite(score := float(fields[2]) if len(fields) == 3 else 0.0):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{path}, line {number}: wanted reference TAB paraphrase, or these TAB paraphrase score, got "
            f"{line[:60]!r}: correct it"
        ) from None
    return fields[0], fields[1], score if len(fields) == 3 else None
