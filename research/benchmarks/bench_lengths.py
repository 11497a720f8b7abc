r"""150 samples of sentences of 5, 10, 20 and 40 words: our decoder, CTranslate2, and an earlier commit of ours.

    python -m research.benchmarks.bench_lengths --data DIR --before CHECKOUT \
        --json research/benchmarks/results/lengths.json

DIR holds bitext/tatoeba/deu-eng.test.tsv.gz and bitext/news/deu-eng.tsv.gz (German TAB English). The sentences have
exactly so many German words; they are Tatoeba's where it has enough of them, and else those of the news. The model is
that of `bench_decoding.py` at the OPUS-MT size: random weights, and the mean entropy of a step that the starter has on
sentences of Tatoeba. For each length only the output row and the bias of EOS are fitted again, such that a sample has
as many tokens as its source on average. `--before CHECKOUT` measures another commit of this repository on the same work
and the same weights, by its own engine (`before`, `before_int8`). Everything else is as in `bench_decoding.py`.
Ratios end in the number of words.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from research.benchmarks import processor
from research.benchmarks.bench_decoding import OF_BFLOAT16, TOP_K, measure, ratios, sentences
from research.benchmarks.data import TATOEBA, fields
from research.benchmarks.engines import ENGINES, Job
from research.reports import report
from research.reports.child import in_child, plain_environment
from research.reports.figures import number, table

NEWS = "bitext/news/deu-eng.tsv.gz"
WORDS = (5, 10, 20, 40)
SIZE, CALIBRATED = 20_000, 16  # pieces; ours: sentences of Tatoeba for which the entropy is set
CAP = 3  # ours: the most tokens of a sample, as a multiple of the mean
DEFAULT = ["ours", "ours_int8", "ours_float32", "ctranslate2_int8"]
RUN_JOB = """
import json, pathlib, sys
from research.benchmarks.engines import ENGINES, Job
fields = json.load(sys.stdin)
work, kind = ENGINES[fields.pop("engine")]
fields["folder"] = pathlib.Path(fields["folder"])
print(json.dumps(work(Job(**fields), kind)))
"""


def of_length(data: Path, words: int, count: int, seed: int) -> list[tuple[str, str]]:
    """A sample of the pairs whose source has so many words: of Tatoeba if it has enough, else of all.

    Raises:
        SystemExit: There are fewer.
    """
    tatoeba = (line for line in fields(data / TATOEBA.format("test")) if len(line[0].split()) == words)
    news = (line for line in fields(data / NEWS) if len(line[0].split()) == words)
    pool = list(tatoeba)
    if len(pool) < count:
        pool = list(chain(pool, news))
    if len(pool) < count:
        raise SystemExit(f"wanted {count} sentences of {words} words, got {len(pool)}: give a smaller --sentences")
    return [(line[0], line[1]) for line in random.Random(seed).sample(pool, count)]


def prepare(
    folder: Path, calibrated: list[tuple[str, str]], pairs: dict[int, list[tuple[str, str]]], seed: int, threads: int
) -> dict[int, tuple[list[list[int]], list[list], int, float]]:
    """Write the model of each length in both formats, in a folder of that name; runs in a child process.

    Returns:
        For each number of words: the ids of each source; for each the words with ids that may be forbidden; the mean
        number of tokens of a source; and the mean entropy of a step.
    """
    import copy
    from statistics import mean

    import torch
    from transformers.utils import logging

    from research.benchmarks import opus_size
    from toolkit.translator.load import load_translator

    torch.set_num_threads(threads)
    logging.disable_progress_bar()
    starter = load_translator("starter/de-en", "float32")
    entropy = opus_size.mean_entropy(starter.model, starter.source.encode([source for source, _ in calibrated]))
    model = opus_size.endless_model(SIZE, opus_size.random_text(calibrated, SIZE, seed)[0], seed, entropy)
    results = {}
    for words, group in pairs.items():
        sources, forbidden = opus_size.random_text(group, SIZE, seed)
        tokens, fitted = round(mean(map(len, sources))), copy.deepcopy(model)
        opus_size.fit_length(fitted, sources, tokens, CAP * tokens)
        fitted.save_pretrained(folder / str(words) / "hf")
        opus_size.convert(fitted, folder / str(words) / "ct2")
        results[words] = sources, forbidden, tokens, opus_size.mean_entropy(fitted, sources)
    return results


def measure_before(checkout: Path, engine: str, job: Job) -> dict:
    """The figures of an engine of ours in another checkout, without constraints, in a process of its own."""
    request = dataclasses.asdict(job) | {"folder": str(job.folder), "engine": engine}
    environment = plain_environment() | {"PYTHONPATH": str(checkout.resolve())}
    command = [sys.executable, "-c", RUN_JOB]
    process = subprocess.run(
        command, cwd=checkout, env=environment, input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(process.stdout)[engine]


def run(job: Job, engines: Sequence[str], before: Path | None) -> dict[str, dict]:
    """Run all engines on the sentences of one length, each engine of the earlier commit after its successor."""
    results: dict[str, dict] = {}
    for engine in engines:
        results |= measure(engine, job)
        if before and engine.startswith("ours"):
            results[engine.replace("ours", "before")] = measure_before(before, engine, job)
    return results


def markdown(results: dict[str, dict[str, dict]]) -> str:
    """The figures of all lengths as Markdown."""
    lines = []
    for words, by_name in results.items():
        for name, f in by_name.items():
            shared = [number(f.get(key), 2) for key in ("tokens_per_row", "entropy")]
            lines.append([words, name, number(f["tokens_per_second"], 0), number(f["mean_tokens"]), *shared])
    return table(["words", "engine", "tokens/s", "mean tokens", "tokens for one row", "entropy"], lines)


def main() -> None:
    """Measure, print the table and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, nargs="+", default=list(WORDS))
    parser.add_argument("--sentences", type=int, default=8, help="sentences of each length")
    parser.add_argument("--samples", type=int, default=150, help="samples of every sentence; a multiple of 5")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), help=f"default: {', '.join(DEFAULT)}")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="also measure another commit of the toolkit")
    processor.add_options(parser, rounds=1)
    arguments = parser.parse_args()
    engines = processor.chosen_engines(arguments, DEFAULT, OF_BFLOAT16)
    processor.apply_option(arguments)
    report.refuse_unfair(arguments.busy)
    pairs = {n: of_length(arguments.data, n, arguments.sentences, arguments.seed) for n in arguments.words}
    calibrated = sentences(arguments.data, CALIBRATED, arguments.seed)
    results: dict[str, dict[str, dict]] = {}
    all_ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        prepared, _ = in_child(prepare, Path(folder), calibrated, pairs, arguments.seed, arguments.threads)
        for words, (sources, forbidden, tokens, entropy) in prepared.items():
            job = Job(
                Path(folder, str(words)), sources, forbidden, arguments.samples, TOP_K, CAP * tokens, len(sources),
                arguments.threads, arguments.rounds, arguments.seed,
            )  # fmt: skip
            by_name = run(job, engines, arguments.before)
            results[str(words)] = {name: f | {"entropy": round(entropy, 3)} for name, f in by_name.items()}
            all_ratios |= ratios(by_name, f"_{words}_words")
            print(markdown({str(words): results[str(words)]}), file=sys.stderr)
    print(markdown(results))
    report.write(arguments.json, arguments.seed, results, all_ratios)


if __name__ == "__main__":
    main()
