"""The engine for causal language models of Llama's kind: all rows of a prompt share its keys and values.

A sentence is a prompt here, and what its rows say follows it. The prompt is read once. Its keys and values take the
place that the encoder states have in `shared.py`: the rows of a prompt attend to them in one matrix product, and to
their own steps apart; the logarithms of both sums of weights tell how much each part counts. The model's own decoder
runs around this attention, by the interface of `transformers`, so that norms, rotary positions and projections are the
model's.

What ends a text may be several tokens. The first of them stands for all: it has their probability together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.cache_utils import DynamicCache, DynamicLayer

from toolkit.decode._attention import StepsLayer
from toolkit.decode._source import encode_in_runs, places
from toolkit.decode._top_k import token_log_probabilities
from toolkit.decode.engine import UNBOUNDED, State, _moved, _sentence_of_rows, _to_device
from toolkit.models.padding import pad

NAME = "parabank_prompts"
CAUSAL = ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "smollm3")  # families that are tested
SLICE = {"cpu": 128, "cuda": 8192}  # ours: rows whose logits are computed at a time


@dataclass
class _Prompts:
    """The prompts of the rows in flight, as attention reads them.

    Attributes:
        keys: Of each layer, (prompts, key heads, prompt steps, dim).
        values: As `keys`.
        mask: Added to scores, 0 or -inf, (prompts, 1, 1, prompt steps); None without padding.
        place: (rows,) prompt * width + number of the row among those of its prompt; None while they stand in order.
        width: The greatest number of rows of a prompt.
    """

    keys: list[Tensor]
    values: list[Tensor]
    mask: Tensor | None
    place: Tensor | None = None
    width: int = 0

    def put(self, sentence: Tensor) -> None:
        """Note which prompt each row follows now."""
        self.place, self.width = places(sentence, len(self.keys[0]))


@dataclass
class _CausalState(State):
    """Rows in flight.

    Attributes:
        cache: Keys and values of what each row has said.
        prompts: What the rows follow.
        first_position: (prompts,) the position of the first token that a row reads: the last one of its prompt.
        last_id: (prompts,) that token.
    """

    cache: DynamicCache
    prompts: _Prompts
    first_position: Tensor
    last_id: Tensor


class CausalEngine:
    """A causal language model, ready to decode: an `Engine[_CausalState]` whose sources are prompts.

    Args:
        model: A model of one of `CAUSAL` in eval mode; its own weights and dtype are used.
        stops: The tokens that end a text; None takes those of the model's generation configuration.

    Attributes:
        given: One token, in whose place the first step reads the last token of each prompt.

    Raises:
        ValueError: A model of another family, one without a token that ends a text, or without one that can stand for
            no token.
    """

    def __init__(self, model: PreTrainedModel, stops: Sequence[int] | None = None):
        family = model.config.model_type
        if family not in CAUSAL:
            raise ValueError(f"wanted a causal model of one of {', '.join(CAUSAL)}, got {family!r}")
        self.model, self.config, self.device = model, model.config.get_text_config(), model.device
        self.decoder, self.head = model.get_decoder(), model.get_output_embeddings()
        self.eos, *self.other_stops = _stops(model) if stops is None else stops
        self.pad = self._padding()
        self.given = [self.pad]
        windows = [self.config.max_position_embeddings, getattr(self.config, "sliding_window", None)]
        self.limit = min((limit for limit in windows if limit), default=UNBOUNDED)
        self.softcap: float | None = getattr(self.config, "final_logit_softcapping", None)

    def _padding(self) -> int:
        """A token that no text contains, for rows that say nothing."""
        config = self.config
        candidates = [config.pad_token_id, config.bos_token_id, *self.other_stops]
        padding = next((token for token in candidates if token is not None and token != self.eos), None)
        if padding is None:
            raise ValueError("wanted a model with a token for padding or for the beginning of texts, got one without")
        return padding

    @torch.inference_mode()
    def start(self, sources: Sequence[Sequence[int]], rows_each: int | Sequence[int], steps: int) -> _CausalState:
        """See `Engine.start`; a source is a prompt.

        Raises:
            ValueError: A prompt has fewer than two tokens, or the model has no positions for it and `steps` more.
        """
        shortest, longest = min(map(len, sources)), max(map(len, sources))
        if shortest < 2 or longest + steps > self.limit:
            raise ValueError(
                f"wanted prompts of 2 to {self.limit - steps} tokens, got {shortest} to {longest} tokens: the model "
                f"has {self.limit} positions, {steps} of them for what follows"
            )
        keys, values, mask = encode_in_runs([source[:-1] for source in sources], self._read_run)
        cache, prompts = DynamicCache(), _Prompts(keys, values, mask)
        cache.layers = [StepsLayer(steps) for _ in keys]
        sentence = _sentence_of_rows(self, len(sources), rows_each)
        prompts.put(sentence)
        position = _to_device(torch.tensor([len(source) - 1 for source in sources]), self.device)
        last_id = _to_device(torch.tensor([source[-1] for source in sources]), self.device)
        return _CausalState(sentence, 0, cache, prompts, position, last_id)

    def _read_run(self, prompts: Sequence[Sequence[int]]) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Keys and values for `encode_in_runs`; what stands behind the end of a prompt changes nothing before it."""
        ids = _to_device(pad(prompts, self.pad), self.device)
        lengths = _to_device(torch.tensor([[len(prompt)] for prompt in prompts]), self.device)
        cache = DynamicCache()
        self.decoder(input_ids=ids, past_key_values=cache, use_cache=True)
        layers = cast(list[DynamicLayer], cache.layers)
        keys = [cast(Tensor, layer.keys) for layer in layers]
        values = [cast(Tensor, layer.values) for layer in layers]
        return keys, values, torch.arange(ids.shape[1], device=self.device) < lengths

    def step(self, state: _CausalState, ids: Tensor) -> Tensor:
        """See `Engine.step`."""
        if not state.steps:
            ids = state.last_id[state.sentence]
        with self._attending():
            hidden = self.decoder(
                input_ids=ids[:, None],
                position_ids=(state.first_position[state.sentence] + state.steps)[:, None],
                past_key_values=state.cache,
                use_cache=True,
                prompts=state.prompts,
            ).last_hidden_state
        state.steps += 1
        return hidden[:, -1]

    def logits(self, hidden: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """See `Engine.logits`."""
        size = SLICE.get(hidden.device.type, 8192)
        for begin in range(0, len(hidden), size):
            part = slice(begin, begin + size)
            logits = self.head(hidden[part])
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
            if self.softcap is not None:
                logits = torch.tanh(logits / self.softcap) * self.softcap
            if self.other_stops:
                stops = [self.eos, *self.other_stops]
                logits[:, self.eos] = logits[:, stops].logsumexp(1)
                logits[:, self.other_stops] = -torch.inf
            yield part, logits

    @torch.inference_mode()
    def likelihoods(self, sources: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Tensor:
        """See `Engine.likelihoods`."""
        output_ids, count = _to_device(torch.tensor(outputs), self.device), len(outputs[0])
        texts = [[*source, *output[:-1]] for source, output in zip(sources, outputs, strict=True)]
        hidden = self.decoder(input_ids=_to_device(pad(texts, self.pad), self.device), use_cache=False)[0]
        ends = _to_device(torch.tensor([[len(source) - 1] for source in sources]), self.device)
        places_read = ends + torch.arange(count, device=self.device)
        hidden = hidden.gather(1, places_read[..., None].expand(-1, -1, hidden.shape[-1])).flatten(0, 1)
        scores = [token_log_probabilities(logits, output_ids.flatten()[part]) for part, logits in self.logits(hidden)]
        return torch.cat(scores).view_as(output_ids)

    def move(
        self, state: _CausalState, source: Tensor, target: Tensor, rows: int, within_sentences: bool = False
    ) -> None:
        """See `Engine.move`."""
        for layer in cast(list[StepsLayer], state.cache.layers):
            layer.move(source, target, rows)
        if not within_sentences:
            state.sentence = _moved(state.sentence, source, target, rows)
            state.prompts.put(state.sentence)

    @contextlib.contextmanager
    def _attending(self) -> Iterator[None]:
        """Make the decoder attend with `_attend` inside the block."""
        config = self.decoder.config
        implementation = config._attn_implementation
        config._attn_implementation = NAME
        try:
            yield
        finally:
            config._attn_implementation = implementation


def _stops(model: PreTrainedModel) -> list[int]:
    """The tokens that end a text of a model."""
    eos: Any = cast(Any, model.generation_config).eos_token_id
    if eos is None:
        raise ValueError("wanted a model with a token that ends a text, got one without")
    return list(eos) if isinstance(eos, list) else [eos]


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    prompts: _Prompts | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """The attention function that `transformers` calls with (rows, heads, 1, dim) queries and what the cache holds.

    `prompts` is an argument of the decoder's call, which `transformers` passes on. The interface requires the `**_`.
    """
    assert prompts is not None
    layer, key_heads = cast(int, module.layer_idx), key.shape[2]
    scaled = query[:, :, 0] * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    grouped = scaled.unflatten(1, (key_heads, -1))  # query heads with the key head that they share
    before, before_log = _attend_prompts(grouped, prompts.keys[layer], prompts.values[layer], prompts, softcap)
    since, since_log = _attend_steps(grouped, key, value, softcap)
    share = torch.sigmoid(since_log - before_log).to(before.dtype)[..., None]
    return torch.lerp(before, since, share).flatten(1, 2)[:, None], None


def _attend_prompts(
    query: Tensor, keys: Tensor, values: Tensor, prompts: _Prompts, softcap: float | None
) -> tuple[Tensor, Tensor]:
    """Attention of each row to its prompt, all rows of a prompt in one matrix product.

    Args:
        query: (rows, key heads, query heads of each, dim), scaled.
        keys: (prompts, key heads, prompt steps, dim).
        values: As `keys`.
        prompts: Which prompt each row follows.
        softcap: Greatest score, which scores approach; None for no limit.

    Returns:
        What was attended, as `query`; the logarithm of the sum of its weights, (rows, key heads, query heads of each).
    """
    count, width, (key_heads, group, dim) = len(keys), prompts.width, query.shape[1:]
    spread = query
    if prompts.place is not None:
        spread = query.new_zeros(count * width, key_heads, group, dim).index_copy_(0, prompts.place, query)
    spread = spread.view(count, width, key_heads, group, dim).transpose(1, 2).reshape(count, key_heads, -1, dim)
    scores = _capped(torch.matmul(spread, keys.transpose(2, 3)), softcap)
    if prompts.mask is not None:
        scores = scores + prompts.mask
    log_sum = scores.logsumexp(-1, keepdim=True)
    attended = torch.matmul((scores - log_sum).exp_().to(values.dtype), values)

    def by_row(states: Tensor) -> Tensor:
        states = states.view(count, key_heads, width, group, -1).transpose(1, 2).flatten(0, 1)
        return states if prompts.place is None else states.index_select(0, prompts.place)

    return by_row(attended), by_row(log_sum)[..., 0]


def _attend_steps(query: Tensor, keys: Tensor, values: Tensor, softcap: float | None) -> tuple[Tensor, Tensor]:
    """Attention of each row to its own steps.

    Args:
        query: (rows, key heads, query heads of each, dim), scaled.
        keys: (steps, rows, key heads, dim).
        values: As `keys`.
        softcap: See `_attend_prompts`.

    Returns:
        As `_attend_prompts`.
    """
    scores = torch.stack([(query * key[:, :, None]).sum(-1) for key in keys], -1)  # see `attend_steps` for the loop
    scores = _capped(scores, softcap)
    log_sum = scores.logsumexp(-1, keepdim=True)
    weights = (scores - log_sum).exp_().to(values.dtype)
    attended = torch.zeros_like(query)
    for weight, value in zip(weights.unbind(-1), values, strict=True):
        attended.addcmul_(weight[..., None], value[:, :, None])
    return attended, log_sum[..., 0]


def _capped(scores: Tensor, softcap: float | None) -> Tensor:
    """Scores in float32 or more exact, below a limit where there is one."""
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return scores if softcap is None else torch.tanh(scores / softcap) * softcap


AttentionInterface.register(NAME, _attend)
