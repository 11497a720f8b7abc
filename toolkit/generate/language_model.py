"""Candidates from any causal or chat language model, which is asked to say each reference in other words."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList, TopPLogitsWarper

from toolkit.chat.client import ChatClient
from toolkit.chat.requests import LENGTH, REFUSAL, STOP, THOUGHTS, TOO_LONG, Reply, Request, without_thought
from toolkit.chat.settings import PromptedModel
from toolkit.data.progress import at_hand, note
from toolkit.data.rows import Candidate, Origin, Row
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate._replies import is_refusal
from toolkit.generate.prompt import Prompt, make_prompt
from toolkit.models.language_model import LanguageModel, chat_ids, load_language_model, positions_of
from toolkit.system.memory import in_halves

STRIPPED = "{}, stripped"  # recipe of a candidate whose reply had more than the sentence
MORE_TOKENS = 32  # ours: an output has at most twice the tokens of its reference and so many more
MARK_TOKENS = 8  # ours: of the end of a prompt, in which a template may begin a thought


@dataclass(frozen=True)
class Asking:
    """How replies are drawn.

    Attributes:
        prompt: What the model is asked.
        samples: Replies to each prompt.
        temperature: Of the draw; 0 is greedy.
        top_p: The draw is from the most probable tokens with this probability together.
        batch_rows: Replies that are decoded at a time, or asked of a server at a time.
        seed: Of the draw.
    """

    prompt: Prompt
    samples: int
    temperature: float
    top_p: float
    batch_rows: int
    seed: int

    @property
    def signature(self) -> str:
        """The settings in one short string, for provenance."""
        kind = f"temperature:{self.temperature:g}|top_p:{self.top_p:g}" if self.temperature else "greedy"
        return f"prompt:{self.prompt.name}|samples:{self.samples}|{kind}"


def load_asked(
    settings: PromptedModel, dtype: str, device: torch.device | str, folder: Path | None = None
) -> LanguageModel | ChatClient:
    """Load a language model, or take that of a server.

    Args:
        settings: Which.
        dtype: See `load_language_model`.
        device: Device on which it computes, if it does so here.
        folder: Where a server's replies are kept, unless the settings name a file.

    Raises:
        ValueError: There is no such model, or no model.
    """
    if settings.model is None:
        raise ValueError("wanted a language model, got none")
    if settings.server is not None:
        return ChatClient(settings.model, settings, settings.replies_at_once, folder)
    return load_language_model(settings.model, dtype, device)


def make_asking(
    settings: PromptedModel, samples: int, seed: int, constraints: Mapping[str, ConstraintSet] | None = None
) -> Asking:
    """How a language model is asked by some settings.

    Args:
        settings: The settings.
        samples: Replies to each prompt, where they do not say.
        seed: Of the draw.
        constraints: See `make_prompt`.

    Raises:
        OSError: See `make_prompt`.
        ValueError: Likewise.
    """
    prompt, count = make_prompt(settings, constraints), settings.samples or samples
    return Asking(prompt, count, settings.temperature, settings.top_p, settings.replies_at_once, seed)


def ask_rows(rows: Iterable[Row], model: LanguageModel | ChatClient, asking: Asking) -> Iterator[Row]:
    """Give every row the distinct paraphrases in a model's replies.

    A chat model gets the prompt in its own template, any other model as it is. Every reply has a seed of its own, from
    its row and its number, so that it does not depend on its batch. What a model thinks before its answer is left out.

    Args:
        rows: Rows with a reference, without candidates; all of a shard are held at a time.
        model: The model.
        asking: How replies are drawn.

    Yields:
        The rows in their order, `candidates` filled in the order of the replies. The recipe of an origin is the name of
        the prompt, and ends with ", stripped" where the reply had more than was asked for. Reasons: "refusal" where the
        model would not answer, "empty" where it said nothing, "unfinished" where the reply did not end, "too_long"
        where the model cannot read so long a text.
    """
    shard = list(rows)
    replies = _from_server(shard, model, asking) if isinstance(model, ChatClient) else _in_batches(shard, model, asking)
    signature = f"{model.signature}|{asking.signature}"
    for row, row_replies in zip(shard, replies, strict=True):
        row.candidates = _merged(row_replies, row, asking.prompt, signature)
    yield from shard


def _in_batches(shard: Sequence[Row], model: LanguageModel, asking: Asking) -> list[list[Reply]]:
    """The replies to the prompt of each row; prompts of similar length are decoded together."""
    prompt_ids = [chat_ids(asking.prompt.messages(row), model.tokenizer) for row in shard]
    outputs = asking.prompt.outputs
    limits = [outputs * (2 * len(model.tokenizer(row.reference)["input_ids"]) + MORE_TOKENS) for row in shard]
    seeds = [[_reply_seed(row, number, asking.seed) for number in range(asking.samples)] for row in shard]
    replies = [[Reply("", TOO_LONG)] * asking.samples for _ in shard]
    positions = positions_of(model.model)
    readable = [i for i, ids in enumerate(prompt_ids) if len(ids) + limits[i] <= positions]
    order = sorted(readable, key=lambda i: (len(prompt_ids[i]), i))

    def draw(batch: Sequence[int]) -> None:
        batch_limits, batch_seeds = [limits[i] for i in batch], [seeds[i] for i in batch]
        drawn = _draw_replies([prompt_ids[i] for i in batch], batch_limits, batch_seeds, model, asking)
        for i, row_replies in zip(batch, drawn, strict=True):
            replies[i] = row_replies

    batch_size = max(1, asking.batch_rows // asking.samples)
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        with at_hand([shard[i] for i in batch], len(batch)):
            in_halves(batch, draw)
    return replies


def _from_server(shard: Sequence[Row], client: ChatClient, asking: Asking) -> list[list[Reply]]:
    """The replies of a server to the prompt of each row.

    There are as many requests as replies, each with a seed of its own, so that a greater number asks only for new ones.
    """
    requests = []
    for row in shard:
        messages = asking.prompt.messages(row)
        byte_count = len(row.reference.encode())  # more than its tokens, nearly all of which have two bytes or more
        limit = asking.prompt.outputs * (byte_count + MORE_TOKENS)
        requests += [
            Request(
                messages,
                limit,
                asking.temperature,
                asking.top_p,
                _reply_seed(row, number, asking.seed),
                asking.prompt.schema,
            )
            for number in range(asking.samples)
        ]

    def report(number: int) -> None:
        with at_hand([], 1 / asking.samples):
            note(str(client.usage))

    replies = iter(client.ask(requests, report))
    return [[next(replies) for _ in range(asking.samples)] for _ in shard]


def _reply_seed(row: Row, number: int, seed: int) -> int:
    """The seed of a reply to the prompt of a row."""
    name = "\t".join([str(seed), row.id, str(number)])
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest(), "big")


class _OwnDraw(LogitsProcessor):
    """Draws the next token of each reply by a random number of its own, whatever stands beside it in the batch.

    Args:
        seeds: Of each reply.
        asking: Has the temperature, above 0, and top_p.
    """

    def __init__(self, seeds: Sequence[int], asking: Asking) -> None:
        self.chances = [random.Random(seed) for seed in seeds]
        self.temperature, self.nucleus = asking.temperature, TopPLogitsWarper(asking.top_p)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores that leave each reply the token that it draws.

        Args:
            input_ids: (replies, steps); unused.
            scores: (replies, vocabulary).
        """
        probabilities = self.nucleus(input_ids, scores / self.temperature).double().softmax(-1)
        shares = probabilities.cumsum(-1)
        chance = torch.tensor([[reply.random()] for reply in self.chances], dtype=torch.float64, device=scores.device)
        token = torch.searchsorted(shares, chance * shares[:, -1:], right=True).clamp_(max=scores.shape[1] - 1)
        return torch.full_like(scores, -torch.inf).scatter_(1, token, 0.0)


