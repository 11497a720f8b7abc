"""Attention for many rows that decode from few sentences, and the caches it reads.

`transformers` lets a model attend by a function of ours. In the decoder a query is one step of every row. Its
self-attention keys are laid out (steps, rows, heads, dim), so that a step is written in place and never concatenated.
Its cross-attention keys exist once per sentence, (sentences, heads, source steps, dim), however many rows decode from
it: the rows of a sentence become queries of one matrix product. T5's own decoder runs unchanged around it; the layers
of other families call these functions (`_layers.py`). On a device that is no CPU they are batched (`_batched.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache

from toolkit.decode._batched import Grid, attend, attend_grid
from toolkit.decode._kernels import StepKernels
from toolkit.decode._source import places

NAME = "parabank_rows"


@dataclass
class Rows:
    """Which sentence every decoding row belongs to.

    Attributes:
        keys: Cross-attention keys of each layer, (sentences, heads, source steps, dim). Attention that is called with
            one of these very tensors is cross-attention, any other is self-attention.
        mask: Added to cross-attention scores: 0 or -inf, (sentences, 1, 1, source steps) on a CPU and
            (sentences * heads, 1, source steps) elsewhere; None without padding.
        place: (rows,) sentence * width + number of the row among the live rows of its sentence; None while all rows
            are alive and stand in that order.
        width: The greatest number of live rows of a sentence.
        count: Rows.
        grid: The same for attention on a device that is no CPU; None on one, and where there are kernels.
        kernels: Of Triton, which compute the attention and the norms instead; None where there are none.
        sentence: (rows,) the number of each row's sentence, for the kernels; None without them.
        bias: (steps, heads) added to self-attention scores by distance, of the last layer that has such a bias (T5);
            None without any.
    """

    keys: list[Tensor]
    mask: Tensor | None
    place: Tensor | None = None
    width: int = 0
    count: int = 0
    grid: Grid | None = None
    kernels: StepKernels | None = None
    sentence: Tensor | None = None
    bias: Tensor | None = None

    @classmethod
    def of(cls, keys: list[Tensor], mask: Tensor | None, sentence: Tensor, kernels: StepKernels | None = None) -> Rows:
        """The rows of sentences with these keys.

        Args:
            keys: As the attribute.
            mask: Added to cross-attention scores, (sentences, 1, 1, source steps); None without padding.
            sentence: (rows,) the number of each row's sentence.
            kernels: As the attribute.
        """
        if mask is not None and sentence.device.type != "cpu":
            mask = mask.to(keys[0].dtype).expand(-1, keys[0].shape[1], -1, -1).flatten(0, 1)
        rows = cls(keys, mask, kernels=kernels)
        rows.put(sentence)
        return rows

    def put(self, sentence: Tensor) -> None:
        """Note which sentence each row belongs to now."""
        sentences, heads = self.keys[0].shape[:2]
        self.count = len(sentence)
        if self.kernels is not None:
            self.sentence = sentence
            return
        self.place, self.width = places(sentence, sentences)
        if sentence.device.type != "cpu":
            in_order = torch.arange(len(sentence), device=sentence.device) if self.place is None else self.place
            self.grid = Grid.of(in_order, self.width, sentences, heads)


class StepsLayer(DynamicLayer):
    """Self-attention keys and values of one layer, (2, steps, rows, heads, dim), written in place.

    There is room for all steps from the beginning, and for more rows once they are there.

    Attributes:
        added: Added to the scores of `by_head`, of a shape that expands to (rows * heads, 1, steps); None for nothing.
    """

    added: Tensor | None = None

    def __init__(self, steps: int):
        super().__init__()
        self.steps, self.used, self.rows = steps, 0, 0

    states: Tensor

    def append(self, *states: Tensor) -> None:
        """Write a step: keys and values, (rows, heads, dim) each, or both in one tensor, (2, rows, heads, dim)."""
        room, used = self.next_step(states[0])
        step = room[:, used, : self.rows]
        for place, written in zip(step if len(states) > 1 else [step], states, strict=True):
            place.copy_(written)

    def next_step(self, states: Tensor) -> tuple[Tensor, int | Tensor]:
        """Where the caller is to write a step, which is counted: the states of all steps, and its number.

        Args:
            states: (..., rows, heads, dim) of the step.
        """
        if not self.used:
            self.rows = states.shape[-3]
            self.states = states.new_empty(2, self.steps, *states.shape[-3:])
        assert self.used < self.steps, "a kernel would write behind the states"
        self.used += 1
        return self.states, self.used - 1

    def by_step(self) -> tuple[Tensor, Tensor]:
        """Keys and values of all steps, (steps, rows, heads, dim) each."""
        keys, values = self.states[:, : self.used, : self.rows].unbind(0)
        return keys, values

    def by_head(self) -> tuple[Tensor, Tensor]:
        """Keys (rows * heads, dim, steps) and values (rows * heads, steps, dim) of all steps, for `_batched.attend`."""
        half, step, _, dim, _ = self.states.stride()
        batch, last = self.rows * self.states.shape[3], self.states.shape[4]
        begin = self.states.storage_offset()
        keys = self.states.as_strided((batch, last, self.used), (dim, 1, step), begin)
        return keys, self.states.as_strided((batch, self.used, last), (dim, step, 1), begin + half)

    def update(self, key_states: Tensor, value_states: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """`append` as `transformers` calls it, with (rows, heads, 1, dim); all steps, `by_step`."""
        self.append(key_states[:, :, 0], value_states[:, :, 0])
        return self.by_step()

    def get_seq_length(self) -> int:
        """The number of steps that are written."""
        return self.used

    def move(self, source: Tensor, target: Tensor, rows: int) -> None:
        """See `Engine.move`."""
        if rows > self.states.shape[2]:  # room for half as many again
            wide = self.states.new_empty(2, self.steps, rows + rows // 2, *self.states.shape[3:])
            wide[:, : self.used, : self.rows] = self.states[:, : self.used, : self.rows]
            self.states = wide
        states = self.states[:, : self.used]
        states.index_copy_(2, target, states.index_select(2, source))
        self.rows = rows


def attend_steps(query: Tensor, keys: Tensor, values: Tensor, scaling: float, bias: Tensor | None = None) -> Tensor:
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
        added = None if bias is None else bias.T.to(query.dtype).repeat(len(query), 1)[:, None]
        by_head = keys.flatten(1, 2).permute(1, 2, 0), values.flatten(1, 2).transpose(0, 1)
        return attend(query.reshape(-1, 1, query.shape[-1]), *by_head, scaling, added).view(query.shape)
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
    if rows.kernels is not None and rows.sentence is not None:
        states = keys.flatten(0, 1), values.flatten(0, 1)
        return rows.kernels.sources(query.contiguous(), *states, scaling, rows.sentence, rows.mask)
    if rows.grid is not None:
        by_head = keys.flatten(0, 1).transpose(1, 2), values.flatten(0, 1)
        attended = attend_grid(query.reshape(-1, query.shape[-1]), *by_head, scaling, rows.grid, rows.mask)
        return attended.view(query.shape)
    sentences, heads, _, dim = keys.shape
    count = sentences * rows.width
    place = rows.place
    spread = query if place is None else query.new_zeros(count, heads, dim).index_copy_(0, place, query)
    spread = spread.view(sentences, rows.width, heads, dim).transpose(1, 2)
    scores = torch.matmul(spread, keys.transpose(2, 3)).float() * scaling
    if rows.mask is not None:
        scores = scores + rows.mask
    out = torch.matmul(torch.softmax(scores, -1).to(values.dtype), values)
    out = out.transpose(1, 2).reshape(count, heads, dim)
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
    return attend_steps(query, key, value, scaling, rows.bias).unsqueeze(1), None


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
