"""Steps of fixed shapes, which a GPU replays as graphs: the host starts one graph where it launched 200 kernels.

A CUDA graph has the addresses and the shapes of its kernels. So the caches, the inputs and the hidden states stand in
buffers that outlive a batch, the number of the step is a tensor, and shapes come in buckets: rows, self-attention steps
with a mask of those to come, sentences and their source steps. Where the rows of a sentence stand among the queries of
its cross-attention is computed within the graph, in blocks of a few rows of one sentence: the number of blocks depends
on the bucket alone, and no host waits for it. Triton's kernels need neither blocks nor a mask of steps, so that with
them a graph serves all steps. With many rows a step's kernels take longer than their launches: then a graph would only
compute the rows that fill its bucket, and there is none.

The buffers take 2 x layers x steps x rows x width numbers: 16,384 rows of 74 steps of six layers of 512 in bfloat16 are
16.1 GB with 80 steps, about as much as the caches without graphs. They belong to a decoder and are as large as a batch
has needed. One batch at a time has them; a batch that comes meanwhile, or that does not fit into half of the memory
that is free, takes the plain steps. So does a decoder with layers of others, whose changes nobody would see here, and
every batch after a capture that failed.

Nothing but `_graph.py` needs CUDA. Elsewhere the steps are computed as they would be captured.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from toolkit.decode._attention import Rows, StepsLayer
from toolkit.decode._batched import Grid
from toolkit.decode._graph import captured
from toolkit.decode._kernels import StepKernels
from toolkit.decode._layers import Layers, SourceStates, compute_step, is_plain
from toolkit.system.errors import first_line
from toolkit.system.memory import free_gpu_bytes

ROWS, SENTENCES, SOURCE = 256, 8, 16  # ours: the smallest buckets; the next are half as large again, or twice
STEPS = 8  # ours: self-attention steps of a bucket
ROOM = 16  # ours: the caches have room for a multiple of so many steps, so that they seldom grow
BLOCK = 16  # ours: rows of one sentence that are queries of one product; it is what a tensor core multiplies at a time
MOST_ROWS = 4096  # ours: more are not replayed where Triton's kernels attend
GRAPHS = 96  # ours: most graphs of a decoder; a batch of the sampler has some 20
SOURCES = 16  # ours: most pairs of buckets of sentences and source steps that have buffers
SHARE = 0.5  # ours: of the free memory, at most, for the buffers
DIFFERENCE = (
    0.02  # ours: greatest difference of a graph's hidden states, as a share of the greatest; bfloat16 has 0.004
)
MOVED = 1 << 30  # ours: bytes of the rows of several layers that are moved at once
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
TOO_LITTLE = "too little memory is free"
TRUSTED = ("torch", "transformers")  # whose modules compute with their weights alone


class Shape(NamedTuple):
    """What a graph is captured for.

    Attributes:
        rows: Of the decoder.
        steps: Of the self-attention caches that are read; 0 where a kernel reads as many as there are.
        sentences: How many have keys and values.
        source_steps: Of each.
    """

    rows: int
    steps: int
    sentences: int
    source_steps: int


@dataclass(frozen=True)
class _Buffers:
    """What has one entry for each row.

    Attributes:
        states: (layers, 2, steps, rows, heads, dim) keys and values of the steps of all rows.
        ids: (rows,) the tokens that the step reads.
        sentence: (rows,) the number of each row's sentence.
        hidden: (rows, width) what the step gives.
        step: (1,) its number.
        numbers: (steps,) 0, 1, 2, ...
    """

    states: Tensor
    ids: Tensor
    sentence: Tensor
    hidden: Tensor
    step: Tensor
    numbers: Tensor

    @classmethod
    def of(cls, layers: Layers, rows: int, steps: int, like: Tensor) -> _Buffers:
        """Room for so many rows and steps, of the type and on the device of a tensor.

        Unwritten states are zeros: a masked step has no weight, but what is no number times zero is none.
        """
        block = layers.layers[0].steps
        with torch.inference_mode(False):
            return cls(
                like.new_zeros(len(layers.layers), 2, steps, rows, block.heads, block.dim),
                like.new_zeros(rows, dtype=torch.long),
                like.new_zeros(rows, dtype=torch.long),
                like.new_zeros(rows, block.heads * block.dim),
                like.new_zeros(1, dtype=torch.long),
                torch.arange(steps, device=like.device),
            )

    @property
    def rows(self) -> int:
        """For how many there is room."""
        return len(self.ids)

    @property
    def steps(self) -> int:
        """For how many there is room."""
        return len(self.numbers)


class _Sources(NamedTuple):
    """Keys and values of each layer as `compute_step` wants them; the mask (sentences * heads, 1, source steps)."""

    states: list[SourceStates]
    mask: Tensor

    @classmethod
    def of(cls, layers: Layers, sentences: int, source_steps: int, like: Tensor) -> _Sources:
        """Room for so many sentences and steps, of the type and on the device of a tensor."""
        block = layers.layers[0].source
        batch = sentences * block.heads
        with torch.inference_mode(False):
            both = like.new_zeros(len(layers.layers), 2, batch, source_steps, block.dim)
            states = [(keys.transpose(1, 2), values) for keys, values in both]
            return cls(states, like.new_zeros(batch, 1, source_steps))

    def put(self, keys: list[Tensor], values: list[Tensor], mask: Tensor | None) -> None:
        """Write those of a batch.

        Args:
            keys: Of each layer, (sentences, heads, source steps, dim).
            values: Likewise.
            mask: Added to cross-attention scores, (sentences * heads, 1, source steps); None without padding.
        """
        batch, steps = keys[0].shape[0] * keys[0].shape[1], keys[0].shape[2]
        self.mask.zero_()[..., steps:] = -torch.inf
        if mask is not None:
            self.mask[:batch, :, :steps] = mask
        for (room_for_keys, room_for_values), key, value in zip(self.states, keys, values, strict=True):
            room_for_keys[:batch, :, :steps] = key.flatten(0, 1).transpose(1, 2)
            room_for_values[:batch, :steps] = value.flatten(0, 1)


class _FixedLayer(StepsLayer):
    """Keys and values of the first rows and steps of a layer's buffers; a step is written where a tensor says."""

    def __init__(self, states: Tensor, shape: Shape, step: Tensor, added: Tensor | None):
        super().__init__(shape.steps)
        self.states, self.rows, self.used, self.step, self.added = states, shape.rows, shape.steps, step, added

    def next_step(self, states: Tensor) -> tuple[Tensor, int | Tensor]:
        """See `StepsLayer.next_step`; `FixedSteps` counts the step."""
        return self.states, self.step

    def append(self, *states: Tensor) -> None:
        """See `StepsLayer.append`."""
        both = states[0] if len(states) == 1 else torch.stack(states)
        self.states[:, : self.used, : self.rows].index_copy_(1, self.step, both.unsqueeze(1))


