"""The pairs of a parabank that a lexicon is counted on, as sets of words in DuckDB.

A parabank is read once, from disk, under DuckDB's memory limit. What A.1 leaves out is counted by reason.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from toolkit.bitext.words import PARANMT_TOKENS
from toolkit.package.read import read_pairs
from toolkit.package.statistics import WORD

MIN_SCORE = 0.35  # ParaNMT-50M, A.1: pairs "with a paraphrase score less than 0.35" are removed
BATCH_SQL = "SELECT sentence1 AS one, sentence2 AS other, semantic AS score FROM batch"


def tokens_of(pairs: str) -> str:
    """The query that turns texts into sets of tokens, or names what keeps a pair out.

    What is counted are lower-cased words, as a card counts them, without punctuation; that is ours. The length of a
    sentence is of all its tokens (`toolkit.bitext.words.tokens`). Scores are compared in float32, as models give them.

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
        SELECT *, CASE WHEN score::FLOAT < {MIN_SCORE}::FLOAT THEN 'score'
            WHEN greatest(token_count(one), token_count(other)) > {PARANMT_TOKENS} THEN 'too_long'
            WHEN least(len(one_tokens), len(other_tokens)) = 0 THEN 'empty' END AS reason
        FROM (
            SELECT *, regexp_extract_all(lower(coalesce(one, '')), '{word}') AS one_tokens,
                regexp_extract_all(lower(coalesce(other, '')), '{word}') AS other_tokens
            FROM ({pairs})
        )
    )
    """


def fill_tokens(connection: duckdb.DuckDBPyConnection, parabank: Path) -> dict:
    """Fill a table `tokens` with the pairs of a parabank: hashes and distinct tokens of both sides.

    Args:
        connection: From `toolkit.database.database`.
        parabank: `toolkit.package.read.FORMS`; the paraphrase score is `semantic`.

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
    for batch in read_pairs(parabank):
        connection.register("batch", batch)
        connection.execute(f"INSERT INTO tokens {tokens_of(BATCH_SQL)}")
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
