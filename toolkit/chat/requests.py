"""What a language model is asked, and what it replies."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

# Why a reply ended. Only the first is whole.
STOP, LENGTH, REFUSAL, TOO_LONG = "stop", "length", "refusal", "too_long"


class Message(NamedTuple):
    """A message of a chat.

    Attributes:
        role: "system", "user" or "assistant".
        content: Its text.
    """

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """A request for one reply. Equal requests have equal replies, so that only one of them is sent.

    Attributes:
        messages: The chat.
        token_limit: The most tokens of the reply.
        temperature: Of the draw; 0 is greedy.
        top_p: The draw is from the most probable tokens with this probability together.
        seed: Of the draw.
        schema: JSON schema of the reply, as JSON; "" for free text.
    """

    messages: tuple[Message, ...]
    token_limit: int
    temperature: float
    top_p: float
    seed: int
    schema: str = ""

    def key(self, model: str, server: str) -> str:
        """A hash of everything that the reply depends on.

        Args:
            model: The name by which the server has the model.
            server: Its address.
        """
        content = json.dumps([server, model, asdict(self)], ensure_ascii=False, sort_keys=True)
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()

    def body(self, model: str) -> dict[str, Any]:
        """The request in the form of OpenAI's API."""
        schema = {"name": "reply", "strict": True, "schema": json.loads(self.schema)} if self.schema else None
        body = {
            "model": model,
            "messages": [message._asdict() for message in self.messages],
            "max_tokens": self.token_limit,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
        }
        return body | ({"response_format": {"type": "json_schema", "json_schema": schema}} if schema else {})

    @property
    def estimated_tokens(self) -> int:
        """About how many tokens the prompt and the reply have."""
        return sum(len(message.content.encode()) for message in self.messages) // 3 + self.token_limit // 2


@dataclass(frozen=True)
class Reply:
    """A reply.

    Attributes:
        text: What the model said.
        finish: Why it ended: "stop", "length" (cut at the limit), "refusal", or "too_long" (the prompt was).
        input_tokens: Tokens of the prompt, as the server counts them.
        output_tokens: Tokens of the reply.
    """

    text: str
    finish: str
    input_tokens: int = 0
    output_tokens: int = 0


class Submitted(Exception):
    """Requests wait in batches.

    Attributes:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        super().__init__(f"{count:,} requests wait in batches: give the same command again later, and it collects them")
        self.count = count


def read_reply(answer: Any) -> Reply:
    """The reply of the JSON of a server.

    Raises:
        ValueError: It is no chat completion.
    """
    try:
        choice = answer["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        text = message.get("content") or ""
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError(f"wanted a reply with a choice, got {json.dumps(answer, ensure_ascii=False)[:120]}") from None
    if not isinstance(text, str):
        raise ValueError(f"wanted a text in the reply, got {json.dumps(text)[:120]}")
    refusal = message.get("refusal")
    is_refused = bool(refusal) or finish == "content_filter"
    usage = answer.get("usage") or {}
    return Reply(
        str(refusal) if refusal and not text else text,
        REFUSAL if is_refused else LENGTH if finish == "length" else STOP,
        int(usage.get("prompt_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
    )
