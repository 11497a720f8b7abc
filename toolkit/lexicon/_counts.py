"""Count co-occurrences of words across the sentences of a pair and within a sentence, in DuckDB, which spills to disk.

Words are numbered, so that a pair of words is one 64-bit integer. The wanted words have the lowest numbers, then come
all others from frequent to rare, so that rare words are left out by one comparison.
"""

from __future__ import annotations

from collections.abc import Collection

import duckdb

PASS_COOCCURRENCES = 20_000_000  # ours: co-occurrences counted in one pass, so that their table stays in memory

# The number of sentences that contain each word; both sides of a pair are sentences.
WORDS_SQL = """
CREATE TEMP TABLE words AS
SELECT word, count(*) AS sentences, word IN (SELECT unnest($wanted::VARCHAR[])) AS wanted
FROM (SELECT unnest(reference_words) AS word FROM tokens UNION ALL SELECT unnest(paraphrase_words) FROM tokens)
GROUP BY word
"""
NUMBERS_SQL = """
CREATE TYPE word_number AS ENUM (SELECT word FROM words ORDER BY wanted DESC, sentences DESC, word);
CREATE TEMP TABLE pairs AS
SELECT reference, paraphrase,
    list_sort(list_transform(reference_words::word_number[], lambda w: enum_code(w)::UINTEGER)) AS reference_words,
    list_sort(list_transform(paraphrase_words::word_number[], lambda w: enum_code(w)::UINTEGER)) AS paraphrase_words
FROM tokens WHERE reason IS NULL;
DROP TABLE tokens;
"""
# A reference with five paraphrases is in five pairs but is one sentence. Ordinary PMI is a statistic of sentences and
# counts each distinct sentence of a side once; cross-sentence PMI is a statistic of pairs and counts each pair.
SENTENCES_SQL = """
CREATE TEMP TABLE reference_sentences AS SELECT DISTINCT reference, reference_words AS words FROM pairs;
CREATE TEMP TABLE paraphrase_sentences AS SELECT DISTINCT paraphrase, paraphrase_words AS words FROM pairs;
CREATE TEMP TABLE marginals AS
SELECT enum_code(word::word_number)::UBIGINT AS number, word, wanted, sentences,
    coalesce(r.n, 0) AS reference_sentences, coalesce(p.n, 0) AS paraphrase_sentences
FROM words
LEFT JOIN (SELECT unnest(words) AS number, count(*) AS n FROM reference_sentences GROUP BY 1) AS r
    ON r.number = enum_code(word::word_number)
LEFT JOIN (SELECT unnest(words) AS number, count(*) AS n FROM paraphrase_sentences GROUP BY 1) AS p
    ON p.number = enum_code(word::word_number);
DROP TABLE words;
"""
COOCCURRENCES_SQL = """
SELECT sum(len(list_filter(reference_words, lambda w: w < $words))
    * len(list_filter(paraphrase_words, lambda w: w < $words))) FROM pairs
"""
# The co-occurrences of the pairs of words of one pass: across sentences in both directions, because being a paraphrase
# is symmetric; and within the distinct sentences of each side, NULL if there are none.
JOINT_SQL = """
INSERT INTO joint_counts
WITH across AS MATERIALIZED (
    SELECT pair, count(*) AS n FROM ({forward} UNION ALL {backward}) GROUP BY pair HAVING count(*) >= $min_count
), in_references AS (
    SELECT pair, count(*) AS n FROM ({references}) SEMI JOIN across USING (pair) GROUP BY pair
), in_paraphrases AS (
    SELECT pair, count(*) AS n FROM ({paraphrases}) SEMI JOIN across USING (pair) GROUP BY pair
)
SELECT pair, across.n, in_references.n, in_paraphrases.n
FROM across LEFT JOIN in_references USING (pair) LEFT JOIN in_paraphrases USING (pair)
"""


def _cooccurrences(column1: str, column2: str, table: str) -> str:
    """The SQL query of all co-occurrences of a word in one column with a word of a higher number in another column.

    Both numbers are below `$words`; pass `$number` of `$passes` takes the share of the lower numbers that is congruent
    to `$number`. Each row of the result is one co-occurrence.
    """
    return f"""
    SELECT (u::UBIGINT << 32) | v AS pair
    FROM (SELECT u, unnest(others) AS v
        FROM (SELECT unnest(list_filter({column1}, lambda w: w < $words AND w % $passes = $number)) AS u,
            list_filter({column2}, lambda w: w < $words) AS others FROM {table}))
    WHERE u < v
    """


def number_words(connection: duckdb.DuckDBPyConnection, priority_words: Collection[str] = ()) -> None:
    """Replace the table `tokens` by `pairs`, `reference_sentences`, `paraphrase_sentences` and `marginals`.

    Args:
        connection: A database with `tokens`, from `toolkit.lexicon._pairs.fill_tokens`.
        priority_words: Lower-cased words that get the lowest numbers.
    """
    connection.execute(WORDS_SQL, {"wanted": sorted(priority_words)})
    connection.execute(NUMBERS_SQL)
    connection.execute(SENTENCES_SQL)


def count_joint(connection: duckdb.DuckDBPyConnection, words: int, min_count: int) -> None:
    """Fill the table `joint_counts`: for each pair of distinct words its co-occurrences across and within sentences.

    Args:
        connection: A database with the tables that `number_words` creates.
        words: The number of words to count; these are the words with the lowest numbers.
        min_count: Pairs of words with fewer co-occurrences across sentences are left out, >= 1.
    """
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE joint_counts "
        "(pair UBIGINT, across BIGINT, in_references BIGINT, in_paraphrases BIGINT)"
    )
    query = JOINT_SQL.format(
        forward=_cooccurrences("reference_words", "paraphrase_words", "pairs"),
        backward=_cooccurrences("paraphrase_words", "reference_words", "pairs"),
        references=_cooccurrences("words", "words", "reference_sentences"),
        paraphrases=_cooccurrences("words", "words", "paraphrase_sentences"),
    )
    passes = 1 + connection.execute(COOCCURRENCES_SQL, {"words": words}).fetchall()[0][0] // PASS_COOCCURRENCES
    for number in range(passes):
        parameters = {"words": words, "min_count": min_count, "passes": passes, "number": number}
        connection.execute(query, parameters)


def frequent_words(connection: duckdb.DuckDBPyConnection, min_count: int | None) -> int:
    """The number of words that are wanted or in at least `min_count` sentences; with None, of wanted words only.

    These words have the lowest numbers.
    """
    query = "SELECT count(*) FROM marginals WHERE wanted OR sentences >= $min_count"
    return connection.execute(query, {"min_count": min_count}).fetchall()[0][0]
