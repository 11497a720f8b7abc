"""Candidates from any causal or chat language model, which is asked to say each reference in other words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from toolkit.chat.client import ChatClient
from toolkit.chat.requests import LENGTH, REFUSAL, STOP, TOO_LONG, Reply, Request
from toolkit.chat.settings import PromptedModel
from toolkit.data.progress import at_hand, note
from toolkit.data.rows import Candidate, Origin, Row
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate._replies import is_refusal
from toolkit.generate.prompt import Prompt, make_prompt
from toolkit.models.language_model import LanguageModel, chat_ids, load_language_model

STRIPPED = "{}, stripped"  # recipe of a candidate whose reply had more than the sentence
MORE_TOKENS = 32  # ours: an output has at most twice the tokens of its reference and so many more


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

    A chat model gets the prompt in its own template, any other model as it is. Replies of a batch share a seed that
    comes from the ids of its rows; of a server every reply has one, from its row and its number.

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
    replies: list[list[Reply]] = [[] for _ in shard]
    batch_size = max(1, asking.batch_rows // asking.samples)
    order = sorted(range(len(shard)), key=lambda i: (len(prompt_ids[i]), i))
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        with at_hand([shard[i] for i in batch], len(batch)):
            seed = _batch_seed([shard[i].id for i in batch], asking.seed)
            batch_replies = _draw_replies(
                [prompt_ids[i] for i in batch], max(limits[i] for i in batch), model, asking, seed
            )
            for index, i in enumerate(batch):
                replies[i] = batch_replies[index * asking.samples : (index + 1) * asking.samples]
    return replies


def _from_server(shard: Sequence[Row], client: ChatClient, asking: Asking) -> list[list[Reply]]:
    """The replies of a server to the prompt of each row.

    There are as many requests as replies, each with a seed of its own, so that a greater number asks only for new ones.
    """
    requests = []
    for row in shard:
        messages = asking.prompt.messages(row)
        limit = asking.prompt.outputs * (len(row.reference.encode()) + MORE_TOKENS)  # a token has two bytes at least
        requests += [
            Request(
                messages,
                limit,
                asking.temperature,
                asking.top_p,
                _batch_seed([row.id, str(number)], asking.seed),
                asking.prompt.schema,
            )
            for number in range(asking.samples)
        ]

    def report(number: int) -> None:
        with at_hand([], 1 / asking.samples):
            note(str(client.usage))

    replies = iter(client.ask(requests, report))
    return [[next(replies) for _ in range(asking.samples)] for _ in shard]


def _batch_seed(ids: Sequence[str], seed: int) -> int:
    """The seed of a batch."""
    return int.from_bytes(hashlib.blake2b("\t".join([str(seed), *ids]).encode(), digest_size=4).digest(), "big")


@torch.inference_mode()
def _draw_replies(
    prompt_ids: Sequence[Sequence[int]], max_tokens: int, model: LanguageModel, asking: Asking, seed: int
) -> list[Reply]:
    """The replies to prompts, `samples` of each.

    Args:
        prompt_ids: Ids of each prompt.
        max_tokens: The most tokens of a reply.
        model: The model.
        asking: How replies are drawn.
        seed: The seed.
    """
    tokenizer, network = model.tokenizer, model.model
    device = network.device
    longest = max(map(len, prompt_ids))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    rows = torch.tensor([[pad] * (longest - len(ids)) + list(ids) for ids in prompt_ids], device=device)
    mask = torch.tensor([[0] * (longest - len(ids)) + [1] * len(ids) for ids in prompt_ids], device=device)
    sampling: dict[str, Any] = {"do_sample": asking.temperature > 0, "num_return_sequences": asking.samples}
    if asking.temperature > 0:
        sampling |= {"temperature": asking.temperature, "top_p": asking.top_p, "top_k": 0}
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=[device] if device.type == "cuda" else []))
        torch.manual_seed(seed)
        untyped_network: Any = network
        reply_ids = untyped_network.generate(
            input_ids=rows, attention_mask=mask, max_new_tokens=max_tokens, pad_token_id=pad, **sampling
        )[:, longest:].tolist()
    ends = untyped_network.generation_config.eos_token_id
    stops = set(ends if isinstance(ends, list) else [ends])
    texts = tokenizer.batch_decode(reply_ids, skip_special_tokens=True)
    return [Reply(text, STOP if stops & set(ids) else LENGTH) for text, ids in zip(texts, reply_ids, strict=True)]


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
        return [("", bool(text), "empty")]
    is_cut = is_cut and "\n" not in text  # what follows the sentence may be cut
    return [(sentence, more, "unfinished" if is_cut else None) for sentence, more in outputs]