@torch.inference_mode()
def _draw_replies(
    prompt_ids: Sequence[Sequence[int]],
    limits: Sequence[int],
    seeds: Sequence[Sequence[int]],
    model: LanguageModel,
    asking: Asking,
) -> list[list[Reply]]:
    """The replies to prompts, as many to each as it has seeds.

    Args:
        prompt_ids: Ids of each prompt.
        limits: The most tokens of a reply to each.
        seeds: The seed of each reply to each.
        model: The model.
        asking: How replies are drawn.
    """
    tokenizer, network = model.tokenizer, model.model
    longest = max(map(len, prompt_ids))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    rows = torch.tensor([[pad] * (longest - len(ids)) + list(ids) for ids in prompt_ids], device=network.device)
    mask = torch.tensor([[0] * (longest - len(ids)) + [1] * len(ids) for ids in prompt_ids], device=network.device)
    drawing = [_OwnDraw([seed for reply_seeds in seeds for seed in reply_seeds], asking)] if asking.temperature else []
    untyped_network: Any = network
    reply_ids = untyped_network.generate(
        input_ids=rows.repeat_interleave(asking.samples, 0),
        attention_mask=mask.repeat_interleave(asking.samples, 0),
        max_new_tokens=max(limits),
        pad_token_id=pad,
        do_sample=False,  # the processor leaves each reply the token that it has drawn
        logits_processor=LogitsProcessorList(drawing),
        **dict.fromkeys(("temperature", "top_p", "top_k")),
    )[:, longest:].tolist()
    ends = untyped_network.generation_config.eos_token_id
    stops = set(ends if isinstance(ends, list) else [ends])
    reply_limits = [limit for limit in limits for _ in range(asking.samples)]
    ids_within = [ids[:limit] for ids, limit in zip(reply_ids, reply_limits, strict=True)]
    texts = tokenizer.batch_decode(ids_within, skip_special_tokens=True)
    marks = [mark for ids in prompt_ids for mark in [_begun_thought(ids, tokenizer)] * asking.samples]
    replies = [
        without_thought(Reply(mark + text, STOP if stops & set(ids) else LENGTH))
        for mark, text, ids in zip(marks, texts, ids_within, strict=True)
    ]
    return [replies[begin : begin + asking.samples] for begin in range(0, len(replies), asking.samples)]


