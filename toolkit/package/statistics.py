"""Measure the figures of a data set's card with DuckDB, from the run's shards and the published Parquet files.

DuckDB streams from disk under a memory limit. All figures are counts and sums of integers, so that they do not depend
on the number of threads; only diversity is measured on a sample, by `toolkit.evaluate.corpus`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from toolkit.data.database import database
from toolkit.data.rows import Candidate, Row
from toolkit.data.shards import read_inputs
from toolkit.evaluate.corpus import rank_table
from toolkit.package._histograms import examples, length_histogram, score_histograms
from toolkit.package.counts import BINS, MILLIONTHS, RANGES, WIDTHS, _count
from toolkit.package.parquet import SPLITS
from toolkit.score.overlap import PieceSplitter

# ParaNMT-50M, table 3: millions of pairs in each, mean and standard deviation of their trigram overlap
PAPER_RANGES = ((4.0, 0.00, 0.0), (3.8, 0.02, 0.1), (6.9, 0.07, 0.1), (14.4, 0.17, 0.2), (18.0, 0.35, 0.2))
DIVERSITY_REFERENCES = 20_000  # ours: the approximate size of the sample for diversity, drawn by hash of the id

# Two columns: the numbers of candidates and of published pairs
COUNTS = "sum(n) FILTER (WHERE NOT published), sum(n) FILTER (WHERE published)"

SYSTEMS_SQL = """
SELECT recipe, sum(n)::BIGINT, sum(candidates)::BIGINT, sum(unmet)::BIGINT, sum(paraphrases)::BIGINT
FROM recipes_by_kind GROUP BY 1 ORDER BY try_cast(recipe AS INTEGER), 1
"""

LENGTHS_SQL = r"""
SELECT count(*), sum(words), min(words), max(words), sum(characters), min(characters), max(characters)
FROM (SELECT length({column}) AS characters, word_count({column}) AS words
      FROM read_parquet($files))
