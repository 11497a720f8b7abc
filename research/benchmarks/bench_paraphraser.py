"""Five paraphrases of every text: `toolkit.Paraphraser`, `transformers.generate` as its users call it, and CTranslate2.

    python -m research.benchmarks.bench_paraphraser --data DIR --json research/benchmarks/results/paraphraser.json

DIR holds bitext/tatoeba/deu-eng.{train,test}.tsv.gz (German TAB English); the English side of the test split is
paraphrased. Text goes in and text comes out, so segmentation counts. The models are the starter, or another with
--model, and with --sizes also models with random weights of the sizes of published checkpoints
(`paraphraser_models.py`), on a third of the texts. Each engine runs in a process of its own:

- `ours_equal`: `Paraphraser` draws five samples of each text (top-p), as the peers do, then refuses some of them by
  guards and by the cosine of an encoder, and groups and ranks them, which the peers do not.
- `ours_equal_int8`: the same in int8; both others are in bfloat16 or float32 (`--dtype auto`).
- `ours`: `Paraphraser` as it is by default, which draws four times as many.
- `one_by_one`: `generate` in a loop over the texts, as Parrot does: five samples (top-k 50, top-p 0.9), distinct ones.
- `batched`: the same in padded batches of texts sorted by length, with the batch size that is fastest of some. Both in
  float32 or bfloat16, whichever is faster.
- `ctranslate2_int8`, `ctranslate2_float32`: the same samples by CTranslate2, in batches of its own making.

Ratios are sentences/s of `ours_equal` over those of each peer; `int8_...` are those of `ours_equal_int8`, `default_...`
those of `ours`. --memory TEXTS also measures the peak memory of `ours` with five samples on TEXTS/100 and TEXTS texts,
which are streamed. The machine must be idle.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from research.benchmarks import paraphraser_engines as engines
from research.benchmarks import processor
from research.benchmarks.data import TATOEBA, fields
from research.benchmarks.paraphraser_engines import Job
from research.reports import report
from research.reports.child import in_child
from research.reports.figures import number, table
from research.reports.figures_paraphrasers import ENGINES, OURS, PEERS

SIZES = {"t5_small": "google-t5/t5-small", "t5_base": "google-t5/t5-base", "bart_base": "facebook/bart-base"}
STARTER = "starter/paraphraser"
SIZED_PART = 3  # models of published sizes paraphrase a third of the texts
ENTROPY = 0.9  # ours: nats of a step of a model with random weights; the starters' have 0.7 to 0.9
MEMORY_PART = 100  # memory is measured on all texts and on so small a part of them
KEYS = ("sentences_per_second", "outputs_of_a_text", "words_of_an_output", "peak_megabytes")


def prepare(folder: Path, size: str | None, model: str, texts: list[str], seed: int) -> tuple[str, dict[str, Any]]:
    """Write a model with random weights, and any model in CTranslate2's format; runs in a child process.

    Returns:
        The folder of the model, and what is said about it.
    """
    from research.benchmarks.paraphraser_models import convert, write_model
    from toolkit.starters import resolve

    if size is None:
        source, about = str(resolve(model)), {"model": model}
    else:
        source, about = str(folder / "model"), write_model(folder / "model", SIZES[size], texts, seed, ENTROPY)
    convert(Path(source), folder / "ct2")
    return source, about


def measure(
    arguments: argparse.Namespace, size: str | None, texts: list[str], training: list[str]
) -> tuple[dict[str, Any], dict[str, float]]:
    """The figures of all engines with one model, and the ratios."""
    work = {name: engines.ours for name in OURS} | {
        name: engines.ctranslate2 if name.startswith("ctranslate2") else engines.generate for name in PEERS
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (model, about), _ = in_child(prepare, folder, size, arguments.model, training, arguments.seed)
        settings = arguments.few, arguments.threads, arguments.rounds, arguments.seed
        job = Job(model, str(folder / "ct2"), size is None, texts, *settings)
        results: dict[str, Any] = {"model": about}
        for engine in arguments.engines:
            figures, peak = in_child(work[engine], job, engine)
            results[engine] = figures | {"peak_megabytes": peak}
            print(f"{size or model} {engine}: {figures['sentences_per_second']} texts/s", file=sys.stderr)
        if arguments.memory and size is None:
            results["memory"] = {
                f"{count} texts": in_child(engines.streamed, job, count)[1]
                for count in (arguments.memory // MEMORY_PART, arguments.memory)
            }
    ratios = {
        prefix + peer: results[key]["sentences_per_second"] / results[peer]["sentences_per_second"]
        for key, prefix in OURS.items()
        for peer in PEERS
        if key in results and peer in results
    }
    if "memory" in results:
        small, large = results["memory"].values()
        ratios["memory_growth"] = large / small
    return results, {f"{name}_{size}" if size else name: ratio for name, ratio in ratios.items()}


def main() -> None:
    """Measure, print the table and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=STARTER, help="a paraphraser: a starter or a folder")
    parser.add_argument("--sizes", nargs="*", choices=list(SIZES), default=[], help="also models with random weights")
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--few", type=int, default=40, help="texts of one_by_one")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=processor.possible(list(ENGINES)))
    parser.add_argument("--memory", type=int, default=0, metavar="TEXTS", help="also measure memory, e.g. with 100000")
    processor.add_options(parser, rounds=3)
    arguments = parser.parse_args()
    processor.apply_option(arguments)
    report.refuse_unfair(arguments.busy)
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"  # it warns of output layers that are not tied
    chance = random.Random(arguments.seed)
    texts, training = (
        [english for _, english in fields(arguments.data / TATOEBA.format(split))] for split in ("test", "train")
    )
    for pool in (texts, training):
        chance.shuffle(pool)  # the files are sorted by length
    results: dict[str, Any] = {}
    ratios: dict[str, float] = {}
    for size in (None, *arguments.sizes):
        count = arguments.texts // SIZED_PART if size else arguments.texts
        figures, more = measure(arguments, size, texts[:count], training)
        results[size or "starter"] = figures
        ratios |= more
    lines = [
        [f"{size} {name}", *(number(by_engine[name][key]) for key in KEYS)]
        for size, by_engine in results.items()
        for name in arguments.engines
        if name in by_engine
    ]
    print(table(["engine", *KEYS], lines))
    report.write(arguments.json, arguments.seed, results, ratios)


if __name__ == "__main__":
    main()
