"""Training and encoding with WORD and WORD+TRIGRAM: our loop and sentence-transformers' trainer on the same pairs.

    python -m benchmarks.bench_encoder --data DIR --json benchmarks/results/encoder.json

DIR holds bitext/tatoeba/deu-eng.train.tsv.gz (German TAB English): two English sentences of one German sentence are a
pair. The words of the pairs are padded to --words with words that nobody says, and so are the trigrams, the same for
all, because a dense Adam pays for every row. A pair counts once however often it is read.

What a step is: `ours_m40` takes its negatives from 40 mini-batches of 100 pairs (8,000 sentences, both sides) and steps
once per mini-batch; `ours_m1` has the negatives of one mini-batch. The peer is `SentenceTransformerTrainer` with
MegaBatchMarginLoss, which has two margins, looks for negatives on one side and steps once per mega-batch: `peer_100`
has our steps and the negatives of 100 pairs, `peer_4000` our negatives and a fortieth of our steps. For WORD it trains
its own `StaticEmbedding` with a `tokenizers` tokenizer of the same words; it has no module with trigrams, so for
WORD+TRIGRAM it trains our module, with its data loading and its dense Adam. Its time is from the first to the last
batch of an epoch; ours is the same and a fifth of turning the texts into rows, once before the paper's five epochs.

Every engine lives in a process of its own; rounds go through all engines in turn, after one that warms up, and the
medians count. Ratios are ours over the peer's; `adam_...` is a step of our loop with another optimizer of the tables
over the same with ours (which has Adam's numbers; SparseAdam has not). Needs an idle machine.
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

from benchmarks.data import TATOEBA, fields
from benchmarks.encoder_engines import (
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
from reports import report
from reports.child import child, in_child, peak_megabytes
from reports.figures import number, ranges, table

if TYPE_CHECKING:
    from toolkit.encoder.pairs import Pairs

BITEXT = TATOEBA.format("train")
BATCH, MEGA_BATCH = 100, 40  # ParaNMT-50M, sections 5.2 and 5.5
MAX_TOKENS = 30  # ParaNMT-50M, section 5.4
PAPER_PAIRS = 5_000_000  # ParaNMT-50M, section 5.4
PASSES = {"ours_m40": 2, "ours_m1": 2, "peer_100": 1, "peer_4000": 1}  # ours: times a round reads the pairs
PRIVATE = 0xE000  # letters that no text has
ENCODE = (32, 1024)  # the batch size that encode() has unless told otherwise, and one for many texts
TABLES = {"word": ["word"], "trigram": ["word", "trigram"]}
MEMORY = "peak_megabytes"


def read_texts(data: Path) -> Iterator[tuple[str, str, str]]:
    """The German sentence and two English ones of it, every two."""
    said: dict[str, dict[str, None]] = {}
    for german, english, *_ in fields(data / BITEXT):
        said.setdefault(german, {})[english] = None
    for german, group in said.items():
        texts = list(group)
        yield from ((german, one, other) for n, one in enumerate(texts) for other in texts[n + 1 :])


def prepare(data: Path, count: int, rows: int, seed: int) -> tuple[Pairs, dict[str, list[str]], int]:
    """The pairs, the entries of both tables, and how many words the pairs have; in a child process."""
    import random

    from toolkit.encoder.pairs import TextPair, number_pairs
    from toolkit.encoder.vocabulary import UNKNOWN, count_trigrams, count_words

    found = list(read_texts(data))
    drawn = random.Random(seed).sample(found, len(found))
    fit = number_pairs((TextPair(*pair) for pair in drawn), MAX_TOKENS)
    chosen = zip(fit.reference[:count], fit.anchor[:count], fit.positive[:count], strict=True)
    pairs = number_pairs((TextPair(str(r), fit.texts[a], fit.texts[b]) for r, a, b in chosen), MAX_TOKENS)
    if len(pairs) < count:
        raise ValueError(f"wanted {count} pairs, got {len(pairs)} in {BITEXT}; give a smaller --pairs")
    said = count_words(pairs.texts, 1, rows - 1)
    words = [UNKNOWN, *said, *(f"unused{n}" for n in range(rows - 1 - len(said)))]
    trigrams = count_trigrams(pairs.texts, 1, rows)
    unused = (chr(PRIVATE + n // 6000) + chr(PRIVATE + n % 6000) + "x" for n in range(rows - len(trigrams)))
    return pairs, {"word": words, "trigram": [*trigrams, *unused]}, len(said)


def serve(connection: Connection, start: Callable[[Job], Run], job: Job) -> None:
    """An engine's process: start it, say so, then a round whenever the parent asks for one."""
    run = start(job)
    connection.send(None)
    while connection.recv():
        connection.send((run(), peak_megabytes()))


@contextmanager
def living(start: Callable[[Job], Run], job: Job) -> Iterator[Callable[[], tuple[float, float]]]:
    """An engine in a process of its own, started; what comes back runs a round: its rate and the peak memory."""
    with child(serve, start, job) as engine:

        def run() -> tuple[float, float]:
            with suppress(OSError):
                engine.connection.send(True)
            return engine.received()

        try:
            engine.received()  # one engine starts at a time: how long threads spin is decided by what else runs then
            yield run
        finally:
            with suppress(OSError):
                engine.connection.send(False)


