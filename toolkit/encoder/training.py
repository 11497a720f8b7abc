"""Train a paraphrastic sentence encoder on pairs, in as many processes as the launcher started.

All processes hold the whole model and all pairs, and draw the same mini-batches. Each encodes and compares its share of
a mega-batch, and takes its share of every mini-batch's pairs; gradients are added up. So what comes out does not depend
on the number of processes but for the last bits of a sum.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import gather, reduce
from torch import Tensor
from torch.nn.functional import pad
from tqdm import tqdm

from toolkit.encoder.adam import KEPT, LazyAdam, Sums
from toolkit.encoder.loss import margin_loss, ranking_loss
from toolkit.encoder.modules import Features, ParaphrasticEncoder, kind_of, sentence_transformer
from toolkit.encoder.negatives import nearest
from toolkit.encoder.pairs import Pairs, Ragged, number_pairs, prepare_texts, read_pairs, scramble, take, transposed
from toolkit.encoder.settings import EncoderTraining
from toolkit.encoder.vocabulary import UNKNOWN, character_trigrams, count_trigrams, count_words, words
from toolkit.encoder.word_vectors import initialise, read_word_vectors
from toolkit.models.checkpoint import read_state, writing
from toolkit.models.precision import has_bfloat16
from toolkit.parallel import processes
from toolkit.shards import write_whole
from toolkit.training import check_folder, in_folder

NUMBERS = {"auto": None, "float32": torch.float32, "bfloat16": torch.bfloat16}
CHECKPOINT, RECORD = "checkpoint.pt", "training.json"  # the record is written last
FREE = {"output_dir", "save_every", "processes"}  # may change when a training goes on


def train(settings: EncoderTraining) -> Path:
    """Train an encoder, or go on where a killed training left off, and save it; what is done is not done again.

    Returns:
        `output_dir`, which then holds a SentenceTransformer and `training.json`.

    Raises:
        ValueError: There is no usable pair, the folder belongs to a training with other settings, or its checkpoint is
            damaged.
        OSError: The folder is not one to write to (`toolkit.training.check_folder`), or the disk is full.
        RuntimeError: Another launch works in the folder.
    """
    state, folder = processes(), Path(settings.output_dir)
    files = {"pairs": settings.pairs, "word_vectors": [settings.word_vectors] if settings.word_vectors else []}
    record = check_folder(folder, settings, files, {}, FREE, state)
    if (folder / RECORD).is_file():
        return folder
    torch.set_num_threads(settings.threads)
    pairs = number_pairs(read_pairs(settings.pairs), settings.max_tokens)
    encoder = new_encoder(settings, pairs.texts)
    with in_folder(folder, record, FREE, state):
        fitted = fit(encoder, pairs, settings, state, folder / CHECKPOINT)
        if state.is_main_process:
            with writing(folder):
                sentence_transformer(encoder).save(str(folder))
            write_whole(folder / RECORD, json.dumps(fitted, indent=1) + "\n")
            (folder / CHECKPOINT).unlink(missing_ok=True)
        state.wait_for_everyone()
    return folder


def new_encoder(settings: EncoderTraining, texts: list[str]) -> ParaphrasticEncoder:
    """An encoder with the vocabulary of the texts, and random or given word vectors."""
    kinds = {kind_of(part) for part in settings.parts}
    given = read_word_vectors(Path(settings.word_vectors), settings.dimensions) if settings.word_vectors else {}
    vocabularies = {}
    if "word" in kinds:
        said = count_words(texts, settings.min_count, settings.max_words - 1)
        known = dict.fromkeys([UNKNOWN, *said, *(word for word in given if word != UNKNOWN)])
        vocabularies["word"] = words(list(known)[: settings.max_words])
    if "trigram" in kinds:
        vocabularies["trigram"] = character_trigrams(count_trigrams(texts, settings.min_count, settings.max_trigrams))
    torch.manual_seed(settings.seed)
    encoder = ParaphrasticEncoder(settings.architecture, vocabularies)
    if given:
        initialise(encoder, given)
    return encoder


class Fitting:
    """A training in memory: the tables and the rest of the weights under Adam, and the pairs as rows of the tables."""

    def __init__(
        self, encoder: ParaphrasticEncoder, pairs: Pairs, settings: EncoderTraining, state: PartialState
    ) -> None:
        """Turn texts into rows, and begin with the encoder's weights."""
        self.encoder, self.pairs, self.settings, self.state = encoder.to(state.device).train(), pairs, settings, state
        self.rows = prepare_texts(pairs.texts, encoder)
        sums = Sums(settings.epochs * -(-len(pairs) // settings.batch) + settings.epochs)
        self.tables = {
            part: LazyAdam(table.detach(), settings.learning_rate, sums) for part, table in encoder.tables.items()
        }
        self.others = [weight for name, weight in encoder.named_parameters() if not name.startswith("tables.")]
        self.adam = torch.optim.Adam(self.others, lr=settings.learning_rate) if self.others else None
        self.dtype = NUMBERS[settings.negatives_dtype] or (torch.bfloat16 if has_bfloat16() else torch.float32)

    def used(self, ragged: dict[str, Ragged]) -> tuple[Features, dict[str, Tensor]]:
        """The features of texts, their ids counted among the rows that occur; and those rows, by part."""
        features: Features = {}
        rows: dict[str, Tensor] = {}
        for kind, (ids, offsets) in ragged.items():
            table = len(self.encoder.vocabularies[kind])
            occurs = np.zeros(table, bool)
            occurs[ids] = True
            found = np.flatnonzero(occurs)
            place = np.empty(table, np.int64)
            place[found] = np.arange(len(found))
            named = {"ids": place[ids], "offsets": offsets}
            if kind in self.tables:
                named |= dict(zip(("texts", "rows"), transposed(named["ids"], offsets, len(found)), strict=True))
            features |= {f"{kind}_{name}": torch.from_numpy(a).to(self.state.device) for name, a in named.items()}
            for part in (part for part in self.tables if kind_of(part) == kind):
                rows[part] = torch.from_numpy(found).to(self.state.device)
        return features, rows

    @torch.no_grad()
    def negatives(self, ragged: dict[str, Ragged], keys: list[np.ndarray]) -> np.ndarray:
        """The place of each sentence's negative among the sentences of a mega-batch, the weights standing still."""
        count = len(keys[0])
        share = -(-count // self.state.num_processes)
        first = min(self.state.process_index * share, count)
        last = min(first + share, count)
        features, rows = self.used({kind: take(all_, np.arange(first, last)) for kind, all_ in ragged.items()})
        tables = {part: self.tables[part].read(found) for part, found in rows.items()}
        vectors = self.encoder.embed(features, tables)
        if self.state.num_processes == 1:
            return nearest(vectors, keys, 0, count, self.dtype)
        everything = gather(pad(vectors, (0, 0, 0, share - len(vectors))))[:count]
        found = torch.from_numpy(nearest(everything, keys, first, last, self.dtype)).to(self.state.device)
        return gather(pad(found, (0, share - len(found))))[:count].cpu().numpy()

    def step(self, ragged: dict[str, Ragged], sentences: np.ndarray, loss_of: Callable[[Tensor], Tensor]) -> float:
        """One step of Adam on a mini-batch.

        Args:
            ragged: The rows of a mega-batch's sentences.
            sentences: Places of those that the loss reads.
            loss_of: Vectors of `sentences` to this process's part of the mini-batch's mean loss.

        Returns:
            That mean.
        """
        features, rows = self.used({kind: take(all_, sentences) for kind, all_ in ragged.items()})
        tables = {part: self.tables[part].read(found).requires_grad_() for part, found in rows.items()}
        loss = loss_of(self.encoder.embed(features, tables))
        weights = [*tables.values(), *self.others]
        gradients = list(torch.autograd.grad(loss, weights, materialize_grads=True))
        if self.state.num_processes > 1:
            gradients = [reduce(gradient.contiguous(), "sum") for gradient in gradients]
            loss = reduce(loss.detach(), "sum")
        for (part, found), gradient in zip(rows.items(), gradients, strict=False):
            self.tables[part].step(found, tables[part].detach(), gradient)
        if self.adam:
            for weight, gradient in zip(self.others, gradients[len(tables) :], strict=True):
                weight.grad = gradient
            self.adam.step()
        return loss.item()

    def checkpoint(self) -> dict:
        """The whole state."""
        return {
            "tables": {part: {name: getattr(adam, name) for name in KEPT} for part, adam in self.tables.items()},
            "others": [weight.detach() for weight in self.others],
            "adam": self.adam.state_dict() if self.adam else None,
        }

    def restore(self, saved: dict) -> None:
        """Go on from a checkpoint."""
        for part, kept in saved["tables"].items():
            for name in KEPT:
                setattr(self.tables[part], name, kept[name])
        for weight, found in zip(self.others, saved["others"], strict=True):
            weight.data.copy_(found)
        if self.adam:
            self.adam.load_state_dict(saved["adam"])

    def finish(self) -> None:
        """Give the encoder its weights."""
        for part, adam in self.tables.items():
            self.encoder.tables[part].data = adam.table()
        self.encoder.cpu().eval()


def fit(
    encoder: ParaphrasticEncoder,
    pairs: Pairs,
    settings: EncoderTraining,
    state: PartialState,
    checkpoint: Path | None = None,
) -> dict:
    """Train an encoder in place.

    Args:
        encoder: Whose weights change.
        pairs: What it is trained on.
        settings: The knobs.
        state: The processes.
        checkpoint: File that the state is saved to now and then, and read from if it is there.

    Returns:
        A record: settings, pairs, seconds, pairs per second, and the mean loss of every epoch.

    Raises:
        ValueError: The checkpoint is damaged, or of other pairs.
        OSError: A checkpoint cannot be written.
    """
    fitting = Fitting(encoder, pairs, settings, state)
    done, seconds, log, content = 0, 0.0, [0.0] * settings.epochs, content_of(pairs)
    if checkpoint and checkpoint.is_file():
        saved = read_state(checkpoint, state.device)
        if saved.get("content") != content:
            raise ValueError(
                f"wanted the pairs that {checkpoint} was trained on, got others: give those, or another --output_dir"
            )
        done, seconds, log = saved["done"], saved["seconds"], saved["log"]
        fitting.restore(saved)
    size = settings.batch * settings.mega_batch
    per_epoch = -(-len(pairs) // size)
    with tqdm(
        total=settings.epochs * per_epoch, initial=done, unit="mega-batch", disable=not state.is_main_process
    ) as bar:
        while done < settings.epochs * per_epoch:
            began = time.perf_counter()
            epoch, place = divmod(done, per_epoch)
            order = np.random.default_rng([settings.seed, epoch]).permutation(len(pairs))
            log[epoch] += mega_batch(fitting, order[place * size : (place + 1) * size], done) / len(pairs)
            done += 1
            seconds += time.perf_counter() - began
            bar.set_postfix_str(
                f"loss {log[epoch] * len(pairs) / min((place + 1) * size, len(pairs)):.4f}", refresh=False
            )
            bar.update()
            if checkpoint and done % settings.save_every == 0 and state.is_main_process:
                save_checkpoint(
                    checkpoint,
                    fitting.checkpoint() | {"done": done, "seconds": seconds, "log": log, "content": content},
                )
    fitting.finish()
    return {
        "settings": asdict(settings),
        "pairs": len(pairs),
        "texts": len(pairs.texts),
        "refused": dict(pairs.refused),
        "rows": {part: len(adam.weight) for part, adam in fitting.tables.items()},
        "parameters": sum(weight.numel() for weight in encoder.parameters()),
        "processes": state.num_processes,
        "seconds": round(seconds, 1),
        "pairs_per_second": round(settings.epochs * len(pairs) / seconds, 1) if seconds else None,
        "loss": [round(loss, 5) for loss in log],
    }


def content_of(pairs: Pairs) -> str:
    """A hash of the pairs and their texts, so that a training does not go on with others."""
    digest = hashlib.sha256()
    for numbers in (pairs.anchor, pairs.positive, pairs.reference):
        digest.update(numbers.tobytes())
    for text in pairs.texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def mega_batch(fitting: Fitting, chosen: np.ndarray, number: int) -> float:
    """Choose negatives for some pairs, then take a step on each mini-batch of them.

    Args:
        fitting: The training.
        chosen: Numbers of the pairs.
        number: How many mega-batches there were before, for the shuffling.

    Returns:
        The sum of the pairs' losses.
    """
    settings, pairs, count = fitting.settings, fitting.pairs, len(chosen)
    texts = np.concatenate([pairs.anchor[chosen], pairs.positive[chosen]])
    references = np.tile(pairs.reference[chosen], 2)
    ragged = {kind: take(rows, texts) for kind, rows in fitting.rows.items()}
    if "lstm" in settings.parts and settings.scramble:
        chance = np.random.default_rng([settings.seed, number, 1])
        shuffled = np.tile(chance.random(count) < settings.scramble, 2)
        ragged["word"] = scramble(ragged["word"], shuffled, chance)
    margin = settings.loss == "margin"
    negatives = fitting.negatives(ragged, [references, texts]) if margin else np.zeros(0, np.int64)
    total = 0.0
    for begin in range(0, count, settings.batch):
        batch = np.arange(begin, min(begin + settings.batch, count))
        if margin:
            total += margin_step(fitting, ragged, batch, negatives, count) * len(batch)
        else:
            total += ranking_step(fitting, ragged, batch, references, texts) * len(batch)
    return total


def share_of(count: int, state: PartialState) -> slice:
    """This process's share of a mini-batch of so many pairs."""
    bounds = [count * process // state.num_processes for process in (state.process_index, state.process_index + 1)]
    return slice(*bounds)


def margin_step(
    fitting: Fitting, ragged: dict[str, Ragged], batch: np.ndarray, negatives: np.ndarray, count: int
) -> float:
    """A step on pairs and the negatives of both their sides; `count` is where the second sentences begin."""
    sentences = np.concatenate([batch, batch + count, negatives[batch], negatives[batch + count]])
    own = share_of(len(batch), fitting.state)

    def loss_of(vectors: Tensor) -> Tensor:
        anchors, positives, nearest_a, nearest_p = vectors.unflatten(0, (4, -1))[:, own]
        return margin_loss(anchors, positives, nearest_a, nearest_p, fitting.settings.margin).sum() / len(batch)

    return fitting.step(ragged, sentences, loss_of)


def ranking_step(
    fitting: Fitting, ragged: dict[str, Ragged], batch: np.ndarray, references: np.ndarray, texts: np.ndarray
) -> float:
    """A step on pairs, each with all others of the mini-batch as negatives."""
    count, device = len(texts) // 2, fitting.state.device
    own = torch.arange(len(batch), device=device)[share_of(len(batch), fitting.state)]
    anchors, positives = batch, batch + count
    forbidden = references[anchors, None] == references[None, positives]
    forbidden |= texts[anchors, None] == texts[None, positives]
    forbidden |= texts[positives, None] == texts[None, positives]
    barred = torch.from_numpy(forbidden).to(device)[own]

    def loss_of(vectors: Tensor) -> Tensor:
        anchored, paraphrased = vectors.chunk(2)
        return ranking_loss(anchored[own], paraphrased, own, barred).sum() / len(batch)

    return fitting.step(ragged, np.concatenate([anchors, positives]), loss_of)


def save_checkpoint(path: Path, content: dict) -> None:
    """Write a checkpoint under a temporary name and rename it.

    Raises:
        OSError: It cannot be written; the one before it is still there.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with writing(path):
            torch.save(content, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
