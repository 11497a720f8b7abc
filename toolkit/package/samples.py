"""Random samples of a parabank's references, for measures that would take too long on all of them."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from toolkit.data.rows import Row
from toolkit.package.read import read_references

SEEDS = 2  # ParaBank 2, section 3.6: "we average over two independent runs"


def samples(source: str | Path, size: int, seed: int) -> list[list[Row]]:
    """The references of a parabank that have a paraphrase: all of them, or two samples if there are too many.

    Which references are drawn depends only on the seed and on their texts, so parabanks of the same references give the
    same samples.

    Args:
        source: `toolkit.package.read.FORMS`.
        size: The most references of a sample, >= 1.
        seed: The seed of the first sample; the seed of the second is one greater.

    Returns:
        One list of rows if there are at most `size` references, else `SEEDS` lists of `size`.

    Raises:
        FileNotFoundError: The source does not exist.
        ValueError: The source is no parabank, or no reference has a paraphrase.
    """
    if size < 1:
        raise ValueError(f"wanted a sample of at least 1 reference, got {size}: give a greater number")
    first_rows = list(islice(read_references(source), size + 1))
    if not first_rows:
        raise ValueError(f"wanted a parabank with paraphrases, got none in {source}: select candidates first")
    if len(first_rows) <= size:
        return [first_rows]
    return [draw(read_references(source), size, seed + i) for i in range(SEEDS)]


def draw(rows: Iterable[Row], size: int, seed: int) -> list[Row]:
    """The `size` rows whose references have the smallest hashes with a seed."""

    def sample_key(row: Row) -> bytes:
        return hashlib.blake2b(f"{seed}\t{row.reference}".encode(errors="replace"), digest_size=8).digest()

    return heapq.nsmallest(size, rows, key=sample_key)
