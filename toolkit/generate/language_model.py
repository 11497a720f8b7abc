"""Candidates from any causal or chat language model, which is asked to say each reference in other words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from toolkit.data.progress import at_hand
from toolkit.data.rows import Candidate, Origin, Row
from toolkit.generate._replies import is_refusal, sentence_in
from toolkit.generate.prompt import _Prompt
from toolkit.models.language_model import LanguageModel
from toolkit.models.served import ServedModel, served_replies

STRIPPED = "{}, stripped"  # recipe of a candidate whose reply had more than the sentence
MORE_TOKENS = 32  # ours: a reply has at most twice the tokens of its reference and so many more


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

    prompt: _Prompt
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


def ask_rows(rows: Iterable[Row], model: LanguageModel | ServedModel, asking: Asking) -> Iterator[Row]:
    """Give every row the distinct sentences of a model's replies.

    A chat model gets the prompt in its own template, any other model as it is. Replies of a batch share a seed that
    comes from the ids of its rows; on a server every row has a seed.

    Args:
        rows: Rows with a reference, without candidates; all of a shard are held at a time.
        model: The model.
        asking: How replies are drawn.

    Yields:
        The rows in their order, `candidates` filled. The recipe of an origin is the name of the prompt, and ends with
        ", stripped" where the reply had more than the sentence. Reasons: "refusal" where the model would not answer,
        "empty" where it said nothing, "unfinished" where the reply did not end.
    """
    shard = list(rows)
    prompt_ids = [_as_ids(asking.prompt.asked(row), model.tokenizer) for row in shard]
    limits = [2 * len(model.tokenizer(row.reference)["input_ids"]) + MORE_TOKENS for row in shard]
    replies = (
        _from_server(shard, prompt_ids, limits, model, asking)
        if isinstance(model, ServedModel)
        else _in_batches(shard, prompt_ids, limits, model, asking)
    )
    signature = f"{model.signature}|{asking.signature}"
    for row, row_replies in zip(shard, replies, strict=True):
        row.candidates = _merged(row_replies, row.reference, asking.prompt.name, signature)
    yield from shard


def _in_batches(
    shard: Sequence[Row],
    prompt_ids: Sequence[Sequence[int]],
    limits: Sequence[int],
    model: LanguageModel,
    asking: Asking,
) -> list[list[tuple[str, bool]]]:
    """The replies to the prompt of each row, and whether each ended; prompts of similar length are decoded together."""
    replies: list[list[tuple[str, bool]]] = [[] for _ in shard]
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


def _from_server(
    shard: Sequence[Row], prompt_ids: Sequence[Sequence[int]], limits: Sequence[int], model: ServedModel, asking: Asking
) -> list[list[tuple[str, bool]]]:
    """The replies of a server to the prompt of each row, and whether each ended.

    A request is for one row and has a seed that comes from its id; the server batches the requests that are under way.
    """
    replies, sampling = [], (asking.temperature, asking.top_p)
    with ThreadPoolExecutor(max(1, asking.batch_rows // asking.samples)) as executor:
        futures = [
            executor.submit(
                served_replies, model, ids, asking.samples, limit, *sampling, _batch_seed([row.id], asking.seed)
            )
            for row, ids, limit in zip(shard, prompt_ids, limits, strict=True)
        ]
        try:
            for row, future in zip(shard, futures, strict=True):
                with at_hand([row]):
                    replies.append(future.result())
        finally:
            executor.shutdown(cancel_futures=True)  # after an error nothing more is asked
    return replies


def _as_ids(prompt: str, tokenizer: Any) -> list[int]:
    """A prompt as the model reads it."""
    if getattr(tokenizer, "chat_template", None):
        chat = [{"role": "user", "content": prompt}]
        prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        return tokenizer(prompt, add_special_tokens=False, verbose=False)["input_ids"]
    return tokenizer(prompt, verbose=False)["input_ids"]


def _batch_seed(ids: Sequence[str], seed: int) -> int:
    """The seed of a batch."""
    return int.from_bytes(hashlib.blake2b("\t".join([str(seed), *ids]).encode(), digest_size=4).digest(), "big")


@torch.inference_mode()
def _draw_replies(
    prompt_ids: Sequence[Sequence[int]], max_tokens: int, model: LanguageModel, asking: Asking, seed: int
) -> list[tuple[str, bool]]:
    """The replies to prompts, `samples` of each, and whether each ended.

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
    return [(text, bool(stops & set(ids))) for text, ids in zip(texts, reply_ids, strict=True)]


def _merged(replies: Sequence[tuple[str, bool]], reference: str, prompt: str, signature: str) -> list[Candidate]:
    """One candidate for each distinct sentence or refusal of the replies to a prompt."""
    candidate_by_text: dict[str, Candidate] = {}
    for reply, ended in replies:
        text, has_more = sentence_in(reply, reference)
        is_refused = is_refusal(reply, reference)
        text = reply.strip() if is_refused else text
        ended = ended or "\n" in reply.strip()  # what follows the sentence may be cut
        reason = "refusal" if is_refused else "empty" if not text else None if ended else "unfinished"
        candidate = candidate_by_text.setdefault(
            text, Candidate(text, "lm", draws=0, generator=signature, reason=reason)
        )
        candidate.draws += 1
        candidate.reason = candidate.reason and reason
        origin = Origin(STRIPPED.format(prompt) if has_more and not is_refused else prompt)
        if origin not in candidate.origins:
            candidate.origins.append(origin)
    return list(candidate_by_text.values())
