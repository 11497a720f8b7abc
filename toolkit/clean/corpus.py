"""Clean a whole bitext on all cores: each block by the rules for a pair, then the corpus by those that must see it all.

The blocks become Parquet files in a folder. What must be compared over the corpus is compared by DuckDB, in narrow
columns and from the disk, so that memory does not grow with the bitext. The result depends neither on the number of
processes nor on the size of the blocks.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from loky import ProcessPoolExecutor

from toolkit.bitext.read import Block
from toolkit.bitext.words import lower_words
from toolkit.clean._blocks import judged_block
from toolkit.clean.rules import CleanSettings
from toolkit.data.database import database
from toolkit.system.errors import signal_cause
from toolkit.system.signals import ChildKilled

SCHEMA = pa.schema(
    [("line", pa.int64()), ("source", pa.large_string()), ("reference", pa.large_string()), ("reason", pa.string())]
)
TOKENS = pa.list_(pa.string())
# ours: DuckDB's part of the memory, whatever the number of lines, and the threads that share it; beyond some million
# lines it spills to the disk
MEMORY_LIMIT, THREADS = "256MB", 2
WAITING = 2  # ours: blocks that are read ahead for every other process

PAIRS_SQL = """
CREATE TEMP TABLE pairs AS
SELECT line, hash(source) AS source, hash(source, reference) AS pair FROM read_parquet($parts) WHERE reason IS NULL
"""
REFUSED_SQL = "CREATE TEMP TABLE refused (line BIGINT, reason VARCHAR)"
DUPLICATES_SQL = """
INSERT INTO refused
SELECT line, 'duplicate'
FROM pairs JOIN (SELECT pair, min(line) AS first FROM pairs GROUP BY pair HAVING count(*) > 1) USING (pair)
WHERE line > first
"""
# Of the translations of a source the one of most lines stays; of equally frequent ones that of the first line.
RARER_SQL = """
INSERT INTO refused
SELECT line, 'rarer_translation'
FROM pairs JOIN (
    SELECT pair FROM (
        SELECT pair, row_number() OVER (PARTITION BY source ORDER BY count(*) DESC, min(line)) AS place
        FROM pairs SEMI JOIN (SELECT source FROM pairs GROUP BY source HAVING min(pair) < max(pair)) USING (source)
        GROUP BY source, pair)
    WHERE place > 1) USING (pair)
WHERE line NOT IN (SELECT line FROM refused)
"""
# The tokens of each side are counted apart: a word that is frequent in English may be rare in Chinese.
TOKENS_SQL = """
SELECT line, 0 AS side, unnest(source_tokens) AS token FROM read_parquet($parts) WHERE reason IS NULL
UNION ALL
SELECT line, 1 AS side, unnest(reference_tokens) AS token FROM read_parquet($parts) WHERE reason IS NULL
"""
RARE_SQL = f"""
INSERT INTO refused
SELECT line, 'rare_tokens'
FROM (
    SELECT line, count(*) AS rare
    FROM ({TOKENS_SQL}) SEMI JOIN (
        SELECT side, token FROM ({TOKENS_SQL}) GROUP BY side, token HAVING count(*) < $rare_below) USING (side, token)
    GROUP BY line)
JOIN (SELECT line, len(source_tokens) + len(reference_tokens) AS tokens FROM read_parquet($parts)) USING (line)
WHERE rare > $max_rare_share * tokens AND line NOT IN (SELECT line FROM refused)
"""


@contextmanager
def cleaning_folder(folder: Path) -> Iterator[Path]:
    """An empty folder for `clean_corpus`, in place of what a killed process left of it; it is gone after the block."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clean_corpus(
    blocks: Iterable[Block],
    settings: CleanSettings,
    source_lang: str,
    lang: str,
    folder: Path,
    processes: int | None = None,
) -> Iterator[pa.Table]:
    """The pairs of a bitext in normal form, each with the reason for which it is refused, in the order of the bitext.

    Args:
        blocks: The bitext, as `read_blocks` reads it; it is read once, before the first table.
        settings: How pairs are normalised and which are refused.
        source_lang: The language of the sources (ISO 639-1).
        lang: The language of the references.
        folder: An empty folder for files that are as large as the bitext (`cleaning_folder`).
        processes: How many share the work; None is one for each core that this process may use.

    Yields:
        Tables of the columns of `SCHEMA`; the reason is null in pairs that are kept. Two different pairs with equal
        64-bit hashes are taken for duplicates: odds of 1 in 3000 for a hundred million.

    Raises:
        ChildKilled: A process ended without an error of its own, as when memory is short.
    """
    parts = list(_clean_blocks(blocks, settings, source_lang, lang, folder, processes or _cores()))
    with database(MEMORY_LIMIT, THREADS, folder) as connection:
        _refuse_over_corpus(connection, parts, settings)
        for part in parts:
            yield _with_refused(pq.read_table(part, columns=SCHEMA.names), connection)


