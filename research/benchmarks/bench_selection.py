"""Choices over a corpus of millions of scored pairs on the disk: wall time, memory and disk against polars.

    python -m research.benchmarks.bench_selection --json research/benchmarks/results/selection.json

The corpus is synthetic: a run of --pairs rows in shards, each with one ranked candidate, six words on both sides, and
scores. A tenth of the pairs repeat another pair with another score, and as many references have another paraphrase,
too. Every choice writes down what it refuses (`toolkit.select.corpus.write_choice`):

- `duplicates`: of equal pairs the best;
- `best_per_reference`: the best pair of each reference, after that;
- `best_pairs`: the better half of the corpus, after the first.

`ours` reads the shards of a run, as any builder does. `polars` gets flat Parquet files with four columns (reference,
text, score, id), in which texts are lower case without marks, so that it needs no match keys: less work than ours. It
counts what it keeps, and the counts must be equal. Both have two cores. Ratios: seconds of polars over ours, and
`growth`, seconds of ours with all pairs over ten times those with a tenth of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from research.reports import report
from research.reports.child import in_child
from research.reports.figures import number, table

SHARD_ROWS = 100_000
WORDS = 3000  # of the vocabulary
LENGTH = 6  # words of a text
REPEATED = 10  # one pair of so many repeats another, and one has the reference of another
CORES = {0, 1}
CHOICES = {
    "duplicates": {"best_share": 1.0},
    "best_per_reference": {"best_share": 1.0, "one_per_reference": True},
    "best_pairs": {"best_share": 0.5},
}


def write_corpus(folder: str, pairs: int, seed: int) -> None:
    """Write a run, and beside it the flat files of the peer; runs in a child process."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from toolkit.data.rows import Candidate, Origin, Row, Scores, schema
    from toolkit.data.shards import INPUTS
    from toolkit.system.settings import SETTINGS

    chance = np.random.default_rng(seed)
    words = pa.array([f"{'bdfgklmnprst'[n % 12]}{'aeiou'[n // 12 % 5]}{n}" for n in range(WORDS)])

    def texts(keys: np.ndarray, salt: int) -> pa.Array:
        """The text of each key: words drawn by a hash of it."""
        columns = []
        for place in range(LENGTH):
            mixed = keys.astype(np.uint64) * np.uint64(LENGTH) + np.uint64(place) + np.uint64(salt << 40)
            for _ in range(2):
                mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            columns.append(words.take(pa.array((mixed >> np.uint64(33)) % np.uint64(WORDS))))
        return pa.compute.binary_join_element_wise(*columns, " ")

    def struct(of: type, count: int, **arrays: pa.Array) -> pa.StructArray:
        fields = list(schema(of))
        columns = [arrays.get(field.name, pa.nulls(count, field.type)).cast(field.type) for field in fields]
        return pa.StructArray.from_arrays(columns, fields=fields)

    run, flat = Path(folder, "run"), Path(folder, "flat")
    run.mkdir()
    flat.mkdir()
    for shard, begin in enumerate(range(0, pairs, SHARD_ROWS)):
        ids = np.arange(begin, min(begin + SHARD_ROWS, pairs))
        count = len(ids)
        earlier = (chance.random(count) * np.maximum(ids, 1)).astype(np.int64)
        kind = ids % REPEATED
        references = texts(np.where(kind <= 1, earlier, ids), 1)
        paraphrases = texts(np.where(kind == 0, earlier, ids), 2)
        forward, backward = (pa.array(-chance.random(count) * 40) for _ in range(2))
        tokens = pa.array(chance.integers(5, 15, count).astype(np.int32))
        scores = struct(
            Scores, count,
            forward_logprob=forward, forward_tokens=tokens, backward_logprob=backward, backward_tokens=tokens,
        )  # fmt: skip
        origins = pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, np.int32)), struct(Origin, 0))
        candidates = struct(
            Candidate, count, text=paraphrases, method=pa.array(["beam"] * count), origins=origins,
            draws=pa.array(np.ones(count, np.int32)), rank=pa.array(np.zeros(count, np.int32)), scores=scores,
        )  # fmt: skip
        lists = pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32)), candidates)
        names = pa.array([f"synthetic-{n}" for n in ids.tolist()])
        rows = struct(
            Row, count, id=names, origin=pa.array(["synthetic"] * count), reference=references,
            lang=pa.array(["en"] * count), split=pa.array(["train"] * count), candidates=lists,
        )  # fmt: skip
        whole = pa.Table.from_struct_array(rows)
        pq.write_table(whole, run / f"rows-{shard:05d}.parquet", compression="zstd")
        score = pa.compute.divide(pa.compute.add(forward, backward), tokens.cast(pa.float64()))
        columns = {"reference": references, "text": paraphrases, "score": score, "id": pa.array(ids)}
        pq.write_table(pa.table(columns), flat / f"{shard:05d}.parquet", compression="zstd")
    (run / SETTINGS).write_text(json.dumps({"lang": "en"}))
    (run / INPUTS).write_text(json.dumps({"shards": shard + 1, "rows": pairs, "refused": {}}))


