"""Training and encoding with WORD and WORD+TRIGRAM: our code and sentence-transformers on the same pairs.

    python -m research.benchmarks.bench_encoder --data DIR --json research/benchmarks/results/encoder.json

DIR holds bitext/tatoeba/deu-eng.train.tsv.gz (German TAB English): two English translations of one German sentence are
a pair. The vocabularies of words and of trigrams are padded to --words with unused entries, the same for all engines,
because the time of a dense Adam depends on the number of rows. A pair counts once in pairs/s, even where an engine
reads it several times.

Steps: `ours_m40` takes its negatives from 40 mini-batches of 100 pairs (8,000 sentences, both sides) and steps
once per mini-batch; `ours_m1` takes the negatives from one mini-batch. The peer is `SentenceTransformerTrainer` with
MegaBatchMarginLoss, which has two margins, searches for negatives on one side and steps once per mega-batch:
`peer_100` has as many steps as ours and the negatives of 100 pairs, `peer_4000` has our negatives and a fortieth of our
steps. For WORD it trains its own `StaticEmbedding` with a `tokenizers` tokenizer of the same words; it has no module
with trigrams, so for WORD+TRIGRAM it trains our module with its own data loading and dense Adam. Its time is from the
first to the last batch of an epoch; ours is the same plus a fifth of the conversion of texts to rows, which is done
once for the paper's five epochs.

Every engine runs in a process of its own. After a warm-up round, every round runs each engine once, and the medians are
reported. Ratios are our rates over the peer's; `adam_...` is the time of a step of our loop with another optimizer of
the tables over that with ours, which computes the same as Adam (SparseAdam does not). The machine must be idle.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.benchmarks import processor
from research.benchmarks.data import TATOEBA, fields
from research.benchmarks.encoder_engines import (
    EPOCHS,
    Job,
    Run,
    difference,
    encode_ours,
    encode_peer,
    step_times,
    train_ours,
    train_peer,
)
from research.reports import report
from research.reports.child import child, in_child, peak_megabytes
from research.reports.figures import number, ranges, table

if TYPE_CHECKING:
    from toolkit.train.encoder_pairs import Pairs

BITEXT = TATOEBA.format("train")
BATCH, MEGA_BATCH = 100, 40  # ParaNMT-50M, sections 5.2 and 5.5
MAX_TOKENS = 30  # ParaNMT-50M, section 5.4
PAPER_PAIRS = 5_000_000  # ParaNMT-50M, section 5.4
# ours: the number of passes over the pairs in a round
PASSES = {"ours_m40": 2, "ours_m1": 2, "peer_100": 1, "peer_4000": 1}
PRIVATE = 0xE000  # first code point of the private use area, which no text contains
ENCODE = (32, 1024)  # the default batch size of encode(), and one for many texts
TABLES = {"word": ["word"], "trigram": ["word", "trigram"]}
MEMORY = "peak_megabytes"


def read_texts(data: Path) -> Iterator[tuple[str, str, str]]:
    """For each German sentence, all pairs of its English translations: (German, English, English)."""
    translations: dict[str, dict[str, None]] = {}
    for german, english, *_ in fields(data / BITEXT):
        translations.setdefault(german, {})[english] = None
    for german, group in translations.items():
        texts = list(group)
        yield from ((german, first, second) for n, first in enumerate(texts) for second in texts[n + 1 :])


def prepare(data: Path, count: int, rows: int, seed: int) -> tuple[Pairs, dict[str, list[str]], int]:
    """The pairs, the entries of both tables, and the number of words in the pairs; runs in a child process."""
    import random

    from toolkit.encoder.vocabulary import UNKNOWN, count_trigrams, count_words
    from toolkit.train.encoder_pairs import TextPair, number_pairs

    triples = list(read_texts(data))
    shuffled = random.Random(seed).sample(triples, len(triples))
    usable = number_pairs((TextPair(*pair) for pair in shuffled), MAX_TOKENS)
    numbers = zip(usable.reference[:count], usable.anchor[:count], usable.positive[:count], strict=True)
    pairs = number_pairs((TextPair(str(r), usable.texts[a], usable.texts[b]) for r, a, b in numbers), MAX_TOKENS)
    if len(pairs) < count:
        raise ValueError(f"wanted {count} pairs, got {len(pairs)} in {BITEXT}; give a smaller --pairs")
    known_words = count_words(pairs.texts, 1, rows - 1)
    words = [UNKNOWN, *known_words, *(f"unused{n}" for n in range(rows - 1 - len(known_words)))]
    trigrams = count_trigrams(pairs.texts, 1, rows)
    unused = (chr(PRIVATE + n // 6000) + chr(PRIVATE + n % 6000) + "x" for n in range(rows - len(trigrams)))
    return pairs, {"word": words, "trigram": [*trigrams, *unused]}, len(known_words)


def serve(connection: Connection, start: Callable[[Job], Run], job: Job) -> None:
    """The loop of an engine's process: start it, report that, then run a round whenever the parent asks."""
    run = start(job)
    connection.send(None)
    while connection.recv():
        connection.send((run(), peak_megabytes()))


