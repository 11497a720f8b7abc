"""The reader for all forms of parabanks, which yields pairs (Arrow tables) or references (rows).

A folder holds a packaged parabank, the shards of a run, or a data set; `pair_files.py` reads single files, and
`pair_sets.py` data sets. A packaged parabank and single files may also be at a URL. Encoders, paraphrasers, classifiers
and measures read pairs here alone.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache, partial
from itertools import chain, groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.bitext.read import text_suffix
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.data.shards import INPUTS, read_tables
from toolkit.package._pair_files import (
    BATCH_ROWS,
    FILE_READERS,
    file_tables,
    named_columns,
    named_pairs,
    pairs_of,
    understood,
)
from toolkit.package._pair_rows import LABELLED, PAIRS, TRIPLETS
from toolkit.package._pair_sets import DataSet, is_data_folder, is_foreign
from toolkit.package._pair_tables import PLAIN
from toolkit.package.folder import _check_whole, _urls_of, files_of, is_parabank
from toolkit.package.pair_columns import Reading
from toolkit.package.parquet import TABLES, finished_shards, published_rows
from toolkit.select.equal import find_equal_pairs
from toolkit.system import urls

FORMS = (
    "a packaged parabank (folder or Hub name), a run's folder of shards, a data set (save_to_disk folder, folder of "
    "data files, or owner/name:configuration:split), or a .parquet, .tsv, .csv or .jsonl file of references and "
    "paraphrases"
)


USUAL_TASK = "reference is 'sentence1'; paraphrase is 'sentence2'; label is 'label'"  # no choice was made


def read_pairs(
    source: str | Path,
    split: str | None = None,
    refused: Counter[str] | None = None,
    min_score: float | None = None,
    negatives: bool = False,
) -> Iterator[pa.Table]:
    r"""Read the pairs of a parabank, a few thousand at a time.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "demo.tsv")
    >>> _ = path.write_text("Hello!\tHi!\tHi there!\nThanks.\tThank you.\n")
    >>> [table["sentence2"].to_pylist() for table in read_pairs(path)]
    [['Hi!', 'Hi there!', 'Thank you.']]

    Args:
        source: `FORMS`, or the URL of a parabank or file; a text file may be compressed (.gz, .zst).
        split: "train", "validation" or "test" of a parabank; None reads all. A file has no splits and is read whole,
            and so is one split of a data set that is no parabank (`is_plain`).
        refused: Counts the pairs of a file or data set that are left out, by reason: those with the label 0, or with a
            human score below `min_score`.
        min_score: The least human score of a paraphrase; None refuses files with such scores.
        negatives: Whether to give the hard negatives of triplets.

    Yields:
        Tables with the columns `PAIRS`: `id` is the id of the reference, in a file without ids the reference itself;
        `semantic` is None where a pair has no score. Pairs with empty texts are yielded too. With `negatives` there is
        the column `negatives`, a list of texts or None.

    Raises:
        FileNotFoundError: There is no such file, folder or Hub name.
        ValueError: It has another form; a run is not finished; a file is damaged; a line is wrong, with its number.
    """
    columns = (TRIPLETS if negatives else PAIRS).names
    if is_plain(source):
        tables = _plain_rows(source, Reading(min_score), Counter() if refused is None else refused)
        return (table.select(columns) for table in tables)
    tables = map(pairs_of, _read_config(source, "pairs", split))
    if not negatives:
        return tables
    none = TRIPLETS.field("negatives")
    return (table.append_column(none, pa.nulls(len(table), none.type)) for table in tables)


def read_labelled(source: str | Path, columns: Sequence[str] | None = None, scored: bool = False) -> Iterator[pa.Table]:
    """Read pairs with both labels, or with human scores, for classifiers and measures.

    Args:
        source: A file or a data set, as `read_pairs` reads it; a file with another suffix is read as .tsv. A negative
            of a triplet is a pair with the label 0.
        columns: The columns of the two sentences and of the label or score: names, or of a file numbers from 0 if it
            has no names; None finds them by their usual names.
        scored: Whether human scores from 0 to 5 are wanted in place of labels.

    Yields:
        Tables with the columns `LABELLED`: `label` is 0 or 1, or the score.

    Raises:
        FileNotFoundError: There is no such file, folder or Hub name.
        ValueError: The source is a parabank or has another form; a line is wrong, with its number.
    """
    if not urls.is_file(source) and not is_plain(source):
        raise ValueError(
            f"wanted a file or data set of labelled pairs, got {source}: it is none (all pairs of a parabank are "
            "paraphrases)"
        )
    reading = Reading(labelled=True, scored=scored, columns=None if columns is None else tuple(columns))
    return (table.select(LABELLED.names) for table in _plain_rows(source, reading, Counter()))


def _plain_rows(source: str | Path, reading: Reading, refused: Counter[str]) -> Iterator[pa.Table]:
    """The rows of a file or a data set, with the columns `ROWS`; it is said what was understood of its columns.

    Raises:
        ValueError: It has another form.
    """
    say = (lambda text: None) if reading.columns else partial(say_once, str(source))
    if urls.is_file(source):
        return FILE_READERS.get(text_suffix(str(source)), FILE_READERS[".tsv"])(source, reading, refused, say)
    data_set = DataSet(str(source))
    columns = named_columns(data_set.names, "a data set", source, reading)
    say(columns.described(reading))
    tables = (table.select(columns.read) for table in data_set.tables(BATCH_ROWS))
    return named_pairs(tables, columns, source, reading, refused)


@cache
def say_once(source: str, text: str) -> None:
    """Say what was understood of a file: once, by the first process of a launch, and only if there was a choice."""
    if text != PLAIN and not text.startswith(USUAL_TASK) and os.environ.get("RANK", "0") == "0":
        print(f"{source}: {text}", file=sys.stderr)


def understood_columns(sources: Iterable[str | Path], min_score: float | None = None) -> list[str]:
    """What is understood of the columns of those sources that are files or data sets, with their names, for a record.

    Raises:
        FileNotFoundError: A source does not exist.
        ValueError: The columns of a file are not understood.
    """
    lines: list[str] = []
    for source in filter(is_plain, sources):
        if urls.is_file(source):
            text = understood(source, Reading(min_score))
        else:
            reading = Reading(min_score)
            text = named_columns(DataSet(str(source)).names, "a data set", source, reading).described(reading)
        lines += [f"{Path(source).name}: {text}"] if text else []
    return lines


def read_references(
    source: str | Path,
    split: str | None = None,
    refused: Counter[str] | None = None,
    min_score: float | None = None,
) -> Iterator[Row]:
    """Read the references of a parabank that have a paraphrase, as rows with the published fields.

    Args:
        source: `FORMS`, or the URL of a parabank or file. Consecutive lines of a file with the same reference become
            one row.
        split: "train", "validation" or "test"; None reads all. A file has no splits and is read whole.
        refused: See `read_pairs`.
        min_score: Likewise.

    Yields:
        Rows whose candidates are the paraphrases, best first.

    Raises:
        FileNotFoundError: There is no such file, folder or Hub name.
        ValueError: It has another form; a run is not finished; a file is damaged; a line is wrong, with its number.
    """
    if is_plain(source):
        return _group_pairs(read_pairs(source, refused=refused, min_score=min_score))
    return (_make_row(record) for table in _read_config(source, "references", split) for record in table.to_pylist())


def is_plain(source: str | Path) -> bool:
    """Whether a source is a file or a data set of any origin, which has no splits of a parabank.

    Raises:
        FileNotFoundError: The source has a suffix of a parabank file but does not exist.
        ValueError: The source is a file with another suffix.
    """
    file_exists, has_suffix = urls.is_file(source), text_suffix(str(source)) in FILE_READERS
    if file_exists and not has_suffix:
        raise ValueError(f"wanted {FORMS}, got the file {source}: rename it if it is one of these")
    if file_exists:
        return True
    if has_suffix and (urls.is_url(source) or not Path(source).exists()):
        raise FileNotFoundError(f"wanted {FORMS}, got {source}, which does not exist: check the path")
    if urls.is_url(source):
        return False
    folder = Path(source).expanduser()
    if folder.is_dir():
        return not (is_parabank(folder) or (folder / INPUTS).is_file()) and is_data_folder(folder)
    return is_foreign(str(source))


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
    """Read the tables of a run's shards, as they are published (`toolkit.select.equal`)."""
    _, make_table = TABLES[config]
    for shard, left_out in zip(shards, find_equal_pairs(shards).left_out, strict=True):
        for rows in published_rows(read_tables(shard), left_out):
            yield make_table(rows if split is None else rows.filter(pc.equal(rows["split"], split)))


def _hub_tables(name: str, config: str, split: str | None) -> Iterator[pa.Table]:
    """Read the tables of a parabank on the Hub.

    Raises:
        FileNotFoundError: The Hub has no such name, or cannot be reached.
    """
    # Imported here because it loads `datasets`, which only the Hub needs.
    from toolkit.package.load import load_parabank

    splits = load_parabank(name, config)  # a split that a small parabank lacks has no rows, as in a folder
    parts = [part for split_name, part in splits.items() if split in (None, split_name)]
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
