"""Translators with a transformer encoder and a decoder of simple recurrent units, as Firefox has them.

What such a decoder has read is one vector for each of its layers, however long the output: (layers, dim) numbers
instead of keys and values of all steps. Its units need no product with that vector, so the products of all positions of
a known output are computed at once (`RecurrentDecoder.read`).

Source: Kim et al. 2019, "From Research to Production and Back: Ludicrously Fast Neural Machine Translation", section
3.2 (SSRU); the names of layers are those of `transformers`' MarianMTModel where it has the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, MarianConfig
from transformers.models.marian.modeling_marian import MarianEncoder, MarianPreTrainedModel

EPSILON = 1e-6  # Marian's, of layer normalisation; torch's is 1e-5
LONGEST_WAVE = 10_000.0  # Vaswani et al. 2017, section 3.5
POSITIONS = 1024  # ours: Marian computes positions without a limit


class SsruConfig(MarianConfig):
    """The configuration of `SsruModel`: that of a Marian model, whose decoder layers are recurrent."""

    model_type = "ssru"


class _RecurrentUnit(nn.Module):
    """The simple recurrent unit: f = sigmoid(W_f x + b_f); c' = f c + (1 - f) W x; its output is relu(c')."""

    def __init__(self, dim: int):
        super().__init__()
        self.input_and_forget = nn.Linear(dim, 2 * dim)  # W, which has no bias, and W_f with b_f

    def gates(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What is added to the memory, (1 - f) W x, and the share f of the memory that stays; at least float32."""
        added, forget = self.input_and_forget(x).to(torch.promote_types(x.dtype, torch.float32)).chunk(2, -1)
        forget = forget.sigmoid()
        return added * (1 - forget), forget


class _SourceAttention(nn.Module):
    """The layers of the attention to the source; `toolkit.decode` computes the attention itself."""

    def __init__(self, dim: int):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(dim, dim) for _ in range(4))


class _RecurrentLayer(nn.Module):
    """A layer of the decoder: a recurrent unit, attention to the source and a feed-forward network, each normalised."""

    def __init__(self, config: SsruConfig):
        super().__init__()
        dim, self.heads = config.d_model, config.decoder_attention_heads
        self.unit, self.unit_layer_norm = _RecurrentUnit(dim), nn.LayerNorm(dim, EPSILON)
        self.encoder_attn, self.encoder_attn_layer_norm = _SourceAttention(dim), nn.LayerNorm(dim, EPSILON)
        self.fc1, self.fc2 = nn.Linear(dim, config.decoder_ffn_dim), nn.Linear(config.decoder_ffn_dim, dim)
        self.final_layer_norm = nn.LayerNorm(dim, EPSILON)

    def keys_and_values(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Of (sentences, source steps, dim) encoder states; both (sentences, heads, source steps, dim of a head)."""
        return self.by_heads(self.encoder_attn.k_proj(encoded)), self.by_heads(self.encoder_attn.v_proj(encoded))

    def by_heads(self, x: Tensor) -> Tensor:
        """(rows, steps, dim) as (rows, heads, steps, dim of a head)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2).contiguous()

    def after_unit(self, x: Tensor, memory: Tensor) -> Tensor:
        """The input of the attention, from the unit's input and its memory."""
        return self.unit_layer_norm(x + memory.relu().to(x.dtype))

    def after_attention(self, x: Tensor, attended: Tensor) -> Tensor:
        """The output of the layer, from the input of the attention and what the heads attended to, (..., dim)."""
        x = self.encoder_attn_layer_norm(x + self.encoder_attn.out_proj(attended))
        return self.final_layer_norm(x + self.fc2(self.fc1(x).relu()))