def ours(folder: str, choice: str) -> dict[str, float]:
    """Decide on all pairs with the toolkit; runs in a child process."""
    os.sched_setaffinity(0, CORES)
    begin = time.perf_counter()
    from functools import partial

    from toolkit.package.parquet import finished_shards
    from toolkit.select.best import BestBy, refuse_but_best
    from toolkit.select.corpus import CUT, write_choice

    settings = BestBy(**CHOICES[choice])  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory(dir=folder) as output:
        rule = partial(refuse_but_best, settings=settings, lang="en", lines=0)
        write_choice(finished_shards(Path(folder, "run")), {}, rule, Path(output))
        seconds = time.perf_counter() - begin
        size = sum(path.stat().st_size for path in Path(output).iterdir())
        selected = json.loads(Path(output, CUT).read_text())["selected"]
    return {"seconds": seconds, "selected": selected, "written_megabytes": size / 1e6}


def by_polars(folder: str, choice: str) -> dict[str, float]:
    """Decide on all pairs with polars; runs in a child process."""
    os.sched_setaffinity(0, CORES)
    begin = time.perf_counter()
    import polars as pl

    pairs = pl.scan_parquet(f"{folder}/flat/*.parquet").sort(["score", "id"], descending=[True, False])
    pairs = pairs.unique(["reference", "text"], keep="first", maintain_order=True)
    if choice == "best_per_reference":
        pairs = pairs.unique(["reference"], keep="first", maintain_order=True)
    ids = pairs.select("id").collect(engine="streaming")
    if choice == "best_pairs":
        ids = ids.head(round(len(ids) / 2))
    with tempfile.TemporaryDirectory(dir=folder) as output:
        ids.write_parquet(f"{output}/kept.parquet")
        seconds = time.perf_counter() - begin
    return {"seconds": seconds, "selected": len(ids)}


def choice_figures(pairs: int, seed: int, peers: bool, rounds: int) -> dict[str, dict]:
    """The figures of every choice on a corpus."""
    results: dict[str, dict] = {}
    engines = {"ours": ours} | ({"polars": by_polars} if peers else {})
    with tempfile.TemporaryDirectory(dir=".") as folder:
        in_child(write_corpus, folder, pairs, seed)
        size = sum(path.stat().st_size for path in Path(folder, "run").iterdir()) / 1e6
        for choice in CHOICES:
            results[choice] = {}
            for _ in range(rounds):
                for name, engine in engines.items():
                    result, peak = in_child(engine, folder, choice)
                    seconds = [*results[choice].get(name, {}).get("seconds", []), round(result["seconds"], 2)]
                    results[choice][name] = result | {"seconds": seconds, "peak_megabytes": peak}
                    print(f"{pairs:,} {choice} {name}: {result['seconds']:.1f} s, {peak:.0f} MB", file=sys.stderr)
            selected = {name: figures["selected"] for name, figures in results[choice].items()}
            if len(set(selected.values())) > 1:
                sys.exit(f"bench_selection.py: wanted equal numbers of pairs for {choice}, got {selected}")
    return results | {"corpus_megabytes": {"run": round(size)}}


def main() -> None:
    """Measure, print the table and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20_000_000)
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--rounds", type=int, default=1, help="measured rounds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is busy with other work")
    arguments = parser.parse_args()
    report.refuse_unfair(arguments.busy)
    tenth, all_pairs = (
        choice_figures(count, arguments.seed, True, arguments.rounds)
        for count in (arguments.pairs // 10, arguments.pairs)
    )
    ratios = {}
    for choice in CHOICES:
        seconds = {name: min(engine["seconds"]) for name, engine in all_pairs[choice].items()}
        ratios[choice] = round(seconds["polars"] / seconds["ours"], 3)
        ratios[f"{choice}_growth"] = round(seconds["ours"] / (10 * min(tenth[choice]["ours"]["seconds"])), 3)
    lines = []
    for choice in CHOICES:
        figures = ((min(engine["seconds"]), engine["peak_megabytes"]) for engine in all_pairs[choice].values())
        lines.append([choice, *(number(value, 0) for two in figures for value in two)])
    print(table(["choice", "ours: s", "MB", "polars: s", "MB"], lines))
    results = {str(arguments.pairs // 10): tenth, str(arguments.pairs): all_pairs}
    report.write(arguments.json, arguments.seed, results, ratios)


if __name__ == "__main__":
    main()
