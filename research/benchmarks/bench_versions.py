r"""The bytes that a second version of a parabank sends to the Hub, by what has changed and how its files are written.

    python -m research.benchmarks.bench_versions --data DIR --json research/benchmarks/results/versions.json

DIR holds bitext/tatoeba/deu-eng.train.tsv.gz (German TAB English). The English side is the reference, and the German
side stands for the paraphrase, too: bytes depend on real text, not on what it says. Each version is a run that
`package_parabank` packages. The files are sent by hf_xet, the Hub's own client, into a folder instead of a server; it
cuts files by their content and sends only chunks that the first version has not.

- appended: a tenth more rows at the end.
- corrected: one paraphrase of a thousand has other words.
- filtered: one row of a hundred is gone.
- scored: all pairs have a score that they had not.

`plain` are the same files without content-defined pages, as pyarrow writes them by default; `small` with pages of a
quarter of the size. `git_lfs` is what a Hub without Xet storage gets: every file that changed, whole. Ratios: the bytes
of git-lfs, and of plain files, over ours.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from research.benchmarks.data import TATOEBA, fields
from research.reports import report

if TYPE_CHECKING:
    from toolkit.data.rows import Row

SEED = 0
SHARD = 10_000  # rows
SMALL = {"min_chunk_size": 64 * 1024, "max_chunk_size": 256 * 1024}  # bytes; pyarrow's default is four times as much
WRITERS: dict[str, dict | bool | None] = {"ours": None, "plain": False, "small": SMALL}


def rows_of(pairs: list[list[str]], scored: bool = False) -> Iterator[Row]:
    """A row for each pair, with one paraphrase and scores from its texts."""
    from toolkit.data.rows import Candidate, Origin, Row, Scores

    for number, (source, reference) in enumerate(pairs):
        chance = random.Random(f"{reference}\t{source}")
        tokens = len(source.split()) + 1
        scores = Scores(-tokens * chance.random(), tokens, -tokens * chance.random(), tokens, chance.random())
        if scored:
            scores = replace(scores, semantic=chance.random())
        candidate = Candidate(source, "sample", [Origin("set-0")], 1, 0, "starter/de-en|top_k:10", scores, 1)
        yield Row(f"tatoeba-{number}", "tatoeba", source, "de", reference, "en", "train", candidates=[candidate])


def corrected(rows: Iterator[Row]) -> Iterator[Row]:
    """The rows, one of a thousand with another paraphrase."""
    for number, row in enumerate(rows):
        if number % 1000 == 500:
            row.candidates[0].text = " ".join(reversed(row.candidates[0].text.split()))
        yield row


def filtered(rows: Iterator[Row]) -> Iterator[Row]:
    """The rows without one of a hundred, at random places."""
    chance = random.Random(SEED)
    return (row for row in rows if chance.random() >= 0.01)


def packaged(rows: Iterator[Row], folder: Path, version: str) -> Path:
    """Package the rows of a version, as a finished run."""
    from toolkit.data.shards import output_of, split_rows, write_inputs, write_shard
    from toolkit.package.build import package_parabank

    shards, whole = folder / f"{version}.shards", list(rows)
    paths = write_inputs(shards, (replace(row, candidates=[]) for row in whole), SHARD)
    for path, part in zip(paths, split_rows(whole, SHARD), strict=True):
        write_shard(output_of(path), part)
    (shards / "settings.json").write_text('{"toolkit": "0"}')
    package_parabank(shards, folder / version, "tatoeba", version, "cc-by-2.0", [])
    return folder / version / "data"


def rewritten(data: Path, folder: Path, chunking: dict | bool | None) -> Path:
    """The same files in another folder, with other pages; None leaves them as they are."""
    import pyarrow.parquet as pq

    for file in sorted(data.rglob("*.parquet")):
        target = folder / file.relative_to(data)
        target.parent.mkdir(parents=True, exist_ok=True)
        if chunking is None:
            shutil.copyfile(file, target)
            continue
        with (
            pq.ParquetFile(file) as whole,
            pq.ParquetWriter(
                target, whole.schema_arrow, compression="zstd", use_content_defined_chunking=chunking
            ) as writer,
        ):
            for group in range(whole.num_row_groups):
                table = whole.read_row_group(group)
                writer.write_table(table, row_group_size=len(table))
    return folder


def send(data: Path, storage: Path) -> int:
    """Send the files of a version into a storage; return the bytes that hf_xet sent."""
    import hf_xet

    with hf_xet.XetSession().new_upload_commit(endpoint=f"local://{storage}") as commit:
        for file in sorted(data.rglob("*.parquet")):
            commit.start_upload_file(str(file), sha256=hf_xet.COMPUTE_SHA256)
    xorbs = [path for path in storage.glob("xet/xorbs/xorbs/*") if path.suffix != ".tagset"]
    return sum(path.stat().st_size for path in xorbs)


def version_bytes(first: Path, second: Path, folder: Path) -> dict:
    """The bytes of a second version after a first one, for each way to write its files."""
    from toolkit.system.contents import hash_file

    known = {hash_file(file) for file in first.rglob("*.parquet")}
    files = list(second.rglob("*.parquet"))
    figures: dict = {
        "bytes": sum(file.stat().st_size for file in files),
        "git_lfs": sum(file.stat().st_size for file in files if hash_file(file) not in known),
    }
    for name, chunking in WRITERS.items():
        storage = folder / f"{second.parent.name}-{name}"
        storage.mkdir()
        parts = [rewritten(data, storage / data.parent.name, chunking) for data in (first, second)]
        before = send(parts[0], storage)
        figures[name] = {
            "first": before,
            "files": sum(file.stat().st_size for file in parts[1].rglob("*.parquet")),
            "second": send(parts[1], storage) - before,
        }
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=150_000)
    parser.add_argument("--json")
    options = parser.parse_args()
    pairs = [pair[:2] for pair in islice(fields(options.data / TATOEBA.format("train")), options.rows)]
    first = pairs[: len(pairs) * 10 // 11]
    versions: dict[str, Callable[[], Iterator[Row]]] = {
        "appended": lambda: rows_of(pairs),
        "corrected": lambda: corrected(rows_of(first)),
        "filtered": lambda: filtered(rows_of(first)),
        "scored": lambda: rows_of(first, scored=True),
    }
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = packaged(rows_of(first), folder, "1.0.0")
        for number, (change, make) in enumerate(versions.items()):
            results[change] = version_bytes(before, packaged(make(), folder, f"1.{number + 1}.0"), folder)
            print(change, results[change])
    ratios = {
        f"{change}_git_lfs": figures["git_lfs"] / figures["ours"]["second"] for change, figures in results.items()
    }
    ratios |= {
        f"{change}_plain": figures["plain"]["second"] / figures["ours"]["second"] for change, figures in results.items()
    }
    ratios = {name: round(ratio, 2) for name, ratio in ratios.items()}
    report.write(options.json, SEED, {"rows": len(first), **results}, ratios)


if __name__ == "__main__":
    main()
