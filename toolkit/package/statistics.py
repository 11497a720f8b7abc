"""The measured figures of a data set's card, by DuckDB over the run's shards and the published Parquet.

DuckDB streams from disk under a memory limit. Everything is counted, and sums are of integers, so that any number of
threads gives the same figures; diversity alone is measured on a sample, by `toolkit.evaluate.corpus`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from toolkit.database import database
from toolkit.evaluate.corpus import rank_table
from toolkit.package.parquet import SPLITS
from toolkit.rows import Candidate, Row
from toolkit.score.overlap import PieceSplitter
from toolkit.shards import read_inputs

BINS = 12  # ours: the last bin is open
WIDTHS = {"dual": 0.5, "forward": 0.25, "backward": 0.25}  # ours: nats of a bin; a dual of 3.5 falls on an edge
# ParaNMT-50M, table 3: the ranges of the paraphrase score, above and up to
RANGES = ((-0.1, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))
# ParaNMT-50M, table 3: millions of pairs in each, mean and standard deviation of their trigram overlap
PAPER_RANGES = ((4.0, 0.00, 0.0), (3.8, 0.02, 0.1), (6.9, 0.07, 0.1), (14.4, 0.17, 0.2), (18.0, 0.35, 0.2))
MILLIONTHS = 10**6  # ours: trigram overlaps are added up as whole millionths
DIVERSITY_REFERENCES = 20_000  # ours: about how many references diversity is measured on, chosen by hash of their id

# ours: a word is letters, marks and digits, with apostrophes and hyphens inside
WORD = r"[\p{L}\p{M}\p{N}]+(?:[''’-][\p{L}\p{M}\p{N}]+)*"


def bin_of(nats: str, score: str) -> str:
    """SQL for the bin of a score; none for what was not measured (`least` passes over NULL)."""
    number = f"least(floor(({nats}) / {WIDTHS[score]}), {BINS - 1})::INTEGER"
    return f"CASE WHEN ({nats}) IS NOT NULL THEN {number} END AS {score}"


# One row per kind of reference: how many clusters its candidates fell into.
REFERENCES_SQL = """
CREATE TEMP TABLE references_by_kind AS
SELECT split, len(list_distinct(list_transform(candidates, lambda c: c.cluster))) AS clusters, count(*) AS n,
    sum(len(candidates)) AS candidates,
    sum(coalesce(list_sum(list_transform(candidates, lambda c: c.draws)), 0)) AS draws
FROM read_parquet($shards) WHERE reason IS NULL GROUP BY ALL
"""

# One row per kind of candidate in the shards, and of `published` pair. `forbidden`: the words that every one of its
# origins forbade; `score_range`: how many lower ends of RANGES its paraphrase score is above.
CANDIDATES_SQL = f"""
CREATE TEMP TABLE candidates_by_kind AS
SELECT published, reason, rank IS NOT NULL AS chosen,
    cluster IS NOT NULL AS clustered, coalesce(cluster = 0, false) AS own_cluster,
    {bin_of("forward + backward", "dual")}, {bin_of("forward", "forward")}, {bin_of("backward", "backward")},
    len(forbidden) > 0 AS constrained,
    list_has_any(regexp_extract_all(text, '{WORD}'), forbidden) AS came_back,
    {" + ".join(f"(semantic > {above})::INTEGER" for above, _ in RANGES)} AS score_range,
    count(*) AS n, count(trigrams) AS measured, sum(trigrams) AS total, sum(trigrams * trigrams) AS squares
FROM (
    SELECT published, reason, rank, cluster, text, semantic,
        -forward_logprob / forward_tokens AS forward, -backward_logprob / backward_tokens AS backward,
        round(trigram_overlap * {MILLIONTHS})::BIGINT AS trigrams,
        CASE WHEN len(origins) = 0 THEN [] ELSE list_filter(list_transform(
            list_reduce(list_transform(origins, lambda o: o.negative), lambda a, b: list_intersect(a, b)),
            lambda word: regexp_extract(replace(word, chr(9601), ''), '{WORD}')),
            lambda word: word <> '') END AS forbidden
    FROM (
        SELECT false AS published, c.reason, c.rank, c.cluster, c.text, c.origins, c.scores.semantic,
            c.scores.trigram_overlap, c.scores.forward_logprob, c.scores.forward_tokens,
            c.scores.backward_logprob, c.scores.backward_tokens
        FROM (SELECT unnest(candidates) AS c FROM read_parquet($shards))
        UNION ALL
        SELECT true, NULL, rank, cluster, sentence2, origins, semantic,
            trigram_overlap, forward_logprob, forward_tokens, backward_logprob, backward_tokens
        FROM read_parquet($pairs))
) GROUP BY ALL
"""

# The candidates and the published pairs of some kinds, two columns
COUNTS = "sum(n) FILTER (WHERE NOT published), sum(n) FILTER (WHERE published)"

SYSTEMS_SQL = """
SELECT o.recipe, count(DISTINCT id), count(*) FILTER (WHERE NOT published AND text <> ''),
    count(*) FILTER (WHERE NOT published AND len(o.unmet) > 0), count(*) FILTER (WHERE published)
