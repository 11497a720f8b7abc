"""Samples of a parabank's references for measures that would take too long on all of them."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from toolkit.package.read import read_references
from toolkit.rows import Row

SEEDS = 2  # ParaBank 2, section 3.6: "we average over two independent runs"


def samples(source: str | Path, wanted: int, seed: int) -> list[list[Row]]:
    """The references of a parabank that have a paraphrase: all, or if they are too many, two samples of them.

    Which references are drawn depends on the seed and their text alone, so parabanks of the same references give the
    same sample.

    Args:
        source: `toolkit.package.read.FORMS`.
        wanted: References at most, >= 1.
        seed: Of the first sample; the second has the next.

    Returns:
        One list of rows if there are at most `wanted` references, else `SEEDS` lists of `wanted`.

    Raises:
        FileNotFoundError: There is no such parabank.
        ValueError: It is no parabank, or no reference has a paraphrase.
    """
    if wanted < 1:
        raise ValueError(f"wanted a sample of at least 1 reference, got {wanted}: give a greater number")
    found = list(islice(read_references(source), wanted + 1))
    if not found:
        raise ValueError(f"wanted a parabank with paraphrases, got none in {source}: select candidates first")
    if len(found) <= wanted:
        return [found]
    return [draw(read_references(source), wanted, seed + i) for i in range(SEEDS)]


def draw(rows: Iterable[Row], wanted: int, seed: int) -> list[Row]:
    """The rows whose references have the least hashes with a seed."""

    def sample_key(row: Row) -> bytes:
        return hashlib.blake2b(f"{seed}\t{row.reference}".encode(errors="replace"), digest_size=8).digest()

    return heapq.nsmallest(wanted, rows, key=sample_key)
