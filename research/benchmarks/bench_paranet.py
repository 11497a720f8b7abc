r"""ParaNet's pipeline in batches against the paper's, one text at a time, with equal models: pairs/s and memory.

    python -m research.benchmarks.bench_paranet --data DIR --json research/benchmarks/results/paranet.json

DIR holds books as text files. A pair is the best of up to 15 infilled orders of a reference's keywords, with its
keywords ranked by p(S | k), and every candidate scored for meaning, fluency and diversity. The infiller is the starter,
or another with --model, and it says how fluent a candidate is, too; the paper's 30 to 50 seconds a pair are those of
T5-large on an RTX 3090. Each engine runs in a process of its own:

- `ours`: the stages of `builders/paranet.py`, a shard at a time, each of them timed.
- `one_by_one`: `transformers` with a call for every keyword, order and candidate, as the paper had it. Its float32 and
  bfloat16 are tried on a part, and the faster one is measured.
- `ours_int8`: ours with an infiller in 8 bits, on processors that have them.
- `without_context`: ours with references that have no context. It does less work: it says how fast ours would be if the
  orders of a reference could share the encoding of its context at no cost.
- `ours_processes` and `one_by_one_processes`: both with --threads processes of one thread instead of one process.

The ratio `one_by_one` is the pairs/s of ours over those of the other, `one_by_one_processes` the same in processes of
one thread. The machine must be idle.

    python -m research.benchmarks.bench_paranet --data DIR --sentences 0 --memory 1000000 \
        --json research/benchmarks/results/paranet_memory.json

runs everything except the models on SENTENCES/1,000, SENTENCES/10 and SENTENCES sentences, each step in a new process:
the text is read and drawn from, and written as input shards; copies of the references replace the candidates of the
models, whose memory depends on the size of a shard but not on that of the text; and the shards are packaged.
`memory_growth` is the peak memory of the largest step with SENTENCES/10 over that with SENTENCES/1,000, and
`memory_growth_further` that with SENTENCES over SENTENCES/10.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.benchmarks import processor
from research.benchmarks.bench_pipeline import CHOSEN, COPIES, copied
from research.benchmarks.paranet_engines import Job, Sentence, one_by_one, ours
from research.reports import report
from research.reports.child import child, in_child, send_result
from research.reports.figures import number, table

if TYPE_CHECKING:
    from builders.paranet import ParaNetRun

ENGINES: dict[str, Callable[[Job, str], dict[str, Any]]] = {
    "ours": ours,
    "ours_int8": ours,
    "without_context": ours,
    "ours_processes": ours,
    "one_by_one": one_by_one,
    "one_by_one_processes": one_by_one,
}
MEMORY_PARTS = (1000, 10, 1)


def read_sentences(data: str, references: int, seed: int) -> list[Sentence]:
    """References of the books, with their keywords; runs in a child process."""
    from toolkit.generate.keywords import keywords
    from toolkit.generate.sentinels import infill_input, infill_output

    run = run_settings(data, "none", references=references, seed=seed)
    sentences = []
    for row in run.input_rows():
        words = keywords(row.reference)
        if row.reason is None and words:
            prompts = [
                (infill_input([keyword.text], "", ""), infill_output(row.reference, [keyword])) for keyword in words
            ]
            before, after = row.context_before or "", row.context_after or ""
            sentences.append(Sentence(row.reference, before, after, [keyword.text for keyword in words], prompts))
    return sentences


def run_settings(text: str, folder: str, **changed: Any) -> ParaNetRun:
    """The settings of a run."""
    from builders.paranet import ParaNetRun

    return ParaNetRun(text=[text], lang="en", output_dir=f"{folder}/paranet", threads=1, **changed)


def numbers_of() -> tuple[bool, bool]:
    """Whether the processor has bfloat16, and 8-bit products; runs in a child process."""
    from toolkit.models.precision import has_bfloat16
    from toolkit.translator.int8 import has_int8

    return has_bfloat16("cpu"), has_int8()


def paths(infiller: str) -> tuple[str, str]:
    """The folders of the models; runs in a child process."""
    from toolkit.starters import resolve

    return resolve(infiller), resolve("starter/encoder")


def compare(arguments: argparse.Namespace) -> tuple[dict, dict[str, float]]:
    """The figures of both engines, and their ratio."""
    request = str(arguments.data), arguments.sentences, arguments.seed
    sentences, _ = in_child(read_sentences, *request)
    (infiller, encoder), _ = in_child(paths, arguments.model)
    settings = arguments.beam, arguments.threads, arguments.rounds, arguments.seed
    job = Job(infiller, encoder, sentences, arguments.few, *settings)
    (bfloat16, int8), _ = in_child(numbers_of)
    part = replace(job, sentences=sentences[: arguments.few], few=max(1, arguments.few // 4), rounds=1)
    speeds = {
        dtype: in_child(one_by_one, part, dtype)[0]["pairs_per_second"]
        for dtype in ("float32", *["bfloat16"] * bfloat16)
    }
    results: dict[str, Any] = {"model": arguments.model, "beam": arguments.beam}
    for name, work in ENGINES.items():
        if name == "ours_int8" and not int8:
            continue
        dtype = (
            "int8" if name == "ours_int8" else "auto" if work is ours else max(speeds, key=lambda kind: speeds[kind])
        )
        results[name] = in_processes(work, jobs_of(job, name), dtype) | {"dtype": dtype}
        print(f"{name}: {results[name]['pairs_per_second']} pairs/s", file=sys.stderr)
    lines = [
        [
            name,
            number(results[name]["pairs_per_second"], 3),
            number(results[name]["peak_megabytes"], 0),
            ", ".join(f"{stage} {number(100 * share)} %" for stage, share in results[name]["shares"].items()),
        ]
        for name in ENGINES
        if name in results
    ]
    print(table(["engine", "pairs/s", "MB", "shares"], lines))
    rate = {name: results[name]["pairs_per_second"] for name in ENGINES if name in results}
    ratios = {
        "one_by_one": rate["ours"] / rate["one_by_one"],
        "one_by_one_processes": rate["ours_processes"] / rate["one_by_one_processes"],
    }
    return results, {name: round(ratio, 3) for name, ratio in ratios.items()}


def jobs_of(job: Job, engine: str) -> list[Job]:
    """What each process of an engine does."""
    if engine == "without_context":
        return [replace(job, sentences=[replace(sentence, before="", after="") for sentence in job.sentences])]
    if engine.endswith("_processes"):
        parts = [job.sentences[n :: job.threads] for n in range(job.threads)]
        return [replace(job, sentences=part, few=max(1, job.few // job.threads), threads=1) for part in parts]
    return [job]


def in_processes(work: Callable[[Job, str], dict[str, Any]], jobs: list[Job], dtype: str) -> dict[str, Any]:
    """The figures of an engine that has a process for each job: their pairs/s and memory in all, and those of each."""
    with ExitStack() as stack:
        processes = [stack.enter_context(child(send_result, work, job, dtype)) for job in jobs]
        results = [process.received() for process in processes]
    parts = [figures for figures, _ in results]
    return parts[0] | {
        "pairs_per_second": round(sum(part["pairs_per_second"] for part in parts), 4),
        "seconds": [part["seconds"] for part in parts] if len(parts) > 1 else parts[0]["seconds"],
        "sentences": sum(part["sentences"] for part in parts),
        "peak_megabytes": round(sum(peak for _, peak in results), 1),
    }


def write_books(data: str, sentences: int, path: str) -> None:
    """Write the sentences of the books again and again, each time with another number; runs in a child process."""
    read = [row.reference for row in run_settings(data, "none").input_rows() if row.reason is None]
    numbered = (f"{text[:-1]} {n}{text[-1]}" for n in count() for text in read)
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(text + "\n" for text in islice(numbered, sentences))


def draw_and_shard(text: str, folder: str, sentences: int) -> dict:
    """Read the text, draw from it and write input shards; runs in a child process."""
    from accelerate import PartialState

    from toolkit.run.shard_runs import started

    begin = time.perf_counter()
    with started(memory_settings(text, folder, sentences), "paranet", PartialState(cpu=True), {}) as shards:
        pass
    return {"seconds": time.perf_counter() - begin, "shards": len(shards)}


def fill_shards(text: str, folder: str, sentences: int) -> dict:
    """Make every shard of copies, in the loop of the run; runs in a child process."""
    from accelerate import PartialState

    from toolkit.run.shard_runs import make_shards, started

    begin = time.perf_counter()
    state = PartialState(cpu=True)
    with started(memory_settings(text, folder, sentences), "paranet", state, {}) as inputs:
        make_shards(inputs, copied, state)
    return {"seconds": time.perf_counter() - begin}


def package(text: str, folder: str, sentences: int) -> dict:
    """Package the shards; runs in a child process."""
    from toolkit.package.build import package_parabank

    settings, begin = memory_settings(text, folder, sentences), time.perf_counter()
    output = Path(settings.output_dir)
    statistics = package_parabank(settings.shards_dir, output, output.name, settings.version, settings.license, [])
    return {"seconds": time.perf_counter() - begin, "total": statistics.get("total")}


def memory_settings(text: str, folder: str, sentences: int) -> ParaNetRun:
    """The settings of a run without models; the draw takes nearly all sentences."""
    return run_settings(text, folder, references=sentences, max_chars=120)


STEPS = {"read, draw, shard": draw_and_shard, "make shards of copies": fill_shards, "package": package}


def memory(data: Path, sentences: int) -> tuple[dict, dict[str, float]]:
    """Peak memory of every step with three numbers of sentences."""
    results: dict[str, Any] = {
        "what": f"no model runs: {COPIES} copies of each reference stand for the candidates, {CHOSEN} of them chosen",
        "sentences": {},
    }
    for size in (sentences // part for part in MEMORY_PARTS):
        with tempfile.TemporaryDirectory() as folder:
            text = f"{folder}/book.txt"
            in_child(write_books, str(data), size, text)
            steps = {}
            for name, step in STEPS.items():
                figures, peak = in_child(step, text, folder, size)
                steps[name] = figures | {"peak_megabytes": peak}
                print(f"{size} sentences, {name}: {figures['seconds']:.1f} s, peak {peak:.0f} MB")
        results["sentences"][str(size)] = steps
    peaks = [max(step["peak_megabytes"] for step in steps.values()) for steps in results["sentences"].values()]
    return results, {
        "memory_growth": round(peaks[1] / peaks[0], 3),
        "memory_growth_further": round(peaks[2] / peaks[1], 3),
    }


def main() -> None:
    """Measure, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model", default="starter/infiller", help="a T5-type infiller: a starter, a folder or a Hub id"
    )
    parser.add_argument("--sentences", type=int, default=600, help="references of ours; 0 skips the engines")
    parser.add_argument("--few", type=int, default=12, help="references of one_by_one")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--memory", type=int, default=0, metavar="SENTENCES", help="also measure memory")
    processor.add_options(parser, rounds=3)
    arguments = parser.parse_args()
    processor.apply_option(arguments)
    report.refuse_unfair(arguments.busy)
    results: dict[str, Any] = {}
    ratios: dict[str, float] = {}
    if arguments.sentences:
        results["engines"], ratios = compare(arguments)
    if arguments.memory:
        results["memory"], growth = memory(arguments.data, arguments.memory)
        ratios |= growth
    report.write(arguments.json, arguments.seed, results, ratios)


if __name__ == "__main__":
    main()