FROM (SELECT false AS published, id, c.text, unnest(c.origins) AS o
      FROM (SELECT id, unnest(candidates) AS c FROM read_parquet($shards))
      UNION ALL SELECT true, id, sentence2, unnest(origins) FROM read_parquet($pairs))
WHERE o.recipe IS NOT NULL GROUP BY 1 ORDER BY try_cast(o.recipe AS INTEGER), 1
"""

LENGTHS_SQL = r"""
SELECT count(*), sum(words), min(words), max(words), sum(characters), min(characters), max(characters)
FROM (SELECT length({column}) AS characters, len(string_split_regex(trim({column}), '\s+')) AS words
      FROM read_parquet($files))
"""

SAMPLE_SQL = """
SELECT id, reference, list_transform(paraphrases, lambda p: p.text)
FROM read_parquet($files) WHERE md5_number_lower(id) % $total < $wanted
"""


def measure(
    shards: list[Path], files: dict[str, dict[str, list[Path]]], copies: int, pieces: PieceSplitter | None = None
) -> dict:
    """All measured figures of a data set. Paraphrases are counted as published, all else in the run's full record.

    Args:
        shards: The run's finished shards; `inputs.json` lies beside them.
        files: What `write_parquet` wrote: config to split to files.
        copies: Pairs whose paraphrase is the reference but for case and punctuation (`toolkit.package.equal`).
        pieces: Cuts a text into subword pieces, for the intersection/union of the diversity table.

    Returns:
        A dictionary that JSON can hold; the templates in `cards/` show what their builder measures.

    Raises:
        ValueError: The shards hold another number of rows than `inputs.json` says.
    """
    pairs, references = ([str(path) for paths in files[config].values() for path in paths] for config in files)
    inputs = read_inputs(shards[0].parent)
    with database() as connection:
        parameters = {"shards": [str(shard) for shard in shards]}
        connection.execute(REFERENCES_SQL, parameters)
        connection.execute(CANDIDATES_SQL, parameters | {"pairs": pairs})
        splits = by_split(connection, files)
        total = {key: sum(split[key] for split in splits.values()) for key in next(iter(splits.values()))}
        if total["references"] != inputs["rows"]:
            raise ValueError(
                f"wanted the {inputs['rows']} rows of inputs.json, got {total['references']} in {shards[0].parent}: "
                "its shards are of several runs; build again into an empty folder"
            )
        return {
            "inputs": {"lines": inputs["rows"] + sum(inputs["refused"].values()), "refused": inputs["refused"]},
            "languages": columns(connection, pairs, "lang"),
            "source_languages": columns(connection, pairs, "source_lang"),
            "origins": columns(connection, pairs, "origin"),
            "generators": columns(connection, pairs, "generator"),
            "total": total,
            "splits": splits,
            "paraphrases_per_reference": kept(connection, references, total["references"]),
            "lengths": {
                "references": lengths(connection, references, "reference"),
                "paraphrases": lengths(connection, pairs, "sentence2"),
            },
            "copies": copies,
            "candidates": fates(connection),
            "histograms": {name: histogram(connection, name) for name in WIDTHS},
            "paraphrase_scores": ranges(connection),
            "clusters": clusters(connection),
            "systems": systems(connection, parameters | {"pairs": pairs}),
            "negative_constraints": came_back(connection),
            "diversity": rank_table(sample(connection, references, total["kept"]), pieces),
        }


def by_split(
    connection: duckdb.DuckDBPyConnection, files: dict[str, dict[str, list[Path]]]
) -> dict[str, dict[str, int]]:
    """For each split: references, those that kept a paraphrase, pairs, distinct candidates and draws."""
    query = "SELECT split, sum(n), sum(candidates), sum(draws) FROM references_by_kind GROUP BY split"
    found = {split: map(whole, counts) for split, *counts in connection.execute(query).fetchall()}
    counted = {}
    for split in (split for split in SPLITS if split in found):
        references, candidates, draws = found[split]
        kept, pairs = (written(files[config].get(split, [])) for config in ("references", "pairs"))
        counted[split] = {
            "references": references, "kept": kept, "pairs": pairs, "candidates": candidates, "draws": draws
        }  # fmt: skip
    return counted


def written(files: list[Path]) -> int:
    """The rows of Parquet files."""
    return sum(pq.read_metadata(file).num_rows for file in files)


def whole(number: int | None) -> int:
    """A sum as an integer; the sum of nothing is 0."""
    return int(number or 0)


def columns(connection: duckdb.DuckDBPyConnection, files: list[str], column: str) -> list[str]:
    """The values of a column of few values, sorted, None left out."""
    query = f"SELECT DISTINCT {column} FROM read_parquet($files) WHERE {column} IS NOT NULL ORDER BY 1"
    return [value for (value,) in connection.execute(query, {"files": files}).fetchall()]


def kept(connection: duckdb.DuckDBPyConnection, files: list[str], total: int) -> dict[str, int]:
    """Of `total` references how many kept so many paraphrases, 0 included."""
    query = "SELECT len(paraphrases), count(*) FROM read_parquet($files) GROUP BY 1 ORDER BY 1"
    found = connection.execute(query, {"files": files}).fetchall()
    none = total - sum(n for _, n in found)
    return {**({"0": none} if none else {}), **{str(number): n for number, n in found}}


def lengths(connection: duckdb.DuckDBPyConnection, files: list[str], column: str) -> dict[str, dict[str, float]]:
    """Mean, least and greatest length of a text column, in words (between white space) and in characters."""
    found = connection.execute(LENGTHS_SQL.format(column=column), {"files": files}).fetchone()
    assert found is not None
    n, *figures = map(int, found)
    units = {"words": figures[:3], "characters": figures[3:]}
    return {unit: {"mean": total / n, "min": low, "max": high} for unit, (total, low, high) in units.items()}


def fates(connection: duckdb.DuckDBPyConnection) -> dict:
    """What became of the distinct candidates: refused by reason, left over, equal to a better pair, chosen."""
    query = "SELECT reason, chosen, sum(n) FROM candidates_by_kind WHERE NOT published GROUP BY ALL"
    counted: Counter[str | None] = Counter()
    for reason, chosen, n in connection.execute(query).fetchall():
        counted[None if chosen else reason or ""] += int(n)
    refused = {str(reason): counted[reason] for reason in sorted(filter(None, counted))}
    (pairs,) = connection.execute("SELECT sum(n) FROM candidates_by_kind WHERE published").fetchone() or (0,)
    repeated = counted[None] - whole(pairs)
    return {"refused": refused, "not_chosen": counted[""], "repeated": repeated, "chosen": whole(pairs)}


def histogram(connection: duckdb.DuckDBPyConnection, score: str) -> list[dict]:
    """Candidates and paraphrases by a score: bins of negative log-likelihood in nats per token.

    Args:
        connection: With `candidates_by_kind`.
        score: "dual", "forward" or "backward".

    Returns:
        `BINS` bins with `least` (inclusive), `below` (exclusive; None for the last) and the two counts.
    """
    query = f"SELECT {score}, {COUNTS} FROM candidates_by_kind GROUP BY 1"
    counted = {number: (whole(n), whole(chosen)) for number, n, chosen in connection.execute(query).fetchall()}
    bins = []
    for number in range(BINS):
        candidates, paraphrases = counted.get(number, (0, 0))
        least = number * WIDTHS[score]
        below = least + WIDTHS[score] if number + 1 < BINS else None
        bins.append({"least": least, "below": below, "candidates": candidates, "paraphrases": paraphrases})
    return bins


def ranges(connection: duckdb.DuckDBPyConnection) -> list[dict]:
    """Candidates and paraphrases by paraphrase score, with the trigram overlap of the candidates; the paper's beside.

    Returns:
        What is at most -0.1 (`above` and `paper` are None) and then the five `RANGES`, each with `above` (exclusive),
        `up_to` (inclusive), the two counts, and `trigram_overlap`, mean and standard deviation (None if nothing was
        measured); an empty list if no candidate has a paraphrase score.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), table 3.
    """
    found = connection.execute(
        f"SELECT score_range, {COUNTS}, sum(measured) FILTER (WHERE NOT published), "
        "sum(total) FILTER (WHERE NOT published), sum(squares) FILTER (WHERE NOT published) "
        "FROM candidates_by_kind WHERE score_range IS NOT NULL GROUP BY 1"
    ).fetchall()
    counted = {number: [whole(value) for value in values] for number, *values in found}
    table = []
    for number, (above, up_to) in enumerate(((None, RANGES[0][0]), *RANGES)):
        candidates, paraphrases, *overlaps = counted.get(number, [0] * 5)
        line: dict = {"above": above, "up_to": up_to, "candidates": candidates, "paraphrases": paraphrases}
        paper = dict(zip(("millions", "mean", "sd"), PAPER_RANGES[number - 1], strict=True)) if number else None
        table.append(line | {"trigram_overlap": spread(*overlaps), "paper": paper})
    return table if counted else []


def spread(n: int, total: int, squares: int) -> dict[str, float] | None:
    """Mean and standard deviation of `n` numbers, from their sum and the sum of their squares in millionths.

    >>> spread(2, 1_500_000, 1_250_000_000_000)
    {'mean': 0.75, 'sd': 0.25}
    """
    if not n:
        return None
    return {"mean": total / n / MILLIONTHS, "sd": math.sqrt(n * squares - total**2) / n / MILLIONTHS}


def clusters(connection: duckdb.DuckDBPyConnection) -> dict:
    """Candidates that were clustered, those in their reference's own cluster, and references by number of clusters."""
    found = connection.execute(
        "SELECT sum(n) FILTER (WHERE clustered), sum(n) FILTER (WHERE own_cluster) FROM candidates_by_kind "
        "WHERE NOT published"
    ).fetchone()
    query = "SELECT clusters, sum(n) FROM references_by_kind WHERE clusters > 0 GROUP BY 1 ORDER BY 1"
    numbers = {str(number): int(n) for number, n in connection.execute(query).fetchall()}
    clustered, own = map(whole, found or (0, 0))
    return {"candidates": clustered, "in_reference_cluster": own, "clusters_per_reference": numbers}


