"""How often words meet: across the sentences of a pair, and within a sentence. DuckDB counts, and spills to disk.

Words are numbered, so that a pair of them is one integer of 64 bits. Those that are looked for come first, then all
others, frequent ones before rare ones: leaving out rare words is one comparison.
"""

from __future__ import annotations

from collections.abc import Collection

import duckdb

# In how many sentences each word is; both sides of a pair are sentences.
WORDS_SQL = """
CREATE TEMP TABLE words AS
SELECT word, count(*) AS sentences, word IN (SELECT unnest($wanted::VARCHAR[])) AS wanted
FROM (SELECT unnest(one) AS word FROM tokens UNION ALL SELECT unnest(other) FROM tokens) GROUP BY word
"""
NUMBERS_SQL = """
CREATE TYPE word_number AS ENUM (SELECT word FROM words ORDER BY wanted DESC, sentences DESC, word);
CREATE TEMP TABLE pairs AS
SELECT reference, paraphrase,
    list_transform(one::word_number[], lambda word: enum_code(word)::UINTEGER) AS one,
    list_transform(other::word_number[], lambda word: enum_code(word)::UINTEGER) AS other
FROM tokens WHERE reason IS NULL;
DROP TABLE tokens;
"""
# A reference with five paraphrases is in five pairs, but was said once: ordinary PMI is a statistic of text, and counts
# each distinct sentence of a side once. Cross-sentence PMI is a statistic of pairs, and counts each pair.
SENTENCES_SQL = """
CREATE TEMP TABLE reference_sentences AS SELECT DISTINCT reference, one AS words FROM pairs;
CREATE TEMP TABLE paraphrase_sentences AS SELECT DISTINCT paraphrase, other AS words FROM pairs;
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
PAIR = "(least(u, v)::UBIGINT << 32) | greatest(u, v)"

# #(u, v): u in one sentence and v in the other, whichever is the reference: a paraphrase is one in both directions.
CROSS_SQL = f"""
CREATE OR REPLACE TEMP TABLE cross_counts AS
SELECT {PAIR} AS pair, count(*) AS n
FROM (SELECT u, unnest(other) AS v FROM (SELECT unnest(one) AS u, other FROM (
    SELECT list_filter(one, lambda w: w < $words) AS one, list_filter(other, lambda w: w < $words) AS other
    FROM pairs)))
WHERE u <> v GROUP BY pair HAVING count(*) >= $min_count
"""
WITHIN_SQL = f"""
CREATE OR REPLACE TEMP TABLE {{side}}_counts AS
SELECT pair, count(*) AS n
FROM (SELECT {PAIR} AS pair
    FROM (SELECT u, unnest(words) AS v FROM (SELECT unnest(words) AS u, words FROM (
        SELECT list_filter(words, lambda w: w < $words) AS words FROM {{side}}_sentences)))
    WHERE u < v)
SEMI JOIN cross_counts USING (pair) GROUP BY pair
"""


def number_words(connection: duckdb.DuckDBPyConnection, wanted: Collection[str] = ()) -> None:
    """Turn `tokens` into numbers: tables `pairs`, `reference_sentences`, `paraphrase_sentences` and `marginals`.

    Args:
        connection: With `tokens`, as `toolkit.lexicon.pairs.read_pairs` leaves them.
        wanted: Words, lower-cased, that get the least numbers.
    """
    connection.execute(WORDS_SQL, {"wanted": sorted(wanted)})
    connection.execute(NUMBERS_SQL)
    connection.execute(SENTENCES_SQL)


def count_joint(connection: duckdb.DuckDBPyConnection, words: int, min_count: int) -> None:
    """Count pairs of distinct words: `cross_counts`, and of the same pairs `reference_counts`, `paraphrase_counts`.

    Args:
        connection: With what `number_words` made.
        words: How many words take part, those with the least numbers.
        min_count: Pairs of words that meet across sentences less often are left out, >= 1.
    """
    connection.execute(CROSS_SQL, {"words": words, "min_count": min_count})
    for side in ("reference", "paraphrase"):
        connection.execute(WITHIN_SQL.format(side=side), {"words": words})


def frequent_words(connection: duckdb.DuckDBPyConnection, min_count: int | None) -> int:
    """How many words are wanted or in at least `min_count` sentences; None: are wanted. They have the least numbers."""
    query = "SELECT count(*) FROM marginals WHERE wanted OR sentences >= $min_count"
    return connection.execute(query, {"min_count": min_count}).fetchall()[0][0]
