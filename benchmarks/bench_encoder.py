"""Training and encoding with WORD and WORD+TRIGRAM: our loop and sentence-transformers' trainer on the same pairs.

    python benchmarks/bench_encoder.py --data DIR --json benchmarks/bench_encoder.json

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
import gzip
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import report

if TYPE_CHECKING:
    import torch
    from accelerate import PartialState
    from sentence_transformers import SentenceTransformer

    from toolkit.encoder.modules import ParaphrasticEncoder
    from toolkit.encoder.pairs import Pairs
    from toolkit.encoder.training import EncoderTraining, Fitting

BITEXT = "bitext/tatoeba/deu-eng.train.tsv.gz"
BATCH, MEGA_BATCH, EPOCHS = 100, 40, 5  # ParaNMT-50M, sections 5.2 and 5.5
PAPER_PAIRS = 5_000_000  # ParaNMT-50M, section 5.4
PASSES = {"ours_m40": 8, "ours_m1": 6, "peer_100": 1, "peer_4000": 3}  # ours: times a round reads the pairs
MARGINS = 0.8, 0.3  # the peer's
CUTS = r"(?<=[^\W_])'[^\W_]*|[^\W_]+|\S"  # toolkit.encoder.tokens as a regular expression
PRIVATE = 0xE000  # letters that no text has
ENCODE = (32, 1024)
TABLES = {"word": ["word"], "trigram": ["word", "trigram"]}
MEMORY = "peak_megabytes"


@dataclass(frozen=True)
class Job:
    """What an engine works on: the pairs, the entries of the tables, and how."""

    pairs: Pairs
    entries: dict[str, list[str]]
    parts: list[str]
    dimensions: int
    mega_batch: int
    batch: int
    passes: int
    threads: int
    seed: int


def read_texts(data: Path) -> Iterator[tuple[str, str, str]]:
    """The German sentence and two English ones of it, every two."""
    said: dict[str, dict[str, None]] = {}
    with gzip.open(data / BITEXT, "rt", encoding="utf-8") as file:
        for line in file:
            german, english = line.rstrip("\n").split("\t")[:2]
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
    if len(found) < count:
        raise ValueError(f"wanted {count} pairs, got {len(found)} in {BITEXT}; give a smaller --pairs")
    drawn = random.Random(seed).sample(found, len(found))
    pairs = number_pairs((TextPair(*pair) for pair in drawn), 30)
    pairs = replace(pairs, one=pairs.one[:count], other=pairs.other[:count], reference=pairs.reference[:count])
    said = count_words(pairs.texts, 1, rows - 1)
    words = [UNKNOWN, *said, *(f"unused{n}" for n in range(rows - 1 - len(said)))]
    trigrams = count_trigrams(pairs.texts, 1, rows)
    unused = (chr(PRIVATE + n // 6000) + chr(PRIVATE + n % 6000) + "x" for n in range(rows - len(trigrams)))
    return pairs, {"word": words, "trigram": [*trigrams, *unused]}, len(said)


def our_encoder(job: Job) -> ParaphrasticEncoder:
    """Our module with the entries of the job."""
    import torch

    from toolkit.encoder.modules import Architecture, ParaphrasticEncoder
    from toolkit.encoder.vocabulary import character_trigrams, words

    torch.manual_seed(job.seed)
    made = {"word": words, "trigram": character_trigrams}
    architecture = Architecture(tuple(job.parts), dimensions=job.dimensions)
    return ParaphrasticEncoder(architecture, {part: made[part](job.entries[part]) for part in job.parts})


def static_embedding(job: Job, table: torch.Tensor) -> SentenceTransformer:
    """The library's module with the same words and weights."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    known = {word: row for row, word in enumerate(job.entries["word"])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token=job.entries["word"][0]))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Lowercase(), normalizers.Replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(CUTS), "removed", invert=True)
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=table.clone())], device="cpu")


def training_settings(job: Job) -> EncoderTraining:
    """Our settings; so many epochs that the table of sums is long enough for all rounds."""
    from toolkit.encoder.training import EncoderTraining

    return EncoderTraining(
        pairs=[BITEXT], output_dir="none", parts=job.parts, dimensions=job.dimensions, batch=job.batch,
        mega_batch=job.mega_batch, epochs=200, seed=job.seed, threads=job.threads,
    )  # fmt: skip


def one_process(job: Job) -> PartialState:
    """This process, with the job's threads."""
    import torch
    from accelerate import PartialState

    torch.set_num_threads(job.threads)
    return PartialState(cpu=True)