"""

SAMPLE_SQL = """
SELECT id, reference, list_transform(paraphrases, lambda p: p.text)
FROM read_parquet($files) WHERE md5_number_lower(id) % $total < $wanted
"""


def measure(
    shards: list[Path],
    files: dict[str, dict[str, list[Path]]],
    copies: int,
    held_out: int = 0,
    pieces: PieceSplitter | None = None,
) -> dict:
    """All measured figures of a data set. Paraphrases are counted in the published files, all else in the run's shards.

    Args:
        shards: The run's finished shards, in the folder of `inputs.json`.
        files: The files that `write_parquet` wrote, by config and split.
        copies: The number of pairs whose paraphrase equals the reference except for case and punctuation
            (`toolkit.select.equal`).
        held_out: The number of chosen candidates that are a reference of a split held out from theirs, and so are not
            published (`toolkit.select.equal`).
        pieces: Splits a text into subword pieces, for the intersection/union of the diversity table.

    Returns:
        A dictionary that JSON can represent; the templates in `cards/` show the figures of each builder.

    Raises:
        ValueError: The shards hold another number of rows than `inputs.json` says.
    """
    pairs, references = ([str(path) for paths in files[config].values() for path in paths] for config in files)
    inputs = read_inputs(shards[0].parent)
    with database() as connection:
        _count(connection, shards, pairs)
        splits = _by_split(connection, files)
        total = {key: sum(split[key] for split in splits.values()) for key in next(iter(splits.values()))}
        if total["references"] != inputs["rows"]:
            raise ValueError(
                f"wanted the {inputs['rows']} rows of inputs.json, got {total['references']} in {shards[0].parent}: "
                "its shards are of several runs; build again into an empty folder"
            )
        return {
            "inputs": {"lines": inputs["rows"] + sum(inputs["refused"].values()), "refused": inputs["refused"]},
            "languages": _distinct_values(connection, pairs, "lang"),
            "source_languages": _distinct_values(connection, pairs, "source_lang"),
            "origins": _distinct_values(connection, pairs, "origin"),
            "generators": _distinct_values(connection, pairs, "generator"),
            "total": total,
            "splits": splits,
            "paraphrases_per_reference": _paraphrases_per_reference(connection, references, total["references"]),
            "lengths": {
                "references": _lengths(connection, references, "reference"),
                "paraphrases": _lengths(connection, pairs, "sentence2"),
            },
            "length_histograms": {
                "references": length_histogram(connection, references, "reference"),
                "paraphrases": length_histogram(connection, pairs, "sentence2"),
            },
            "scores": (by_score := score_histograms(connection, pairs)),
            "examples": examples(connection, pairs, list(by_score)),
            "copies": copies,
            "candidates": _candidate_outcomes(connection, held_out),
            "histograms": {name: _histogram(connection, name) for name in WIDTHS},
            "paraphrase_scores": _score_ranges(connection),
            "clusters": _clusters(connection),
            "systems": _systems(connection),
            "negative_constraints": _forbidden_words_used(connection),
            "diversity": rank_table(_sample(connection, references, total["kept"]), pieces),
        }


def _by_split(
    connection: duckdb.DuckDBPyConnection, files: dict[str, dict[str, list[Path]]]
) -> dict[str, dict[str, int]]:
    """For each split the numbers of references, references with a paraphrase, pairs, distinct candidates and draws."""
    query = "SELECT split, sum(n), sum(candidates), sum(draws) FROM references_by_kind GROUP BY split"
    counts_by_split = {split: map(_as_integer, counts) for split, *counts in connection.execute(query).fetchall()}
    figures = {}
    for split in (split for split in SPLITS if split in counts_by_split):
        references, candidates, draws = counts_by_split[split]
        with_paraphrase, pairs = (_rows_in_files(files[config].get(split, [])) for config in ("references", "pairs"))
        figures[split] = {
            "references": references, "kept": with_paraphrase, "pairs": pairs, "candidates": candidates, "draws": draws
        }  # fmt: skip
    return figures


def _rows_in_files(files: list[Path]) -> int:
    """The number of rows of Parquet files."""
    return sum(pq.read_metadata(file).num_rows for file in files)


def _as_integer(number: int | None) -> int:
    """The result of an SQL sum as an integer; NULL, the sum of no rows, is 0."""
    return int(number or 0)


def _distinct_values(connection: duckdb.DuckDBPyConnection, files: list[str], column: str) -> list[str]:
    """The distinct values of a column, sorted, without None."""
    query = f"SELECT DISTINCT {column} FROM read_parquet($files) WHERE {column} IS NOT NULL ORDER BY 1"
    return [value for (value,) in connection.execute(query, {"files": files}).fetchall()]


def _paraphrases_per_reference(connection: duckdb.DuckDBPyConnection, files: list[str], total: int) -> dict[str, int]:
    """By number of paraphrases, how many of `total` references have it; those without one are counted under "0"."""
    query = "SELECT len(paraphrases), count(*) FROM read_parquet($files) GROUP BY 1 ORDER BY 1"
    counts = connection.execute(query, {"files": files}).fetchall()
    without_paraphrase = total - sum(n for _, n in counts)
    return {**({"0": without_paraphrase} if without_paraphrase else {}), **{str(number): n for number, n in counts}}


def _lengths(connection: duckdb.DuckDBPyConnection, files: list[str], column: str) -> dict[str, dict[str, float]]:
    """Mean, minimum and maximum length of a text column, in words (of Chinese those of jieba) and in characters."""
    sums = connection.execute(LENGTHS_SQL.format(column=column), {"files": files}).fetchone()
    assert sums is not None
    n, *figures = map(int, sums)
    units = {"words": figures[:3], "characters": figures[3:]}
    return {unit: {"mean": total / n, "min": low, "max": high} for unit, (total, low, high) in units.items()}


def _candidate_outcomes(connection: duckdb.DuckDBPyConnection, held_out: int) -> dict:
    """The numbers of distinct candidates: refused (by reason), not chosen, held-out references, repeats, chosen.

    Args:
        connection: A database with the table `candidates_by_kind`.
        held_out: The number of chosen candidates that are a reference of a split held out from theirs.
    """
    query = "SELECT reason, chosen, sum(n) FROM candidates_by_kind WHERE NOT published GROUP BY ALL"
    counts: Counter[str | None] = Counter()
    for reason, is_chosen, n in connection.execute(query).fetchall():
        counts[None if is_chosen else reason or ""] += int(n)
    refused = {str(reason): counts[reason] for reason in sorted(filter(None, counts))}
    (pairs,) = connection.execute("SELECT sum(n) FROM candidates_by_kind WHERE published").fetchone() or (0,)
    published = _as_integer(pairs)
    others = {"not_chosen": counts[""], "held_out": held_out, "repeated": counts[None] - published - held_out}
    return {"refused": refused} | others | {"chosen": published}


def _histogram(connection: duckdb.DuckDBPyConnection, score: str) -> list[dict]:
    """Histogram of the candidates and paraphrases by a score, the negative log-likelihood in nats per token.

    Args:
        connection: A database with the table `candidates_by_kind`.
        score: "dual", "forward" or "backward".

    Returns:
        `BINS` bins with `least` (inclusive), `below` (exclusive; None for the last) and the two counts.
    """
    query = f"SELECT {score}, {COUNTS} FROM candidates_by_kind GROUP BY 1"
    counts = {
        number: (_as_integer(n), _as_integer(published))
        for number, n, published in connection.execute(query).fetchall()
    }
    bins = []
    for number in range(BINS):
        candidates, paraphrases = counts.get(number, (0, 0))
        lower_limit = number * WIDTHS[score]
        upper_limit = lower_limit + WIDTHS[score] if number + 1 < BINS else None
        bins.append({"least": lower_limit, "below": upper_limit, "candidates": candidates, "paraphrases": paraphrases})
    return bins


def _score_ranges(connection: duckdb.DuckDBPyConnection) -> list[dict]:
    """Candidates and paraphrases by range of paraphrase score, with the candidates' trigram overlap, and the paper's.

    Returns:
        First the range of scores of at most -0.1 (`above` and `paper` are None), then the five `RANGES`, each with
        `above` (exclusive), `up_to` (inclusive), the two counts, and the mean and standard deviation of
        `trigram_overlap` (None if it was not measured); an empty list if no candidate has a paraphrase score.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), table 3.
    """
    lines = connection.execute(
        f"SELECT score_range, {COUNTS}, sum(measured) FILTER (WHERE NOT published), "
        "sum(total) FILTER (WHERE NOT published), sum(squares) FILTER (WHERE NOT published) "
        "FROM candidates_by_kind WHERE score_range IS NOT NULL GROUP BY 1"
    ).fetchall()
    counts = {number: [_as_integer(value) for value in values] for number, *values in lines}
    table = []
    for number, (above, up_to) in enumerate(((None, RANGES[0][0]), *RANGES)):
        candidates, paraphrases, *overlaps = counts.get(number, [0] * 5)
        line: dict = {"above": above, "up_to": up_to, "candidates": candidates, "paraphrases": paraphrases}
        paper = dict(zip(("millions", "mean", "sd"), PAPER_RANGES[number - 1], strict=True)) if number else None
        table.append(line | {"trigram_overlap": _mean_and_deviation(*overlaps), "paper": paper})
    return table if counts else []


def _mean_and_deviation(n: int, total: int, squares: int) -> dict[str, float] | None:
    """Mean and standard deviation of `n` numbers, from their sum and the sum of their squares in millionths.

    >>> _mean_and_deviation(2, 1_500_000, 1_250_000_000_000)
    {'mean': 0.75, 'sd': 0.25}
    """
    if not n:
        return None
    return {"mean": total / n / MILLIONTHS, "sd": math.sqrt(n * squares - total**2) / n / MILLIONTHS}


def _clusters(connection: duckdb.DuckDBPyConnection) -> dict:
    """The numbers of clustered candidates, of those in the reference's cluster, and of references by their clusters."""
    counts = connection.execute(
        "SELECT sum(n) FILTER (WHERE clustered), sum(n) FILTER (WHERE own_cluster) FROM candidates_by_kind "
        "WHERE NOT published"
    ).fetchone()
    query = "SELECT clusters, sum(n) FROM references_by_kind WHERE clusters > 0 GROUP BY 1 ORDER BY 1"
    references = {str(number): int(n) for number, n in connection.execute(query).fetchall()}
    clustered, in_reference_cluster = map(_as_integer, counts or (0, 0))
    return {"candidates": clustered, "in_reference_cluster": in_reference_cluster, "clusters_per_reference": references}


