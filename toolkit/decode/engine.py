"""Steps of a decoder whose rows share the encoder states of their sentences.

The engine encodes a few sentences once, then advances many rows by one token at a time: it knows the model, the caches
and which rows are still alive, and nothing of how a token is chosen (`sampling.py`). Rows that are done leave at once:
the last live rows move into their places, so that every tensor stays dense and nothing is computed for padding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache

from toolkit.decode.attention import NAME, Rows, StepsLayer, new_cache

SLICE = {"cpu": 128, "cuda": 8192}  # ours: rows whose logits are computed at a time; 128 x 20 000 stay in the cache
FAMILIES = ("marian", "bart", "mbart", "m2m_100", "pegasus", "blenderbot", "plbart")  # decoders that the engine drives


@dataclass
class State:
    """Rows in flight.

    Attributes:
        cache: Self-attention steps of each row, cross-attention keys of each sentence.
        rows: Which sentence a row attends to.
        sentence: (rows,) its number.
        steps: How many tokens every row has.
    """

    cache: EncoderDecoderCache
    rows: Rows
    sentence: Tensor
    steps: int = 0


class Engine:
    """A seq2seq model, ready to decode.

    Attributes:
        given: The tokens that every row begins with: the start token and, where the model has one, the forced first.
            They are no part of what a row says, of its length, or of its log-probability.
        start_id: The last of them, the token that the first `step` is given.
        limit: Positions of the model.

    Args:
        model: A Marian, BART, mBART, M2M100/NLLB or Pegasus model in eval mode; its own weights and dtype are used.

    Raises:
        ValueError: A model of another family.
    """

    def __init__(self, model: PreTrainedModel):
        family = model.config.model_type
        if family not in FAMILIES:
            raise ValueError(
                f"wanted a model of one of {', '.join(FAMILIES)}, got {family!r}; ExpandedEngine drives any other"
            )
        self.model, self.config, self.device = model, model.config, model.device
        self.decoder, self.head = model.get_decoder(), model.get_output_embeddings()
        bias = getattr(model, "final_logits_bias", None)
        self.bias = bias if bias is not None and bool(bias.any()) else None
        self._read_tokens()
        self.limit = self.config.max_position_embeddings

    def _read_tokens(self) -> None:
        generation = self.model.generation_config
        self.eos, self.pad = _first(generation.eos_token_id), self.config.pad_token_id
        begin, forced = generation.decoder_start_token_id, generation.forced_bos_token_id
        begin = self.config.decoder_start_token_id if begin is None else begin
        # A forced first token, the language in mBART-50, M2M100 and NLLB, is given like the start token, not chosen.
        self.given = [begin] if forced is None else [begin, forced]
        self.start_id = self.given[-1]

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> tuple[list[Tensor], list[Tensor], Tensor | None]:
        """Cross-attention keys and values of each decoder layer, and the mask of their padding.

        Args:
            sources: Ids of each sentence, EOS included.

        Returns:
            Keys, values: a (sentences, heads, source steps, dim) tensor per layer. Mask: to add to scores,
            (sentences, 1, 1, source steps); None without padding.
        """
        ids, real = self._padded(sources)
        encoded = self.model.get_encoder()(input_ids=ids, attention_mask=real.long()).last_hidden_state
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        first = torch.full((len(ids), 1), self.given[0], device=self.device)
        # One step of the model's own decoder fills the cross-attention cache, whatever its projections are called.
        self.decoder(
            input_ids=first,
            encoder_hidden_states=encoded,
            encoder_attention_mask=real.long(),
            past_key_values=cache,
            use_cache=True,
        )
        layers = cast(list[DynamicLayer], cache.cross_attention_cache.layers)
        keys = [cast(Tensor, layer.keys).contiguous() for layer in layers]
        values = [cast(Tensor, layer.values).contiguous() for layer in layers]
        mask = torch.zeros_like(real, dtype=torch.float32).masked_fill_(~real, -torch.inf)[:, None, None]
        return keys, values, None if bool(real.all()) else mask

    def _padded(self, sources: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """(sentences, source steps) ids, and whether they are of a token."""
        ids = torch.full((len(sources), max(map(len, sources))), self.pad)
        for row, source in zip(ids, sources, strict=True):
            row[: len(source)] = torch.tensor(source)
        real = torch.arange(ids.shape[1]) < torch.tensor([[len(s)] for s in sources])
        return ids.to(self.device), real.to(self.device)

    def _sentences(self, sources: int, rows_each: int | Sequence[int]) -> tuple[Tensor, list[int]]:
        """(rows,) the sentence of each row, and how many rows each sentence has."""
        each = [rows_each] * sources if isinstance(rows_each, int) else list(rows_each)
        return torch.arange(sources, device=self.device).repeat_interleave(torch.tensor(each).to(self.device)), each

    def start(self, sources: Sequence[Sequence[int]], rows_each: int | Sequence[int], steps: int) -> State:
        """Some rows of every sentence, before the first token that they choose.

        Args:
            sources: Ids of each sentence, EOS included.
            rows_each: Rows that decode from one sentence; one number, or one for each sentence.
            steps: Most tokens of a row.
        """
        keys, values, mask = self.encode(sources)
        sentence, each = self._sentences(len(sources), rows_each)
        place, width = (None, each[0]) if len(set(each)) == 1 else places(sentence, len(sources))
        cache = new_cache(keys, values, steps + len(self.given) - 1)
        state = State(cache, Rows(keys, mask, place, width), sentence)
        self._begin(state)
        return state

    def _begin(self, state: State) -> None:
        """Advance every row by all given tokens but the last."""
        for token in self.given[:-1]:
            self.step(state, torch.full_like(state.sentence, token))

    def step(self, state: State, ids: Tensor) -> Tensor:
        """Advance every row by one token.

        Args:
            state: Rows in flight; its caches grow by one step.
            ids: (rows,) the tokens said last; `start_id` before the first step.

        Returns:
            (rows, width) hidden states, for `logits`.
        """
        unused = state.rows.keys[0].new_empty(1, 1, self.config.d_model)  # the keys are in the cache already
        with self.attending():
            hidden = self.decoder(
                input_ids=ids[:, None],
                encoder_hidden_states=unused,
                past_key_values=state.cache,
                use_cache=True,
                rows=state.rows,
            ).last_hidden_state
        state.steps += 1
        return hidden[:, -1]

    def logits(self, hidden: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Logits of a slice of rows at a time: the slice and (slice rows, vocabulary)."""
        size = SLICE.get(hidden.device.type, 8192)
        for begin in range(0, len(hidden), size):
            part = slice(begin, begin + size)
            logits = self.head(hidden[part])
            yield part, logits if self.bias is None else logits + self.bias

    @torch.inference_mode()
    def likelihoods(self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Tensor:
        """Log-probabilities of given outputs, token by token: what rows would gain that say them.

        Args:
            sources: Ids of each sentence, EOS included.
            outputs: For each sentence what is said of it, EOS included, all of one length; without given tokens.

        Returns:
            (sentences, tokens) in nats.
        """
        (ids, real), chosen = self._padded(sources), torch.tensor(outputs, device=self.device)
        hidden = self.decoder(
            input_ids=self._told(chosen),
            encoder_hidden_states=self.model.get_encoder()(input_ids=ids, attention_mask=real.long()).last_hidden_state,
            encoder_attention_mask=real.long(),
            use_cache=False,
        ).last_hidden_state[:, len(self.given) - 1 :]
        found = [
            torch.log_softmax(logits.float(), -1).gather(1, chosen.flatten()[part, None])
            for part, logits in self.logits(hidden.flatten(0, 1))
        ]
        return torch.cat(found).view_as(chosen)

    def _told(self, outputs: Tensor) -> Tensor:
        """(sentences, tokens) outputs as the decoder reads them: the given tokens first, the last one left out."""
        given = torch.tensor(self.given, device=self.device).expand(len(outputs), -1)
        return torch.cat([given, outputs[:, :-1]], 1)

    def copy(self, state: State, source: Tensor, target: Tensor) -> None:
        """Let the rows `target` go on from what the rows `source` of the same sentences have said.

        Args:
            state: Rows in flight.
            source: Rows, none of which is in `target`.
            target: As many rows.
        """
        for layer in state.cache.self_attention_cache.layers:
            assert isinstance(layer, StepsLayer)
            layer.move(source, target, layer.keys.shape[1])

    def keep(self, state: State, alive: Tensor) -> tuple[Tensor, Tensor, int]:
        """Drop the rows that are done: live rows from the end move into their places.

        Args:
            state: Rows in flight.
            alive: (rows,) booleans.

        Returns:
            The moved rows' old places, their new places, and how many rows are left, for what the caller keeps per row.
        """
        source, target, left = moves(alive)
        state.sentence[target] = state.sentence[source]
        state.sentence = state.sentence[:left]
        for layer in state.cache.self_attention_cache.layers:
            assert isinstance(layer, StepsLayer)
            layer.move(source, target, left)
        state.rows.place, state.rows.width = places(state.sentence, len(state.rows.keys[0]))
        return source, target, left

    @contextlib.contextmanager
    def attending(self) -> Iterator[None]:
        """Let the decoder attend with `attention.attend`."""
        own = self.config._attn_implementation
        self.config._attn_implementation = NAME
        try:
            yield
        finally:
            self.config._attn_implementation = own


def moves(alive: Tensor) -> tuple[Tensor, Tensor, int]:
    """How the live rows come to stand first: rows from the end, the dead places that they take, how many are left.

    >>> moves(torch.tensor([False, True, True]))
    (tensor([2]), tensor([0]), 2)
    """
    left = int(alive.sum())
    return torch.nonzero(alive[left:]).flatten() + left, torch.nonzero(~alive[:left]).flatten(), left


def places(sentence: Tensor, sentences: int) -> tuple[Tensor, int]:
    """The place of each row in a (sentences, width) grid, and the width: the greatest number of rows of one sentence.

    >>> places(torch.tensor([1, 0, 1]), 2)
    (tensor([2, 0, 3]), 2)
    """
    counts = torch.bincount(sentence, minlength=sentences)
    width, order = int(counts.max()), torch.argsort(sentence, stable=True)
    first = counts.cumsum(0) - counts
    number = torch.arange(len(sentence), device=sentence.device)
    place = torch.empty_like(sentence)
    place[order] = sentence[order] * width + number - first[sentence[order]]
    return place, width


def _first(token: int | list[int]) -> int:
    return token[0] if isinstance(token, list) else token
