"""One step of the decoders of the BART family, without what `transformers` does around a layer's arithmetic.

`transformers` computes a step of one token with the operations of a whole text: shapes that are split and joined,
masks, dropout, caches behind interfaces. On a GPU the host needs longer for them than the device for the products. Here
a step is the arithmetic alone. The weights are those of the loaded model, and a layer that is no plain `nn.Linear`
(packed, 8-bit, adapted) is called as it is. Hooks of plain layers do not run, nor those of norms where kernels compute
them (`_kernels.py`).

On a CPU the operations and their order are those of the model's own decoder, so that every bit of the result is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from toolkit.decode._attention import Rows, StepsLayer, attend_source, attend_steps
from toolkit.decode._batched import attend, attend_grid

NORM_LAST = ("marian", "bart", "plbart")  # the norm of a block follows its residual connection
NORM_FIRST = ("mbart", "m2m_100", "pegasus", "blenderbot")  # it precedes the block, and another one ends the stack
LAYERED = (*NORM_LAST, *NORM_FIRST)  # families whose decoder is computed here

Apply = Callable[[Tensor], Tensor]
SourceStates = tuple[Tensor, Tensor]
IN_PLACE: dict[type[nn.Module], Apply] = {  # activations that need no new memory
    nn.SiLU: partial(nn.functional.silu, inplace=True),
    nn.ReLU: torch.relu_,
}


@dataclass(frozen=True)
class _Attention:
    """The projections of an attention block.

    Attributes:
        heads: How many.
        dim: Of a head.
        query: Of the rows.
        key: Of what is attended to.
        value: Likewise.
        output: Of what was attended.
        packed: Weights (3, inputs, outputs) and biases (3, 1, outputs) of queries, keys and values; None where each is
            computed apart.
    """

    heads: int
    dim: int
    query: Apply
    key: Apply
    value: Apply
    output: Apply
    packed: tuple[Tensor, Tensor] | None

    @classmethod
    def of(cls, block: Any, of_itself: bool) -> _Attention:
        """The projections of a model's block, packed where its rows attend to themselves on a device for that."""
        projections = [block.q_proj, block.k_proj, block.v_proj]
        pack = of_itself and all(map(is_plain, projections)) and projections[0].weight.device.type != "cpu"
        packed = _packed(projections) if pack else None
        query, key, value = map(_linear, projections)
        return cls(block.num_heads, block.head_dim, query, key, value, _linear(block.out_proj), packed)

    @property
    def scaling(self) -> float:
        """Factor of the scores."""
        return self.dim**-0.5

    def split(self, states: Tensor) -> Tensor:
        """(..., width) as (..., heads, dim)."""
        return states.unflatten(-1, (self.heads, -1))


@dataclass(frozen=True)
class Layer:
    """What a decoder layer computes with, read from a model's layer.

    Attributes:
        steps: Self-attention.
        steps_norm: The norm of its block.
        source: Cross-attention.
        source_norm: The norm of its block.
        wide: The first linear layer of the feed-forward block.
        activation: Between both.
        narrow: The second linear layer.
        narrow_norm: The norm of the block.
    """

    steps: _Attention
    steps_norm: Apply
    source: _Attention
    source_norm: Apply
    wide: Apply
    activation: Apply
    narrow: Apply
    narrow_norm: Apply


@dataclass(frozen=True)
class Layers:
    """A decoder, ready to compute steps.

    Attributes:
        tokens: The model's own embeddings.
        of_positions: Likewise, of the steps.
        layers: Its layers.
        norm_first: Whether the norm of a block precedes it.
        scale: Of the embeddings, where their layer does not scale itself.
        positions: (positions, width) that are added to the embeddings by the number of the step; None where the model
            computes them from the ids, too.
        first_norm: The norm of the embeddings; None without.
        last_norm: The norm of the last hidden states; None without.
    """

    tokens: Apply
    of_positions: Any
    layers: list[Layer]
    norm_first: bool
    scale: float
    positions: Tensor | None
    first_norm: Apply | None
    last_norm: Apply | None

    def take_packed(self, others: Layers) -> None:
        """Overwrite the packed weights by those of layers that were read later."""
        for layer, other in zip(self.layers, others.layers, strict=True):
            for tensor, newer in zip(layer.steps.packed or (), other.steps.packed or (), strict=True):
                tensor.copy_(newer)


