"""Histograms of the scores and lengths of a data set, and examples of its pairs, from its Parquet files."""

from __future__ import annotations

import math

import duckdb

from toolkit.data.rows import measured_parts, score_sql

BINS = 50  # ours: of a score
SCORES = {  # ours: the least value of a score (None if it has none) and its greatest, in the order of the report
    "usable": (0.0, 1.0),  # first, because where it is measured it decides
    "dual": (None, 0.0),
    "dual_per_token": (None, 0.0),
    "judgment": (0.0, 100.0),
    "semantic": (-1.0, 1.0),
    "translation_score": (None, 0.0),
    "trigram_overlap": (0.0, 1.0),
    "diversity": (0.0, 1.0),
    "fluency": (None, 0.0),
    "given_reference": (None, 1.0),
    "after_reference": (None, 0.0),
    "relative_fluency": (-3.0, 3.0),
    "entailment": (0.0, 1.0),
    "parapluie": (-10.0, 10.0),
    "rubric": (1.0, 5.0),
    "edit_ratio": (0.0, 1.0),
    "intersection_over_union": (0.0, 1.0),
}
EDGE_DIGITS = 6  # ours: decimals of an edge of a bin, so that it is the number that a reader writes
LONGEST = 60  # ours: words; longer texts are counted in the last place
EXAMPLES = 5  # ours: pairs of each kind

LENGTHS_SQL = r"""
SELECT least(word_count({column}), $longest)::INTEGER, count(*)
FROM read_parquet($files) GROUP BY 1
"""
BIN_SQL = """
WITH scored AS (SELECT {score} AS score FROM read_parquet($pairs) WHERE ({score}) IS NOT NULL),
near AS (SELECT score, greatest(least(floor((score - $least) / $width), $bins - 1), 0)::INTEGER AS bin FROM scored)
SELECT bin + (bin < $bins - 1 AND score >= $edges[bin + 2])::INTEGER - (bin > 0 AND score < $edges[bin + 1])::INTEGER,
    count(*) FROM near GROUP BY 1
"""  # the division may round across an edge, which is corrected by a comparison
COLUMNS_SQL = "DESCRIBE SELECT * FROM read_parquet($pairs)"
EXAMPLES_SQL = "SELECT id, sentence1, sentence2, {score} FROM read_parquet($pairs) ORDER BY {order} LIMIT $examples"
BY_CHANCE = "md5_number_lower(concat_ws(chr(31), id, sentence2)), id, rank"


def score_histograms(connection: duckdb.DuckDBPyConnection, pairs: list[str]) -> dict[str, dict]:
    """Histograms of all scores that the pairs have.

    Args:
        connection: A database.
        pairs: The files of config `pairs`.

    Returns:
        By score `least`, the least value of the first of `BINS` bins, their `width`, and `pairs`, the number of pairs
        in each, the lower edge included; a score outside of the range is counted in the first or the last bin.
    """
    histograms = {}
    columns = {name for name, *_ in connection.execute(COLUMNS_SQL, {"pairs": pairs}).fetchall()}
    for name, (minimum, maximum) in SCORES.items():
        if not columns >= set(measured_parts([name])):  # of a parabank that an earlier version made
            continue
        score = score_sql(name)
        query = f"SELECT count({score}), min({score}) FROM read_parquet($pairs)"
        ((count, lowest),) = connection.execute(query, {"pairs": pairs}).fetchall()
        if not count:
            continue
        first = min(math.floor(lowest), maximum - 1) if minimum is None else minimum
        width = (maximum - first) / BINS
        edges = [round(first + width * number, EDGE_DIGITS) for number in range(BINS)]
        parameters = {"pairs": pairs, "least": first, "width": width, "bins": BINS, "edges": edges}
        counts = dict(connection.execute(BIN_SQL.format(score=score), parameters).fetchall())
        histograms[name] = {"least": first, "width": width, "pairs": [counts.get(number, 0) for number in range(BINS)]}
    return histograms


def length_histogram(connection: duckdb.DuckDBPyConnection, files: list[str], column: str) -> list[int]:
    """The number of texts of 0, 1, 2, ... words (`toolkit.data.database`); the last has all of `LONGEST` and more."""
    parameters = {"files": files, "longest": LONGEST}
    counts = dict(connection.execute(LENGTHS_SQL.format(column=column), parameters).fetchall())
    return [counts.get(length, 0) for length in range(LONGEST + 1)]


def examples(connection: duckdb.DuckDBPyConnection, pairs: list[str], score_names: list[str]) -> dict:
    """Pairs to look at: those with the lowest score, and some by chance.

    Args:
        connection: A database.
        pairs: The files of config `pairs`.
        score_names: The scores that the pairs have; the first orders them.

    Returns:
        `score`, the name of that score, and `lowest` and `random`, lists of pairs with `id`, `sentence1`, `sentence2`
        and `score`. Without any score there are no lowest.
    """
    score = score_sql(score_names[0]) if score_names else "NULL::DOUBLE"
    orders = {"lowest": f"{score}, {BY_CHANCE}", "random": BY_CHANCE}
    record: dict = {"score": score_names[0] if score_names else None}
    for kind, order in orders.items():
        query = EXAMPLES_SQL.format(score=score, order=order)
        lines = connection.execute(query, {"pairs": pairs, "examples": EXAMPLES}).fetchall()
        keys = ("id", "sentence1", "sentence2", "score")
        record[kind] = [dict(zip(keys, line, strict=True)) for line in lines] if score_names or kind == "random" else []
    return record