def _systems(connection: duckdb.DuckDBPyConnection) -> list[dict]:
    """For each recipe the numbers of distinct texts, of texts that violate its constraints, and of paraphrases.

    A text that several recipes generated counts for each of them. Recipes are sorted by number, then by name.

    Source: ParaBank (Hu et al. 2019a), table 3: the systems.
    """
    lines = connection.execute(SYSTEMS_SQL).fetchall()
    keys = ("recipe", "references", "candidates", "unmet", "paraphrases")
    return [dict(zip(keys, line, strict=True)) for line in lines]


def _forbidden_words_used(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, int]]:
    """How many texts contain a word that all their origins forbade, because it was spelled with other pieces.

    Words are compared with case.

    Source: ParaBank 2 (Hu et al. 2019b), section 2.1: constraints are on pieces, not on words.
    """
    lines = connection.execute(
        "SELECT published, sum(n), sum(n) FILTER (WHERE came_back) FROM candidates_by_kind WHERE constrained GROUP BY 1"
    ).fetchall()
    counts = {published: (_as_integer(n), _as_integer(used)) for published, n, used in lines}
    return {
        name: dict(zip(("constrained", "came_back"), counts.get(published, (0, 0)), strict=True))
        for name, published in (("candidates", False), ("paraphrases", True))
    }


def _sample(
    connection: duckdb.DuckDBPyConnection, files: list[str], total: int, size: int = DIVERSITY_REFERENCES
) -> Iterator[Row]:
    """A sample of about `size` of `total` references with their paraphrases, drawn by hash of the id; all if fewer.

    The rows have only the fields that `rank_table` reads: the reference, and the text and rank of each paraphrase.
    """
    parameters = {"files": files, "total": total, "wanted": size}
    result = connection.execute(SAMPLE_SQL, parameters)
    while batch := result.fetchmany(1000):
        for row_id, reference, texts in batch:
            candidates = [Candidate(text, "", rank=rank) for rank, text in enumerate(texts)]
            yield Row(row_id, "", None, None, reference, "", "", candidates=candidates)
