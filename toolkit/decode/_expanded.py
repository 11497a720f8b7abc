"""The engine for any other seq2seq model: its own attention, every row with its own copy of the encoder states.

It is slower than `shared.py` and gives the same results. All that it needs of a model is `transformers`' own forward
pass and caches.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from toolkit.decode.engine import (
    UNBOUNDED,
    State,
    _decoder_inputs,
    _moved,
    _padded_sources,
    _read_given,
    _sentence_of_rows,
    _special_tokens,
)

LIMITS = ("max_position_embeddings", "max_decoder_position_embeddings")  # of LED the second
LOGITS = 1 << 26  # ours: numbers of the logits that are held at a time when outputs are scored; 256 MB in float32


@dataclass
class _ExpandedState(State):
    """Rows in flight.

    Attributes:
        cache: Keys and values of what every row has said, and of its source.
        encoded: (rows, source steps, width) encoder states.
        mask: (rows, source steps) 1 where a state is that of a token, 0 where it is that of padding.
    """

    cache: EncoderDecoderCache
    encoded: Tensor
    mask: Tensor


class ExpandedEngine:
    """Any encoder-decoder model of `transformers`, ready to decode: an `Engine[_ExpandedState]`.

    One warning says that it is slow.

    Args:
        model: In eval mode.

    Raises:
        ValueError: The model has no encoder.
    """

    def __init__(self, model: PreTrainedModel):
        if not model.config.is_encoder_decoder:
            raise ValueError(
                f"wanted an encoder-decoder model, got {model.config.model_type!r}; choose a seq2seq checkpoint"
            )
        warnings.warn(
            f"{model.config.model_type} models decode without shared encoder states: slower, with the same result",
            stacklevel=2,  # one place, engine_of, and so one warning
        )
        self.model, self.config, self.device = model, model.config, model.device
        self.given, self.eos, self.pad = _special_tokens(model)
        decoder = self.config.get_text_config(decoder=True)  # of some models a configuration of its own
        self.vocabulary = decoder.vocab_size
        self.limit = min((limit for name in LIMITS if (limit := getattr(decoder, name, None))), default=UNBOUNDED)

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]], rows_each: int | Sequence[int], steps: int) -> _ExpandedState:
        """See `Engine.start`."""
        ids, is_token = _padded_sources(self, sources)
        encoded = self.model.get_encoder()(input_ids=ids, attention_mask=is_token.long()).last_hidden_state
        sentence = _sentence_of_rows(self, len(sources), rows_each)
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        return _read_given(self, _ExpandedState(sentence, 0, cache, encoded[sentence], is_token[sentence].long()))

    def step(self, state: _ExpandedState, ids: Tensor) -> Tensor:
        """Advance every row by one token; (rows, vocabulary) logits, which `logits` cuts."""
        state.steps += 1
        return self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=cast(torch.FloatTensor, state.encoded)),
            attention_mask=state.mask,
            decoder_input_ids=ids[:, None],
            past_key_values=state.cache,
            use_cache=True,
        ).logits[:, -1]

    def logits(self, hidden: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """See `Engine.logits`; all rows at a time, because `step` has computed them."""
        yield slice(0, len(hidden)), hidden.to(torch.float32, copy=True)

    @torch.inference_mode()
    def likelihoods(self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Tensor:
        """See `Engine.likelihoods`; the model's own forward pass, a few sentences at a time."""
        at_a_time = max(1, LOGITS // (self.vocabulary * max(map(len, outputs))))
        logprobs = []
        for first in range(0, len(sources), at_a_time):
            ids, is_token = _padded_sources(self, sources[first : first + at_a_time])
            output_ids = torch.tensor(outputs[first : first + at_a_time], device=self.device)
            logits = self.model(
                input_ids=ids,
                attention_mask=is_token.long(),
                decoder_input_ids=_decoder_inputs(self, output_ids),
                use_cache=False,
            ).logits[:, len(self.given) - 1 :]
            logprobs.append(torch.log_softmax(logits.float(), -1).gather(2, output_ids[..., None])[..., 0])
        return torch.cat(logprobs)

    def move(
        self, state: _ExpandedState, source: Tensor, target: Tensor, rows: int, within_sentences: bool = False
    ) -> None:
        """See `Engine.move`. Rows of one sentence have the same source, so only self-attention moves among them."""
        caches = [state.cache.self_attention_cache]
        if not within_sentences:
            caches.append(state.cache.cross_attention_cache)
            state.encoded, state.mask, state.sentence = (
                _moved(t, source, target, rows) for t in (state.encoded, state.mask, state.sentence)
            )
        for layer in (cast(DynamicLayer, layer) for cache in caches for layer in cache.layers):
            keys, values = cast(Tensor, layer.keys), cast(Tensor, layer.values)
            layer.keys, layer.values = (_moved(t, source, target, rows) for t in (keys, values))
