"""What advances the rows of a decoder by one token at a time, and which engine drives which model.

An engine knows the model, its caches and which rows are still alive, and nothing of how a token is chosen
(`sampling.py`, `beam.py`). Rows that are done leave at once: the last live rows move into their places, so that every
tensor stays dense and nothing is computed for padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import EncoderDecoderCache

FAMILIES = ("marian", "bart", "mbart", "m2m_100", "pegasus", "blenderbot", "plbart")  # decoders of `SharedEngine`


@dataclass
class State:
    """Rows in flight.

    Attributes:
        cache: What every row has said and what it attends to.
        sentence: (rows,) the number of a row's sentence.
        steps: How many tokens every row has.
    """

    cache: EncoderDecoderCache
    sentence: Tensor
    steps: int


S = TypeVar("S", bound="State")


class Engine(Protocol[S]):
    """A seq2seq model, ready to decode.

    Attributes:
        device: Where the model computes.
        given: The tokens that every row begins with: the start token and, where the model has one, the forced first.
            They are no part of what a row says, of its length, or of its log-probability.
        eos: The token that ends a row.
        pad: The token that fills a row.
        limit: Positions of the model.
    """

    device: torch.device
    given: list[int]
    eos: int
    pad: int
    limit: int

    def start(self, sources: Sequence[Sequence[int]], rows_each: int | Sequence[int], steps: int) -> S:
        """Some rows of every sentence, before the first token that they choose.

        Args:
            sources: Ids of each sentence, EOS included.
            rows_each: Rows that decode from one sentence; one number, or one for each sentence.
            steps: Most tokens of a row.
        """

    def step(self, state: S, ids: Tensor) -> Tensor:
        """Advance every row by one token.

        Args:
            state: Rows in flight; its caches grow by one step.
            ids: (rows,) the tokens said last; the last of `given` before the first step.

        Returns:
            (rows, width) hidden states, for `logits`.
        """

    def logits(self, hidden: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Logits of a slice of rows at a time: the slice and (slice rows, vocabulary)."""

    def likelihoods(self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Tensor:
        """Log-probabilities of given outputs, token by token: what rows would gain that say them.

        Args:
            sources: Ids of each sentence, EOS included.
            outputs: For each sentence what is said of it, EOS included, all of one length; without `given` tokens.

        Returns:
            (sentences, tokens) in nats.
        """

    def copy(self, state: S, source: Tensor, target: Tensor) -> None:
        """Let the rows `target` go on from what the rows `source` of the same sentences have said.

        Args:
            state: Rows in flight.
            source: Rows, none of which is in `target`.
            target: As many rows.
        """

    def keep(self, state: S, alive: Tensor) -> tuple[Tensor, Tensor, int]:
        """Drop the rows that are done: live rows from the end move into their places.

        Args:
            state: Rows in flight.
            alive: (rows,) booleans.

        Returns:
            The moved rows' old places, their new places, and how many rows are left, for what the caller keeps per row.
        """


def engine_of(model: PreTrainedModel) -> Engine:
    """The engine that drives a model: with shared encoder states where its family allows it.

    Raises:
        ValueError: The model has no encoder and decoder.
    """
    from toolkit.decode.expanded import ExpandedEngine
    from toolkit.decode.shared import SharedEngine

    return SharedEngine(model) if model.config.model_type in FAMILIES else ExpandedEngine(model)


def special_tokens(model: PreTrainedModel) -> tuple[list[int], int, int]:
    """The tokens that a model's rows are given, the one that ends them, and the one that fills them."""
    generation = model.generation_config
    eos, pad = generation.eos_token_id, model.config.pad_token_id
    begin, forced = generation.decoder_start_token_id, generation.forced_bos_token_id
    begin = model.config.decoder_start_token_id if begin is None else begin
    # A forced first token, the language in mBART-50, M2M100 and NLLB, is given like the start token, not chosen.
    return [begin] if forced is None else [begin, forced], eos[0] if isinstance(eos, list) else eos, pad


def begin_rows(engine: Engine[S], state: S) -> S:
    """Advance every row by all given tokens but the last."""
    for token in engine.given[:-1]:
        engine.step(state, torch.full_like(state.sentence, token))
    return state


def told(engine: Engine, outputs: Tensor) -> Tensor:
    """(sentences, tokens) outputs as the decoder reads them: the given tokens first, the last one left out."""
    given = torch.tensor(engine.given, device=engine.device).expand(len(outputs), -1)
    return torch.cat([given, outputs[:, :-1]], 1)


def padded(engine: Engine, sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """(sentences, source steps) ids, and whether they are of a token."""
    ids = torch.full((len(sources), max(map(len, sources))), engine.pad)
    for row, source in zip(ids, sources, strict=True):
        row[: len(source)] = torch.tensor(source)
    real = torch.arange(ids.shape[1]) < torch.tensor([[len(s)] for s in sources])
    return ids.to(engine.device), real.to(engine.device)


def sentences(engine: Engine, count: int, rows_each: int | Sequence[int]) -> tuple[Tensor, list[int]]:
    """(rows,) the sentence of each row, and how many rows each sentence has."""
    each = [rows_each] * count if isinstance(rows_each, int) else list(rows_each)
    return torch.arange(count, device=engine.device).repeat_interleave(torch.tensor(each).to(engine.device)), each


def moves(alive: Tensor) -> tuple[Tensor, Tensor, int]:
    """How the live rows come to stand first: rows from the end, the dead places that they take, how many are left.

    >>> moves(torch.tensor([False, True, True]))
    (tensor([2]), tensor([0]), 2)
    """
    left = int(alive.sum())
    return torch.nonzero(alive[left:]).flatten() + left, torch.nonzero(~alive[:left]).flatten(), left