class _RecurrentDecoder(nn.Module):
    """The decoder. Its first input is a vector of zeros in place of an embedding."""

    positions: Tensor

    def __init__(self, config: SsruConfig):
        super().__init__()
        assert config.decoder_vocab_size is not None
        self.dim = config.d_model
        self.embed_tokens = nn.Embedding(config.decoder_vocab_size, config.d_model)
        self.layers = nn.ModuleList(_RecurrentLayer(config) for _ in range(config.decoder_layers))
        self.register_buffer("positions", _positions(config.max_position_embeddings, config.d_model), persistent=False)

    def recurrent_layers(self) -> list[_RecurrentLayer]:
        """The layers."""
        return [cast(_RecurrentLayer, layer) for layer in self.layers]

    def embed(self, ids: Tensor, position: int) -> Tensor:
        """(rows, dim) inputs of one step; ids are those of the step before, and do not count at position 0."""
        if position == 0:
            return self.positions[0].to(self.embed_tokens.weight.dtype).expand(len(ids), -1)
        return self.embed_tokens(ids) * math.sqrt(self.dim) + self.positions[position]

    def read(self, outputs: Tensor, keys: Sequence[Tensor], values: Sequence[Tensor], mask: Tensor | None) -> Tensor:
        """The last hidden states of known outputs, all positions of a layer at once.

        Args:
            outputs: (sentences, steps) ids.
            keys: Of each layer, see `RecurrentLayer.keys_and_values`.
            values: Likewise.
            mask: (sentences, 1, 1, source steps) added to the scores: 0 or minus infinity; None without padding.

        Returns:
            (sentences, steps, dim); those of step t are for predicting token t.
        """
        embedded = self.embed_tokens(outputs[:, :-1]) * math.sqrt(self.dim)
        x = torch.cat([embedded.new_zeros(len(outputs), 1, self.dim), embedded], 1) + self.positions[: outputs.shape[1]]
        for layer, key, value in zip(self.recurrent_layers(), keys, values, strict=True):
            added, forget = layer.unit.gates(x)
            memory, memories = torch.zeros_like(added[:, 0]), []
            for step in range(outputs.shape[1]):
                memory = torch.addcmul(added[:, step], forget[:, step], memory)
                memories.append(memory)
            x = layer.after_unit(x, torch.stack(memories, 1))
            query = layer.by_heads(layer.encoder_attn.q_proj(x))
            bias = None if mask is None else mask.to(query.dtype)
            attended = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
            x = layer.after_attention(x, attended.transpose(1, 2).flatten(2))
        return x


class SsruModel(MarianPreTrainedModel):
    """A transformer encoder and a recurrent decoder, whose embeddings are its output layer as well.

    Token 1, <unk>, is never said, and stands for padding and for the start of an output.
    """

    config_class = SsruConfig

    def __init__(self, config: SsruConfig):
        super().__init__(config)
        assert config.decoder_vocab_size is not None
        self.encoder, self.decoder = MarianEncoder(config), _RecurrentDecoder(config)
        self.generation_config = GenerationConfig.from_model_config(config)
        self.lm_head = nn.Linear(config.d_model, config.decoder_vocab_size)
        for module in self.encoder.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = EPSILON
        table = _positions(config.max_position_embeddings, config.d_model)
        self.encoder.embed_positions.weight = nn.Parameter(table, requires_grad=False)

    def get_encoder(self, modality: str | None = None) -> MarianEncoder:
        """The encoder; it reads text and nothing else."""
        return self.encoder

    def get_decoder(self) -> _RecurrentDecoder:
        """The decoder."""
        return self.decoder

    def get_output_embeddings(self) -> nn.Module:
        """The output layer."""
        return self.lm_head

    def set_output_embeddings(self, layer: nn.Module) -> None:
        """Replace the output layer."""
        self.lm_head = layer

    def set_attn_implementation(self, attn_implementation: str | dict, *_: Any, **__: Any) -> None:
        """Choose the attention of the encoder, which is that of `transformers`; the decoder has its own."""
        self.encoder.set_attn_implementation(attn_implementation)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, decoder_input_ids: Tensor, **_: Any) -> Tensor:
        """(sentences, steps, vocabulary) logits of known outputs; `transformers` wants the method."""
        encoded = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = torch.zeros_like(attention_mask, dtype=encoded.dtype)
        mask = mask.masked_fill_(attention_mask == 0, -torch.inf)[:, None, None]
        keys, values = zip(*(layer.keys_and_values(encoded) for layer in self.decoder.recurrent_layers()), strict=True)
        return self.lm_head(self.decoder.read(decoder_input_ids, keys, values, mask))


def _positions(count: int, dim: int) -> Tensor:
    """(count, dim) Marian's position embeddings: all sines, then all cosines; the last wave is the longest, exactly.

    `transformers` has another longest wave, 10,000 to the power of 1 - 2 / dim. They are computed in float64,
    and rounded to float32.
    """
    half = dim // 2
    frequencies = torch.exp(torch.arange(half, dtype=torch.float64) * -(math.log(LONGEST_WAVE) / (half - 1)))
    angles = torch.arange(count, dtype=torch.float64)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], 1).float()