def _cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _clean_blocks(
    blocks: Iterable[Block], settings: CleanSettings, source_lang: str, lang: str, folder: Path, processes: int
) -> Iterator[Path]:
    """Clean each block by itself and write it to a file, in several processes if there are several blocks.

    Yields:
        The files, in the order of the blocks.
    """
    numbered = enumerate(blocks)
    work = partial(_clean_block, settings=settings, source_lang=source_lang, lang=lang, folder=folder)
    first = list(islice(numbered, 2))
    if processes == 1 or len(first) < 2:
        yield from (work(number, block) for number, block in chain(first, numbered))
        return
    # loky's processes are new ones: a forked one would have the locks of this one's models without their threads, and
    # those of `multiprocessing` would run the user's script once more. A new one needs a second to start; this process
    # cleans, too, whenever the others have enough to do.
    parts: list[Future[Path] | Path] = []
    busy: list[Future[Path]] = []
    with ProcessPoolExecutor(processes - 1) as pool:
        try:
            for number, block in chain(first, numbered):
                if len(busy) < WAITING * (processes - 1):
                    busy.append(pool.submit(work, number, block))
                    parts.append(busy[-1])
                else:
                    parts.append(work(number, block))
                for future in (future for future in busy if future.done()):
                    future.result()  # raises what went wrong in it
                busy = [future for future in busy if not future.done()]
            yield from (part.result() if isinstance(part, Future) else part for part in parts)
        except BrokenProcessPool as error:
            raise ChildKilled(
                f"wanted all processes to clean their part, got one that was ended by {_find_cause(error)}"
            ) from error


def _find_cause(error: BrokenProcessPool) -> str:
    """What ended a process of loky; only the text of its error names the signal."""
    match = re.search(r"\{(SIG\w+)\(", str(error))
    return signal_cause(signal.Signals[match[1]]) if match else "itself; fewer --workers need less memory"


def _clean_block(number: int, block: Block, settings: CleanSettings, source_lang: str, lang: str, folder: Path) -> Path:
    """Clean a block and write its pairs to a file of the folder."""
    judged = judged_block(block, settings, source_lang, lang)
    batch, reasons = judged.batch, pa.array(judged.reasons, pa.string())
    table = pa.table([pa.array(judged.lines), batch.source.column, batch.reference.column, reasons], SCHEMA)
    if settings.max_rare_share < 1:
        for name, side in (("source_tokens", batch.source), ("reference_tokens", batch.reference)):
            table = table.append_column(name, pa.array([lower_words(text) for text in side.strings], TOKENS))
    path = folder / f"part-{number:06d}.parquet"
    pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
    return path


def _refuse_over_corpus(connection: duckdb.DuckDBPyConnection, parts: list[Path], settings: CleanSettings) -> None:
    """Fill the table `refused` with the lines that only a look at the whole corpus refuses, and their reasons."""
    connection.execute(REFUSED_SQL)
    files = {"parts": [str(part) for part in parts]}
    if parts and (settings.deduplicate or settings.most_frequent):
        connection.execute(PAIRS_SQL, files)
        if settings.deduplicate:
            connection.execute(DUPLICATES_SQL)
        if settings.most_frequent:
            connection.execute(RARER_SQL)
        connection.execute("DROP TABLE pairs")
    if parts and settings.max_rare_share < 1:
        share = {"rare_below": settings.rare_below, "max_rare_share": settings.max_rare_share}
        connection.execute(RARE_SQL, files | share)


def _with_refused(part: pa.Table, connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """The pairs of a part with the reasons of the table `refused`."""
    first, last = (int(part["line"][index].as_py()) for index in (0, -1))
    query = "SELECT line, reason FROM refused WHERE line BETWEEN ? AND ? ORDER BY line"
    refusals = connection.sql(query, params=[first, last]).fetchall()
    if not refusals:
        return part
    mask = np.zeros(len(part), bool)
    mask[[line - first for line, _ in refusals]] = True
    reasons = pa.array([reason for _, reason in refusals], pa.string())
    column = pc.replace_with_mask(part["reason"].combine_chunks(), pa.array(mask), reasons)
    return part.set_column(SCHEMA.get_field_index("reason"), "reason", column)
