"""The protocol of an engine, which advances the rows of a decoder by one token.

A row is one text that is being decoded: a sample (`sampling.py`) or a hypothesis of a beam (`beam.py`). An engine knows
the model and its caches, and not how a token is chosen. Rows that are done leave early: the last live rows move into
their places, so that every tensor stays dense and little is computed for rows that are done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor
from transformers import PreTrainedModel

from toolkit.models.padding import pad, padding_mask

UNBOUNDED = 1 << 20  # ours: steps of a model that has no positions to run out of
IDS = 1 << 32  # more than a vocabulary has: row * IDS + token is one number


@dataclass
class State:
    """Rows in flight; an engine adds what its model has to remember of them.

    Attributes:
        sentence: (rows,) the number of a row's sentence.
        steps: How many tokens every row has.
    """

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
        """Logits of a slice of rows at a time: the slice and (slice rows, vocabulary).

        They are in float32 or more exact; on a device that is no CPU they may be in 16 bits (`_top_k.py`).
        The logits may be overwritten. The next slice may overwrite them, too.
        """

    def likelihoods(self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Tensor:
        """The log-probability of each token of known outputs: what a row would gain by saying it.

        Args:
            sources: Ids of each sentence, EOS included.
            outputs: Ids of the output of each sentence, EOS included, all of one length; without `given` tokens.

        Returns:
            (sentences, tokens) in nats.
        """

    def move(self, state: S, source: Tensor, target: Tensor, rows: int, within_sentences: bool = False) -> None:
        """Copy what the rows `source` have said, and their sentences, to the places `target`; keep the first `rows`.

        This is how rows branch, how they take the places of others, and how the caches grow and shrink.

        Args:
            state: Rows in flight.
            source: Rows; all are read before any place is written.
            target: As many places, below `rows`; those beyond the present rows are new.
            rows: Rows afterwards. A new place that is not in `target` holds nothing of meaning.
            within_sentences: Whether every place decodes from the same sentence afterwards, as among the hypotheses of
                a beam; what belongs to a sentence is left alone then.
        """


def _special_tokens(model: PreTrainedModel) -> tuple[list[int], int, int]:
    """The tokens that a model's rows are given, the one that ends them, and the one that fills them."""
    generation = model.generation_config
    eos, pad = generation.eos_token_id, model.config.pad_token_id
    begin, forced = generation.decoder_start_token_id, generation.forced_bos_token_id
    begin = model.config.decoder_start_token_id if begin is None else begin
    # A forced first token, the language in mBART-50, M2M100 and NLLB, is given like the start token, not chosen.
    return [begin] if forced is None else [begin, forced], eos[0] if isinstance(eos, list) else eos, pad


def _read_given(engine: Engine[S], state: S) -> S:
    """Let every row read all given tokens but the last, which the first step of a search reads."""
    for token in engine.given[:-1]:
        engine.step(state, torch.full_like(state.sentence, token))
    return state


def _decoder_inputs(engine: Engine, outputs: Tensor) -> Tensor:
    """(sentences, tokens) outputs as the decoder reads them: the given tokens first, the last one left out."""
    given_tokens = [outputs.new_full((len(outputs), 1), token) for token in engine.given]
    return torch.cat([*given_tokens, outputs[:, :-1]], 1)


def _to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A new tensor of the CPU on a device; the host does not wait for the copy."""
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def _padded_sources(engine: Engine, sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """(sentences, source steps) ids, and whether each is a token of its sentence."""
    ids = pad(sources, engine.pad)
    is_token = torch.arange(ids.shape[1]) < torch.tensor([[len(source)] for source in sources])
    return _to_device(ids, engine.device), _to_device(is_token, engine.device)


def _source_mask(is_token: Tensor, sources: Sequence[Sequence[int]], dtype: torch.dtype) -> Tensor | None:
    """The mask of the padding of sources, as `transformers` takes it without asking a device what is in it.

    Args:
        is_token: (sentences, source steps).
        sources: Ids of each sentence.
        dtype: Of the model.

    Returns:
        (sentences, source steps) on a CPU; on another device None without padding, else (sentences, 1, 1, source steps)
        to add to scores.
    """
    if is_token.device.type == "cpu":
        return is_token.long()
    return padding_mask(is_token).to(dtype) if len(set(map(len, sources))) > 1 else None


def _sentence_of_rows(engine: Engine, count: int, rows_each: int | Sequence[int]) -> Tensor:
    """(rows,) the number of each row's sentence, if each of the `count` sentences has so many rows."""
    each = [rows_each] * count if isinstance(rows_each, int) else list(rows_each)
    return _to_device(torch.arange(count).repeat_interleave(torch.tensor(each)), engine.device)


def _token_limits(engine: Engine, count: int, max_tokens: int | Sequence[int]) -> list[int]:
    """The most tokens of each of `count` sentences, which are no more than the model has positions for."""
    limits = [max_tokens] * count if isinstance(max_tokens, int) else list(max_tokens)
    return [min(limit, engine.limit - 1) for limit in limits]


def _true_places(is_true: Tensor, count: int) -> Tensor:
    """(count,) where a mask is true, if it is so often: a device need not tell the host how often it is.

    >>> _true_places(torch.tensor([True, False, True]), 2)
    tensor([0, 2])
    """
    return torch.nonzero_static(is_true, size=count).flatten()


def _moves_to_front(alive: Tensor, left: int) -> tuple[Tensor, Tensor]:
    """How to move rows so that the live ones stand first: live rows from the end move to the places of dead ones.

    >>> _moves_to_front(torch.tensor([False, True, True]), 2)
    (tensor([2]), tensor([0]))

    Args:
        alive: (rows,) booleans.
        left: How many of them are true.

    Returns:
        The rows that move, and the places that they move to.
    """
    source = torch.nonzero(alive[left:]).flatten() + left
    return source, _true_places(~alive[:left], len(source))


def _moved(per_row: Tensor, source: Tensor, target: Tensor, rows: int) -> Tensor:
    """What `Engine.move` does to a tensor that has one entry for each row; in place, unless it grows.

    >>> _moved(torch.tensor([5, 6, 7]), torch.tensor([0, 2]), torch.tensor([1, 3]), 4).tolist()
    [5, 5, 7, 7]
    """
    if rows > len(per_row):
        per_row = torch.cat([per_row, per_row.new_zeros(rows - len(per_row), *per_row.shape[1:])])
    per_row[target] = per_row[source]
    return per_row[:rows]
