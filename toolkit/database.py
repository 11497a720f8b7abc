"""DuckDB for what has to see the whole corpus: it streams from disk, and goes to disk where memory is short."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from toolkit.bitext.words import token_count

MEMORY_LIMIT = "2GB"  # ours: a tenth of what one machine has; DuckDB goes to disk beyond it


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory that spills to a temporary folder and fetches nothing; `token_count` is a function of it."""
    with tempfile.TemporaryDirectory() as spill:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY_LIMIT,
            "temp_directory": spill,
            "autoinstall_known_extensions": False,
        }
        with duckdb.connect(config=settings) as connection:
            connection.create_function("token_count", token_count, ["VARCHAR"], "BIGINT")
            yield connection
