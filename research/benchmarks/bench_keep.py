r"""The bytes of a run's shards by what they keep of the candidates that were not chosen, and the time that it takes.

    python -m research.benchmarks.bench_keep --shards build/corpora/bitext-parabank2.shards \
        --json research/benchmarks/results/keep.json

The shards are those of a finished run that kept all candidates (`research.experiments.corpora` makes them). Each is
read and written again in every way, one shard at a time. `counts` are the files beside the shards, with the counts of
what was dropped; `seconds` is the time for counting, dropping and writing, over all shards; `published` are the Parquet
files of the packaged parabank. Ratios: the bytes of all candidates over those that are kept.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from research.reports import report

KEPT = ("all", "20", "5", "chosen")


def shard_figures(shards: list[Path], keep: str, folder: Path) -> dict[str, float]:
    """Write the shards of a run with what is kept; return bytes, candidates and seconds."""
    from toolkit.data.shards import dropped_of, read_shard
    from toolkit.package.keep import write_kept

    figures = {"shards": 0, "counts": 0, "candidates": 0, "seconds": 0.0}
    for shard in shards:
        rows, target = list(read_shard(shard)), folder / shard.name
        began = time.perf_counter()
        write_kept(target, rows, keep)
        figures["seconds"] += time.perf_counter() - began
        figures["shards"] += target.stat().st_size
        figures["counts"] += dropped_of(target).stat().st_size if dropped_of(target).exists() else 0
        figures["candidates"] += sum(len(row.candidates) for row in read_shard(target))
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=Path, required=True)
    parser.add_argument("--json")
    parser.add_argument("--busy", action="store_true", help="measure on a busy machine too")
    options = parser.parse_args()
    report.refuse_unfair(options.busy)
    from toolkit.data.shards import read_inputs
    from toolkit.package.parquet import finished_shards

    shards = finished_shards(options.shards)
    references = read_inputs(options.shards)["rows"]
    results: dict = {"references": references, "kept": {}}
    for keep in KEPT:
        with tempfile.TemporaryDirectory() as folder:
            totals = shard_figures(shards, keep, Path(folder))
        results["kept"][keep] = {name: figure / references for name, figure in totals.items()}
        print(keep, results["kept"][keep])
    packaged = options.shards.with_name(options.shards.name.removesuffix(".shards")) / "data"
    results["published"] = sum(file.stat().st_size for file in packaged.rglob("*.parquet")) / references
    whole = results["kept"]["all"]["shards"]
    ratios = {keep: round(whole / (sizes["shards"] + sizes["counts"]), 2) for keep, sizes in results["kept"].items()}
    report.write(options.json, 0, results, ratios)


if __name__ == "__main__":
    main()
