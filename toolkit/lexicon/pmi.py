"""A paraphrase lexicon: words that co-occur across the sentences of paraphrase pairs more often than within a sentence.

Source: ParaNMT-50M (Wieting & Gimpel 2018), appendix A.1, tables 12 and 13.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from toolkit.data.database import database
from toolkit.lexicon._counts import count_joint, frequent_words, number_words
from toolkit.lexicon._pairs import fill_tokens
from toolkit.system.errors import first_line
from toolkit.system.whole_files import whole_file

MIN_COUNT = 10  # ParaNMT-50M, A.1: "we only show paraphrases that appeared at least 10 times"

# PMI = log #(u, v) #(., .) / (#(u) #(v)). Repetitions of a word within a sentence are not counted, so #(u) is a number
# of sentences and #(., .) the number of all sentences. PMI is 0 for independent words, and an unseen pair gets 0.
# Across sentences each pair counts in both directions, so #(., .) is twice the number of pairs.
ASSOCIATIONS_SQL = """
CREATE OR REPLACE TEMP TABLE associations AS
SELECT u.word AS word1, v.word AS word2, across AS count,
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
    SELECT word1 AS word, word2 AS paraphrase, * EXCLUDE (word1, word2) FROM associations
    UNION ALL SELECT word2, word1, * EXCLUDE (word1, word2) FROM associations)
"""
RANKING = "adjusted_pmi DESC, count DESC, paraphrase"


@dataclass(frozen=True)
class Entry:
    """A paraphrase of a word.

    Attributes:
        word: A lower-cased word.
        paraphrase: Its paraphrase, lower-cased.
        count: Co-occurrences across sentences: one word in a sentence, the other in its paraphrase or its reference.
        cross_pmi: PMI across sentences, in nats.
        ordinary_pmi: PMI within sentences, in nats: the mean over references and paraphrases; 0 for a side where the
            words never co-occur.
        adjusted_pmi: `cross_pmi` minus `ordinary_pmi`.
    """

    word: str
    paraphrase: str
    count: int
    cross_pmi: float
    ordinary_pmi: float
    adjusted_pmi: float


COLUMNS = tuple(column.name for column in fields(Entry))


class _Lexicon(NamedTuple):
    """The result of `extract_lexicon`.

    Attributes:
        counts: The numbers of pairs read, kept and refused (`toolkit.lexicon._pairs.fill_tokens`).
        entries: The number of rows of the file.
        wanted: The entries of the wanted pairs of words that co-occur at least once, by the pair as it was given.
    """

    counts: dict
    entries: int
    wanted: dict[tuple[str, str], Entry]


def extract_lexicon(
    parabank: Path, output: Path, min_count: int = MIN_COUNT, wanted: Iterable[tuple[str, str]] = ()
) -> _Lexicon:
    """Write the words that co-occur across the pairs of a parabank, with their PMIs, to a Parquet file.

    Args:
        parabank: `toolkit.package.read.FORMS`.
        output: The file, with the columns `COLUMNS` and each pair of words in both directions, sorted by word, best
            paraphrase first. It is written completely or not at all.
        min_count: Pairs of words with fewer co-occurrences are left out, >= 1.
        wanted: Pairs of words that are scored even if they co-occur only once, such as SimLex-999's; lower-cased.

    Raises:
        FileNotFoundError: The parabank does not exist.
        ValueError: The source is no parabank, no pair is left, or `min_count` is less than 1.

    Source: ParaNMT-50M (Wieting & Gimpel 2018), appendix A.1. That the lexicon has no direction is ours.
    """
    if min_count < 1:
        raise ValueError(f"wanted min_count of at least 1, got {min_count}: the paper's is {MIN_COUNT}")
    wanted_pairs = list(wanted)
    with database() as connection:
        counts = fill_tokens(connection, parabank)
        number_words(connection, {word.lower() for pair in wanted_pairs for word in pair})
        entries = _wanted_entries(connection, wanted_pairs)
        _associate(connection, frequent_words(connection, min_count), min_count)
        return _Lexicon(counts, _write_lexicon(connection, output), entries)


def is_lexicon(path: Path) -> bool:
    """Whether a file is a lexicon that `extract_lexicon` wrote."""
    try:
        return set(pq.read_schema(path).names) == set(COLUMNS)
    except (pa.ArrowException, OSError):
        return False


def _associate(connection: duckdb.DuckDBPyConnection, words: int, min_count: int) -> None:
    """Create the table `associations`: the PMIs of each pair of words in `joint_counts`."""
    count_joint(connection, words, min_count)
    tables = ("pairs", "reference_sentences", "paraphrase_sentences")
    totals = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in tables}
    connection.execute(ASSOCIATIONS_SQL, totals)


def _wanted_entries(
    connection: duckdb.DuckDBPyConnection, wanted_pairs: list[tuple[str, str]]
) -> dict[tuple[str, str], Entry]:
    """The entries of those pairs of words that co-occur at least once."""
    if not wanted_pairs:
        return {}
    _associate(connection, frequent_words(connection, None), 1)
    pairs = {(word.lower(), paraphrase.lower()): (word, paraphrase) for word, paraphrase in wanted_pairs}
    wanted_query = "SELECT unnest($words) AS word, unnest($paraphrases) AS paraphrase"
    query = f"{LEXICON_SQL} SEMI JOIN ({wanted_query}) USING (word, paraphrase)"
    words, paraphrases = map(list, zip(*pairs, strict=True))
    entries = [
        Entry(*row) for row in connection.execute(query, {"words": words, "paraphrases": paraphrases}).fetchall()
    ]
    return {pairs[entry.word, entry.paraphrase]: entry for entry in entries}


def _write_lexicon(connection: duckdb.DuckDBPyConnection, output: Path) -> int:
    """Write `associations` to a Parquet file, completely or not at all, and return the number of rows."""
    try:
        with whole_file(output) as temporary:
            name = str(temporary).replace("'", "''")
            query = f"COPY ({LEXICON_SQL} ORDER BY word, {RANKING}) TO '{name}' (FORMAT parquet, COMPRESSION zstd)"
            return connection.execute(query).fetchall()[0][0]
    except (duckdb.IOException, OSError) as error:
        raise OSError(f"wanted to write {output}, got {first_line(error)}: choose another --output") from None


def paraphrases_of(lexicon: Path, word: str, limit: int) -> list[Entry]:
    """The best paraphrases of a word by adjusted PMI, as in table 12.

    Args:
        lexicon: The file that `extract_lexicon` wrote.
        word: A word; its case is ignored.
        limit: The maximum number of paraphrases.

    Returns:
        Entries, best first; an empty list if the word is not in the lexicon.

    Raises:
        ValueError: The file is no lexicon.
    """
    query = f"SELECT {', '.join(COLUMNS)} FROM read_parquet($file) WHERE word = $word ORDER BY {RANKING} LIMIT $most"
    parameters = {"file": str(lexicon), "word": word.lower(), "most": limit}
    with database() as connection:
        try:
            return [Entry(*row) for row in connection.execute(query, parameters).fetchall()]
        except duckdb.Error as error:
            reason = first_line(error)
            raise ValueError(
                f"wanted a lexicon of parabank extract lexicon, got {lexicon} ({reason}): extract one"
            ) from None
