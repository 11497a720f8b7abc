"""Load the pairs of a parabank into DuckDB as sets of words, for the counts of a lexicon.

The parabank is read once, from disk, under DuckDB's memory limit. Pairs that ParaNMT-50M's appendix A.1 leaves out are
counted by reason.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from toolkit.bitext.words import PARANMT_TOKENS
from toolkit.package.counts import WORD
from toolkit.package.read import read_pairs

MIN_SCORE = 0.35  # ParaNMT-50M, A.1: pairs "with a paraphrase score less than 0.35" are removed
BATCH_SQL = "SELECT sentence1, sentence2, semantic AS score FROM batch"


def _tokens_sql(pairs: str) -> str:
    """The SQL query that turns the texts of pairs into sets of words, or gives the reason why a pair is left out.

    The words are those that a card counts, lower-cased and without marks, of Chinese those of jieba; that is ours.
    The length of a sentence includes all its tokens (`toolkit.bitext.words.tokens`). Scores are compared in float32, in
    which models give them.

    Args:
        pairs: A query with the columns `sentence1`, `sentence2` and `score`.
    """
    word = WORD.replace("'", "''")
    return f"""
    SELECT reason, score IS NULL OR isnan(score::DOUBLE) AS unscored,
        CASE WHEN reason IS NULL THEN hash(sentence1) END AS reference,
        CASE WHEN reason IS NULL THEN hash(sentence2) END AS paraphrase,
        CASE WHEN reason IS NULL THEN list_distinct(words1) END AS reference_words,
        CASE WHEN reason IS NULL THEN list_distinct(words2) END AS paraphrase_words
    FROM (
        SELECT *, CASE WHEN score::FLOAT < {MIN_SCORE}::FLOAT THEN 'score'
            WHEN greatest(token_count(sentence1), token_count(sentence2)) > {PARANMT_TOKENS} THEN 'too_long'
            WHEN least(len(words1), len(words2)) = 0 THEN 'empty' END AS reason
        FROM (
            SELECT *, regexp_extract_all(lower(coalesce(spaced(sentence1), '')), '{word}') AS words1,
                regexp_extract_all(lower(coalesce(spaced(sentence2), '')), '{word}') AS words2
            FROM ({pairs})
        )
    )
    """


def fill_tokens(connection: duckdb.DuckDBPyConnection, parabank: Path) -> dict:
    """Create the table `tokens` with the pairs of a parabank: hashes and distinct words of both sides.

    Args:
        connection: From `toolkit.data.database.database`.
        parabank: `toolkit.package.read.FORMS`; the paraphrase score is the column `semantic`.

    Returns:
        Numbers of pairs: `pairs` read, `kept`, `refused` by reason ("score", "too_long", and "empty": a side without a
        word), and `unscored`, the kept pairs that have no paraphrase score and so could not be refused by it.

    Raises:
        FileNotFoundError: The parabank does not exist.
        ValueError: It has another form, a line is wrong (the message has its number), or no pair is left.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), appendix A.1. That pairs without a score stay is ours.
    """
    empty_query = _tokens_sql("SELECT '' AS sentence1, '' AS sentence2, 0.0::DOUBLE AS score")
    connection.execute(f"CREATE TEMP TABLE tokens AS FROM ({empty_query}) LIMIT 0")
    for batch in read_pairs(parabank):
        connection.register("batch", batch)
        connection.execute(f"INSERT INTO tokens {_tokens_sql(BATCH_SQL)}")
    return counts(connection, parabank)


def counts(connection: duckdb.DuckDBPyConnection, parabank: Path) -> dict:
    """The counts of the pairs in `tokens`, see `fill_tokens`.

    Raises:
        ValueError: No pair is left.
    """
    query = "SELECT reason, count(*), count(*) FILTER (WHERE unscored) FROM tokens GROUP BY reason"
    by_reason = {reason: numbers for reason, *numbers in connection.execute(query).fetchall()}
    kept_pairs, unscored = by_reason.pop(None, (0, 0))
    refused = {reason: number for reason, (number, _) in sorted(by_reason.items())}
    if not kept_pairs:
        raise ValueError(
            f"wanted pairs with a score of at least {MIN_SCORE} and 1 to {PARANMT_TOKENS} tokens a side, got none in "
            f"{parabank} (refused: {refused or 'none, it is empty'}): give another parabank"
        )
    return {"pairs": kept_pairs + sum(refused.values()), "kept": kept_pairs, "refused": refused, "unscored": unscored}
