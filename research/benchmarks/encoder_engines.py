"""The engines of bench_encoder.py: our training and encoder, those of sentence-transformers, and torch's optimizers.

An engine is a function of a job; it returns a function that runs one round and returns its rate. Large libraries are
imported within the engines, so that the memory of a process is that of its engine.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from accelerate import PartialState
    from sentence_transformers import SentenceTransformer

    from toolkit.encoder.modules import ParaphrasticEncoder
    from toolkit.train.encoder import EncoderTraining, Fitting
    from toolkit.train.encoder_pairs import Pairs

EPOCHS = 5  # ParaNMT-50M, section 5.2
LEARNING_RATE = 0.001  # ParaNMT-50M, section 5.2
MARGINS = 0.8, 0.3  # the peer's defaults for positive and negative pairs
TOKEN_PATTERN = r"(?<=[^\W_])'[^\W_]*|[^\W_]+|\S"  # toolkit.encoder.tokens as a regular expression
LONG_ENOUGH = 200  # ours: the epochs for which the sums of our Adam are tabulated
SAME = 1e-5  # ours: tolerance for means of numbers below 0.1

Run = Callable[[], float]


@dataclass(frozen=True)
class Job:
    """The input of an engine: the pairs, the entries of the embedding tables, and the settings."""

    pairs: Pairs
    entries: dict[str, list[str]]
    parts: list[str]
    dimensions: int
    mega_batch: int
    batch: int
    passes: int
    threads: int
    seed: int


def our_encoder(job: Job) -> ParaphrasticEncoder:
    """Our encoder with the table entries of the job."""
    import torch

    from toolkit.encoder.modules import ParaphrasticEncoder
    from toolkit.encoder.settings import Architecture
    from toolkit.encoder.vocabulary import character_trigrams, words

    torch.manual_seed(job.seed)
    vocabulary_classes = {"word": words, "trigram": character_trigrams}
    architecture = Architecture(tuple(job.parts), dimensions=job.dimensions)
    return ParaphrasticEncoder(architecture, {part: vocabulary_classes[part](job.entries[part]) for part in job.parts})


def static_embedding(job: Job, table: torch.Tensor) -> SentenceTransformer:
    """The `StaticEmbedding` of sentence-transformers with the same words and weights."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    known = {word: row for row, word in enumerate(job.entries["word"])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token=job.entries["word"][0]))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Lowercase(), normalizers.Replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(TOKEN_PATTERN), "removed", invert=True)
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=table.clone())], device="cpu")


def training_settings(job: Job) -> EncoderTraining:
    """The settings of our training, with enough epochs for the table of sums to cover all rounds."""
    from toolkit.train.encoder import EncoderTraining

    return EncoderTraining(
        pairs=["none"], output_dir="none", parts=job.parts, dimensions=job.dimensions, batch=job.batch,
        mega_batch=job.mega_batch, epochs=LONG_ENOUGH, seed=job.seed, threads=job.threads,
    )  # fmt: skip


def one_process(job: Job) -> PartialState:
    """Set the job's threads, and return the state of this single process."""
    import torch
    from accelerate import PartialState

    torch.set_num_threads(job.threads)
    return PartialState(cpu=True)


def train_epoch(fitting: Fitting, epoch: int) -> None:
    """Train for one epoch, as `toolkit.train.encoder.fit` does."""
    import numpy as np

    from toolkit.train.encoder import mega_batch

    settings = fitting.settings
    size = settings.batch * settings.mega_batch
    order = np.random.default_rng([settings.seed, epoch]).permutation(len(fitting.pairs))
    for begin in range(0, len(order), size):
        mega_batch(fitting, order[begin : begin + size], begin)


def train_ours(job: Job) -> Run:
    """Our training loop; the returned function trains for a round and returns the pairs/s."""
    from toolkit.train.encoder import Fitting
    from toolkit.train.encoder_pairs import prepare_texts

    encoder = our_encoder(job)
    # This is also the warm-up of `prepare_texts`.
    fitting = Fitting(encoder, job.pairs, training_settings(job), one_process(job))
    began = time.perf_counter()
    prepare_texts(job.pairs.texts, encoder)
    preparation = time.perf_counter() - began

    def run() -> float:
        began = time.perf_counter()
        for epoch in range(job.passes):
            train_epoch(fitting, epoch)
        return len(job.pairs) / ((time.perf_counter() - began) / job.passes + preparation / EPOCHS)

    return run


