r"""The whole ParaBank 2 pipeline: sentences/s, the share of each stage, and memory on a large bitext.

    python -m research.benchmarks.bench_pipeline --data DIR --memory 200000 \
        --json research/benchmarks/results/pipeline.json

DIR holds bitext/tatoeba/deu-eng.test.tsv.gz, and for --memory deu-eng.train.tsv.gz there and bitext/news/deu-eng.tsv.gz
(German TAB English). The builder runs unchanged in one process, and the functions that it calls are timed
(`research/benchmarks/stages.py`); loading the models, checks and packaging are reported but belong to no stage.
--models none measures all that is not a model, on one thread: the models run once, on --sentences lines, and what they
said is looked up while those lines are built again, --times over (`research/benchmarks/replay.py`). A candidate is
there a drawn sample, 150 for each line with the paper's settings, and equal texts of a line are one distinct candidate;
seconds are the processor's, of all threads, so that candidates over seconds are candidates/s per core. --memory LINES
runs everything except the models on LINES/100, LINES/10 and LINES lines, each step in a new process: the bitext is
read, cleaned, split and written as input shards; copies of the references replace the candidates of the models, whose
memory depends on the size of a shard but not on that of the corpus; and the shards are packaged. The ratio
`clustering_share` is the share of clustering in the time of the stages; `pipeline_before` is the sentences/s over those
of the same benchmark in --before CHECKOUT, another commit of this repository, measured in turns; `memory_growth` is the
peak memory of the largest step with LINES lines over that with LINES/10.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import chain, count, islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from research.benchmarks import processor
from research.benchmarks.data import TATOEBA, fields
from research.benchmarks.stages import STAGES, run_settings, timed_build
from research.benchmarks.without_models import without_models
from research.reports import report
from research.reports.child import in_child, plain_environment
from research.reports.figures import number, table

if TYPE_CHECKING:
    from builders.parabank2 import ParaBank2Run
    from toolkit.data.rows import Row

TEST, LARGE = TATOEBA.format("test"), (TATOEBA.format("train"), "bitext/news/deu-eng.tsv.gz")
COPIES, CHOSEN = 10, 5  # ours: candidates of a row in the memory run, and how many of them are paraphrases


def time_stages(bitext: str, folder: str, overrides: dict) -> dict:
    """Seconds of each stage of a build, after a warm-up with a few rows, and its counts; runs in a child process."""
    from toolkit.data.shards import read_shard
    from toolkit.package.parquet import finished_shards

    settings = run_settings(bitext, folder, overrides)
    seconds = timed_build(settings)
    every = (row for shard in finished_shards(settings.shards_dir) for row in read_shard(shard))
    rows = [row for row in every if row.reason is None]
    return {
        "rows": len(rows),
        "candidates": sum(len(row.candidates) for row in rows),
        "references_kept": sum(bool(row.paraphrases) for row in rows),
        "seconds": seconds,
    }


def pipeline(arguments: argparse.Namespace) -> tuple[dict, dict[str, float]]:
    """The figures of the stages, and the share of clustering."""
    bitext = str(arguments.data / TEST)
    names = ("forward", "backward", "threads", "dtype", "min_p")
    overrides = {name: getattr(arguments, name) for name in names} | {"limit": arguments.sentences}
    with tempfile.TemporaryDirectory() as folder:
        figures, peak = in_child(time_stages, bitext, folder, overrides)
    total = sum(figures["seconds"][stage] for stage in STAGES)
    shares = {stage: figures["seconds"][stage] / total for stage in STAGES}
    figures |= {"sentences_per_second": figures["rows"] / total, "shares": shares, "peak_megabytes": peak}
    print(f"{figures['rows']} sentences, {figures['sentences_per_second']:.2f} sentences/s, peak {peak:.0f} MB\n")
    lines = [[stage, number(figures["seconds"][stage], 2), f"{number(100 * shares[stage])} %"] for stage in STAGES]
    print(table(["stage", "seconds", "share"], lines))
    return figures, {"clustering_share": round(shares["clustering"], 4)}


def measure_before(arguments: argparse.Namespace) -> float:
    """The sentences/s of the pipeline in another checkout, which runs this benchmark of its own."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "report.json")
        command = [sys.executable, "-m", "research.benchmarks.bench_pipeline", "--busy", "--json", str(output)]
        for name in ("data", "sentences", "forward", "backward", "threads", "dtype", "min_p"):
            command += [f"--{name}", str(getattr(arguments, name))]
        environment = plain_environment() | {"PYTHONPATH": str(arguments.before.resolve())}
        subprocess.run(command, cwd=arguments.before, env=environment, check=True, stdout=subprocess.DEVNULL)
        return json.loads(output.read_text())["results"]["stages"]["sentences_per_second"]


def compare(arguments: argparse.Namespace) -> tuple[dict, dict[str, float]]:
    """The figures of the pipeline, and in turns with it those of another checkout, `rounds` times: medians."""
    rounds = [(pipeline(arguments), measure_before(arguments)) for _ in range(arguments.rounds)]
    figures, ratios = rounds[0][0]
    speeds = [result["sentences_per_second"] for (result, _), _ in rounds]
    before = [speed for _, speed in rounds]
    figures |= {"sentences_per_second_by_round": speeds, "sentences_per_second_before": before}
    return figures, ratios | {"pipeline_before": round(median(speeds) / median(before), 3)}