class FixedSteps:
    """The steps of a decoder on buffers that outlive a batch.

    Args:
        layers: Of the decoder; they must not hold it.
        weights: What `_weights` has said of it.

    Attributes:
        rows: Of the batch in flight.
        used: Steps that it has.
        has_moved: Whether its rows belong to other sentences than at the last step.
        is_refused: Whether a capture has failed.
    """

    def __init__(self, layers: Layers, weights: tuple[object, ...]):
        self.layers, self.weights = layers, weights
        self.rows, self.used, self.has_moved, self.is_refused = 0, 0, True, False
        self.buffers: _Buffers | None = None
        self.sources: dict[tuple[int, int], _Sources] = {}
        self.graphs: dict[Shape, Any] = {}  # the one that was replayed last is the last
        self.memory: Any = None  # which all graphs share, as one is replayed at a time
        self.source_shape = 0, 0
        self.kernels: StepKernels | None = None
        self._owner: weakref.ref[Any] | None = None
        self._lock = threading.Lock()

    def start(self, owner: object, keys: list[Tensor], values: list[Tensor], rows: Rows, steps: int) -> bool:
        """Begin a batch, if the buffers are free and there is memory for them.

        Args:
            owner: The buffers are this object's as long as it is alive.
            keys: Of the sources for each layer, (sentences, heads, source steps, dim).
            values: Likewise.
            rows: Their sentences, the mask of the sources, and the kernels that attend.
            steps: Most tokens of a row.

        Returns:
            Whether it was begun.
        """
        with self._lock:
            if self.is_refused or (self._owner is not None and self._owner() is not None):
                return False
            self._owner = weakref.ref(owner)
        self.used = 0
        table = self.layers.of_positions
        is_short = self.layers.positions is None and len(table.weights) <= table.padding_idx + steps
        if is_short or not self._make_room(rows.count, steps, keys[0]):
            self._owner = None
            return False
        sentences, _, source_steps, _ = keys[0].shape
        self.kernels = rows.kernels
        self.source_shape = bucket(sentences, SENTENCES), bucket(source_steps, SOURCE)
        if self.source_shape not in self.sources:
            if len(self.sources) == SOURCES:
                self._forget()
            self.sources[self.source_shape] = _Sources.of(self.layers, *self.source_shape, keys[0])
        mask = rows.mask
        if mask is not None and mask.dim() == 4:
            mask = mask.expand(-1, keys[0].shape[1], -1, -1).flatten(0, 1)
        self.sources[self.source_shape].put(keys, values, mask)
        self.rows, self.has_moved = rows.count, True
        return True

    def _make_room(self, rows: int, steps: int, like: Tensor) -> bool:
        """Have buffers of zeros for so many rows and steps, and for all that were needed before if these fit, too."""
        needed, buffers = (bucket(rows, ROWS), -(-steps // ROOM) * ROOM), self.buffers
        if buffers is not None and buffers.rows >= needed[0] and buffers.steps >= needed[1]:
            buffers.states.zero_()
            buffers.sentence.zero_()
            return True
        before = (0, 0) if buffers is None else (buffers.rows, buffers.steps)
        self._forget()
        buffers = self.buffers = None
        largest = max(needed[0], before[0]), max(needed[1], before[1])
        size = largest if self._fits(*largest, like) else needed
        if not self._fits(*size, like):
            _tell_plain(TOO_LITTLE)
            return False
        self.buffers = _Buffers.of(self.layers, *size, like)
        return True

    def _fits(self, rows: int, steps: int, like: Tensor) -> bool:
        """Whether buffers for so many rows and steps take no more than their share of the free memory."""
        if like.device.type != "cuda":
            return True
        block = self.layers.layers[0].steps
        bytes_needed = len(self.layers.layers) * 2 * steps * rows * block.heads * block.dim * like.element_size()
        return bytes_needed <= SHARE * free_gpu_bytes(like.device)

    def _forget(self) -> None:
        """Drop the graphs and the buffers of the sources, but not those of the batch in flight."""
        if self.graphs:  # the last replay may still be running
            torch.cuda.synchronize(self._held().states.device)
        self.graphs.clear()
        self.memory = None
        self.sources = {shape: room for shape, room in self.sources.items() if self.used and shape == self.source_shape}

    def step(self, ids: Tensor, sentence: Tensor) -> Tensor | None:
        """Advance every row by one token.

        Args:
            ids: (rows,) the tokens said last.
            sentence: (rows,) the number of each row's sentence.

        Returns:
            (rows, width) hidden states, which the next step overwrites; None where the step could not be captured.
        """
        buffers = self._held()
        assert self.used < buffers.steps, "a kernel would write behind the states"
        buffers.ids[: self.rows].copy_(ids)
        buffers.step.fill_(self.used)
        if self.has_moved:
            buffers.sentence[: self.rows].copy_(sentence)
            self.has_moved = False
        steps = 0 if self.kernels is not None else -(-(self.used + 1) // STEPS) * STEPS
        if self.kernels is not None and self.rows > MOST_ROWS:
            self._compute(Shape(self.rows, steps, *self.source_shape))
        elif not self._run(Shape(bucket(self.rows, ROWS), steps, *self.source_shape)):
            return None
        self.used += 1
        return buffers.hidden[: self.rows]

    def _run(self, shape: Shape) -> bool:
        """Compute a step of a shape, on a GPU by its graph; whether that was possible."""
        if self._held().states.device.type != "cuda":
            self._compute(shape)
            return True
        graph = self.graphs.pop(shape, None)
        if graph is not None:
            graph.replay()
        else:
            if self.memory is None:
                self.memory = torch.cuda.graph_pool_handle()
            try:
                graph = captured(partial(self._compute, shape), self.memory, self._held().states.device)
            except Exception as error:  # of a driver, an operation that waits, memory, or a compiler
                self.is_refused = not isinstance(error, torch.OutOfMemoryError)
                _tell_plain(first_line(error) if self.is_refused else TOO_LITTLE)
                return False
            if not self._repeats(graph):
                self.is_refused = True
                _tell_plain("a graph gave other numbers than the step that it was captured from")
                return False
            if len(self.graphs) == GRAPHS:
                del self.graphs[next(iter(self.graphs))]
        self.graphs[shape] = graph
        return True

    def _repeats(self, graph: Any) -> bool:
        """Whether a new graph gives what its step gave before the capture; the host waits for that once a graph."""
        hidden = self._held().hidden[: self.rows]
        expected = hidden.clone()
        hidden.zero_()
        graph.replay()
        return bool((hidden - expected).abs().max() <= DIFFERENCE * expected.abs().max())

    def _compute(self, shape: Shape) -> None:
        """The step from the buffers to the buffers; nothing in it depends on a number of the host but the shape."""
        buffers, sources = self._held(), self.sources[shape.sentences, shape.source_steps]
        sentence, added = buffers.sentence[: shape.rows], None
        if self.kernels is not None:
            rows = Rows([], sources.mask, kernels=self.kernels, sentence=sentence)
        else:
            grid = block_grid(sentence, shape.sentences, self.layers.layers[0].source.heads)
            assert grid.keys is not None
            rows = Rows([], sources.mask.index_select(0, grid.keys), grid=grid)
            is_later = buffers.numbers[: shape.steps] > buffers.step
            added = buffers.states.new_zeros(1, 1, shape.steps).masked_fill_(is_later, -torch.inf)
        caches = [_FixedLayer(states, shape, buffers.step, added) for states in buffers.states]
        hidden = compute_step(self.layers, buffers.ids[: shape.rows], buffers.step, caches, sources.states, rows)
        buffers.hidden[: shape.rows].copy_(hidden)

    def move(self, source: Tensor, target: Tensor, rows: int) -> bool:
        """See `Engine.move`; whether there was room."""
        if rows > self._held().rows and not self._grow(rows):
            return False
        states = self._held().states[:, :, : self.used]
        bytes_of_layer = max(1, states[0, :, :, 0].numel() * len(source) * states.element_size())
        for part in states.split(max(1, MOVED // bytes_of_layer)):
            part.index_copy_(3, target, part.index_select(3, source))
        self.rows = rows
        return True

    def _grow(self, rows: int) -> bool:
        """Have room for more rows of the batch in flight, if there is memory."""
        old, room = self._held(), bucket(rows, ROWS)
        if not self._fits(room, old.steps, old.states):
            _tell_plain(TOO_LITTLE)
            return False
        self.buffers = _Buffers.of(self.layers, room, old.steps, old.states)
        self.buffers.states[:, :, : self.used, : self.rows] = old.states[:, :, : self.used, : self.rows]
        self.has_moved = True
        self._forget()
        return True

    def leave(self, caches: list[StepsLayer]) -> None:
        """Give the steps of the batch in flight to caches that go on with plain steps."""
        for cache, states in zip(caches, self._held().states, strict=True):
            cache.states, cache.steps, cache.used, cache.rows = states, states.shape[1], self.used, self.rows

    def _held(self) -> _Buffers:
        """The buffers of the batch in flight."""
        assert self.buffers is not None
        return self.buffers


def block_grid(sentence: Tensor, sentences: int, heads: int) -> Grid:
    """The grid of some rows in blocks of `BLOCK` rows of one sentence, as many as any rows may need.

    >>> block_grid(torch.tensor([1, 0, 1]), 2, 1).places.tolist()
    [16, 0, 17]
    >>> block_grid(torch.tensor([1, 0, 1]), 2, 1).keys.tolist()
    [0, 1, 1]

    Args:
        sentence: (rows,) the number of each row's sentence.
        sentences: How many there are.
        heads: Of the attention.
    """
    device, rows = sentence.device, len(sentence)
    blocks = -(-rows // BLOCK) + sentences
    in_order, order = torch.sort(sentence, stable=True)
    counts = torch.zeros(sentences, dtype=torch.long, device=device).index_add_(0, sentence, torch.ones_like(sentence))
    block_counts = (counts + (BLOCK - 1)) // BLOCK
    blocks_so_far = block_counts.cumsum(0)
    begin = (blocks_so_far - block_counts) * BLOCK - (counts.cumsum(0) - counts)  # the first place less the first row
    number = torch.arange(rows, device=device)
    place = torch.empty_like(sentence).index_copy_(0, order, begin.index_select(0, in_order) + number)
    of_block = torch.searchsorted(blocks_so_far, torch.arange(blocks, device=device), right=True)
    of_block = of_block.clamp_(max=sentences - 1)  # those behind the last have no rows
    keys = (of_block[:, None] * heads + torch.arange(heads, device=device)).flatten()
    return Grid.of(place, BLOCK, blocks, heads)._replace(keys=keys)


def bucket(count: int, least: int) -> int:
    """The smallest of `least`, half as much again, twice as much, ... that is no smaller than a number.

    >>> [bucket(count, 256) for count in (1, 257, 385, 2400)]
    [256, 384, 512, 3072]
    """
    size = least
    while size < count:
        if 2 * count <= 3 * size:
            return 3 * size // 2
        size *= 2
    return size


_STEPS_OF: weakref.WeakKeyDictionary[nn.Module, FixedSteps] = weakref.WeakKeyDictionary()


def fixed_steps_for(decoder: nn.Module, layers: Layers) -> FixedSteps | None:
    """The steps of a decoder, the same for every engine and batch until its weights are others.

    Args:
        decoder: Of one of `LAYERED`.
        layers: As they have just been read.

    Returns:
        None where a layer may compute with more than its weights: one that is adapted, packed or in 8 bits.
    """
    linears = [
        linear
        for layer in cast(Any, decoder).layers
        for block, names in ((layer.self_attn, PROJECTIONS), (layer.encoder_attn, PROJECTIONS), (layer, ("fc1", "fc2")))
        for linear in map(block.get_submodule, names)
    ]
    is_known = all(type(module).__module__.split(".")[0] in TRUSTED for module in decoder.modules())
    if not is_known or not all(map(is_plain, linears)):
        _tell_plain("a layer is no plain linear layer")
        return None
    weights = _weights(decoder)
    steps = _STEPS_OF.get(decoder)
    if steps is None or steps.weights != weights:
        steps = _STEPS_OF[decoder] = FixedSteps(layers, weights)
    else:
        steps.layers.take_packed(layers)
    return steps


def _weights(decoder: nn.Module) -> tuple[object, ...]:
    """What a graph of a decoder takes for granted: the kinds of its modules and where its weights are."""
    tensors = (*decoder.parameters(), *decoder.buffers())
    places = ((tensor.data_ptr(), tensor.dtype, tensor.shape) for tensor in tensors)
    return (decoder.training, *map(type, decoder.modules()), *places)


@functools.cache
def _tell_plain(why: str) -> None:
    """Print why there are no graphs; the same line once."""
    print(f"the decoder's steps are not replayed as graphs, which is slower: {why}", file=sys.stderr)
