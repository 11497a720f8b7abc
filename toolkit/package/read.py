"""The reader for all forms of parabanks, which yields pairs (Arrow tables) or references (rows).

A folder holds a packaged parabank or the shards of a run; `pair_files.py` reads single files. A packaged parabank and
single files may also be at a URL.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache, partial
from itertools import chain, groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.bitext.read import text_suffix
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.data.shards import INPUTS, read_tables
from toolkit.package._pair_files import BATCH_ROWS, FILE_READERS, file_tables, pairs_of, understood
from toolkit.package._pair_rows import PAIRS
from toolkit.package._pair_tables import PLAIN
from toolkit.package.folder import _check_whole, _urls_of, files_of, is_parabank
from toolkit.package.parquet import TABLES, finished_shards, without_repeats
from toolkit.select.equal import find_equal_pairs
from toolkit.system import urls

FORMS = (
    "a packaged parabank (folder or Hub name), a run's folder of shards, or a .parquet, .tsv, .csv or .jsonl file of "
    "references and paraphrases"
)


def read_pairs(source: str | Path, split: str | None = None, refused: Counter[str] | None = None) -> Iterator[pa.Table]:
    r"""Read the pairs of a parabank, a few thousand at a time.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "demo.tsv")
    >>> _ = path.write_text("Hello!\tHi!\tHi there!\nThanks.\tThank you.\n")
    >>> [table["sentence2"].to_pylist() for table in read_pairs(path)]
    [['Hi!', 'Hi there!', 'Thank you.']]

    Args:
        source: `FORMS`, or the URL of a parabank or file; a text file may be compressed (.gz, .zst).
        split: "train", "validation" or "test"; None reads all. A file has no splits and is read whole.
        refused: Counts the pairs of a file that are left out, by reason: those with the label 0.

    Yields:
        Tables with the columns `PAIRS`: `id` is the id of the reference, in a file without ids the reference itself;
        `semantic` is None where a pair has no score. Pairs with empty texts are yielded too.

    Raises:
        FileNotFoundError: There is no such file, folder or Hub name.
        ValueError: It has another form; a run is not finished; a file is damaged; a line is wrong, with its number.
    """
    if is_file(source):
        return _file_pairs(source, Counter() if refused is None else refused)
    return map(pairs_of, _read_config(source, "pairs", split))


def _file_pairs(source: str | Path, refused: Counter[str]) -> Iterator[pa.Table]:
    """The pairs of a file; it is said what was understood of its columns."""
    return FILE_READERS[text_suffix(str(source))](source, refused, partial(say_once, str(source)))


@cache
def say_once(source: str, text: str) -> None:
    """Say what was understood of a file: once, by the first process of a launch, and only if there was a choice."""
    if text != PLAIN and os.environ.get("RANK", "0") == "0":
        print(f"{source}: {text}", file=sys.stderr)


def understood_columns(sources: Iterable[str | Path]) -> list[str]:
    """What is understood of the columns of those sources that are files, with their names, for a record.

    Raises:
        FileNotFoundError: A source does not exist.
        ValueError: The columns of a file are not understood.
    """
    return [f"{Path(source).name}: {text}" for source in sources if is_file(source) and (text := understood(source))]


def read_references(source: str | Path, split: str | None = None, refused: Counter[str] | None = None) -> Iterator[Row]:
    """Read the references of a parabank that have a paraphrase, as rows with the published fields.

    Args:
        source: `FORMS`, or the URL of a parabank or file. Consecutive lines of a file with the same reference become
            one row.
        split: "train", "validation" or "test"; None reads all. A file has no splits and is read whole.
        refused: See `read_pairs`.

    Yields:
        Rows whose candidates are the paraphrases, best first.

    Raises:
        FileNotFoundError: There is no such file, folder or Hub name.
        ValueError: It has another form; a run is not finished; a file is damaged; a line is wrong, with its number.
    """
    if is_file(source):
        return _group_pairs(read_pairs(source, refused=refused))
    return (_make_row(record) for table in _read_config(source, "references", split) for record in table.to_pylist())


def is_file(source: str | Path) -> bool:
    """Whether a source is a file, rather than a folder or a Hub name.

    Raises:
        FileNotFoundError: The source has a suffix of a parabank file but does not exist.
        ValueError: The source is a file with another suffix.
    """
    file_exists, has_suffix = urls.is_file(source), text_suffix(str(source)) in FILE_READERS
    if file_exists and not has_suffix:
        raise ValueError(f"wanted {FORMS}, got the file {source}: rename it if it is one of these")
    if has_suffix and not file_exists and (urls.is_url(source) or not Path(source).exists()):
        raise FileNotFoundError(f"wanted {FORMS}, got {source}, which does not exist: check the path")
    return file_exists


def _read_config(source: str | Path, config: str, split: str | None) -> Iterator[pa.Table]:
    """Read the tables of a packaged parabank, or of a run as they would be packaged.

    Args:
        source: A folder or a Hub name.
        config: "pairs" or "references".
        split: The split to read; None reads all.

    Raises:
        FileNotFoundError: There is neither such a folder nor such a Hub name.
        ValueError: The folder holds something else, the run is not finished, or a file is damaged.
    """
    columns = PAIRS.names if config == "pairs" else None
    if urls.is_url(source):
        return chain.from_iterable(file_tables(url, columns) for url in _urls_of(str(source), config, split))
    folder = Path(source).expanduser()
    if (folder / INPUTS).is_file():
        return _run_tables(finished_shards(folder), config, split)
    if not folder.is_dir():
        return _hub_tables(str(source), config, split)
    if not is_parabank(folder):
        raise ValueError(f"wanted {FORMS}, got the folder {folder}: check the path")
    _check_whole(folder, config)
    return chain.from_iterable(file_tables(file, columns) for file in files_of(folder, config, split))


def _run_tables(shards: list[Path], config: str, split: str | None) -> Iterator[pa.Table]:
    """Read the tables of a run's shards, without repeated pairs (`toolkit.select.equal`)."""
    _, make_table = TABLES[config]
    for shard, repeated in zip(shards, find_equal_pairs(shards).repeated, strict=True):
        for rows in without_repeats(read_tables(shard), repeated):
            yield make_table(rows if split is None else rows.filter(pc.equal(rows["split"], split)))