def write_lines(data: Path, lines: int, path: Path) -> None:
    """Write the first lines of the large bitexts to one file, and them again with a number, as often as it takes."""
    with path.open("w", encoding="utf-8") as out:
        out.writelines("\t".join(line) + "\n" for line in islice(repeated(data), lines))


def repeated(data: Path) -> Iterator[list[str]]:
    """The lines of the large bitexts again and again, from the second time on with a number behind each field."""
    for time_over in count():
        for line in chain.from_iterable(fields(data / name) for name in LARGE):
            yield [f"{text} {time_over}" for text in line] if time_over else line


def memory_settings(bitext: str, folder: str) -> ParaBank2Run:
    """The settings of a run without models."""
    return run_settings(bitext, folder, {"forward": "none", "backward": "none", "threads": 1})


def read_and_shard(bitext: str, folder: str) -> dict:
    """Read, clean, split and write input shards; runs in a child process."""
    from accelerate import PartialState

    from toolkit.run.shard_runs import started

    begin = time.perf_counter()
    with started(memory_settings(bitext, folder), "parabank2", PartialState(cpu=True), {}) as shards:
        pass
    return {"seconds": time.perf_counter() - begin, "shards": len(shards)}


def copied(rows: Iterable[Row]) -> Iterator[Row]:
    """Add candidates to rows: copies of the reference with a number, of which the first few are chosen."""
    from toolkit.data.rows import Candidate, Origin, Scores

    for row in rows:
        scores = Scores(-10.0, 10, -10.0, 10)
        row.candidates = [
            Candidate(
                f"{row.reference} {n}", "sample", [Origin("set-0", [], [])], 1, n if n < CHOSEN else None, "copy",
                scores, 1 + n % 7, None if n < CHOSEN else "cluster",
            )
            for n in range(COPIES)
        ]  # fmt: skip
        yield row


def fill_shards(bitext: str, folder: str) -> dict:
    """Make every shard with `copied`, in the loop of the run; runs in a child process."""
    from accelerate import PartialState

    from toolkit.run.shard_runs import make_shards, started

    begin = time.perf_counter()
    state = PartialState(cpu=True)
    with started(memory_settings(bitext, folder), "parabank2", state, {}) as inputs:
        make_shards(inputs, copied, state)
    return {"seconds": time.perf_counter() - begin}


def package(bitext: str, folder: str) -> dict:
    """Package the shards; runs in a child process."""
    from toolkit.package.build import package_parabank

    settings = memory_settings(bitext, folder)
    begin = time.perf_counter()
    output = Path(settings.output_dir)
    statistics = package_parabank(settings.shards_dir, output, output.name, settings.version, settings.license, [])
    return {"seconds": time.perf_counter() - begin, "total": statistics.get("total")}


STEPS = {"read, clean, split, shard": read_and_shard, "make shards of copies": fill_shards, "package": package}


def memory(data: Path, lines: int) -> tuple[dict, dict[str, float]]:
    """Peak memory of every step with LINES/100, LINES/10 and LINES lines."""
    results: dict[str, Any] = {
        "what": f"no model runs: {COPIES} copies of each reference stand for the candidates, {CHOSEN} of them chosen",
        "lines": {},
    }
    for size in (lines // 100, lines // 10, lines):
        with tempfile.TemporaryDirectory() as folder:
            bitext = Path(folder, "bitext.tsv")
            write_lines(data, size, bitext)
            steps = {}
            for name, step in STEPS.items():
                figures, peak = in_child(step, str(bitext), folder)
                steps[name] = figures | {"peak_megabytes": peak}
                print(f"{size} lines, {name}: {figures['seconds']:.1f} s, peak {peak:.0f} MB")
        results["lines"][str(size)] = steps
    peaks = [max(step["peak_megabytes"] for step in steps.values()) for steps in results["lines"].values()]
    return results, {"memory_growth": round(peaks[2] / peaks[1], 3)}


def main() -> None:
    """Measure, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the bitexts")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--sentences", type=int, default=200, help="lines of the test bitext; 0 skips the stages")
    parser.add_argument(
        "--models",
        choices=("run", "none"),
        default="run",
        help="none: measure all else, with recorded samples and scores",
    )
    parser.add_argument("--times", type=int, default=10, help="with --models none: how often each line is built")
    parser.add_argument(
        "--memory", type=int, default=0, metavar="LINES", help="also measure memory, e.g. with 200000 lines"
    )
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="also measure another commit of the toolkit")
    parser.add_argument("--rounds", type=int, default=3, help="with --before: how often each is measured (default 3)")
    parser.add_argument("--forward", default="starter/de-en")
    parser.add_argument("--backward", default="starter/en-de")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="auto", help="as in parabank build: auto, bfloat16, float32 or int8")
    parser.add_argument("--min_p", type=float, default=0.0)
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is busy with other work")
    processor.add_limit(parser)
    arguments = parser.parse_args()
    processor.apply_option(arguments)
    report.refuse_unfair(arguments.busy)
    results: dict[str, dict] = {}
    ratios: dict[str, float] = {}
    if arguments.models == "none":
        results["without_models"] = without_models(arguments)
    elif arguments.sentences:
        results["stages"], ratios = (compare if arguments.before else pipeline)(arguments)
    if arguments.memory:
        results["memory"], growth = memory(arguments.data, arguments.memory)
        ratios |= growth
    report.write(arguments.json, 0, results, ratios)


if __name__ == "__main__":
    main()
