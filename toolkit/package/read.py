"""The reader for all forms of parabanks, which yields pairs (Arrow tables) or references (rows).

A text file has one reference on each line. In a .tsv file the reference is followed by its paraphrases, best first, or
by one paraphrase and its paraphrase score, as ParaNMT-50M is published. In a .jsonl file the key of the reference is
`reference` or `sentence1`, and `paraphrases`, `paraphrase` or `sentence2` holds a text or a list of texts; the keys
`id` and `semantic` are optional.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import chain, groupby, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolkit.bitext.read import decode, lines, text_suffix
from toolkit.errors import first_line
from toolkit.package.equal import find_equal_pairs
from toolkit.package.folder import check_whole, files_of, is_parabank
from toolkit.package.parquet import TABLES, finished_shards, read_tables, without_repeats
from toolkit.rows import Candidate, Row, Scores
from toolkit.shards import INPUTS

FORMS = (
    "a packaged parabank (folder or Hub name), a run's folder of shards, or a .parquet, .tsv or .jsonl file of "
    "references and paraphrases"
)
PAIRS = pa.schema(
    [("id", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string()), ("semantic", pa.float64())]
)
BATCH_ROWS = 10_000  # ours: rows in memory at a time
REFERENCE_KEYS = ("reference", "sentence1")
PARAPHRASE_KEYS = ("paraphrases", "paraphrase", "sentence2")


def read_pairs(source: str | Path, split: str | None = None) -> Iterator[pa.Table]:
    r"""Read the pairs of a parabank, a few thousand at a time.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "demo.tsv")
    >>> _ = path.write_text("Hello!\tHi!\tHi there!\nThanks.\tThank you.\n")
    >>> [table["sentence2"].to_pylist() for table in read_pairs(path)]
    [['Hi!', 'Hi there!', 'Thank you.']]

    Args:
        source: `FORMS`; a text file may be compressed (.gz, .zst).
        split: "train", "validation" or "test"; None reads all. A file has no splits and is read whole.

    Yields:
        Tables with the columns `PAIRS`: `id` is the id of the reference, in a file without ids the reference itself;
        `semantic` is None where a pair has no score. Pairs with empty texts are yielded too.

    Raises:
        FileNotFoundError: There is no such file, folder or Hub name.
        ValueError: It has another form; a run is not finished; a file is damaged; a line is wrong, with its number.
    """
    if is_file(source):
        return FILE_READERS[text_suffix(str(source))](Path(source))
    return map(pairs_of, read_config(source, "pairs", split))


def read_references(source: str | Path, split: str | None = None) -> Iterator[Row]:
    """Read the references of a parabank that have a paraphrase, as rows with the published fields.

    Args:
        source: `FORMS`. Consecutive lines of a file with the same reference become one row.
        split: "train", "validation" or "test"; None reads all. A file has no splits and is read whole.

    Yields:
        Rows whose candidates are the paraphrases, best first.

    Raises:
        FileNotFoundError: There is no such file, folder or Hub name.
        ValueError: It has another form; a run is not finished; a file is damaged; a line is wrong, with its number.
    """
    if is_file(source):
        return grouped(read_pairs(source))
    return (row_of(record) for table in read_config(source, "references", split) for record in table.to_pylist())


def is_file(source: str | Path) -> bool:
    """Whether a source is a file, rather than a folder or a Hub name.

    Raises:
        FileNotFoundError: The source has a suffix of a parabank file but does not exist.
        ValueError: The source is a file with another suffix.
    """
    path, named = Path(source), text_suffix(str(source)) in FILE_READERS
    if path.is_file() and not named:
        raise ValueError(f"wanted {FORMS}, got the file {source}: rename it if it is one of these")
    if named and not path.exists():
        raise FileNotFoundError(f"wanted {FORMS}, got {source}, which does not exist: check the path")
    return path.is_file()


def read_config(source: str | Path, config: str, split: str | None) -> Iterator[pa.Table]:
    """Read the tables of a packaged parabank, or of a run as they would be packaged.

    Args:
        source: A folder or a Hub name.
        config: "pairs" or "references".
        split: The split to read; None reads all.

    Raises:
        FileNotFoundError: There is neither such a folder nor such a Hub name.
        ValueError: The folder holds something else, the run is not finished, or a file is damaged.
    """
    folder = Path(source).expanduser()
    if (folder / INPUTS).is_file():
        return run_tables(finished_shards(folder), config, split)
    if not folder.is_dir():
        return hub_tables(str(source), config, split)
    if not is_parabank(folder):
        raise ValueError(f"wanted {FORMS}, got the folder {folder}: check the path")
    check_whole(folder, config)
    columns = PAIRS.names if config == "pairs" else None
    return chain.from_iterable(file_tables(file, columns) for file in files_of(folder, config, split))


def run_tables(shards: list[Path], config: str, split: str | None) -> Iterator[pa.Table]:
    """Read the tables of a run's shards, without repeated pairs (`toolkit.package.equal`)."""
    _, make_table = TABLES[config]
    for shard, repeated in zip(shards, find_equal_pairs(shards).repeated, strict=True):
        for rows in without_repeats(read_tables(shard), repeated):
            yield make_table(rows if split is None else rows.filter(pc.equal(rows["split"], split)))