def read_all(fitting: Fitting, epoch: int) -> None:
    """One epoch, as `toolkit.encoder.training.fit` has it."""
    import numpy as np

    from toolkit.encoder.training import mega_batch

    settings = fitting.settings
    size = settings.batch * settings.mega_batch
    order = np.random.default_rng([settings.seed, epoch]).permutation(len(fitting.pairs))
    for begin in range(0, len(order), size):
        mega_batch(fitting, order[begin : begin + size], begin)


def train_ours(job: Job) -> Callable[[], float]:
    """Our loop; what comes back trains for a round and returns the pairs/s."""
    from toolkit.encoder.training import Fitting

    state, encoder = one_process(job), our_encoder(job)
    Fitting(encoder, job.pairs, training_settings(job), state)  # warms up
    began = time.perf_counter()
    fitting = Fitting(encoder, job.pairs, training_settings(job), state)
    preparation = time.perf_counter() - began

    def run() -> float:
        began = time.perf_counter()
        for epoch in range(job.passes):
            read_all(fitting, epoch)
        return len(job.pairs) / ((time.perf_counter() - began) / job.passes + preparation / EPOCHS)

    return run


def train_peer(job: Job) -> Callable[[], float]:
    """The library's trainer on its own module, or on ours where it has none."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.losses import MegaBatchMarginLoss
    from transformers import TrainerCallback

    from toolkit.encoder.modules import sentence_transformer

    one_process(job)
    encoder, seconds = our_encoder(job), [0.0]
    model = sentence_transformer(encoder)
    if job.parts == ["word"]:
        model = static_embedding(job, encoder.tables["word"].detach())
    texts, pairs = job.pairs.texts, job.pairs
    table = Dataset.from_dict({"one": [texts[n] for n in pairs.one], "other": [texts[n] for n in pairs.other]})

    class Watch(TrainerCallback):
        """Adds up the time of the epochs."""

        def on_epoch_begin(self, *arguments: Any, **rest: Any) -> None:
            seconds[0] -= time.perf_counter()

        def on_epoch_end(self, *arguments: Any, **rest: Any) -> None:
            seconds[0] += time.perf_counter()

    def run() -> float:
        seconds[0] = 0.0
        with tempfile.TemporaryDirectory() as folder:
            arguments = SentenceTransformerTrainingArguments(
                output_dir=folder, num_train_epochs=job.passes, per_device_train_batch_size=job.batch,
                learning_rate=0.001, lr_scheduler_type="constant", max_grad_norm=0, use_cpu=True, seed=job.seed,
                dataloader_pin_memory=False, save_strategy="no", logging_strategy="no", report_to="none",
                disable_tqdm=True,
            )  # fmt: skip
            loss = MegaBatchMarginLoss(model, *MARGINS, use_mini_batched_version=False)
            SentenceTransformerTrainer(model, arguments, table, loss=loss, callbacks=[Watch()]).train()
        return len(job.pairs) * job.passes / seconds[0]

    return run


def encode_all(model: SentenceTransformer, job: Job) -> Callable[[], float]:
    """Encode all texts; sentences/s."""

    def run() -> float:
        began = time.perf_counter()
        for _ in range(job.passes):
            model.encode(job.pairs.texts, batch_size=job.batch, show_progress_bar=False)
        return len(job.pairs.texts) * job.passes / (time.perf_counter() - began)

    return run


def encode_ours(job: Job) -> Callable[[], float]:
    """Our module's `encode`."""
    from toolkit.encoder.modules import sentence_transformer

    one_process(job)
    return encode_all(sentence_transformer(our_encoder(job).eval()), job)


def encode_peer(job: Job) -> Callable[[], float]:
    """The library's module's, on our weights."""
    one_process(job)
    return encode_all(static_embedding(job, our_encoder(job).tables["word"].detach()), job)


def difference(job: Job) -> dict[str, float]:
    """Texts that both cut alike, and how far their vectors are apart at most; in a child process."""
    import numpy as np

    from toolkit.encoder.modules import sentence_transformer
    from toolkit.encoder.pairs import prepare_texts

    one_process(job)
    encoder, texts = our_encoder(job).eval(), job.pairs.texts
    peer = static_embedding(job, encoder.tables["word"].detach())
    rows, ends = prepare_texts(texts, encoder)["word"]
    theirs = [encoding.ids for encoding in peer.tokenizer.encode_batch(texts, add_special_tokens=False)]
    alike = np.array([rows[a:b].tolist() == ids for a, b, ids in zip(ends[:-1], ends[1:], theirs, strict=True)])
    one, other = (model.encode(texts, show_progress_bar=False) for model in (sentence_transformer(encoder), peer))
    gap = float(np.abs(one - other)[alike].max())
    if gap > 1e-5:
        raise ValueError(f"wanted the same vectors of texts that are cut alike, got a difference of {gap}")
    return {"texts": len(texts), "cut_alike": int(alike.sum()), "largest_difference": gap}


