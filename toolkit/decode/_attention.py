"""Attention for many rows that decode from few sentences, and the caches it reads.

`transformers` lets a model attend by a function of ours. In the decoder a query is one step of every row. Its
self-attention keys are laid out (steps, rows, heads, dim), so that a step is written in place and never concatenated.
Its cross-attention keys exist once per sentence, (sentences, heads, source steps, dim), however many rows decode from
it: the rows of a sentence become queries of one matrix product. The model's own decoder runs unchanged around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache

NAME = "parabank_rows"


@dataclass
class Rows:
    """Which sentence every decoding row belongs to.

    Attributes:
        keys: Cross-attention keys of each layer, (sentences, heads, source steps, dim). Attention that is called with
            one of these very tensors is cross-attention, any other is self-attention.
        mask: Added to cross-attention scores, (sentences, 1, 1, source steps): 0 or -inf; None without padding.
        place: (rows,) sentence * width + number of the row among the live rows of its sentence; None while all rows
            are alive and stand in that order.
        width: The greatest number of live rows of a sentence.
        bias: (steps, heads) added to self-attention scores by distance, of the last layer that has such a bias (T5);
            None without any.
    """

    keys: list[Tensor]
    mask: Tensor | None
    place: Tensor | None
    width: int
    bias: Tensor | None = None


class StepsLayer(DynamicLayer):
    """Self-attention keys and values of one layer, (steps, rows, heads, dim), written in place.

    There is room for all steps from the beginning, and for more rows once they are there.
    """

    def __init__(self, steps: int):
        super().__init__()
        self.steps, self.used, self.rows = steps, 0, 0

    keys: Tensor
    values: Tensor

    def update(self, key_states: Tensor, value_states: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Write the step (rows, heads, 1, dim); return all steps, (steps, rows, heads, dim)."""
        if not self.used:
            self.rows, heads, _query_steps, dim = key_states.shape
            self.keys = key_states.new_empty(self.steps, self.rows, heads, dim)
            self.values = torch.empty_like(self.keys)
        step, rows = self.used, slice(self.rows)
        self.keys[step, rows], self.values[step, rows] = key_states[:, :, 0], value_states[:, :, 0]
        self.used += 1
        return self.keys[: self.used, rows], self.values[: self.used, rows]

    def get_seq_length(self) -> int:
        """The number of steps that are written."""
        return self.used

    def move(self, source: Tensor, target: Tensor, rows: int) -> None:
        """See `Engine.move`."""
        self.keys, self.values = (self.with_room(states, rows) for states in (self.keys, self.values))
        for states in (self.keys[: self.used], self.values[: self.used]):
            states.index_copy_(1, target, states.index_select(1, source))
        self.rows = rows

    def with_room(self, states: Tensor, rows: int) -> Tensor:
        """Keys or values with room for so many rows, and for half as many again where there was too little."""
        if rows <= states.shape[1]:
            return states
        wide = states.new_empty(self.steps, rows + rows // 2, *states.shape[2:])
        wide[: self.used, : self.rows] = states[: self.used, : self.rows]
        return wide


def _attend_steps(query: Tensor, keys: Tensor, values: Tensor, scaling: float, bias: Tensor | None = None) -> Tensor:
    """One query per row over that row's own steps.

    On a CPU a product and a sum for each step are twice as fast as a batched matrix product of one query, which
    calls its kernel rows * heads times; `scaled_dot_product_attention` is four times slower still.

    Args:
        query: (rows, heads, dim).
        keys: (steps, rows, heads, dim).
        values: As `keys`.
        scaling: Factor of the scores.
        bias: (steps, heads) added to the scores; None for nothing.

    Returns:
        (rows, heads, dim).
    """
    if query.device.type != "cpu":
        scores = torch.einsum("rhd,trhd->rht", query, keys).float() * scaling
        scores = scores if bias is None else scores + bias.T
        return torch.einsum("rht,trhd->rhd", torch.softmax(scores, -1).to(values.dtype), values)
    scores = torch.stack([(query * key).sum(-1) for key in keys]).float() * scaling  # (steps, rows, heads)
    if bias is not None:
        scores += bias[:, None]
    weights = torch.softmax(scores, 0).to(values.dtype).unsqueeze(-1)
    out = weights[0] * values[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        out.addcmul_(weight, value)
    return out


def attend_source(query: Tensor, keys: Tensor, values: Tensor, scaling: float, rows: Rows) -> Tensor:
    """One query per row over the source of the row's sentence, all rows of a sentence in one matrix product.

    Args:
        query: (rows, heads, dim).
        keys: (sentences, heads, source steps, dim).
        values: As `keys`.
        scaling: Factor of the scores.
        rows: Which sentence a row belongs to.

    Returns:
        (rows, heads, dim).
    """
    sentences, heads, _, dim = keys.shape
    places = sentences * rows.width
    place = rows.place
    spread = query if place is None else query.new_zeros(places, heads, dim).index_copy_(0, place, query)
    spread = spread.view(sentences, rows.width, heads, dim).transpose(1, 2)
    scores = torch.matmul(spread, keys.transpose(2, 3)).float() * scaling
    if rows.mask is not None:
        scores = scores + rows.mask
    out = torch.matmul(torch.softmax(scores, -1).to(values.dtype), values)
    out = out.transpose(1, 2).reshape(places, heads, dim)
    return out if place is None else out.index_select(0, place)


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    rows: Rows | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """The attention function that `transformers` calls with (rows, heads, 1, dim) queries and what the caches hold.

    `rows` is an argument of the decoder's call, which `transformers` passes on. The interface requires the `**_`.
    """
    assert rows is not None
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    query = query[:, :, 0]
    if key is rows.keys[module.layer_idx]:  # type: ignore[index]
        return attend_source(query, key, value, scaling, rows).unsqueeze(1), None
    if getattr(module, "has_relative_attention_bias", False):
        rows.bias = _distance_bias(module, len(key))
    return _attend_steps(query, key, value, scaling, rows.bias).unsqueeze(1), None


def _distance_bias(module: nn.Module, steps: int) -> Tensor:
    """The bias (steps, heads) that T5 adds to the scores of the last step by its distance from every step.

    In T5 the first layer has it and all others use it, too; in UMT5 every layer has its own. What `transformers` hands
    over is made for another layout of keys.
    """
    return module.compute_bias(1, steps, past_seen_tokens=steps - 1)[0, :, 0].T.float()  # type: ignore[operator]


AttentionInterface.register(NAME, _attend)


def new_cache(keys: list[Tensor], values: list[Tensor], steps: int) -> EncoderDecoderCache:
    """A cache whose cross-attention half is filled and whose self-attention half has room for `steps`.

    Args:
        keys: Cross-attention keys of each layer, (sentences, heads, source steps, dim).
        values: As `keys`.
        steps: Most tokens that a row may have.
    """
    self_attention, source = DynamicCache(), DynamicCache()
    self_attention.layers = [StepsLayer(steps) for _ in keys]
    for key, value in zip(keys, values, strict=True):
        layer = DynamicLayer()
        layer.keys, layer.values, layer.is_initialized = key, value, True
        source.layers.append(layer)
    cache = EncoderDecoderCache(self_attention, source)
    cache.is_updated = dict.fromkeys(range(len(keys)), True)
    return cache
