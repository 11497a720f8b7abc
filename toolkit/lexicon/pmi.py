"""A paraphrase lexicon: words that meet across the sentences of paraphrase pairs more often than within a sentence.

Source: ParaNMT-50M (Wieting & Gimpel 2018), appendix A.1, tables 12 and 13.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from toolkit.database import database
from toolkit.errors import first_line
from toolkit.lexicon.counts import count_joint, frequent_words, number_words
from toolkit.lexicon.pairs import fill_tokens

MIN_COUNT = 10  # ParaNMT-50M, A.1: "we only show paraphrases that appeared at least 10 times"

# PMI = log #(u, v) #(., .) / (#(u) #(v)). A word is in a sentence or not, however often it is said there, so #(u) is a
# number of sentences and #(., .) the number of all: PMI is 0 where words meet as chance has it, and an unseen pair is
# taken for one of these. Across sentences each pair stands in both directions, so #(., .) is twice the pairs.
ASSOCIATIONS_SQL = """
CREATE OR REPLACE TEMP TABLE associations AS
SELECT u.word AS one, v.word AS other, across AS count,
    ln(across::DOUBLE * 2 * $pairs / (u.sentences::DOUBLE * v.sentences)) AS cross_pmi,
    (coalesce(ln(in_references::DOUBLE * $reference_sentences
            / (u.reference_sentences::DOUBLE * v.reference_sentences)), 0)
        + coalesce(ln(in_paraphrases::DOUBLE * $paraphrase_sentences
            / (u.paraphrase_sentences::DOUBLE * v.paraphrase_sentences)), 0)) / 2 AS ordinary_pmi
FROM joint_counts
JOIN marginals AS u ON u.number = pair >> 32
JOIN marginals AS v ON v.number = pair & 4294967295
"""
LEXICON_SQL = """
SELECT *, cross_pmi - ordinary_pmi AS adjusted_pmi FROM (
    SELECT one AS word, other AS paraphrase, * EXCLUDE (one, other) FROM associations
    UNION ALL SELECT other, one, * EXCLUDE (one, other) FROM associations)
"""
RANKING = "adjusted_pmi DESC, count DESC, paraphrase"


@dataclass(frozen=True)
class Entry:
    """A paraphrase of a word.

    Attributes:
        word: A lower-cased word.
        paraphrase: Another.
        count: How often the two met: one in a sentence, the other in its paraphrase, in either direction.
        cross_pmi: PMI across sentences, in nats.
        ordinary_pmi: PMI within sentences, in nats: the mean of references and paraphrases, 0 for each where they were
            never seen together.
        adjusted_pmi: `cross_pmi` less `ordinary_pmi`.
    """

    word: str
    paraphrase: str
    count: int
    cross_pmi: float
    ordinary_pmi: float
    adjusted_pmi: float


COLUMNS = tuple(column.name for column in fields(Entry))


class Lexicon(NamedTuple):
    """What was extracted.

    Attributes:
        counts: What became of the pairs (`toolkit.lexicon.pairs.fill_tokens`).
        entries: Rows of the file.
        wanted: Those of the wanted pairs that met at all, however rarely, as they were asked for.
    """

    counts: dict
    entries: int
    wanted: dict[tuple[str, str], Entry]


def extract_lexicon(
    parabank: Path, output: Path, min_count: int = MIN_COUNT, wanted: Iterable[tuple[str, str]] = ()
) -> Lexicon:
    """Write the words that meet across the pairs of a parabank, with their PMIs, to a Parquet file.

    Args:
        parabank: `toolkit.package.read.FORMS`.
        output: The file; columns `COLUMNS`, each pair of words in both directions, sorted by word, best paraphrase
            first. It is whole or not there.
        min_count: Words that meet less often are left out, >= 1.
        wanted: Pairs of words that are scored however rarely they meet, such as SimLex-999's; compared in lower case.

    Raises:
        FileNotFoundError: There is no such parabank.
        ValueError: It is none, or nothing is left of it; `min_count` is less than 1.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), appendix A.1. That the lexicon has no direction is ours.
    """
    if min_count < 1:
        raise ValueError(f"wanted min_count of at least 1, got {min_count}: the paper's is {MIN_COUNT}")
    asked = list(wanted)
    with database() as connection:
        counts = fill_tokens(connection, parabank)
        number_words(connection, {word.lower() for pair in asked for word in pair})
        found = wanted_entries(connection, asked)
        associate(connection, frequent_words(connection, min_count), min_count)
        return Lexicon(counts, write_lexicon(connection, output), found)


def is_lexicon(path: Path) -> bool:
    """Whether a file is a lexicon that `extract_lexicon` wrote."""
    try:
        return set(pq.read_schema(path).names) == set(COLUMNS)
    except (pa.ArrowException, OSError):
        return False


def associate(connection: duckdb.DuckDBPyConnection, words: int, min_count: int) -> None:
    """Fill `associations`: the PMIs of pairs of words, each pair once (`toolkit.lexicon.counts.count_joint`)."""
    count_joint(connection, words, min_count)
    tables = ("pairs", "reference_sentences", "paraphrase_sentences")
    totals = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in tables}
    connection.execute(ASSOCIATIONS_SQL, totals)


def wanted_entries(connection: duckdb.DuckDBPyConnection, asked: list[tuple[str, str]]) -> dict[tuple[str, str], Entry]:
    """The entries of pairs of words, those that met at least once."""
    if not asked:
        return {}
    associate(connection, frequent_words(connection, None), 1)
    keys = {(one.lower(), other.lower()): (one, other) for one, other in asked}
    query = (
        f"{LEXICON_SQL} SEMI JOIN (SELECT unnest($one) AS word, unnest($other) AS paraphrase) USING (word, paraphrase)"
    )
    one, other = map(list, zip(*keys, strict=True))
    found = [Entry(*row) for row in connection.execute(query, {"one": one, "other": other}).fetchall()]
    return {keys[entry.word, entry.paraphrase]: entry for entry in found}


def write_lexicon(connection: duckdb.DuckDBPyConnection, output: Path) -> int:
    """Write `associations` to a Parquet file, under a temporary name until it is whole; the number of its rows."""
    temporary = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    name = str(temporary).replace("'", "''")
    query = f"COPY ({LEXICON_SQL} ORDER BY word, {RANKING}) TO '{name}' (FORMAT parquet, COMPRESSION zstd)"
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        entries = connection.execute(query).fetchall()[0][0]
        os.replace(temporary, output)
        return entries
    except (duckdb.IOException, OSError) as error:
        raise OSError(f"wanted to write {output}, got {first_line(error)}: choose another --output") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def paraphrases_of(lexicon: Path, word: str, most: int) -> list[Entry]:
    """The best paraphrases of a word by adjusted PMI, as in table 12.

    Args:
        lexicon: What `extract_lexicon` wrote.
        word: In any case.
        most: Paraphrases at most.

    Returns:
        Entries, best first; none if the word is not in the lexicon.

    Raises:
        ValueError: The file is no lexicon.
    """
    query = f"SELECT {', '.join(COLUMNS)} FROM read_parquet($file) WHERE word = $word ORDER BY {RANKING} LIMIT $most"
    parameters = {"file": str(lexicon), "word": word.lower(), "most": most}
    with database() as connection:
        try:
            return [Entry(*row) for row in connection.execute(query, parameters).fetchall()]
        except duckdb.Error as error:
            reason = first_line(error)
            raise ValueError(
                f"wanted a lexicon of scripts/extract_lexicon.py, got {lexicon} ({reason}): extract one"
            ) from None