@contextmanager
def running(start: Callable[[Job], Run], job: Job) -> Iterator[Callable[[], tuple[float, float]]]:
    """Start an engine in a new process; yield a function that runs a round and returns its rate and peak memory."""
    with child(serve, start, job) as engine:

        def run() -> tuple[float, float]:
            with suppress(OSError):
                engine.connection.send(True)
            return engine.received()

        try:
            # Engines start one at a time, because the load at the start determines how long threads spin.
            engine.received()
            yield run
        finally:
            with suppress(OSError):
                engine.connection.send(False)


def rates(engines: dict[str, tuple[Callable, Job]], rounds: int) -> dict[str, dict]:
    """The median rate of every engine; each round runs every engine once."""
    with ExitStack() as stack:
        runs = {name: stack.enter_context(running(*engine)) for name, engine in engines.items()}
        for run in runs.values():
            run()  # warm-up
        results = [{name: run() for name, run in runs.items()} for _ in range(rounds)]
    return {
        name: {
            "median": round(statistics.median(rate[name][0] for rate in results), 1),
            "rounds": [round(rate[name][0], 1) for rate in results],
            MEMORY: results[-1][name][1],
        }
        for name in runs
    }


def training(job: Job, rounds: int) -> dict[str, dict]:
    """Pairs/s of our training loop and of the trainer of sentence-transformers."""
    shapes = {"ours_m40": (BATCH, MEGA_BATCH), "ours_m1": (BATCH, 1), "peer_100": (BATCH, 1), "peer_4000": (4000, 1)}
    engines = {
        name: (
            train_ours if name.startswith("ours") else train_peer,
            replace(job, batch=batch, mega_batch=mega, passes=PASSES[name]),
        )
        for name, (batch, mega) in shapes.items()
    }
    results = rates(engines, rounds)
    for figures in results.values():
        figures["seconds_of_the_paper"] = round(PAPER_PAIRS * EPOCHS / figures["median"])
    return results


def encoding(word: Job, trigram: Job, rounds: int) -> dict[str, dict]:
    """Sentences/s of `encode` by batch size."""
    engines: dict[str, tuple[Callable, Job]] = {}
    for batch in ENCODE:
        engines[f"ours_word_{batch}"] = encode_ours, replace(word, batch=batch)
        engines[f"peer_word_{batch}"] = encode_peer, replace(word, batch=batch)
        engines[f"ours_word_trigram_{batch}"] = encode_ours, replace(trigram, batch=batch)
    return rates(engines, rounds)


def show(title: str, figures: dict[str, dict]) -> None:
    """Print the rates as Markdown."""
    lines = []
    for name, f in figures.items():
        rates = [number(f["median"], 0), ranges(f["rounds"])]
        lines.append([name, *rates, number(f[MEMORY], 0), number(f.get("seconds_of_the_paper"), 0)])
    print("\n" + table([title, "per second", "rounds", "peak MB", "5M pairs x 5 epochs, seconds"], lines))


def main() -> None:
    """Measure, print the tables and the ratios, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", nargs="+", choices=[*TABLES, "encode", "adam"], default=[*TABLES, "encode", "adam"])
    parser.add_argument("--pairs", type=int, default=12_000)
    parser.add_argument("--words", type=int, default=30_000, help="rows of each table")
    parser.add_argument("--dimensions", type=int, default=300)
    processor.add_options(parser, rounds=3)
    arguments = parser.parse_args()
    processor.apply_option(arguments)
    report.refuse_unfair(arguments.busy)
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)  # for `tokenizers`
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    settings = arguments.pairs, arguments.words, arguments.seed
    (pairs, entries, word_count), _ = in_child(prepare, arguments.data, *settings)
    print(f"{len(pairs)} pairs, {len(pairs.texts)} texts, {word_count} words, {arguments.words} rows", file=sys.stderr)
    word, trigram = (
        Job(pairs, entries, parts, arguments.dimensions, MEGA_BATCH, BATCH, 1, arguments.threads, arguments.seed)
        for parts in TABLES.values()
    )
    results: dict[str, Any] = {
        "pairs": len(pairs),
        "texts": len(pairs.texts),
        "words": word_count,
        "rows": arguments.words,
    }
    ratios: dict[str, float] = {}
    for name, job in zip(TABLES, (word, trigram), strict=True):
        if name in arguments.what:
            results[name] = figures = training(job, arguments.rounds)
            show(f"train {' + '.join(job.parts)}, pairs", figures)
            for peer, suffix in (("peer_100", ""), ("peer_4000", "_4000")):
                ratio = figures["ours_m40"]["median"] / figures[peer]["median"]
                ratios[f"train_{'' if name == 'word' else 'trigram_'}sentence_transformers{suffix}"] = round(ratio, 3)
    if "encode" in arguments.what:
        results["encode"] = figures = encoding(word, trigram, arguments.rounds)
        results["same_vectors"], _ = in_child(difference, word)
        show("encode, sentences", figures)
        for batch in ENCODE:
            ratio = figures[f"ours_word_{batch}"]["median"] / figures[f"peer_word_{batch}"]["median"]
            name = "encode_sentence_transformers"
            ratios[name if batch == ENCODE[0] else f"{name}_{batch}"] = round(ratio, 3)
    if "adam" in arguments.what:
        results["adam_milliseconds_a_step"], _ = in_child(step_times, word, arguments.rounds)
        times = results["adam_milliseconds_a_step"]
        ratios |= {f"adam_{name}": round(times[name] / times["lazy"], 3) for name in times if name != "lazy"}
    report.write(arguments.json, arguments.seed, results, ratios)


if __name__ == "__main__":
    main()
