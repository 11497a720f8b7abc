r"""The best dtype for each processor: speed of every dtype under limited instruction sets, and the quality of each.

    python -m research.benchmarks.bench_dtypes --data DIR --json research/benchmarks/results/dtypes.json

DIR holds bitext/tatoeba/deu-eng.validation.tsv.gz (German TAB English), which the starters were not trained on. A cap
makes torch and oneDNN behave as on a processor without newer instructions: `vnni` stands for an AVX-512 machine without
bfloat16, the most common kind, and `avx2` for one without AVX-512. Speed is measured in finished tokens per second, for
150 samples of each sentence with the German-English starter, in a process of its own. Quality depends on the processor
only by rounding, so it is measured once: BLEU of the forward translator, the percentage of references kept, and the
cosine of ParaBank 2's ranks 1 and 5 with the paper's settings, with the backward translator in `auto` as in a build.

Ratios: `int8_over_float32_CAP` and `bfloat16_over_float32_CAP`, by tokens per second.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from statistics import mean, median

from research.benchmarks.bench_load import samples
from research.benchmarks.data import TATOEBA
from research.benchmarks.processor import LIMITS
from research.reports import report
from research.reports.child import in_child

DTYPES = {"native": ("float32", "bfloat16", "int8"), "vnni": ("float32", "int8"), "avx2": ("float32",)}
BITEXT = TATOEBA.format("validation")


def speed(cap: str, dtype: str, data: Path, threads: int) -> float:
    """Finished tokens per second of a decoder, in a process with a capped instruction set."""
    environment = os.environ | LIMITS[cap]
    return in_child(samples, "toolkit", threads, dtype, data / BITEXT, environment=environment)[0]


def quality(dtype: str, data: Path, sentences: int, bleu_sentences: int, seeds: list[int], threads: int) -> dict:
    """BLEU, percentage of references kept and cosines with a dtype of the forward translator; in a child process."""
    import torch

    from builders.parabank2 import ParaBank2
    from research.experiments.table_quality import Encoder, figures, held_out, measured_rows, selected
    from toolkit.evaluate.translation import bleu
    from toolkit.translator.load import load_translator

    torch.set_num_threads(threads)
    forward, backward = load_translator("starter/de-en", dtype), load_translator("starter/en-de")
    bleu_rows = held_out(data, "validation", bleu_sentences, 0)
    score, signature = bleu(forward, [row.source or "" for row in bleu_rows], [row.reference for row in bleu_rows])
    rows, paper, encoder = held_out(data, "validation", sentences, 0), ParaBank2(), Encoder()
    lines = [
        figures(
            selected(
                measured_rows(rows, forward, backward, paper.constraint_rate, paper.min_p, None, (), seed),
                forward, paper.max_dual_nll, [],
            ),
            encoder, forward,
        )
        for seed in seeds
    ]  # fmt: skip
    names = ("kept", "cosine_1", "cosine_5")
    return {"bleu": score, "signature": signature, **{name: [line[name] for line in lines] for name in names}}


def main() -> None:
    """Measure, print, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the bitext")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=100, help="references of the parabank (default 100)")
    parser.add_argument("--bleu_sentences", type=int, default=500)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is busy with other work")
    arguments = parser.parse_args()
    report.refuse_unfair(arguments.busy)
    rates: dict[str, dict[str, list[float]]] = {cap: {dtype: [] for dtype in DTYPES[cap]} for cap in LIMITS}
    for _ in range(arguments.rounds):
        for cap, dtypes in DTYPES.items():
            for dtype in dtypes:
                rates[cap][dtype].append(speed(cap, dtype, arguments.data, arguments.threads))
                print(f"{cap}, {dtype}: {rates[cap][dtype][-1]:,.0f} tokens/s", flush=True)
    qualities = {}
    for dtype in DTYPES["native"]:
        settings = (arguments.data, arguments.sentences, arguments.bleu_sentences, arguments.seeds, arguments.threads)
        qualities[dtype], _ = in_child(quality, dtype, *settings)
        line = qualities[dtype]
        print(f"{dtype}: BLEU {line['bleu']:.2f}, kept {mean(line['kept']):.1f} %, cosine {mean(line['cosine_1']):.3f}")
    medians = {cap: {dtype: median(values) for dtype, values in line.items()} for cap, line in rates.items()}
    ratios = {
        f"{dtype}_over_float32_{cap}": round(rate / line["float32"], 3)
        for cap, line in medians.items()
        for dtype, rate in line.items()
        if dtype != "float32"
    }
    about = {"references": arguments.sentences, "seeds": arguments.seeds, "caps": LIMITS}
    report.write(arguments.json, arguments.seeds[0], about | {"tokens_per_second": rates, "quality": qualities}, ratios)


if __name__ == "__main__":
    main()
