"""Requests in batch files, which many servers answer within a day for half the price."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from toolkit.chat._cache import Replies
from toolkit.chat._faults import FILTERED, FULL_CONTEXT
from toolkit.chat.requests import REFUSAL, TOO_LONG, Reply, read_reply
from toolkit.system.errors import MAX_CHARACTERS

if TYPE_CHECKING:
    from openai import OpenAI

BATCH_PRICE = 0.5  # of the price of a reply at once; what OpenAI, Anthropic and Mistral ask in 2026
MOST = 10_000  # ours: requests of a batch; OpenAI takes 50,000
ENDED = ("completed", "expired", "failed", "cancelled")
ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
WINDOW: Literal["24h"] = "24h"
REFUSED_FOR_GOOD = (400, 401, 403, 404, 413, 422)  # states of HTTP: another time is refused, too
LABEL = "parabank"  # names the requests of a batch in its metadata


def submit(client: OpenAI, replies: Replies, bodies: dict[str, dict[str, Any]]) -> None:
    """Submit requests, and keep the names of the batches.

    A batch that was submitted by a process which was killed before it kept the name is found by its label, unless it
    ended without replies: then it is submitted again.

    Args:
        client: The client of the server.
        replies: Keeps the names.
        bodies: The requests by key.
    """
    batches = client.batches.list(limit=100).data
    labels = {(batch.metadata or {}).get(LABEL): batch.id for batch in batches if not _is_over(batch)}
    names = list(bodies)
    for keys in (names[begin : begin + MOST] for begin in range(0, len(names), MOST)):
        label = hashlib.blake2b("".join(keys).encode(), digest_size=16).hexdigest()
        name = labels.get(label)
        if name is None:
            lines = (
                json.dumps(
                    {"custom_id": key, "method": "POST", "url": ENDPOINT, "body": bodies[key]}, ensure_ascii=False
                )
                for key in keys
            )
            content = io.BytesIO("".join(f"{line}\n" for line in lines).encode())
            file = client.files.create(file=(f"{LABEL}-{label}.jsonl", content), purpose="batch")
            metadata = {LABEL: label}
            batch = client.batches.create(
                input_file_id=file.id, endpoint=ENDPOINT, completion_window=WINDOW, metadata=metadata
            )
            name = batch.id
        replies.add_batch(name, keys)


def collect(client: OpenAI, replies: Replies, cost_of: Callable[[Reply], float]) -> Iterator[tuple[Reply, float]]:
    """Keep the replies of batches that have ended. What has none in them is asked again in another batch.

    Args:
        client: The client of the server.
        replies: Keeps the replies.
        cost_of: Dollars for a reply.

    Yields:
        Each new reply, and its cost.

    Raises:
        RuntimeError: A batch failed as a whole, or the server refused some of its requests for good.
    """
    for name in replies.batches():
        batch = client.batches.retrieve(name)
        if batch.status not in ENDED:
            continue
        replied, refusals = 0, list[str]()
        for key, reply in _replies_of(client, batch, refusals):
            cost = cost_of(reply)
            replies.keep(key, reply, cost)
            replied += 1
            yield reply, cost
        replies.remove_batch(name)
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


def _replies_of(client: OpenAI, batch: Any, refusals: list[str]) -> Iterator[tuple[str, Reply]]:
    """The replies of a batch that has ended, by key.

    Args:
        client: The client of the server.
        batch: The batch.
        refusals: What the server said of requests that it would refuse again is added to them.
    """
    for file in filter(None, (batch.output_file_id, batch.error_file_id)):
        for line in client.files.content(file).text.split("\n"):  # a reply may have other ends of lines in it
            record = json.loads(line) if line.strip() else {}
            answer = record.get("response") or {}
            try:
                if answer.get("status_code") == 200:
                    yield record["custom_id"], read_reply(answer["body"])
                elif _code_of(answer) in FILTERED:
                    yield record["custom_id"], Reply("", REFUSAL)
                elif any(words in _message_of(answer) or words in _code_of(answer) for words in FULL_CONTEXT):
                    yield record["custom_id"], Reply("", TOO_LONG)
                elif answer.get("status_code") in REFUSED_FOR_GOOD:
                    refusals.append(_message_of(answer) or f"status {answer['status_code']}")
            except ValueError:
                continue  # it is missing still, and asked again


def _is_over(batch: Any) -> bool:
    """Whether a batch has ended and brings no replies."""
    return batch.status in ENDED and not batch.output_file_id


def _code_of(answer: dict[str, Any]) -> str:
    """The code of an error in a batch; "" for none."""
    return str(_error_of(answer).get("code") or "")


def _message_of(answer: dict[str, Any]) -> str:
    """What a server says of an error in a batch, shortened; "" for nothing."""
    return str(_error_of(answer).get("message") or "")[:MAX_CHARACTERS]


def _error_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The error in the answer to a request of a batch."""
    body = answer.get("body")
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}
