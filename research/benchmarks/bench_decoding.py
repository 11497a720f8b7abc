"""150 samples of every sentence, top-k 10: our decoder, `transformers.generate` and CTranslate2 on the same weights.

    python -m research.benchmarks.bench_decoding --data DIR --json research/benchmarks/results/decoding.json

DIR holds bitext/tatoeba/deu-eng.test.tsv.gz (German TAB English). Sizes: `opus20k` and `opus58k` are Marian 6+6 layers
x 512 with random weights, the sentences' real lengths, and the mean entropy of a step that the starter has on these
sentences (`opus_size.py`); with `opus20k_flat` a step is nearly indifferent among its top 10, so that no two samples
share a prefix beyond the first tokens; `starter` is the German-English starter, or --starter PATH, on the sentences
themselves. `tokens_per_row` says how many sampled tokens ours decodes with one row. Every engine runs in a process of
its own. Tokens are counted in finished samples, with EOS but without padding and the start token. Ratios are the
tokens/s of our decoder without constraints over those of each engine; `constraint_cost` is the time per token with
constraints over that without; `ours_int8_...` and `ours_float32_...` are the same ratios for our decoder in other
arithmetic. --without_bfloat16 limits all engines to the instructions of a processor without it (`processor.py`). The
machine must be idle.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from research.benchmarks import processor
from research.benchmarks.data import TATOEBA, fields
from research.benchmarks.engines import ENGINES, Job
from research.reports import report
from research.reports.child import in_child
from research.reports.figures import number, table

TOP_K = 10  # ParaBank 2, section 3.3
MEAN_TOKENS = 14.0  # ours: mean length in German-English Tatoeba, EOS counted; 10 to 14 with 8 000 to 20 000 pieces
CAP = 42  # ours: the most tokens of a sample, three times the mean
BATCH = 8  # ours: batch size in sentences of our decoder and of generate
BATCHES = (1, 2, 4, 8, 16)  # batch sizes of CTranslate2, of which the fastest counts
SIZES = {  # what the names of ratios end in, and pieces
    "opus20k": ("", 20_000), "opus20k_flat": ("_flat", 20_000), "opus58k": ("_58k", 58_000), "starter": ("_starter", 0)
}  # fmt: skip
OF_BFLOAT16 = ["ours", "generate_bf16"]
OWN = ("ours", "ours_int8", "ours_float32")
SLOW = ("generate_fp32", "generate_bf16", "ctranslate2_float32")
TOLERANCE = 0.05  # relative deviation of the mean length
MEMORY = "peak_megabytes"


def sentences(data: Path, count: int, seed: int) -> list[tuple[str, str]]:
    """A sample of the pairs, shortest source first."""
    pairs = list(fields(data / TATOEBA.format("test")))
    sample = random.Random(seed).sample(pairs, count)
    return sorted(((p[0], p[1]) for p in sample), key=lambda pair: (len(pair[0].split()), pair))


def prepare(folder: Path, pairs: list[tuple[str, str]], size: str, starter: str, seed: int, threads: int) -> tuple:
    """Write the model of a size in both formats; runs in a child process.

    Returns:
        The ids of each source, for each the words with ids that may be forbidden, and the mean entropy of a step.
    """
    import torch
    from transformers import MarianMTModel
    from transformers.utils import logging

    from research.benchmarks import opus_size
    from toolkit.generate.sample import negative_words
    from toolkit.starters import resolve
    from toolkit.translator.load import load_translator

    torch.set_num_threads(threads)
    logging.disable_progress_bar()
    translator, vocabulary = load_translator(starter, "float32"), SIZES[size][1]
    model = MarianMTModel.from_pretrained(resolve(starter), dtype=torch.float32).eval()
    sources = translator.source.encode([source for source, _ in pairs])
    words = [negative_words(reference, translator.target) for _, reference in pairs]
    if vocabulary:
        entropy = opus_size.FLAT if size.endswith("_flat") else opus_size.mean_entropy(model, sources)
        sources, words = opus_size.random_text(pairs, vocabulary, seed)
        model = opus_size.random_model(vocabulary, sources, seed, MEAN_TOKENS, CAP, entropy)
    model.save_pretrained(folder / "hf")
    opus_size.convert(model, folder / "ct2")
    return sources, words, opus_size.mean_entropy(model, sources)


def middle(job: Job, count: int) -> Job:
    """The job with only the `count` sentences in the middle by length, for a slow engine."""
    first = max(0, (len(job.sources) - count) // 2)
    part = slice(first, first + count)
    return replace(job, sources=job.sources[part], words=job.words[part])


def best_batch(engine: str, job: Job) -> Job:
    """The job with the batch size with which CTranslate2 is fastest, tried on sentences of the job."""
    work, kind = ENGINES[engine]
    speeds = {}
    for batch in (b for b in BATCHES if b <= len(job.sources)):
        trial = middle(replace(job, batch=batch, rounds=1), max(batch, BATCH))
        figures, _ = in_child(work, trial, kind)
        speeds[batch] = figures[engine]["tokens_per_second"]
    return replace(job, batch=max(speeds, key=lambda batch: speeds[batch]))


def measure(engine: str, job: Job) -> dict[str, dict]:
    """Run one engine in a new process; return its figures with the peak memory."""
    work, kind = ENGINES[engine]
    if engine.startswith("ctranslate2"):
        job = best_batch(engine, job)
    figures_by_name, peak = in_child(work, job, kind)
    return {name: figures | {MEMORY: peak} for name, figures in figures_by_name.items()}


def ratios(results: dict[str, dict], suffix: str) -> dict[str, float]:
    """Our tokens/s over those of every peer, and the cost of constraints, for the engines that were run."""
    ratios_by_name: dict[str, float] = {}
    peers = {name: figures for name, figures in results.items() if not name.startswith("ours")}
    for engine in (name for name in OWN if name in results):
        prefix, speed = "" if engine == OWN[0] else f"{engine}_", results[engine]["tokens_per_second"]
        ratios_by_name |= {
            prefix + name + suffix: round(speed / peer["tokens_per_second"], 3) for name, peer in peers.items()
        }
        cost = results[f"{engine}_constrained"]["seconds_per_token"] / results[engine]["seconds_per_token"]
        ratios_by_name[f"{prefix}constraint_cost{suffix}"] = round(cost, 4)
    return ratios_by_name


def markdown(size: str, results: dict[str, dict]) -> str:
    """The figures of a size as Markdown."""
    decimals = {
        "tokens_per_second": 0, "sentences_per_second": 3, "mean_tokens": 2, "deviation_within_sentence": 2, MEMORY: 0,
    }  # fmt: skip
    lines = [
        [
            name,
            *(number(f[key], places) for key, places in decimals.items()),
            f"{f['sentences']} x {f['batch_sentences']}",
        ]
        for name, f in results.items()
    ]
    head = ["tokens/s", "sentences/s", "mean tokens", "deviation", "peak MB", "sentences x batch"]
    return table([size, *head], lines)


def job_of(
    arguments: argparse.Namespace, folder: Path, sources: list[list[int]], words: list[list], cap: int, batch: int
) -> Job:
    """The job of a benchmark's options: all sentences with the words that may be forbidden, the shortest first.

    Args:
        arguments: The options samples, threads, rounds and seed.
        folder: Of the model.
        sources: The ids of each sentence.
        words: For each sentence the words with ids.
        cap: The most tokens of a sample.
        batch: Sentences of a batch.
    """
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    return Job(
        folder=folder,
        sources=[sources[i] for i in order],
        words=[words[i] for i in order],
        samples=arguments.samples,
        top_k=TOP_K,
        max_tokens=cap,
        batch=batch,
        threads=arguments.threads,
        rounds=arguments.rounds,
        seed=arguments.seed,
    )


def run(size: str, arguments: argparse.Namespace, pairs: list[tuple[str, str]], folder: Path) -> dict[str, dict]:
    """Run all engines on the model of one size."""
    vocabulary = SIZES[size][1]
    (sources, words, entropy), _ = in_child(
        prepare, folder, pairs, size, arguments.starter, arguments.seed, arguments.threads
    )
    job = job_of(arguments, folder, sources, words, CAP, BATCH)
    results: dict[str, dict] = {}
    for engine in arguments.engines:
        fewer = vocabulary and engine in SLOW
        figures_by_name = measure(engine, middle(job, arguments.slow_sentences) if fewer else job)
        results |= {name: figures | {"entropy": round(entropy, 3)} for name, figures in figures_by_name.items()}
        print(f"{size} {engine}: {results[engine]['tokens_per_second']:.0f} tokens/s", file=sys.stderr)
    return results


def check_lengths(size: str, results: dict[str, dict], mean: float) -> None:
    """Record whether the mean length of each engine is within TOLERANCE, and print those that are not."""
    for name, figures in results.items():
        difference = figures["mean_tokens"] / mean - 1
        if name.endswith("_constrained"):  # constraints change the distribution of lengths
            continue
        figures["mean_within_tolerance"] = abs(difference) <= TOLERANCE
        if abs(difference) > TOLERANCE:
            print(
                f"{size} {name}: mean length {figures['mean_tokens']} is {difference:+.1%} of {mean:.2f}",
                file=sys.stderr,
            )


def main() -> None:
    """Measure, print the tables and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=24)
    parser.add_argument(
        "--slow_sentences", type=int, default=8, help=f"sentences for {', '.join(SLOW)} at OPUS-MT's size"
    )
    parser.add_argument("--samples", type=int, default=150, help="samples of every sentence; a multiple of 5")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), help="default: all")
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--starter", default="starter/de-en", help="starter/NAME, a local path or a Hub id")
    processor.add_options(parser, rounds=2)
    arguments = parser.parse_args()
    arguments.engines = processor.chosen_engines(arguments, list(ENGINES), OF_BFLOAT16)
    processor.apply_option(arguments)
    report.refuse_unfair(arguments.busy)
    pairs = sentences(arguments.data, arguments.sentences, arguments.seed)
    results: dict[str, dict[str, dict]] = {}
    all_ratios: dict[str, float] = {}
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            results[size] = run(size, arguments, pairs, Path(folder))
        suffix, vocabulary = SIZES[size]
        mean_tokens = next(iter(results[size].values()))["mean_tokens"]
        check_lengths(size, results[size], MEAN_TOKENS if vocabulary else mean_tokens)
        print(markdown(size, results[size]))
        all_ratios |= ratios(results[size], suffix)
    report.write(arguments.json, arguments.seed, results, all_ratios)


if __name__ == "__main__":
    main()