class TorchAdam:
    """A table under one of torch's optimizers, with the interface of `toolkit.encoder.adam.LazyAdam`."""

    def __init__(self, table: torch.Tensor, optimizer: type, knobs: dict[str, Any]) -> None:
        import torch

        self.weight = table.clone()
        self.gradient = torch.zeros_like(table)
        self.dense = optimizer is torch.optim.Adam
        self.optimizer = optimizer([self.weight], lr=0.001, **knobs)

    def read(self, rows: torch.Tensor) -> torch.Tensor:
        """The weights of some rows."""
        return self.weight.index_select(0, rows)

    def step(self, rows: torch.Tensor, weight: torch.Tensor, gradient: torch.Tensor) -> None:
        """One step on distinct rows."""
        import torch

        if self.dense:
            self.weight.grad = self.gradient.index_copy_(0, rows, gradient)
        else:
            self.weight.grad = torch.sparse_coo_tensor(rows[None], gradient, self.weight.shape, is_coalesced=True)
        self.optimizer.step()
        if self.dense:
            self.gradient.index_fill_(0, rows, 0)


def step_times(job: Job, rounds: int) -> dict[str, float]:
    """Milliseconds of a step of our loop, the optimizers in turn; in a child process."""
    import torch

    from toolkit.encoder.training import Fitting

    state, tables = one_process(job), our_encoder(job).tables
    kinds: dict[str, tuple[type, dict[str, Any]]] = {
        "lazy": (object, {}),
        "dense": (torch.optim.Adam, {}),
        "dense_fused": (torch.optim.Adam, {"fused": True}),
        "sparse": (torch.optim.SparseAdam, {}),
    }
    fittings = {name: Fitting(our_encoder(job), job.pairs, training_settings(job), state) for name in kinds}
    for name, (kind, knobs) in kinds.items():
        if kind is not object:
            fittings[name].tables = {part: TorchAdam(table.detach(), kind, knobs) for part, table in tables.items()}
    steps = -(-len(job.pairs) // job.batch)
    found: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(rounds + 1):
        for name, fitting in fittings.items():
            began = time.perf_counter()
            read_all(fitting, number)
            found[name].append((time.perf_counter() - began) / steps * 1000)
    return {name: round(statistics.median(times[1:]), 3) for name, times in found.items()}


def serve(connection: Connection, start: Callable[[Job], Callable[[], float]], job: Job) -> None:
    """An engine's process: start it, then a round whenever the parent asks for one."""
    run = start(job)
    while connection.recv():
        connection.send((run(), report.peak_megabytes()))


@contextmanager
def living(start: Callable[[Job], Callable[[], float]], job: Job) -> Iterator[Callable[[], tuple[float, float]]]:
    """An engine in a process of its own; what comes back runs a round and returns the rate and the peak memory."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=serve, args=(its, start, job))
    process.start()
    its.close()

    def run() -> tuple[float, float]:
        ours.send(True)
        return ours.recv()

    try:
        yield run
    finally:
        if process.is_alive():
            ours.send(False)
        process.join()


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
        figures["hours_of_the_paper"] = round(PAPER_PAIRS * EPOCHS / figures["median"] / 3600, 3)
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
    print(f"\n| {title} | per second | rounds | peak MB | 5M pairs x 5 epochs, seconds |\n" + "|---" * 5 + "|")
    for name, f in found.items():
        paper = f"{PAPER_PAIRS * EPOCHS / f['median']:.0f}" if "hours_of_the_paper" in f else ""
        low, high = min(f["rounds"]), max(f["rounds"])
        print(f"| {name} | {f['median']:.0f} | {low:.0f} to {high:.0f} | {f[MEMORY]:.0f} | {paper} |")


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
    arguments = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)  # of `tokenizers`
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    chosen = arguments.pairs, arguments.words, arguments.seed
    (pairs, entries, said), _ = report.in_child(prepare, arguments.data, *chosen)
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
        results["same_vectors"], _ = report.in_child(difference, word)
        show("encode, sentences", found)
        for batch in ENCODE:
            ratio = found[f"ours_word_{batch}"]["median"] / found[f"peer_word_{batch}"]["median"]
            ratios[f"encode_sentence_transformers_{batch}"] = round(ratio, 3)
    if "adam" in arguments.what:
        results["adam_milliseconds_a_step"], _ = report.in_child(step_times, word, arguments.rounds)
        times = results["adam_milliseconds_a_step"]
        ratios |= {f"adam_{name}": round(times[name] / times["lazy"], 3) for name in times if name != "lazy"}
    report.write(arguments.json, arguments.seed, results, ratios)


if __name__ == "__main__":
    main()
