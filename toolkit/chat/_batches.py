"""Requests in batch files, which many servers answer within a day for half the price."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from toolkit.chat._cache import Replies, ServedModel
from toolkit.chat._faults import FILTERED, error_code, error_message, is_too_long
from toolkit.chat.requests import REFUSAL, TOO_LONG, Reply, read_reply

if TYPE_CHECKING:
    from openai import OpenAI

BATCH_PRICE = 0.5  # of the price of a reply at once; what OpenAI, Anthropic and Mistral ask in 2026
MOST = 10_000  # ours: requests of a batch; OpenAI takes 50,000
ENDED = ("completed", "expired", "failed", "cancelled")
ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
WINDOW: Literal["24h"] = "24h"
REFUSED_FOR_GOOD = (400, 401, 403, 404, 413, 422)  # states of HTTP: another time is refused, too
LABEL = "parabank"  # names the requests of a batch in its metadata


def resume(client: OpenAI, replies: Replies, owner: ServedModel, keys: Sequence[str]) -> list[str]:
    """Keep the names of batches that a process submitted which was killed before it kept them.

    They are found by their labels, unless they ended without replies.

    Args:
        client: The client of the server.
        replies: Keeps the names.
        owner: Whose the batches are.
        keys: Keys of requests that have no reply, and are in no batch whose name is kept.

    Returns:
        Those that are in none of the batches.
    """
    batches = client.batches.list(limit=100).data
    names = {(batch.metadata or {}).get(LABEL): batch.id for batch in batches if not _is_over(batch)}
    unsent = list[str]()
    for batch_keys in _parts(keys):
        if name := names.get(_label(batch_keys)):
            replies.add_batch(owner, name, batch_keys)
        else:
            unsent += batch_keys
    return unsent


def submit(client: OpenAI, replies: Replies, owner: ServedModel, bodies: dict[str, dict[str, Any]]) -> None:
    """Submit requests, and keep the names of the batches.

    Args:
        client: The client of the server.
        replies: Keeps the names.
        owner: Whose the batches are.
        bodies: The requests by key.
    """
    for keys in _parts(list(bodies)):
        label = _label(keys)
        lines = (
            json.dumps({"custom_id": key, "method": "POST", "url": ENDPOINT, "body": bodies[key]}, ensure_ascii=False)
            for key in keys
        )
        content = io.BytesIO("".join(f"{line}\n" for line in lines).encode())
        file = client.files.create(file=(f"{LABEL}-{label}.jsonl", content), purpose="batch")
        batch = client.batches.create(
            input_file_id=file.id, endpoint=ENDPOINT, completion_window=WINDOW, metadata={LABEL: label}
        )
        replies.add_batch(owner, batch.id, keys)


def _parts(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    """The keys of each batch."""
    return (keys[begin : begin + MOST] for begin in range(0, len(keys), MOST))


def _label(keys: Sequence[str]) -> str:
    """What a batch of some requests is found by."""
    return hashlib.blake2b("".join(keys).encode(), digest_size=16).hexdigest()


def collect(
    client: OpenAI,
    replies: Replies,
    owner: ServedModel,
    cost_of: Callable[[Reply], float],
    tell_too_long: Callable[[str], None],
) -> Iterator[tuple[Reply, float]]:
    """Keep the replies of batches that have ended. What has none in them is asked again in another batch.

    Args:
        client: The client of the server.
        replies: Keeps the replies.
        owner: Whose batches are collected.
        cost_of: Dollars for a reply.
        tell_too_long: Called with what the server says of each request that is too long.

    Yields:
        Each new reply, and its cost.

    Raises:
        RuntimeError: A batch failed as a whole, or the server refused some of its requests for good.
    """
    for name in replies.batches(owner):
        batch = client.batches.retrieve(name)
        if batch.status not in ENDED:
            continue
        replied, refusals = 0, list[str]()
        for key, reply in _replies_of(client, batch, refusals, tell_too_long):
            cost = cost_of(reply)
            replies.keep(key, reply, cost)
            replied += 1
            yield reply, cost
        replies.remove_batch(owner, name)
        if refusals:
            raise RuntimeError(
                f"batch {name}: the server refused {len(refusals):,} of its requests for good ({refusals[0]}) and "
                f"answered {replied:,}, which are kept: the same command without --batch asks for the others"
            )
        if not replied:
            errors = batch.errors.data if batch.errors and batch.errors.data else []
            reason = "; ".join(error.message or "" for error in errors[:3]) or batch.status
            raise RuntimeError(
                f"batch {name} brought no reply ({reason}): the same command submits another, or asks at once "
                "without --batch"
            )


def _replies_of(
    client: OpenAI, batch: Any, refusals: list[str], tell_too_long: Callable[[str], None]
) -> Iterator[tuple[str, Reply]]:
    """The replies of a batch that has ended, by key.

    Args:
        client: The client of the server.
        batch: The batch.
        refusals: What the server said of requests that it would refuse again is added to them.
        tell_too_long: Called with what it said of each request that is too long.
    """
    for file in filter(None, (batch.output_file_id, batch.error_file_id)):
        for line in client.files.content(file).text.split("\n"):  # a reply may have other ends of lines in it
            record = json.loads(line) if line.strip() else {}
            answer = record.get("response") or {}
            status, body = answer.get("status_code"), answer.get("body")
            code, message = error_code(body), error_message(body)
            try:
                if status == 200:
                    yield record["custom_id"], read_reply(body)
                elif code in FILTERED:
                    yield record["custom_id"], Reply("", REFUSAL)
                elif is_too_long(status, code, message):
                    tell_too_long(message)
                    yield record["custom_id"], Reply("", TOO_LONG)
                elif status in REFUSED_FOR_GOOD:
                    refusals.append(message or f"status {status}")
            except ValueError:
                continue  # it is missing still, and asked again


def _is_over(batch: Any) -> bool:
    """Whether a batch has ended and brings no replies."""
    return batch.status in ENDED and not batch.output_file_id