def rates(engines: dict[str, tuple[Callable, Job]], rounds: int) -> dict[str, dict]:
    """The median rate of every engine, one round of each in turn."""
    with ExitStack() as stack:
        runs = {name: stack.enter_context(living(*engine)) for name, engine in engines.items()}
        for run in runs.values():
            run()  # warms up
        found = [{name: run() for name, run in runs.items()} for _ in range(rounds)]
    return {
        name: {
            "median": round(statistics.median(rate[name][0] for rate in found), 1),
            "rounds": [round(rate[name][0], 1) for rate in found],
            MEMORY: found[-1][name][1],
        }
        for name in runs
    }


def training(job: Job, rounds: int) -> dict[str, dict]:
    """Pairs/s of our loop and the library's trainer."""
    shapes = {"ours_m40": (BATCH, MEGA_BATCH), "ours_m1": (BATCH, 1), "peer_100": (BATCH, 1), "peer_4000": (4000, 1)}
    engines = {
        name: (
            train_ours if name.startswith("ours") else train_peer,
            replace(job, batch=batch, mega_batch=mega, passes=PASSES[name]),
        )
        for name, (batch, mega) in shapes.items()
    }
    found = rates(engines, rounds)
    for figures in found.values():
        figures["seconds_of_the_paper"] = round(PAPER_PAIRS * EPOCHS / figures["median"])
    return found


def encoding(word: Job, both: Job, rounds: int) -> dict[str, dict]:
    """Sentences/s of `encode` by batch size."""
    engines: dict[str, tuple[Callable, Job]] = {}
    for batch in ENCODE:
        engines[f"ours_word_{batch}"] = encode_ours, replace(word, batch=batch)
        engines[f"peer_word_{batch}"] = encode_peer, replace(word, batch=batch)
        engines[f"ours_word_trigram_{batch}"] = encode_ours, replace(both, batch=batch)
    return rates(engines, rounds)


def show(title: str, found: dict[str, dict]) -> None:
    """The rates as Markdown."""
    lines = []
    for name, f in found.items():
        rates = [number(f["median"], 0), ranges(f["rounds"])]
        lines.append([name, *rates, number(f[MEMORY], 0), number(f.get("seconds_of_the_paper"), 0)])
    print("\n" + table([title, "per second", "rounds", "peak MB", "5M pairs x 5 epochs, seconds"], lines))


def main() -> None:
    """Measure, print the tables and the ratios, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the bitext")
    parser.add_argument("--json", help="file for the report")
    parser.add_argument("--what", nargs="+", choices=[*TABLES, "encode", "adam"], default=[*TABLES, "encode", "adam"])
    parser.add_argument("--pairs", type=int, default=12_000)
    parser.add_argument("--words", type=int, default=30_000, help="rows of each table")
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="measured; one more warms up")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--busy", action="store_true", help="measure although the machine has other work")
    arguments = parser.parse_args()
    report.refuse_busy(arguments.busy)
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)  # of `tokenizers`
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    chosen = arguments.pairs, arguments.words, arguments.seed
    (pairs, entries, said), _ = in_child(prepare, arguments.data, *chosen)
    print(f"{len(pairs)} pairs, {len(pairs.texts)} texts, {said} words, {arguments.words} rows", file=sys.stderr)
    word, both = (
        Job(pairs, entries, parts, arguments.dimensions, MEGA_BATCH, BATCH, 1, arguments.threads, arguments.seed)
        for parts in TABLES.values()
    )
    results: dict[str, Any] = {"pairs": len(pairs), "texts": len(pairs.texts), "words": said, "rows": arguments.words}
    ratios: dict[str, float] = {}
    for name, job in zip(TABLES, (word, both), strict=True):
        if name in arguments.what:
            results[name] = found = training(job, arguments.rounds)
            show(f"train {' + '.join(job.parts)}, pairs", found)
            for peer, suffix in (("peer_100", ""), ("peer_4000", "_4000")):
                ratio = found["ours_m40"]["median"] / found[peer]["median"]
                ratios[f"train_{'' if name == 'word' else 'trigram_'}sentence_transformers{suffix}"] = round(ratio, 3)
    if "encode" in arguments.what:
        results["encode"] = found = encoding(word, both, arguments.rounds)
        results["same_vectors"], _ = in_child(difference, word)
        show("encode, sentences", found)
        for batch in ENCODE:
            ratio = found[f"ours_word_{batch}"]["median"] / found[f"peer_word_{batch}"]["median"]
            name = "encode_sentence_transformers"
            ratios[name if batch == ENCODE[0] else f"{name}_{batch}"] = round(ratio, 3)
    if "adam" in arguments.what:
        results["adam_milliseconds_a_step"], _ = in_child(step_times, word, arguments.rounds)
        times = results["adam_milliseconds_a_step"]
        ratios |= {f"adam_{name}": round(times[name] / times["lazy"], 3) for name in times if name != "lazy"}
    report.write(arguments.json, arguments.seed, results, ratios)


if __name__ == "__main__":
    main()