def _begun_thought(prompt_ids: Sequence[int], tokenizer: Any) -> str:
    """The mark with which the template of a model has begun its thought at the end of a prompt; "" if it has not."""
    end = tokenizer.decode(prompt_ids[-MARK_TOKENS:]).rstrip()
    return next((mark for mark, _ in THOUGHTS if end.endswith(mark)), "")


def _merged(replies: Sequence[Reply], row: Row, prompt: Prompt, signature: str) -> list[Candidate]:
    """One candidate for each distinct paraphrase or refusal in the replies to a prompt."""
    candidate_by_text: dict[str, Candidate] = {}
    for reply in replies:
        for text, has_more, reason in _outputs(reply, row, prompt):
            candidate = candidate_by_text.setdefault(
                text, Candidate(text, "lm", draws=0, generator=signature, reason=reason)
            )
            candidate.draws += 1
            candidate.reason = candidate.reason and reason
            origin = Origin(STRIPPED.format(prompt.name) if has_more else prompt.name)
            if origin not in candidate.origins:
                candidate.origins.append(origin)
    return list(candidate_by_text.values())


def _outputs(reply: Reply, row: Row, prompt: Prompt) -> list[tuple[str, bool, str | None]]:
    """The texts in a reply, whether there was more around each, and why it is no paraphrase, if it is none."""
    text, is_cut = reply.text.strip(), reply.finish == LENGTH
    if reply.finish in (REFUSAL, TOO_LONG):
        return [(text, False, reply.finish)]
    outputs = prompt.read(reply.text, row)
    if prompt.outputs > 1:
        if not outputs:
            reason = REFUSAL if is_refusal(text, row.reference) else "unfinished" if is_cut else "empty"
            return [(text if reason == REFUSAL else "", False, reason)]
        return [(output, more, REFUSAL if is_refusal(output, row.reference) else None) for output, more in outputs]
    if is_refusal(text, row.reference):
        return [(text, False, REFUSAL)]
    if not outputs:
        return [("", bool(text), "unfinished" if is_cut else "empty")]
    is_cut = is_cut and "\n" not in text  # what follows the sentence may be cut
    return [(sentence, more, "unfinished" if is_cut else None) for sentence, more in outputs]
