"""A DuckDB database for work on the whole corpus: it streams from disk, and spills to disk where memory is short."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from toolkit.bitext.words import HAN, spaced, token_count
from toolkit.system.errors import named_line

# A text with spaces between its words, and their number. Chinese is cut by jieba, marks counted, as in ParaZh, section
# 3.1. The function in Python sees no text without Han characters, because it is slow.
WORDS_SQL = rf"""
CREATE MACRO has_han(text) AS regexp_matches(text, '{HAN}');
CREATE MACRO spaced(text) AS CASE WHEN has_han(text) THEN chinese_words(text) ELSE text END;
CREATE MACRO word_count(text) AS len(string_split_regex(trim(spaced(text)), '\s+'));
"""
MEMORY_LIMIT = "2GB"  # ours: a tenth of the memory of one machine; beyond it DuckDB spills to disk


@contextmanager
def database(
    memory_limit: str = MEMORY_LIMIT, threads: int | None = None, folder: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB database in memory with the SQL functions `token_count`, `spaced` and `word_count`.

    It downloads no extensions, and removes at the end what it has spilled.

    Raises:
        OSError: There is no room for what it holds or spills; the message says what to do.

    Args:
        memory_limit: How much it holds before it spills; every thread needs its part.
        threads: Of DuckDB; None is one for each core.
        folder: Where it spills to; None is the system's folder for temporary files.
    """
    with tempfile.TemporaryDirectory(dir=folder) as spill:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory_limit,
            "temp_directory": spill,
            "autoinstall_known_extensions": False,
        }
        if threads is not None:
            settings["threads"] = threads
        with duckdb.connect(config=settings) as connection:
            connection.create_function("token_count", token_count, ["VARCHAR"], "BIGINT")
            connection.create_function("chinese_words", spaced, ["VARCHAR"], "VARCHAR")
            connection.execute(WORDS_SQL)
            try:
                yield connection
            except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
                if isinstance(error, duckdb.IOException) and not re.search(r"write|space left", str(error)):
                    raise
                raise OSError(
                    f"wanted room for a table of the whole corpus in {spill}, got none ({named_line(error)}): make "
                    "room there, or name another folder by the variable TMPDIR, then give the same command again"
                ) from error


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the further statements of a connection read and write no file and change no setting.

    What a user writes, such as a condition, comes only after this, when the tables that it needs are there.
    """
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