def train_peer(job: Job) -> Run:
    """The trainer of sentence-transformers on its own module, or on ours if it has no such module."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
    from sentence_transformers.sentence_transformer.losses import MegaBatchMarginLoss
    from transformers import TrainerCallback

    from toolkit.encoder.modules import sentence_transformer

    one_process(job)
    encoder, seconds = our_encoder(job), [0.0]
    model = sentence_transformer(encoder)
    if job.parts == ["word"]:
        model = static_embedding(job, encoder.tables["word"].detach())
    texts, pairs = job.pairs.texts, job.pairs

    collator = SentenceTransformerDataCollator(preprocess_fn=model.preprocess)
    table = Dataset.from_dict(
        {"anchor": [texts[n] for n in pairs.anchor], "positive": [texts[n] for n in pairs.positive]}
    )

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
                learning_rate=LEARNING_RATE, lr_scheduler_type="constant", max_grad_norm=0, use_cpu=True, seed=job.seed,
                dataloader_pin_memory=False, save_strategy="no", logging_strategy="no", report_to="none",
                disable_tqdm=True,
            )  # fmt: skip
            loss = MegaBatchMarginLoss(model, *MARGINS, use_mini_batched_version=False)
            trainer = SentenceTransformerTrainer(
                model, arguments, table, loss=loss, callbacks=[Watch()], data_collator=collator
            )
            trainer.train()
        return len(job.pairs) * job.passes / seconds[0]

    return run


def encode_all(model: SentenceTransformer, job: Job) -> Run:
    """A function that encodes all texts and returns the sentences/s."""

    def run() -> float:
        began = time.perf_counter()
        for _ in range(job.passes):
            model.encode(job.pairs.texts, batch_size=job.batch, show_progress_bar=False)
        return len(job.pairs.texts) * job.passes / (time.perf_counter() - began)

    return run


def encode_ours(job: Job) -> Run:
    """`encode` of our module."""
    from toolkit.encoder.modules import sentence_transformer

    one_process(job)
    return encode_all(sentence_transformer(our_encoder(job).eval()), job)


def encode_peer(job: Job) -> Run:
    """`encode` of the sentence-transformers module with our weights."""
    one_process(job)
    return encode_all(static_embedding(job, our_encoder(job).tables["word"].detach()), job)


def difference(job: Job) -> dict[str, float]:
    """The number of texts that both tokenize alike, and the largest difference of their vectors; in a child process."""
    import numpy as np

    from toolkit.encoder.modules import sentence_transformer
    from toolkit.train.encoder_pairs import prepare_texts

    one_process(job)
    encoder, texts = our_encoder(job).eval(), job.pairs.texts
    peer = static_embedding(job, encoder.tables["word"].detach())
    rows, ends = prepare_texts(texts, encoder)["word"]
    theirs = [encoding.ids for encoding in peer.tokenizer.encode_batch(texts, add_special_tokens=False)]
    same_tokens = np.array([rows[a:b].tolist() == ids for a, b, ids in zip(ends[:-1], ends[1:], theirs, strict=True)])
    our_vectors, peer_vectors = (
        model.encode(texts, show_progress_bar=False) for model in (sentence_transformer(encoder), peer)
    )
    gap = float(np.abs(our_vectors - peer_vectors)[same_tokens].max())
    if gap > SAME:
        raise ValueError(f"wanted the same vectors of texts that are cut alike, got a difference of {gap}")
    return {"texts": len(texts), "cut_alike": int(same_tokens.sum()), "largest_difference": gap}


class TorchAdam:
    """An embedding table with one of torch's optimizers and the interface of `toolkit.train.adam.LazyAdam`."""

    def __init__(self, table: torch.Tensor, optimizer: type, options: dict[str, Any]) -> None:
        import torch

        self.weight = table.clone()
        self.gradient = torch.zeros_like(table)
        self.dense = optimizer is torch.optim.Adam
        self.optimizer = optimizer([self.weight], lr=LEARNING_RATE, **options)

    def read(self, rows: torch.Tensor) -> torch.Tensor:
        """The weights of some rows."""
        return self.weight.index_select(0, rows)

    def step(self, rows: torch.Tensor, weight: torch.Tensor, gradient: torch.Tensor) -> None:
        """One step on distinct rows."""
        import torch

        if self.dense:
            self.weight.grad = self.gradient.index_copy_(0, rows, gradient)
        else:
            self.weight.grad = torch.sparse_coo_tensor(
                rows[None], gradient, self.weight.shape, check_invariants=False, is_coalesced=True
            )
        self.optimizer.step()
        if self.dense:
            self.gradient.index_fill_(0, rows, 0)


def step_times(job: Job, rounds: int) -> dict[str, float]:
    """Milliseconds of a step of our loop with each optimizer; runs in a child process."""
    import torch

    from toolkit.train.encoder import Fitting

    state, tables = one_process(job), our_encoder(job).tables
    kinds: dict[str, tuple[type, dict[str, Any]]] = {
        "lazy": (object, {}),
        "dense": (torch.optim.Adam, {}),
        "dense_fused": (torch.optim.Adam, {"fused": True}),
        "sparse": (torch.optim.SparseAdam, {}),
    }
    fittings = {name: Fitting(our_encoder(job), job.pairs, training_settings(job), state) for name in kinds}
    for name, (kind, options) in kinds.items():
        if kind is not object:
            tables_of_kind: dict[str, Any] = {
                part: TorchAdam(table.detach(), kind, options) for part, table in tables.items()
            }
            fittings[name].tables = tables_of_kind
    steps = -(-len(job.pairs) // job.batch)
    milliseconds: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(rounds + 1):
        for name, fitting in fittings.items():
            began = time.perf_counter()
            train_epoch(fitting, number)
            milliseconds[name].append((time.perf_counter() - began) / steps * 1000)
    return {name: round(statistics.median(times[1:]), 3) for name, times in milliseconds.items()}
