"""The texts that the benchmarks read.

This module does not import the toolkit, because that import sets the OpenMP wait policy of every engine.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

TATOEBA = "bitext/tatoeba/deu-eng.{}.tsv.gz"  # the file of a split; German TAB English


def fields(path: Path) -> Iterator[list[str]]:
    """The fields of each line of a compressed TSV file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n").split("\t")
