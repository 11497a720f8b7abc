"""The steps of a training of a sentence encoder: negatives from a mega-batch, and Adam on its mini-batches.

All processes hold the whole model and draw the same mini-batches. Each process encodes and compares its share of a
mega-batch, and takes its share of the pairs of every mini-batch; gradients are summed over the processes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import gather, reduce
from torch import Tensor
from torch.nn.functional import pad

from toolkit.encoder.modules import ParaphrasticEncoder
from toolkit.encoder.network import Features, kind_of
from toolkit.encoder.settings import EncoderTraining
from toolkit.models.precision import in_bfloat16
from toolkit.train._encoder_loss import margin_loss, ranking_loss
from toolkit.train._negatives import nearest, no_negatives
from toolkit.train.adam import KEPT, LazyAdam, _Sums
from toolkit.train.encoder_pairs import Pairs, Ragged, _scramble, _take, _transposed, prepare_texts


class Fitting:
    """The state of a training: tables and other weights under Adam, and the pairs as rows of the tables."""

    def __init__(
        self, encoder: ParaphrasticEncoder, pairs: Pairs, settings: EncoderTraining, state: PartialState
    ) -> None:
        """Convert texts to rows, and start from the encoder's weights.

        Args:
            encoder: The encoder; `finish` gives it the trained weights.
            pairs: Training pairs.
            settings: Settings of the training.
            state: The processes.
        """
        self.encoder, self.pairs, self.settings, self.state = encoder.to(state.device).train(), pairs, settings, state
        self.rows = prepare_texts(pairs.texts, encoder)
        sums = _Sums(settings.epochs * -(-len(pairs) // settings.batch) + settings.epochs)
        self.tables = {
            part: LazyAdam(table.detach(), settings.learning_rate, sums) for part, table in encoder.tables.items()
        }
        self.others = [weight for name, weight in encoder.named_parameters() if not name.startswith("tables.")]
        self.adam = torch.optim.Adam(self.others, lr=settings.learning_rate) if self.others else None
        self.dtype = torch.bfloat16 if in_bfloat16(settings.negatives_dtype, state.device) else torch.float32

    def features_of(self, ragged: dict[str, Ragged]) -> tuple[Features, dict[str, Tensor]]:
        """The features of texts, with ids among the rows that occur in them only; and those rows, by part."""
        features: Features = {}
        rows: dict[str, Tensor] = {}
        for kind, (ids, offsets) in ragged.items():
            table = len(self.encoder.vocabularies[kind])
            occurs = np.zeros(table, bool)
            occurs[ids] = True
            occurring = np.flatnonzero(occurs)
            positions = np.empty(table, np.int64)
            positions[occurring] = np.arange(len(occurring))
            arrays = {"ids": positions[ids], "offsets": offsets}
            if kind in self.tables:
                arrays |= dict(zip(("texts", "rows"), _transposed(arrays["ids"], offsets, len(occurring)), strict=True))
            features |= {f"{kind}_{name}": torch.from_numpy(a).to(self.state.device) for name, a in arrays.items()}
            for part in (part for part in self.tables if kind_of(part) == kind):
                rows[part] = torch.from_numpy(occurring).to(self.state.device)
        return features, rows

    @torch.no_grad()
    def negatives(self, ragged: dict[str, Ragged], keys: list[np.ndarray]) -> np.ndarray:
        """The index of each sentence's negative among the sentences of a mega-batch, by the present weights.

        Args:
            ragged: Rows of the sentences of the mega-batch.
            keys: See `toolkit.train._negatives.excluded`.

        Returns:
            (sentences,) indices, the same in all processes.
        """
        count = len(keys[0])
        share = -(-count // self.state.num_processes)
        first = min(self.state.process_index * share, count)
        last = min(first + share, count)
        features, rows = self.features_of(
            {kind: _take(sentence_rows, np.arange(first, last)) for kind, sentence_rows in ragged.items()}
        )
        tables = {part: self.tables[part].read(indices) for part, indices in rows.items()}
        vectors = self.encoder.embed(features, tables)
        if self.state.num_processes == 1:
            return nearest(vectors, keys, 0, count, self.dtype)
        all_vectors = gather(pad(vectors, (0, 0, 0, share - len(vectors))))[:count]
        negatives = torch.from_numpy(nearest(all_vectors, keys, first, last, self.dtype)).to(self.state.device)
        return gather(pad(negatives, (0, share - len(negatives))))[:count].cpu().numpy()

    def step(
        self, ragged: dict[str, Ragged], sentences: np.ndarray, loss_function: Callable[[Tensor], Tensor]
    ) -> float:
        """Take one step of Adam on a mini-batch.

        Args:
            ragged: Rows of the sentences of the mega-batch.
            sentences: Indices of the sentences that the loss reads.
            loss_function: Maps the vectors of `sentences` to this process's part of the mean loss of the mini-batch.

        Returns:
            The mean loss of the mini-batch.
        """
        features, rows = self.features_of(
            {kind: _take(sentence_rows, sentences) for kind, sentence_rows in ragged.items()}
        )
        tables = {part: self.tables[part].read(indices).requires_grad_() for part, indices in rows.items()}
        loss = loss_function(self.encoder.embed(features, tables))
        weights = [*tables.values(), *self.others]
        gradients = list(torch.autograd.grad(loss, weights, materialize_grads=True))
        if self.state.num_processes > 1:
            gradients = [reduce(gradient.contiguous(), "sum") for gradient in gradients]
            loss = reduce(loss.detach(), "sum")
        for (part, indices), gradient in zip(rows.items(), gradients, strict=False):
            self.tables[part].step(indices, tables[part].detach(), gradient)
        if self.adam:
            for weight, gradient in zip(self.others, gradients[len(tables) :], strict=True):
                weight.grad = gradient
            self.adam.step()
        return loss.item()

    def checkpoint(self) -> dict:
        """The whole state, for a checkpoint."""
        return {
            "tables": {part: {name: getattr(adam, name) for name in KEPT} for part, adam in self.tables.items()},
            "others": [weight.detach() for weight in self.others],
            "adam": self.adam.state_dict() if self.adam else None,
        }

    def restore(self, state: dict) -> None:
        """Take back the state of a checkpoint."""
        for part, adam_state in state["tables"].items():
            for name in KEPT:
                setattr(self.tables[part], name, adam_state[name])
        for weight, values in zip(self.others, state["others"], strict=True):
            weight.data.copy_(values)
        if self.adam:
            self.adam.load_state_dict(state["adam"])

    def finish(self) -> None:
        """Give the encoder the trained weights."""
        for part, adam in self.tables.items():
            self.encoder.tables[part].data = adam.table()
        self.encoder.cpu().eval()


def mega_batch(fitting: Fitting, indices: np.ndarray, number: int, epoch: int = 0) -> float:
    """Choose negatives for the pairs of a mega-batch, then take a step on each of its mini-batches.

    The negative of an anchor is its hard negative where it has one, else, as that of every positive, the nearest
    sentence of the mega-batch. A ranking loss takes the hard negatives of a mini-batch besides the others.

    Args:
        fitting: The state of the training.
        indices: Indices of the pairs.
        number: How many mega-batches came before, for the shuffling.
        epoch: From 0; a pair with several hard negatives has another one in each.

    Returns:
        The sum of the pairs' losses.
    """
    settings, pairs, count = fitting.settings, fitting.pairs, len(indices)
    hard = pairs.negatives_of(indices, epoch)
    owners = np.flatnonzero(hard >= 0)
    hard_places = np.full(count, -1)
    hard_places[owners] = 2 * count + np.arange(len(owners))
    texts = np.concatenate([pairs.anchor[indices], pairs.positive[indices]])
    references = np.tile(pairs.reference[indices], 2)
    with_hard = np.concatenate([texts, hard[owners]])
    ragged = {kind: _take(rows, with_hard) for kind, rows in fitting.rows.items()}
    if "lstm" in settings.parts and settings.scramble:
        rng = np.random.default_rng([settings.seed, number, 1])
        is_shuffled = rng.random(count) < settings.scramble
        text_mask = np.concatenate([is_shuffled, is_shuffled, is_shuffled[owners]])
        ragged["word"] = _scramble(ragged["word"], text_mask, rng)
    margin = settings.loss == "margin"
    negatives = fitting.negatives(ragged, [references, texts]) if margin else np.zeros(0, np.int64)
    if margin:
        negatives[owners] = hard_places[owners]
    total = 0.0
    for begin in range(0, count, settings.batch):
        batch = np.arange(begin, min(begin + settings.batch, count))
        if margin:
            total += _margin_step(fitting, ragged, batch, negatives, count) * len(batch)
        else:
            total += _ranking_step(fitting, ragged, batch, references, with_hard, hard_places[batch]) * len(batch)
    return total


def _process_share(count: int, state: PartialState) -> slice:
    """This process's share of a mini-batch of `count` pairs."""
    bounds = [count * process // state.num_processes for process in (state.process_index, state.process_index + 1)]
    return slice(*bounds)


def _margin_step(
    fitting: Fitting, ragged: dict[str, Ragged], batch: np.ndarray, negatives: np.ndarray, count: int
) -> float:
    """Take a step on pairs, each side with its negative.

    Args:
        fitting: The state of the training.
        ragged: Rows of the sentences of the mega-batch: `count` anchors, then their positives, then hard negatives.
        batch: Indices of the mini-batch's anchors among them.
        negatives: (2 count,) indices of the negatives of all sentences.
        count: Pairs of the mega-batch.

    Returns:
        The mean loss of the mini-batch.
    """
    sentences = np.concatenate([batch, batch + count, negatives[batch], negatives[batch + count]])
    share = _process_share(len(batch), fitting.state)

    def mini_batch_loss(vectors: Tensor) -> Tensor:
        anchors, positives, nearest_a, nearest_p = vectors.unflatten(0, (4, -1))[:, share]
        return margin_loss(anchors, positives, nearest_a, nearest_p, fitting.settings.margin).sum() / len(batch)

    return fitting.step(ragged, sentences, mini_batch_loss)


def _ranking_step(
    fitting: Fitting,
    ragged: dict[str, Ragged],
    batch: np.ndarray,
    references: np.ndarray,
    texts: np.ndarray,
    hard: np.ndarray,
) -> float:
    """Take a step on pairs, with the positives and hard negatives of the mini-batch's other pairs as negatives.

    Args:
        fitting: The state of the training.
        ragged: See `_margin_step`.
        batch: Likewise.
        references: (2 count,) of the anchors and the positives.
        texts: All texts of the mega-batch.
        hard: (batch,) indices of the anchors' hard negatives among them, -1 without one.

    Returns:
        The mean loss of the mini-batch.
    """
    count, device = len(references) // 2, fitting.state.device
    positive_indices = torch.arange(len(batch), device=device)[_process_share(len(batch), fitting.state)]
    anchors, positives = batch, batch + count
    hard = hard[hard >= 0]
    forbidden = no_negatives(references[anchors], texts[anchors], texts[positives], texts[hard])
    forbidden_rows = torch.from_numpy(forbidden).to(device)[positive_indices]

    def mini_batch_loss(vectors: Tensor) -> Tensor:
        anchor_vectors, positive_vectors = vectors.tensor_split([len(batch)])
        return ranking_loss(
            anchor_vectors[positive_indices], positive_vectors, positive_indices, forbidden_rows
        ).sum() / len(batch)

    return fitting.step(ragged, np.concatenate([anchors, positives, hard]), mini_batch_loss)