def read_layers(decoder: Any) -> Layers:
    """Read the layers of a decoder of one of `LAYERED`; only what is packed for a GPU is copied."""
    table = decoder.embed_positions
    return Layers(
        decoder.embed_tokens,
        table,
        [
            Layer(
                _Attention.of(layer.self_attn, True),
                layer.self_attn_layer_norm,
                _Attention.of(layer.encoder_attn, False),
                layer.encoder_attn_layer_norm,
                _linear(layer.fc1),
                IN_PLACE.get(type(layer.activation_fn), layer.activation_fn),
                _linear(layer.fc2),
                layer.final_layer_norm,
            )
            for layer in decoder.layers
        ],
        decoder.config.model_type in NORM_FIRST,
        getattr(decoder, "embed_scale", 1.0),
        table.weight[getattr(table, "offset", 0) :] if isinstance(table, nn.Embedding) else None,
        getattr(decoder, "layernorm_embedding", None),
        getattr(decoder, "layer_norm", None),
    )


def source_states(layers: Layers, encoded: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Keys and values of the sources for each layer, (sentences, heads, source steps, dim).

    Args:
        layers: Of the decoder.
        encoded: (sentences, source steps, width) hidden states of the encoder.
    """
    blocks = [layer.source for layer in layers.layers]
    flat, shape = encoded.flatten(0, 1), encoded.shape[:2]

    def by_head(block: _Attention, projection: Apply) -> Tensor:
        return block.split(projection(flat).unflatten(0, shape)).transpose(1, 2).contiguous()

    return [by_head(block, block.key) for block in blocks], [by_head(block, block.value) for block in blocks]


def for_device(keys: Sequence[Tensor], values: Sequence[Tensor]) -> list[SourceStates]:
    """Keys and values of the sources as `compute_step` attends to them, which costs no memory.

    Args:
        keys: Of each layer, (sentences, heads, source steps, dim).
        values: Likewise.
    """
    pairs = list(zip(keys, values, strict=True))
    if keys[0].device.type == "cpu":
        return pairs
    return [(key.flatten(0, 1).transpose(1, 2), value.flatten(0, 1)) for key, value in pairs]


def compute_step(
    layers: Layers,
    ids: Tensor,
    step: int | Tensor,
    caches: Sequence[StepsLayer],
    source: Sequence[SourceStates],
    rows: Rows,
) -> Tensor:
    """Hidden states of the next step of every row.

    Args:
        layers: Of the decoder.
        ids: (rows,) the tokens that the step reads.
        step: Its number, from 0; a tensor (1,) where a device is to read it (`_fixed.py`).
        caches: Self-attention keys and values of each layer; they grow by the step.
        source: Cross-attention keys and values of each layer (`for_device`).
        rows: Which sentence a row belongs to.

    Returns:
        (rows, width).
    """
    x = _embedded(layers, ids, step)
    blocks: list[tuple[Apply, Apply]] = []
    for layer, cache, (keys, values) in zip(layers.layers, caches, source, strict=True):
        blocks += [
            (layer.steps_norm, partial(_to_steps, layer.steps, cache, rows)),
            (layer.source_norm, partial(_to_source, layer.source, keys, values, rows)),
            (layer.narrow_norm, partial(_feed_forward, layer)),
        ]
    if not layers.norm_first:
        for norm, block in blocks:
            _, x = _sum_and_norm(block(x), x, norm, rows, False)
        return x if layers.last_norm is None else layers.last_norm(x)
    normed = blocks[0][0](x)
    next_norms = [*(norm for norm, _ in blocks[1:]), layers.last_norm]
    for (_, block), next_norm in zip(blocks, next_norms, strict=True):
        x, normed = _sum_and_norm(block(normed), x, next_norm, rows, True)
    return normed


def _sum_and_norm(states: Tensor, x: Tensor, norm: Apply | None, rows: Rows, keep: bool) -> tuple[Tensor, Tensor]:
    """The sum of what a block gives and of its residual connection, and its norm.

    Args:
        states: What the block gives; overwritten.
        x: What is added.
        norm: None for the sum itself.
        rows: For the kernels.
        keep: Whether the caller needs the sum; without it the first of the two is of no use.
    """
    if rows.kernels is not None and type(norm) is nn.LayerNorm and norm.weight is not None:
        states = states.contiguous()
        return states, rows.kernels.add_norm(states, x, norm, keep)
    total = states.add_(x)
    return total, total if norm is None else norm(total)


def _embedded(layers: Layers, ids: Tensor, step: int | Tensor) -> Tensor:
    """(rows, width) embeddings of the tokens of a step, with its position."""
    x = layers.tokens(ids)
    if layers.scale != 1.0:
        x = x * layers.scale
    if layers.positions is not None:
        x = x + (layers.positions[step] if isinstance(step, int) else layers.positions.index_select(0, step))
    elif isinstance(step, int):
        x = x + layers.of_positions(ids[:, None], x[:, None], step)[:, 0]
    else:  # as M2M100 computes them: padding has a position of its own
        padding = layers.of_positions.padding_idx
        x = x + layers.of_positions.weights.index_select(0, (ids != padding) * (step + 1) + padding)
    return x if layers.first_norm is None else layers.first_norm(x)


def _to_steps(block: _Attention, cache: StepsLayer, rows: Rows, x: Tensor) -> Tensor:
    """Attention of every row to its own steps, the present one included."""
    if block.packed is None:
        query, key, value = (block.split(projection(x)) for projection in (block.query, block.key, block.value))
        cache.append(key, value)
    else:
        weights, biases = block.packed
        states = block.split(torch.baddbmm(biases, x.expand(3, *x.shape), weights))
        if rows.kernels is not None:
            return block.output(rows.kernels.own_steps(states, *cache.next_step(states), block.scaling).view_as(x))
        query = states[0]
        cache.append(states[1:])
    if x.device.type == "cpu" and cache.added is None:
        return block.output(attend_steps(query, *cache.by_step(), block.scaling).flatten(1))
    attended = attend(query.reshape(-1, 1, query.shape[-1]), *cache.by_head(), block.scaling, cache.added)
    return block.output(attended.view_as(x))


def _to_source(block: _Attention, keys: Tensor, values: Tensor, rows: Rows, x: Tensor) -> Tensor:
    """Attention of every row to the source of its sentence."""
    query = block.query(x)
    if rows.kernels is not None and rows.sentence is not None:
        heads = block.split(query.contiguous()), keys.transpose(1, 2), values
        return block.output(rows.kernels.sources(*heads, block.scaling, rows.sentence, rows.mask).view_as(x))
    if rows.grid is None:
        return block.output(attend_source(block.split(query), keys, values, block.scaling, rows).flatten(1))
    attended = attend_grid(query.view(-1, values.shape[-1]), keys, values, block.scaling, rows.grid, rows.mask)
    return block.output(attended.view_as(x))


def _feed_forward(layer: Layer, x: Tensor) -> Tensor:
    return layer.narrow(layer.activation(layer.wide(x)))


def is_plain(linear: Any) -> bool:
    """Whether a layer is nothing but a product with its weight and its bias."""
    return type(linear) is nn.Linear and type(linear.weight) is nn.Parameter and linear.bias is not None


def _linear(linear: Any) -> Apply:
    """A linear layer for (rows, inputs): on a GPU the product without the module around it."""
    if not is_plain(linear) or linear.weight.device.type == "cpu":
        return linear
    return partial(torch.addmm, linear.bias, mat2=linear.weight.t())


def _packed(projections: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Weights and biases of several linear layers for one batched product, whose results lie one behind another."""
    weights = torch.stack([linear.weight.detach() for linear in projections]).transpose(1, 2)
    return weights, torch.stack([linear.bias.detach() for linear in projections])[:, None]
