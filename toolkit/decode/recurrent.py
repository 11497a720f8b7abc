"""The engine for translators whose decoder is recurrent (SSRU, the models of Firefox).

A row remembers one vector a layer, so to branch or to move it copies (layers, dim) numbers, whatever its length. Rows
of a sentence attend to the same encoder states, as in `shared.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from toolkit.decode._attention import Rows, attend_source
from toolkit.decode._kernels import step_kernels
from toolkit.decode._source import encode_in_runs
from toolkit.decode._top_k import token_log_probabilities
from toolkit.decode.engine import (
    State,
    _moved,
    _padded_sources,
    _sentence_of_rows,
    _special_tokens,
    _to_device,
)
from toolkit.models.padding import padding_mask
from toolkit.models.shortlist import Shortlist
from toolkit.models.ssru import SsruModel

SLICE = {"cpu": 128, "cuda": 8192}  # ours: rows whose logits are computed at a time


@dataclass
class _RecurrentState(State):
    """Rows in flight.

    Attributes:
        memory: Of each layer, (rows, dim); float32, or float64 as the model.
        values: Of each layer, (sentences, heads, source steps, dim of a head).
        rows: Which sentence each row attends to, and the keys of each layer.
    """

    memory: list[Tensor]
    values: list[Tensor]
    rows: Rows


class RecurrentEngine:
    """A translator with an SSRU decoder, ready to decode: an `Engine[_RecurrentState]`.

    Args:
        model: In eval mode.
        shortlist: Where given, the rows of a sentence say only tokens that it permits for the sentence, as in Firefox,
            and log-probabilities are those among these tokens. None permits the whole vocabulary.
    """

    def __init__(self, model: SsruModel, shortlist: Shortlist | None = None):
        self.model, self.config, self.device = model, model.config, model.device
        self.tokens: int = model.config.decoder_vocab_size or model.config.vocab_size
        self.decoder, self.shortlist = model.get_decoder(), shortlist
        self.given, self.eos, self.pad = _special_tokens(model)
        self.limit = self.config.max_position_embeddings
        self.refused: Tensor | None = None  # (sentences, vocabulary) what the shortlist leaves out, of the last `start`

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]], rows_each: int | Sequence[int], steps: int) -> _RecurrentState:
        """See `Engine.start`."""
        keys, values, mask = encode_in_runs(sources, self._encode_run)
        sentence = _sentence_of_rows(self, len(sources), rows_each)
        self.refused = self._refused_tokens(sources)
        number = torch.promote_types(self.model.dtype, torch.float32)
        memory = [torch.zeros(len(sentence), self.config.d_model, dtype=number, device=self.device) for _ in keys]
        return _RecurrentState(sentence, 0, memory, values, Rows.of(keys, mask, sentence, step_kernels(keys[0])))

    def _encode_run(self, sources: Sequence[Sequence[int]]) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Keys and values for `encode_in_runs`."""
        ids, is_token = _padded_sources(self, sources)
        encoded = self.model.get_encoder()(input_ids=ids, attention_mask=is_token.long()).last_hidden_state
        pairs = [layer.keys_and_values(encoded) for layer in self.decoder.recurrent_layers()]
        return [keys for keys, _ in pairs], [values for _, values in pairs], is_token

    def _refused_tokens(self, sources: Sequence[Sequence[int]]) -> Tensor | None:
        """(sentences, vocabulary) what the shortlist leaves out for each sentence."""
        if self.shortlist is None:
            return None
        permitted = [self.shortlist.permitted(source, self.tokens) for source in sources]
        return torch.from_numpy(~np.stack(permitted)).to(self.device)

    def step(self, state: _RecurrentState, ids: Tensor) -> Tensor:
        """See `Engine.step`; with a shortlist the last column is the number of the row's sentence, for `logits`."""
        x = self.decoder.embed(ids, state.steps)
        for layer, memory, keys, values in zip(
            self.decoder.recurrent_layers(), state.memory, state.rows.keys, state.values, strict=True
        ):
            added, forget = layer.unit.gates(x)
            memory.mul_(forget).add_(added)
            x = layer.after_unit(x, memory)
            query = layer.encoder_attn.q_proj(x).unflatten(-1, (layer.heads, -1))
            attended = attend_source(query, keys, values, query.shape[-1] ** -0.5, state.rows)
            x = layer.after_attention(x, attended.flatten(1))
        state.steps += 1
        return x if self.refused is None else _beside(x, state.sentence)

    def logits(self, hidden: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """See `Engine.logits`."""
        return self._logits(hidden, self.refused)

    def _logits(self, hidden: Tensor, refused: Tensor | None) -> Iterator[tuple[slice, Tensor]]:
        """`logits` where the shortlist leaves out `refused`, and the last column has the rows' sentences."""
        size = SLICE.get(hidden.device.type, 8192)
        for begin in range(0, len(hidden), size):
            part = slice(begin, begin + size)
            states = hidden[part, : self.config.d_model].to(self.model.dtype)
            logits = self.model.lm_head(states)
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
            if refused is not None:
                logits.masked_fill_(refused[hidden[part, -1].long()], -torch.inf)
            yield part, logits

    @torch.inference_mode()
    def likelihoods(self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Tensor:
        """See `Engine.likelihoods`; with a shortlist, minus infinity for a token that it leaves out."""
        keys, values, is_token = self._encode_run(sources)
        tokens = _to_device(torch.tensor(outputs), self.device)
        hidden = self.decoder.read(tokens, keys, values, padding_mask(is_token)).flatten(0, 1)
        refused = self._refused_tokens(sources)
        if refused is not None:
            hidden = _beside(hidden, _sentence_of_rows(self, len(sources), tokens.shape[1]))
        scores = [
            token_log_probabilities(logits, tokens.flatten()[part]) for part, logits in self._logits(hidden, refused)
        ]
        return torch.cat(scores).view_as(tokens)

    def move(
        self, state: _RecurrentState, source: Tensor, target: Tensor, rows: int, within_sentences: bool = False
    ) -> None:
        """See `Engine.move`."""
        state.memory = [_moved(memory, source, target, rows) for memory in state.memory]
        if not within_sentences:
            state.sentence = _moved(state.sentence, source, target, rows)
            state.rows.put(state.sentence)


def _beside(hidden: Tensor, sentence: Tensor) -> Tensor:
    """(rows, width + 1) hidden states, and in the last column the number of the row's sentence, which is exact."""
    return torch.cat([hidden.to(torch.promote_types(hidden.dtype, torch.float32)), sentence[:, None]], 1)
