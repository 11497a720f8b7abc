r"""Paraphrases by way of another language: sentences per second, with the judge and without a language model.

    python -m research.benchmarks.bench_pivot --json research/benchmarks/results/pivot.json

The 200 texts of the set report of `research/experiments/evaluation_texts.tsv` are paraphrased once each (n=1) by the
default settings of `toolkit.Paraphraser()`, after the models are loaded. Each engine runs in a process of its own, all
in every round; rates are medians over rounds. There is no peer: no other package paraphrases with two translators,
constraints and a judge. The tokens that the language model reads, two operations for each of its weights, and the
operations per second that this machine does in products of matrices of 1,024 rows and columns bound the first engine
from above.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

from research.experiments.evaluation_texts import evaluation_texts
from research.reports import report
from research.reports.child import in_child

SET = "report"
ENGINES = ("judge with a language model", "judge without", "decoding and dual score alone")
SIDE, PRODUCTS = 1024, 50  # rows and columns of the matrices, and products that are timed


def measure(engine: str, threads: int) -> dict[str, Any]:
    """Sentences and words per second of one engine, and what it tried."""
    import torch

    from toolkit.paraphraser.paraphraser import PIVOT_POOL, Paraphraser, defaults
    from toolkit.paraphraser.settings import Paraphrasing

    torch.set_num_threads(threads)
    settings = (
        None,
        defaults("en", measures=True, pivot=True, reads=False),
        Paraphrasing(rank_by="dual", pool=PIVOT_POOL),
    )[ENGINES.index(engine)]
    paraphraser = Paraphraser("starter/en-pt > starter/pt-en", settings=settings)
    if engine != ENGINES[0]:
        paraphraser.critic, paraphraser.rewriters = None, paraphraser.rewriters[:1]
    texts = [text.text for text in evaluation_texts(SET)]
    paraphraser.paraphrase(texts[:8], progress=False)
    read: list[int] = []
    if paraphraser.critic:
        paraphraser.critic.model.register_forward_pre_hook(
            lambda _module, _positional, keywords: read.append(keywords["input_ids"].numel()), with_kwargs=True
        )
    began = time.perf_counter()
    candidates = paraphraser.candidates(texts, n=1, progress=False)
    seconds = time.perf_counter() - began
    return {
        "sentences_per_second": len(texts) / seconds,
        "words_per_sentence": sum(len(text.split()) for text in texts) / len(texts),
        "candidates_per_sentence": sum(map(len, candidates)) / len(texts),
        "with_an_output": sum(any(c.rank == 0 for c in group) for group in candidates) / len(texts),
        "language_model_tokens_per_sentence": sum(read) / len(texts),
        "language_model": paraphraser.critic and paraphraser.critic.signature,
    }


def operations(threads: int) -> float:
    """Operations per second in products of matrices of float32, in billions."""
    import torch

    torch.set_num_threads(threads)
    matrix = torch.randn(SIDE, SIDE)
    matrix @ matrix
    began = time.perf_counter()
    for _ in range(PRODUCTS):
        matrix @ matrix
    return PRODUCTS * 2 * SIDE**3 / (time.perf_counter() - began) / 1e9


def main() -> None:
    """Measure, print and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is busy with other work")
    options = parser.parse_args()
    report.refuse_unfair(options.busy)
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in ENGINES}
    for _ in range(options.rounds):
        for engine in ENGINES:
            runs[engine].append(in_child(measure, engine, options.threads)[0])
    engines = {
        engine: rounds[0] | {"sentences_per_second": median(run["sentences_per_second"] for run in rounds)}
        for engine, rounds in runs.items()
    }
    for engine, figures in engines.items():
        print(engine, figures)
    results = {"threads": options.threads, "engines": engines, "rounds": runs}
    results["billion_operations_per_second"] = in_child(operations, options.threads)[0]
    report.write(options.json, 0, results, {})


if __name__ == "__main__":
    main()
