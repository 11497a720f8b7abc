r"""The cost of waiting threads: matrix products and decoder under two wait policies, alone and beside busy processes.

    python -m research.benchmarks.bench_load --data DIR --json research/benchmarks/results/load.json

DIR holds bitext/tatoeba/deu-eng.test.tsv.gz (German TAB English). Two threads wait for each other after every product.
If other processes occupy the cores, a thread that spins while it waits can keep the other thread from running. The
policy `toolkit` is the one that `import toolkit` sets; `default` is that of OpenMP. Each measurement runs in a process
of its own, where the policy is set before torch is loaded. `product` is relu(1200x512 @ 512x512) in steps per second;
the decoders draw 150 samples of each sentence with the German-English starter, in finished tokens per second.

Ratios: `idle_cost_...` is default over toolkit on the idle machine (above 1, the policy of the toolkit is slower);
`busy_gain_...` is toolkit over default beside the busy processes; `busy_share_...` is the toolkit's idle rate over its
rate beside the busy processes, divided by the slowdown of a fair share of the cores (1 is fair; the aim is below 1.3).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from statistics import median

from research.benchmarks.data import TATOEBA, fields
from research.benchmarks.processor import possible
from research.reports import report
from research.reports.child import in_child

BITEXT = TATOEBA.format("test")
SENTENCES, SAMPLES, TOP_K = 16, 150, 10  # ParaBank 2, section 3.3: 150 samples, k 10
SECONDS = 5.0  # ours: duration of the products in a round
KINDS = ("product", "float32", "int8")
POLICIES = ("default", "toolkit")
BUSY_LOOP = "while True: pass"


def load_torch(policy: str, threads: int) -> None:
    """Load torch under a wait policy: that of the toolkit is used only if the toolkit is imported before torch."""
    for name in ("torch", "toolkit") if policy == "default" else ("toolkit", "torch"):
        importlib.import_module(name)
    importlib.import_module("torch").set_num_threads(threads)


def products(policy: str, threads: int) -> float:
    """Matrix products per second; runs in a process of its own."""
    load_torch(policy, threads)
    import torch

    left, right = torch.randn(1200, 512), torch.randn(512, 512)
    for _ in range(5):
        torch.relu(left @ right)
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        torch.relu(left @ right)
        steps += 1
    return steps / (time.perf_counter() - began)


def samples(policy: str, threads: int, dtype: str, data: Path) -> float:
    """Finished tokens per second of the German-English starter; runs in a process of its own.

    Args:
        policy: One of `POLICIES`.
        threads: The number of threads of torch.
        dtype: The dtype of the starter.
        data: TSV file of German sentences.
    """
    load_torch(policy, threads)
    from toolkit.decode.choose_engine import engine_of
    from toolkit.decode.sampling import sample
    from toolkit.translator.load import load_translator

    translator = load_translator("starter/de-en", dtype)
    engine = engine_of(translator.model)
    texts = [german for german, *_ in islice(fields(data), SENTENCES)]
    sources = sorted(translator.source.encode(texts), key=len)

    def tokens(part: list[list[int]]) -> int:
        rows = len(part) * SAMPLES
        return sum(len(s.ids) for s in sample(engine, part, [[] for _ in range(rows)], list(range(rows)), TOP_K, 40))

    tokens(sources[:2])
    began = time.perf_counter()
    total = sum(tokens(sources[i : i + 8]) for i in range(0, len(sources), 8))
    return total / (time.perf_counter() - began)


def rate(kind: str, policy: str, data: Path, threads: int) -> float:
    """Products or tokens per second, measured in a new process."""
    if kind == "product":
        return in_child(products, policy, threads)[0]
    return in_child(samples, policy, threads, kind, data)[0]


def measure(arguments: argparse.Namespace, processes: int) -> dict[str, dict[str, list[float]]]:
    """All rates beside a number of busy processes, by kind and policy, one of each in every round."""
    busy_processes = [subprocess.Popen([sys.executable, "-c", BUSY_LOOP]) for _ in range(processes)]
    rates: dict[str, dict[str, list[float]]] = {kind: {policy: [] for policy in POLICIES} for kind in arguments.kinds}
    try:
        for _ in range(arguments.rounds):
            for kind in arguments.kinds:
                for policy in POLICIES:
                    rates[kind][policy].append(rate(kind, policy, arguments.data / BITEXT, arguments.threads))
                    print(f"{processes} others, {kind}, {policy}: {rates[kind][policy][-1]:,.1f}", flush=True)
    finally:
        for process in busy_processes:
            process.kill()
    return rates


def main() -> None:
    """Measure, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the bitext")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=possible(KINDS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--others", type=int, default=2, help="number of busy processes beside the benchmark (default 2)"
    )
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is busy with other work")
    arguments = parser.parse_args()
    report.refuse_unfair(arguments.busy)
    rates = {"idle": measure(arguments, 0), "busy": measure(arguments, arguments.others)}
    cores = os.cpu_count() or 1
    # `threads` threads and `others` processes share the cores; without others the threads have min(threads, cores).
    fair = min(arguments.threads, cores) / min(
        arguments.threads, cores * arguments.threads / (arguments.threads + arguments.others)
    )
    ratios = {}
    for kind in arguments.kinds:
        idle, busy = ({policy: median(rates[when][kind][policy]) for policy in POLICIES} for when in rates)
        ratios[f"idle_cost_{kind}"] = round(idle["default"] / idle["toolkit"], 3)
        ratios[f"busy_gain_{kind}"] = round(busy["toolkit"] / busy["default"], 3)
        ratios[f"busy_share_{kind}"] = round(idle["toolkit"] / busy["toolkit"] / fair, 3)
    about = {"others": arguments.others, "threads": arguments.threads, "rounds": arguments.rounds, "fair_share": fair}
    report.write(arguments.json, 0, about | rates, ratios)
    print(json.dumps(about))


if __name__ == "__main__":
    main()
