"""How often words meet: across the sentences of a pair, and within a sentence. DuckDB counts, and spills to disk.

Words are numbered, so that a pair of them is one integer of 64 bits. Those that are looked for come first, then all
others, frequent ones before rare ones: leaving out rare words is one comparison.
"""

from __future__ import annotations

from collections.abc import Collection

import duckdb

PASS_MEETINGS = 20_000_000  # ours: meetings counted at a time, so that their table stays in memory

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
    list_sort(list_transform(one::word_number[], lambda word: enum_code(word)::UINTEGER)) AS one,
    list_sort(list_transform(other::word_number[], lambda word: enum_code(word)::UINTEGER)) AS other
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
MEETINGS_SQL = """
SELECT sum(len(list_filter(one, lambda w: w < $words)) * len(list_filter(other, lambda w: w < $words))) FROM pairs
"""
# How often the pairs of one pass meet: across sentences, whichever is the reference, for a paraphrase is one in both
# directions; and within the distinct sentences of a side, None where never.
JOINT_SQL = """
INSERT INTO joint_counts
WITH across AS MATERIALIZED (
    SELECT pair, count(*) AS n FROM ({one_other} UNION ALL {other_one}) GROUP BY pair HAVING count(*) >= $min_count
), in_references AS (
    SELECT pair, count(*) AS n FROM ({references}) SEMI JOIN across USING (pair) GROUP BY pair
), in_paraphrases AS (
    SELECT pair, count(*) AS n FROM ({paraphrases}) SEMI JOIN across USING (pair) GROUP BY pair
)
SELECT pair, across.n, in_references.n, in_paraphrases.n
FROM across LEFT JOIN in_references USING (pair) LEFT JOIN in_paraphrases USING (pair)
"""


def meetings(one: str, other: str, table: str) -> str:
    """The query of all meetings of a word in one column and a word of a greater number in another, one a row.

    Of the words with numbers below `$words` it takes those of pass `$number` of `$passes` as the lesser.
    """
    return f"""
    SELECT (u::UBIGINT << 32) | v AS pair
    FROM (SELECT u, unnest(others) AS v
        FROM (SELECT unnest(list_filter({one}, lambda w: w < $words AND w % $passes = $number)) AS u,
            list_filter({other}, lambda w: w < $words) AS others FROM {table}))
    WHERE u < v
    """


def number_words(connection: duckdb.DuckDBPyConnection, wanted: Collection[str] = ()) -> None:
    """Turn `tokens` into numbers: tables `pairs`, `reference_sentences`, `paraphrase_sentences` and `marginals`.

    Args:
        connection: With `tokens`, as `toolkit.lexicon.pairs.fill_tokens` leaves them.
        wanted: Words, lower-cased, that get the least numbers.
    """
    connection.execute(WORDS_SQL, {"wanted": sorted(wanted)})
    connection.execute(NUMBERS_SQL)
    connection.execute(SENTENCES_SQL)


def count_joint(connection: duckdb.DuckDBPyConnection, words: int, min_count: int) -> None:
    """Fill `joint_counts`, a row for a pair of distinct words: how often they meet across and within sentences.

    Args:
        connection: With what `number_words` made.
        words: How many words take part, those with the least numbers.
        min_count: Pairs of words that meet across sentences less often are left out, >= 1.
    """
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE joint_counts "
        "(pair UBIGINT, across BIGINT, in_references BIGINT, in_paraphrases BIGINT)"
    )
    query = JOINT_SQL.format(
        one_other=meetings("one", "other", "pairs"),
        other_one=meetings("other", "one", "pairs"),
        references=meetings("words", "words", "reference_sentences"),
        paraphrases=meetings("words", "words", "paraphrase_sentences"),
    )
    passes = 1 + connection.execute(MEETINGS_SQL, {"words": words}).fetchall()[0][0] // PASS_MEETINGS
    for number in range(passes):
        given = {"words": words, "min_count": min_count, "passes": passes, "number": number}
        connection.execute(query, given)


def frequent_words(connection: duckdb.DuckDBPyConnection, min_count: int | None) -> int:
    """How many words are wanted or in at least `min_count` sentences; None: are wanted. They have the least numbers."""
    query = "SELECT count(*) FROM marginals WHERE wanted OR sentences >= $min_count"
    return connection.execute(query, {"min_count": min_count}).fetchall()[0][0]
