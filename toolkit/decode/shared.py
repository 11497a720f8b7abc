"""The engine for the families of models whose attention we replace: all rows of a sentence share its encoder states."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache

from toolkit.decode._attention import NAME, Rows, StepsLayer, new_cache
from toolkit.decode._fixed import FixedSteps, fixed_steps_for
from toolkit.decode._kernels import NARROW, step_kernels
from toolkit.decode._layers import LAYERED, Layers, SourceStates, compute_step, for_device, read_layers, source_states
from toolkit.decode._source import encode_in_runs
from toolkit.decode._top_k import token_log_probabilities
from toolkit.decode.engine import (
    UNBOUNDED,
    State,
    _decoder_inputs,
    _moved,
    _padded_sources,
    _read_given,
    _sentence_of_rows,
    _source_mask,
    _special_tokens,
    _to_device,
)

SLICE = {"cpu": 128, "cuda": 8192}  # ours: rows whose logits are computed at a time; 128 x 20 000 stay in the cache
FAMILIES = (*LAYERED, "t5", "mt5", "umt5")  # decoders of `SharedEngine`


@dataclass
class _SharedState(State):
    """Rows in flight.

    Attributes:
        cache: Self-attention keys and values of each row, and cross-attention keys and values of each sentence.
        rows: Which sentence each row attends to.
        source: The cross-attention keys and values as `compute_step` attends to them; none for T5.
        fixed: Where the self-attention keys and values are while steps have fixed shapes; None with plain steps, which
            have them in `cache`.
    """

    cache: EncoderDecoderCache
    rows: Rows
    source: list[SourceStates]
    fixed: FixedSteps | None = None


class SharedEngine:
    """A model of one of `FAMILIES`, ready to decode: an `Engine[_SharedState]`.

    Args:
        model: A Marian, BART, mBART, M2M100/NLLB, Pegasus or T5 model in eval mode; its own weights and dtype are used.

    Attributes:
        graphs: Whether the steps of a decoder of our own layers have fixed shapes, which a GPU replays as CUDA graphs;
            by default on a GPU. Elsewhere they give the same and are slower.
        kernels: Whether Triton's kernels compute the attention and the norms, where there are any (`_kernels.py`); by
            default they do. With them steps of many rows are no graphs (`_fixed.py`).

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
        self.graphs, self.kernels = self.device.type == "cuda", True
        self.decoder, self.head = model.get_decoder(), model.get_output_embeddings()
        bias = getattr(model, "final_logits_bias", None)
        self.bias = bias if bias is not None and bool(bias.any()) else None
        self.given, self.eos, self.pad = _special_tokens(model)
        self.limit = getattr(self.config, "max_position_embeddings", None) or UNBOUNDED
        self.scale = _output_scale(self.config)
        self.layers: Layers | None = None  # read anew for every batch; T5's decoder runs itself
        self.wide = torch.empty(0)  # where the logits of a slice become float32 on a CPU: new memory costs more

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> tuple[list[Tensor], list[Tensor], Tensor | None]:
        """Keys and values of the sources, and the mask of their padding: see `encode_in_runs`."""
        if self.config.model_type in LAYERED:
            self.layers = read_layers(self.decoder)
        return encode_in_runs(sources, self._encode_run)

    def _encode_run(self, sources: Sequence[Sequence[int]]) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Keys and values, see `encode`, of sentences that are padded together, and which steps are tokens."""
        ids, is_token = _padded_sources(self, sources)
        mask = _source_mask(is_token, sources, self.model.dtype)
        encoded = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        if self.layers is not None:
            return *source_states(self.layers, encoded), is_token
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        first = torch.full((len(ids), 1), self.given[0], device=self.device)
        # One step of the model's own decoder fills the cross-attention cache, whatever its projections are called.
        self.decoder(
            input_ids=first,
            encoder_hidden_states=encoded,
            encoder_attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
        )
        layers = cast(list[DynamicLayer], cache.cross_attention_cache.layers)
        keys = [cast(Tensor, layer.keys).contiguous() for layer in layers]
        values = [cast(Tensor, layer.values).contiguous() for layer in layers]
        return keys, values, is_token

    def start(self, sources: Sequence[Sequence[int]], rows_each: int | Sequence[int], steps: int) -> _SharedState:
        """See `Engine.start`."""
        keys, values, mask = self.encode(sources)
        sentence = _sentence_of_rows(self, len(sources), rows_each)
        cache = new_cache(keys, values, steps + len(self.given) - 1)
        source = [] if self.layers is None else for_device(keys, values)
        rows = Rows.of(keys, mask, sentence, step_kernels(keys[0]) if self.kernels else None)
        state = _SharedState(sentence, 0, cache, rows, source)
        fixed = fixed_steps_for(self.decoder, self.layers) if self.graphs and self.layers is not None else None
        if fixed is not None and fixed.start(state, keys, values, rows, steps + len(self.given) - 1):
            state.fixed = fixed
        return _read_given(self, state)

    def step(self, state: _SharedState, ids: Tensor) -> Tensor:
        """See `Engine.step`."""
        if self.layers is not None:
            state.steps += 1
            if state.fixed is not None:
                hidden = state.fixed.step(ids, state.sentence)
                if hidden is not None:
                    return hidden
                self._take_plain_steps(state)
            return compute_step(self.layers, ids, state.steps - 1, _own_steps(state), state.source, state.rows)
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
            yield part, self._widen_logits(logits if self.bias is None else logits + self.bias)

    def _widen_logits(self, logits: Tensor) -> Tensor:
        """Logits in float32; those in 16 bits on another device than a CPU as they are."""
        if logits.device.type != "cpu":
            # of a wider matrix (`prepare_for_gpu`) a copy, unless they are in 16 bits
            return logits if logits.dtype in NARROW else logits.float().contiguous()
        if logits.dtype == torch.float32:
            return logits
        if len(self.wide) < len(logits):
            with torch.inference_mode(False):
                self.wide = torch.empty(min(SLICE["cpu"], 2 * len(logits)), logits.shape[1])
        return self.wide[: len(logits)].copy_(logits.detach())

    @torch.inference_mode()
    def likelihoods(self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Tensor:
        """See `Engine.likelihoods`."""
        (ids, is_token), output_ids = _padded_sources(self, sources), _to_device(torch.tensor(outputs), self.device)
        mask = _source_mask(is_token, sources, self.model.dtype)
        encoded = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        hidden = self.decoder(
            input_ids=_decoder_inputs(self, output_ids),
            encoder_hidden_states=encoded,
            encoder_attention_mask=mask,
            use_cache=False,
        ).last_hidden_state[:, len(self.given) - 1 :]
        logprobs = [
            token_log_probabilities(logits, output_ids.flatten()[part])
            for part, logits in self.logits(hidden.flatten(0, 1))
        ]
        return torch.cat(logprobs).view_as(output_ids)

    def move(
        self, state: _SharedState, source: Tensor, target: Tensor, rows: int, within_sentences: bool = False
    ) -> None:
        """See `Engine.move`."""
        if state.fixed is not None and not state.fixed.move(source, target, rows):
            self._take_plain_steps(state)
        if state.fixed is None:
            for layer in _own_steps(state):
                layer.move(source, target, rows)
        if not within_sentences:
            state.sentence = _moved(state.sentence, source, target, rows)
            if state.fixed is None:
                state.rows.put(state.sentence)
            else:
                state.fixed.has_moved = True

    def _take_plain_steps(self, state: _SharedState) -> None:
        """Go on without steps of fixed shapes."""
        assert state.fixed is not None
        state.fixed.leave(_own_steps(state))
        state.fixed = None
        state.rows.put(state.sentence)

    @contextlib.contextmanager
    def attending(self) -> Iterator[None]:
        """Make the decoder attend with `_attention._attend` inside the block."""
        config = self.decoder.config  # T5's decoder has a copy of the model's
        implementation = config._attn_implementation
        config._attn_implementation = NAME
        try:
            yield
        finally:
            config._attn_implementation = implementation


def _own_steps(state: _SharedState) -> list[StepsLayer]:
    """The self-attention caches of each layer."""
    return cast(list[StepsLayer], state.cache.self_attention_cache.layers)


def _output_scale(config: PreTrainedConfig) -> float:
    """The factor of the last hidden states before the output layer: T5 and UMT5 scale where it is the embeddings."""
    scaled = {"t5": "scale_decoder_outputs", "umt5": "tie_word_embeddings"}.get(config.model_type)
    return config.d_model**-0.5 if scaled and getattr(config, scaled) else 1.0