def systems(connection: duckdb.DuckDBPyConnection, shards: dict[str, list[str]]) -> list[dict]:
    """What each recipe reached: distinct texts, those that do not meet its constraints, those that became paraphrases.

    A text that several recipes reached counts for each. Recipes are in the order of their numbers, then of their names.

    Source: ParaBank (Hu et al. 2019a), table 3: the systems.
    """
    found = connection.execute(SYSTEMS_SQL, shards).fetchall()
    keys = ("recipe", "references", "candidates", "unmet", "paraphrases")
    return [dict(zip(keys, line, strict=True)) for line in found]


def came_back(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, int]]:
    """How often a word that every origin of a text forbade is in it all the same, in another segmentation.

    Words are compared as they stand, case included.

    Source: ParaBank 2 (Hu et al. 2019b), section 2.1: constraints are on pieces, not on words.
    """
    found = connection.execute(
        "SELECT published, sum(n), sum(n) FILTER (WHERE came_back) FROM candidates_by_kind WHERE constrained GROUP BY 1"
    ).fetchall()
    counted = {published: (whole(n), whole(back)) for published, n, back in found}
    return {
        name: dict(zip(("constrained", "came_back"), counted.get(published, (0, 0)), strict=True))
        for name, published in (("candidates", False), ("paraphrases", True))
    }


def sample(
    connection: duckdb.DuckDBPyConnection, files: list[str], total: int, wanted: int = DIVERSITY_REFERENCES
) -> Iterator[Row]:
    """About `wanted` of `total` references with their paraphrases, by hash of their id; all, if there are no more.

    The rows carry what `rank_table` reads: the reference and the texts by rank.
    """
    parameters = {"files": files, "total": total, "wanted": wanted}
    result = connection.execute(SAMPLE_SQL, parameters)
    while batch := result.fetchmany(1000):
        for row_id, reference, texts in batch:
            candidates = [Candidate(text, "", rank=rank) for rank, text in enumerate(texts)]
            yield Row(row_id, "", None, None, reference, "", "", candidates=candidates)