def _hub_tables(name: str, config: str, split: str | None) -> Iterator[pa.Table]:
    """Read the tables of a parabank on the Hub.

    Raises:
        FileNotFoundError: The Hub has no such name, or cannot be reached.
    """
    # Imported here because it loads `datasets`, which only the Hub needs.
    from toolkit.package.load import load_parabank

    loaded = load_parabank(name, config, split)
    parts = [loaded] if split else list(loaded.values())
    return chain.from_iterable(part.with_format("arrow").iter(BATCH_ROWS) for part in parts)


def _group_pairs(tables: Iterable[pa.Table]) -> Iterator[Row]:
    """Group consecutive pairs with the same reference into rows; pairs with an empty paraphrase are left out."""
    pairs = (record for table in tables for record in table.to_pylist() if record["sentence2"])
    for number, (key, group) in enumerate(groupby(pairs, key=lambda pair: (pair["id"], pair["sentence1"]))):
        candidates = [
            Candidate(pair["sentence2"], "", rank=rank, scores=Scores(semantic=pair["semantic"]))
            for rank, pair in enumerate(group)
        ]
        yield Row(f"line-{number}", "", None, None, key[1], "", "", candidates=candidates)


def _make_row(record: dict) -> Row:
    """The row of one record of config `references`."""
    scores = [
        Scores(**{f.name: paraphrase.get(f.name) for f in fields(Scores)}) for paraphrase in record["paraphrases"]
    ]
    candidates = [
        Candidate(paraphrase["text"], paraphrase["method"], rank=paraphrase["rank"], scores=score)
        for paraphrase, score in zip(record["paraphrases"], scores, strict=True)
    ]
    return Row(
        record["id"], record["origin"], None, None, record["reference"], record["lang"], "", None, None, candidates
    )
