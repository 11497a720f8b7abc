"""Find pairs that nearly repeat a better pair of a corpus: MinHash finds them, their n-grams decide.

A pair is the set of the n-grams of both texts, of their letters and digits in lower case, those of the reference apart
from those of the paraphrase. Pairs with equal MinHash values in a band are compared by the Jaccard similarity of their
sets. DuckDB holds what is compared, on the disk where memory is short.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from toolkit.bitext.normalize import OWN_PUNCTUATION
from toolkit.clean.texts import Texts, ranges
from toolkit.select.equal import _with_keys
from toolkit.select.pairs import _numbered_pairs
from toolkit.system.extras import require

NGRAM, WIDE_NGRAM = 4, 2  # ours: characters of an n-gram; a Chinese character says as much as some Latin letters
VALUES = 64  # ours: MinHash values of a pair
SEED = 1  # of the hash functions
RECALL = 0.95  # ours: of pairs as similar as the threshold, the least share that has a band in common
MULTIPLIER, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)  # odd numbers without a pattern
PARAPHRASE = np.uint64(0x94D049BB133111EB)  # what tells an n-gram of a paraphrase from one of a reference

BANDS_SQL = "CREATE TEMP TABLE bands (pair BIGINT, place BIGINT, band UBIGINT)"
# A pair is compared with the best pair of each of its bands. `place` counts the pairs from the best to the worst.
COMPARED_SQL = """
CREATE TEMP TABLE compared AS
SELECT DISTINCT pair, better
FROM bands JOIN (SELECT band, arg_min(pair, place) AS better FROM bands GROUP BY band HAVING count(*) > 1) USING (band)
WHERE pair <> better
"""
SETS_SQL = "CREATE TEMP TABLE sets (pair BIGINT, grams UBIGINT[])"
NEAR_SQL = """
SELECT DISTINCT pair AS id
FROM (SELECT c.pair, len(list_intersect(a.grams, b.grams)) AS shared, len(a.grams) + len(b.grams) AS total
    FROM compared c JOIN sets a ON a.pair = c.pair JOIN sets b ON b.pair = c.better)
WHERE shared >= $similarity * (total - shared)
"""


def rows_of_band(similarity: float) -> int:
    """The MinHash values of a band: the most with which pairs of a similarity still share a band nearly always.

    >>> rows_of_band(0.8)
    4
    """
    divisors = (rows for rows in (32, 16, 8, 4, 2) if 1 - (1 - similarity**rows) ** (VALUES // rows) >= RECALL)
    return next(divisors, 1)


def find_near(connection: duckdb.DuckDBPyConnection, shards: Sequence[Path], similarity: float, lang: str) -> str:
    """Find the pairs that nearly repeat a better one.

    Args:
        connection: A database with the table `places` of the remaining pairs: `id`, their number in the order of the
            shards, and `place`, counted from the best.
        shards: All finished shards of a run.
        similarity: The least Jaccard similarity of a near duplicate, in (0, 1).
        lang: The language of the texts (ISO 639-1).

    Returns:
        A query for the `id` of each near duplicate. Of pairs that are near duplicates of one another the best one is
        not among them. The tables that it reads stay in the database.
    """
    size, rows = WIDE_NGRAM if lang in OWN_PUNCTUATION else NGRAM, rows_of_band(similarity)
    connection.execute(BANDS_SQL)
    for pairs in _numbered_pairs(shards):
        keyed = _with_keys(pairs)
        grams, offsets = ngrams(keyed["reference"].to_pylist(), keyed["text"].to_pylist(), size)
        bands = band_hashes(grams, offsets, rows)
        ids = np.repeat(keyed["id"].to_numpy(), bands.shape[1])
        connection.register("found", pa.table({"id": ids, "band": bands.ravel()}))
        connection.execute("INSERT INTO bands SELECT id, place, band FROM found JOIN places USING (id)")
    connection.execute(COMPARED_SQL)
    connection.execute("DROP TABLE bands")
    connection.execute(SETS_SQL)
    for pairs in _numbered_pairs(shards):
        connection.register("found", pairs.select(["id"]))
        query = "SELECT id FROM found WHERE id IN (SELECT pair FROM compared UNION SELECT better FROM compared)"
        compared_ids = connection.execute(query).fetchnumpy()["id"]
        keyed = _with_keys(pairs.filter(pa.array(np.isin(pairs["id"].to_numpy(), compared_ids))))
        grams, offsets = ngrams(keyed["reference"].to_pylist(), keyed["text"].to_pylist(), size)
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(grams))
        connection.register("found", pa.table({"id": keyed["id"], "grams": lists}))
        connection.execute("INSERT INTO sets SELECT id, list_distinct(grams) FROM found")
    return NEAR_SQL.replace("$similarity", str(similarity))


def ngrams(references: Sequence[str], paraphrases: Sequence[str], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of the n-grams of pairs; a text that is shorter than an n-gram is one.

    Args:
        references: The match keys of the references (`toolkit.bitext.normalize.match_key`): N texts.
        paraphrases: Likewise of the paraphrases.
        size: The characters of an n-gram.

    Returns:
        The hashes of all pairs, one after another, as uint64, and where each pair begins and the last ends: (N + 1,).
    """
    padded = [text.ljust(size) for pair in zip(references, paraphrases, strict=True) for text in pair]
    texts = Texts.of(padded)
    points = texts.points.astype(np.uint64)
    hashes = np.zeros(max(0, len(points) - size + 1), np.uint64)
    for n in range(size):
        hashes = hashes * MULTIPLIER + points[n : n + len(hashes)]
    counts = texts.lengths - size + 1
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    positions = ranges(texts.bounds[::2], counts)
    hashes = hashes[positions]
    hashes = (hashes ^ (hashes >> np.uint64(31))) * MIXER
    hashes[np.repeat(np.arange(len(counts)) % 2 == 1, counts)] ^= PARAPHRASE
    return hashes, offsets[::2]


def band_hashes(grams: np.ndarray, offsets: np.ndarray, rows: int) -> np.ndarray:
    """A hash of each band of each pair, other ones in other bands.

    Args:
        grams: As `ngrams` returns them, of N pairs.
        offsets: Likewise.
        rows: The MinHash values of a band.

    Returns:
        (N, VALUES // rows) of uint64.
    """
    matrix = require("rensa").RMinHash.digest_matrix_from_flat_token_hashes(grams, offsets, VALUES, SEED)
    values = np.array(matrix.to_rows(), np.uint64).reshape(len(offsets) - 1, VALUES // rows, rows)
    hashes = np.broadcast_to(np.arange(VALUES // rows, dtype=np.uint64), values.shape[:2])
    for n in range(rows):
        hashes = (hashes ^ values[:, :, n]) * MULTIPLIER
        hashes = hashes ^ (hashes >> np.uint64(29))
    return hashes
