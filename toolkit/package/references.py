"""A parabank in any of its forms, as rows that carry what measures read: the reference and its paraphrases by rank."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import chain, groupby, islice
from pathlib import Path

from toolkit.bitext import read
from toolkit.package.parquet import finished_shards
from toolkit.package.version import is_parabank
from toolkit.rows import Candidate, Row, Scores
from toolkit.shards import read_shard

SEEDS = 2  # ParaBank 2, section 3.6: "we average over two independent runs"
FORMS = "a packaged parabank, a run's folder of shards, or a .tsv or .jsonl file of references and paraphrases"
REFERENCE_KEYS = ("reference", "sentence1")
PARAPHRASE_KEYS = ("paraphrases", "paraphrase", "sentence2")


def samples(path: Path, wanted: int, seed: int) -> list[list[Row]]:
    """The references of a parabank that have a paraphrase: all, or if they are too many, two samples of them.

    Which references are drawn depends on the seed and their text alone, so parabanks of the same references give the
    same sample.

    Args:
        path: `FORMS`.
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
    found = list(islice(with_paraphrases(path), wanted + 1))
    if not found:
        raise ValueError(f"wanted a parabank with paraphrases, got none in {path}: select candidates first")
    if len(found) <= wanted:
        return [found]
    return [draw(with_paraphrases(path), wanted, seed + i) for i in range(SEEDS)]


def draw(rows: Iterable[Row], wanted: int, seed: int) -> list[Row]:
    """The rows whose references have the least hashes with a seed."""

    def chance(row: Row) -> bytes:
        return hashlib.blake2b(f"{seed}\t{row.reference}".encode(errors="replace"), digest_size=8).digest()

    return heapq.nsmallest(wanted, rows, key=chance)


def with_paraphrases(path: Path) -> Iterator[Row]:
    """The rows of a parabank that have a chosen paraphrase."""
    return (row for row in read_references(path) if row.paraphrases)


def read_references(path: Path) -> Iterator[Row]:
    """The rows of a parabank, read a few at a time.

    Args:
        path: `FORMS`. A line of a table is a reference and one or more paraphrases, parted by tabs, best first; a line
            of JSON has `reference` (or `sentence1`) and `paraphrases` (or `paraphrase`, `sentence2`), a text or a list.
            Lines of one reference that follow one another are one row. Either may end in .gz.

    Raises:
        FileNotFoundError: There is no such file or folder.
        ValueError: It is of another form; a run is not finished; a line is wrong, with its number.
    """
    if not path.exists():
        raise FileNotFoundError(f"wanted {FORMS}, got {path}, which does not exist: check the path")
    if path.is_dir():
        return read_folder(path)
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in (".tsv", ".jsonl"):
        raise ValueError(f"wanted {FORMS}, got the file {path}: give a file that ends in .tsv, .jsonl or these and .gz")
    return grouped(read_json_lines(path) if suffix == ".jsonl" else read_table(path))


def read_folder(folder: Path) -> Iterator[Row]:
    """The rows of a packaged parabank or of a finished run."""
    if is_parabank(folder):
        from toolkit.package.load import load_parabank  # brings datasets, which only a packaged parabank needs

        splits = load_parabank(folder, "references", streaming=True)
        return map(row_of, chain.from_iterable(splits.values()))
    if not (folder / "inputs.json").is_file():
        raise ValueError(f"wanted {FORMS}, got the folder {folder}: check the path")
    rows = chain.from_iterable(map(read_shard, finished_shards(folder)))
    return (row for row in rows if row.reason is None)


def row_of(record: dict) -> Row:
    """The row that a record of config `references` describes."""
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


def read_table(path: Path) -> Iterator[tuple[str, list[str]]]:
    """References and paraphrases of lines with tabs."""
    for number, line in lines(path):
        reference, *paraphrases = [column.strip() for column in line.split("\t")]
        if not reference or not paraphrases:
            raise ValueError(f"{path}, line {number}: wanted reference TAB paraphrase, got {line[:60]!r}: correct it")
        yield reference, paraphrases


def read_json_lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """References and paraphrases of lines of JSON."""
    for number, line in lines(path):
        try:
            record = json.loads(line)
            reference = next(record[key] for key in REFERENCE_KEYS if key in record)
            texts = next(record[key] for key in PARAPHRASE_KEYS if key in record)
            texts = texts if isinstance(texts, list) else [texts]
            if not all(isinstance(text, str) for text in (reference, *texts)):
                raise TypeError
        except (ValueError, TypeError, StopIteration):
            raise ValueError(
                f"{path}, line {number}: wanted {{'reference': text, 'paraphrases': [texts]}}, got {line[:60]!r}: "
                "correct it"
            ) from None
        yield reference, texts


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers from 1, empty ones left out.

    Raises:
        ValueError: A line is not UTF-8; the file's compression is damaged.
    """
    for number, raw in enumerate(read.lines(str(path)), 1):
        line, fault = read.decode(raw)
        if fault:
            raise ValueError(f"{path}, line {number}: wanted UTF-8, got {line[:60]!r}: convert the file")
        if line.strip():
            yield number, line


def grouped(found: Iterable[tuple[str, list[str]]]) -> Iterator[Row]:
    """Rows of references and paraphrases; empty paraphrases are left out."""
    for number, (reference, group) in enumerate(groupby(found, key=lambda pair: pair[0])):
        texts = [text for _, texts in group for text in texts if text]
        candidates = [Candidate(text, "", rank=rank) for rank, text in enumerate(texts)]
        yield Row(f"line-{number}", "", None, None, reference, "", "", candidates=candidates)
