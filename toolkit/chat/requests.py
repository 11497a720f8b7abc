"""What a language model is asked, and what it replies."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

# Why a reply ended. Only the first is whole.
STOP, LENGTH, REFUSAL, TOO_LONG = "stop", "length", "refusal", "too_long"
# What stands around the thought of a model that reasons: of Qwen, DeepSeek and most others, and of Magistral.
THOUGHTS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))


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
        content = message.get("content") or ""
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError(f"wanted a reply with a choice, got {json.dumps(answer, ensure_ascii=False)[:120]}") from None
    text = _text_in(content)
    refusal = message.get("refusal")
    is_refused = bool(refusal) or finish == "content_filter"
    usage = answer.get("usage") or {}
    return Reply(
        str(refusal) if refusal and not text else text,
        REFUSAL if is_refused else LENGTH if finish == "length" else STOP,
        int(usage.get("prompt_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
    )


def _text_in(content: Any) -> str:
    """The text of a message, whose content may be a list of parts; a part of another type, as a thought, is none of it.

    >>> _text_in([{"type": "thinking", "thinking": "He left, so ..."}, {"type": "text", "text": "He went."}])
    'He went.'

    Raises:
        ValueError: It is neither a text nor such a list.
    """
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "".join(str(part.get("text") or "") for part in content if part.get("type") == "text")
    if not isinstance(content, str):
        raise ValueError(f"wanted a text in the reply, got {json.dumps(content)[:120]}")
    return content


def without_thought(reply: Reply) -> Reply:
    r"""A reply without what the model thought before its answer: some servers leave that in, and so do models here.

    The template of a model may have begun the thought, so that the reply only ends it. A thought that does not end was
    cut, and there is no answer.

    >>> without_thought(Reply("<think>\nHe left, so ...\n</think>\n\nHe went.", STOP)).text
    'He went.'
    >>> without_thought(Reply("<think>\nHe left, so", STOP, 9, 5))
    Reply(text='', finish='length', input_tokens=9, output_tokens=5)
    """
    text = reply.text.lstrip()
    for begin, end in THOUGHTS:
        thought, mark, answer = text.partition(end)
        if mark and (thought.startswith(begin) or begin not in thought):
            return replace(reply, text=answer.lstrip())
        if not mark and text.startswith(begin):
            return replace(reply, text="", finish=REFUSAL if reply.finish == REFUSAL else LENGTH)
    return reply
