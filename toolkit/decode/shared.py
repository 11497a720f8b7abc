"""The engine for the families of models whose attention we replace: all rows of a sentence share its encoder states."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache

from toolkit.decode.attention import NAME, Rows, StepsLayer, new_cache
from toolkit.decode.engine import (
    FAMILIES,
    UNBOUNDED,
    State,
    decoder_inputs,
    moved,
    padded_sources,
    read_given,
    sentence_of_rows,
    special_tokens,
    stays_in_sentences,
)
from toolkit.decode.top_k import log_probabilities

SLICE = {"cpu": 128, "cuda": 8192}  # ours: rows whose logits are computed at a time; 128 x 20 000 stay in the cache
RUN, LONGER = 32, 1.2  # ours: fewest sentences that are encoded together, and how much longer the others may be


@dataclass
class SharedState(State):
    """Rows in flight. The cache has self-attention keys of each row and cross-attention keys of each sentence.

    Attributes:
        rows: Which sentence each row attends to.
    """

    rows: Rows


class SharedEngine:
    """A model of one of `FAMILIES`, ready to decode: an `Engine[SharedState]`.

    Args:
        model: A Marian, BART, mBART, M2M100/NLLB, Pegasus or T5 model in eval mode; its own weights and dtype are used.

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
        self.given, self.eos, self.pad = special_tokens(model)
        self.limit = getattr(self.config, "max_position_embeddings", None) or UNBOUNDED
        self.scale = output_scale(self.config)
        self.wide = torch.empty(0)  # where the logits of a slice become float32 on a CPU: new memory costs more

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> tuple[list[Tensor], list[Tensor], Tensor | None]:
        """Cross-attention keys and values of each decoder layer, and the mask of their padding.

        Runs of sentences with about as many tokens are encoded apart, because padding costs as much as tokens.

        Args:
            sources: Ids of each sentence, EOS included.

        Returns:
            Keys, values: a (sentences, heads, source steps, dim) tensor per layer. Mask: to add to scores,
            (sentences, 1, 1, source steps); None without padding.
        """
        steps = max(map(len, sources))
        runs = [self._encode_run(sources[part]) for part in runs_of_similar([len(source) for source in sources])]
        if len(runs) == 1:
            keys, values, is_token = runs[0]
        else:
            keys, values = (
                [torch.cat([widened(run[kept][layer], steps) for run in runs]) for layer in range(len(runs[0][kept]))]
                for kept in (0, 1)
            )
            is_token = torch.cat([nn.functional.pad(run[2], (0, steps - run[2].shape[1])) for run in runs])
        mask = torch.zeros_like(is_token, dtype=torch.float32).masked_fill_(~is_token, -torch.inf)[:, None, None]
        return keys, values, None if bool(is_token.all()) else mask

    def _encode_run(self, sources: Sequence[Sequence[int]]) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Keys and values as of `encode` for sentences that are padded together, and which steps are tokens."""
        ids, is_token = padded_sources(self, sources)
        encoded = self.model.get_encoder()(input_ids=ids, attention_mask=is_token.long()).last_hidden_state
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        first = torch.full((len(ids), 1), self.given[0], device=self.device)
        # One step of the model's own decoder fills the cross-attention cache, whatever its projections are called.
        self.decoder(
            input_ids=first,
            encoder_hidden_states=encoded,
            encoder_attention_mask=is_token.long(),
            past_key_values=cache,
            use_cache=True,
        )
        layers = cast(list[DynamicLayer], cache.cross_attention_cache.layers)
        keys = [cast(Tensor, layer.keys).contiguous() for layer in layers]
        values = [cast(Tensor, layer.values).contiguous() for layer in layers]
        return keys, values, is_token

    def start(self, sources: Sequence[Sequence[int]], rows_each: int | Sequence[int], steps: int) -> SharedState:
        """See `Engine.start`."""
        keys, values, mask = self.encode(sources)
        sentence = sentence_of_rows(self, len(sources), rows_each)
        place, width = places(sentence, len(sources))
        cache = new_cache(keys, values, steps + len(self.given) - 1)
        return read_given(self, SharedState(cache, sentence, 0, Rows(keys, mask, place, width)))

    def step(self, state: SharedState, ids: Tensor) -> Tensor:
        """See `Engine.step`."""
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
        """See `Engine.logits`."""
        size = SLICE.get(hidden.device.type, 8192)
        for begin in range(0, len(hidden), size):
            part = slice(begin, begin + size)
            logits = self.head(hidden[part] if self.scale == 1.0 else hidden[part] * self.scale)
            yield part, self._widened(logits if self.bias is None else logits + self.bias)

    def _widened(self, logits: Tensor) -> Tensor:
        """Logits in float32."""
        if logits.dtype == torch.float32 or logits.device.type != "cpu":
            return logits.float()
        if len(self.wide) < len(logits):
            with torch.inference_mode(False):
                self.wide = torch.empty(min(SLICE["cpu"], 2 * len(logits)), logits.shape[1])
        return self.wide[: len(logits)].copy_(logits.detach())

    @torch.inference_mode()
    def likelihoods(self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Tensor:
        """See `Engine.likelihoods`."""
        (ids, is_token), chosen = padded_sources(self, sources), torch.tensor(outputs, device=self.device)
        encoded = self.model.get_encoder()(input_ids=ids, attention_mask=is_token.long()).last_hidden_state
        hidden = self.decoder(
            input_ids=decoder_inputs(self, chosen),
            encoder_hidden_states=encoded,
            encoder_attention_mask=is_token.long(),
            use_cache=False,
        ).last_hidden_state[:, len(self.given) - 1 :]
        found = [
            log_probabilities(logits).gather(1, chosen.flatten()[part, None])
            for part, logits in self.logits(hidden.flatten(0, 1))
        ]
        return torch.cat(found).view_as(chosen)

    def move(self, state: SharedState, source: Tensor, target: Tensor, rows: int) -> None:
        """See `Engine.move`."""
        for layer in state.cache.self_attention_cache.layers:
            assert isinstance(layer, StepsLayer)
            layer.move(source, target, rows)
        if not stays_in_sentences(state, source, target, rows):
            state.sentence = moved(state.sentence, source, target, rows)
            state.rows.place, state.rows.width = places(state.sentence, len(state.rows.keys[0]))

    @contextlib.contextmanager
    def attending(self) -> Iterator[None]:
        """Make the decoder attend with `attention.attend` inside the block."""
        config = self.decoder.config  # T5's decoder has a copy of the model's
        own = config._attn_implementation
        config._attn_implementation = NAME
        try:
            yield
        finally:
            config._attn_implementation = own


def runs_of_similar(tokens: Sequence[int]) -> list[slice]:
    """Cut sentences that stand in order of length into runs without much padding.

    >>> runs_of_similar([3] * 40 + [4] * 10 + [9] * 2)
    [slice(0, 40, None), slice(40, 52, None)]
    """
    cuts = [0]
    for n, length in enumerate(tokens):
        if n - cuts[-1] >= RUN and length > tokens[n - 1] and length > LONGER * tokens[cuts[-1]]:
            cuts.append(n)
    return [slice(begin, end) for begin, end in zip(cuts, [*cuts[1:], len(tokens)], strict=True)]


def widened(kept: Tensor, steps: int) -> Tensor:
    """Keys or values (sentences, heads, source steps, dim) with so many source steps, the further ones zero."""
    return nn.functional.pad(kept, (0, 0, 0, steps - kept.shape[2]))


def output_scale(config: PreTrainedConfig) -> float:
    """The factor of the last hidden states before the output layer: T5 and UMT5 scale where it is the embeddings."""
    scaled = {"t5": "scale_decoder_outputs", "umt5": "tie_word_embeddings"}.get(config.model_type)
    return config.d_model**-0.5 if scaled and getattr(config, scaled) else 1.0


def places(sentence: Tensor, sentences: int) -> tuple[Tensor | None, int]:
    """The place of each row in a (sentences, width) grid, and the width: the greatest number of rows of one sentence.

    The place is None where the rows fill the grid in its order.

    >>> places(torch.tensor([1, 0, 1]), 2)
    (tensor([2, 0, 3]), 2)
    >>> places(torch.tensor([0, 0, 1, 1]), 2)
    (None, 2)
    """
    counts = torch.bincount(sentence, minlength=sentences)
    width = int(counts.max())
    if torch.equal(sentence, torch.arange(sentences, device=sentence.device).repeat_interleave(width)):
        return None, width
    order = torch.argsort(sentence, stable=True)
    first = counts.cumsum(0) - counts
    number = torch.arange(len(sentence), device=sentence.device)
    place = torch.empty_like(sentence)
    place[order] = sentence[order] * width + number - first[sentence[order]]
    return place, width