def hub_tables(name: str, config: str, split: str | None) -> Iterator[pa.Table]:
    """Read the tables of a parabank on the Hub.

    Raises:
        FileNotFoundError: The Hub has no such name, or cannot be reached.
    """
    # Imported here because it loads `datasets`, which only the Hub needs.
    from toolkit.package.load import load_parabank

    loaded = load_parabank(name, config, split)
    parts = [loaded] if split else list(loaded.values())
    return chain.from_iterable(part.with_format("arrow").iter(BATCH_ROWS) for part in parts)


def file_tables(file: Path, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Read the rows of a Parquet file, `BATCH_ROWS` at a time.

    Args:
        file: The path of the file.
        columns: The columns to read, if the file has them; None reads all.

    Raises:
        ValueError: The file is damaged.
    """
    try:
        with pq.ParquetFile(file) as opened:
            names = opened.schema_arrow.names
            for batch in opened.iter_batches(BATCH_ROWS, columns=[n for n in columns or names if n in names]):
                yield pa.Table.from_batches([batch])
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"wanted a Parquet file, got {file} ({first_line(error)}): write it again") from None


def parquet_pairs(file: Path) -> Iterator[pa.Table]:
    """Read the pairs of a Parquet file with `sentence1` and `sentence2`, and optionally `id` and `semantic`.

    Raises:
        ValueError: A column is missing or of the wrong type, or the file is damaged.
    """
    for table in file_tables(file, PAIRS.names):
        if missing := sorted({"sentence1", "sentence2"} - set(table.column_names)):
            absent = " and ".join(missing)
            raise ValueError(f"wanted a Parquet file with sentence1 and sentence2, got {file} without {absent}")
        try:
            yield pairs_of(table)
        except pa.ArrowException as error:
            reason = first_line(error)
            raise ValueError(f"wanted texts and numeric scores, got {file} ({reason}): write it again") from None


def pairs_of(table: pa.Table) -> pa.Table:
    """A table with `sentence1` and `sentence2` as a table with the columns `PAIRS`; null texts become empty."""
    texts = [pc.fill_null(table[name].cast(pa.string()), "") for name in ("sentence1", "sentence2")]
    ids = table["id"] if "id" in table.column_names else texts[0]
    scores = table["semantic"] if "semantic" in table.column_names else pa.nulls(len(table), pa.float64())
    return pa.table([ids, *texts, scores], names=PAIRS.names).cast(PAIRS)


def table_pairs(path: Path) -> Iterator[pa.Table]:
    """Read the pairs of a .tsv file.

    The first line with more than two columns determines the form of the file: if it has three columns and the third is
    a number, the third column is a score; else all columns after the first are paraphrases.

    Raises:
        ValueError: A line has no second column, does not have the form of the file, or is not UTF-8; the compression is
            damaged.
    """
    scored: bool | None = None
    for numbers, texts in text_batches(path):
        columns = pc.split_pattern(texts, "\t")
        widths = pc.list_value_length(columns).to_numpy()
        fields, starts = pc.utf8_trim_whitespace(columns.flatten()), np.cumsum(widths) - widths
        if scored is None and (widths > 2).any():
            first = int((widths > 2).argmax())
            scored = widths[first] == 3 and not math.isnan(as_number(fields[starts[first] + 2].as_py()))
        scores = np.full(len(texts), np.nan)
        if scored:
            scores[widths == 3] = [as_number(text) for text in fields.take(starts[widths == 3] + 2).to_pylist()]
        is_wrong = (widths < 2) | (bool(scored) & ((widths > 3) | ((widths == 3) & ~np.isfinite(scores))))
        if is_wrong.any():
            first = int(is_wrong.argmax())
            form = "reference TAB paraphrase TAB score" if scored else "reference TAB paraphrase [TAB paraphrase ...]"
            text = texts[first].as_py()[:60]
            raise ValueError(f"{path}, line {numbers[first]}: wanted {form}, got {text!r}: correct it")
        paraphrase_counts = np.ones_like(widths) if scored else widths - 1
        line_indices = np.repeat(np.arange(len(texts)), paraphrase_counts)
        position = np.arange(len(line_indices)) - np.repeat(
            np.cumsum(paraphrase_counts) - paraphrase_counts, paraphrase_counts
        )
        references = fields.take(starts[line_indices])
        semantic = pa.array(scores[line_indices], pa.float64(), from_pandas=True)
        yield pa.table(
            [references, references, fields.take(starts[line_indices] + 1 + position), semantic], schema=PAIRS
        )


def as_number(text: str) -> float:
    """A text as a number, or NaN if it is not a number.

    >>> as_number("0.85"), as_number("two")
    (0.85, nan)
    """
    try:
        return float(text)
    except ValueError:
        return math.nan


def json_pairs(path: Path) -> Iterator[pa.Table]:
    """Read the pairs of a .jsonl file.

    Raises:
        ValueError: A line is no JSON, lacks a text, has a value of another type in its place, or is not UTF-8; the
            compression is damaged.
    """
    for numbers, texts in text_batches(path):
        records: list[dict] = []
        for number, line in zip(numbers, texts.to_pylist(), strict=True):
            try:
                records += json_line(json.loads(line))
            except (ValueError, TypeError, StopIteration):
                raise ValueError(
                    f"{path}, line {number}: wanted {{'reference': text, 'paraphrases': [texts]}}, got {line[:60]!r}: "
                    "correct it"
                ) from None
        yield pa.Table.from_pylist(records, PAIRS)


def json_line(record: dict) -> list[dict]:
    """The pairs of one line of a .jsonl file.

    >>> json_line({"id": 7, "sentence1": "We go.", "sentence2": "We leave.", "semantic": 0.9})
    [{'id': '7', 'sentence1': 'We go.', 'sentence2': 'We leave.', 'semantic': 0.9}]

    Raises:
        ValueError: The score is no finite number.
        TypeError: The reference or a paraphrase is not a string.
        StopIteration: The reference or the paraphrases are missing.
    """
    reference = next(record[key] for key in REFERENCE_KEYS if key in record)
    texts = next(record[key] for key in PARAPHRASE_KEYS if key in record)
    texts = texts if isinstance(texts, list) else [texts]
    if not all(isinstance(text, str) for text in (reference, *texts)):
        raise TypeError("wanted texts")
    semantic = record.get("semantic")
    if semantic is not None and not math.isfinite(semantic):
        raise ValueError("wanted a finite score")
    id_ = str(record.get("id", reference))
    return [{"id": id_, "sentence1": reference, "sentence2": text, "semantic": semantic} for text in texts]


def text_batches(path: Path) -> Iterator[tuple[list[int], pa.StringArray]]:
    """Read the lines of a text file, `BATCH_ROWS` at a time, with their numbers from 1; empty lines are left out.

    Raises:
        ValueError: A line is not UTF-8; the compression is damaged.
    """
    numbered = ((number, raw) for number, raw in enumerate(lines(str(path)), 1) if raw.strip())
    while batch := list(islice(numbered, BATCH_ROWS)):
        numbers, raws = map(list, zip(*batch, strict=True))
        try:
            yield numbers, pa.array(raws, pa.binary()).cast(pa.string())
        except pa.ArrowInvalid:
            number, text = next((n, decode(raw)[0]) for n, raw in batch if decode(raw)[1])
            raise ValueError(f"{path}, line {number}: wanted UTF-8, got {text[:60]!r}: convert the file") from None


FILE_READERS = {".parquet": parquet_pairs, ".tsv": table_pairs, ".jsonl": json_pairs}  # by suffix


def grouped(tables: Iterable[pa.Table]) -> Iterator[Row]:
    """Group consecutive pairs with the same reference into rows; pairs with an empty paraphrase are left out."""
    pairs = (record for table in tables for record in table.to_pylist() if record["sentence2"])
    for number, (key, group) in enumerate(groupby(pairs, key=lambda pair: (pair["id"], pair["sentence1"]))):
        candidates = [
            Candidate(pair["sentence2"], "", rank=rank, scores=Scores(semantic=pair["semantic"]))
            for rank, pair in enumerate(group)
        ]
        yield Row(f"line-{number}", "", None, None, key[1], "", "", candidates=candidates)


def row_of(record: dict) -> Row:
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
