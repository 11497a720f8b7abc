"""What went wrong with a request, and whether it helps to send it again."""

from __future__ import annotations

import email.utils
import json
import random
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from toolkit.chat.requests import REFUSAL, TOO_LONG, Reply
from toolkit.system.errors import named_line, without_secrets

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # ours: seconds before the second attempt; it doubles with each, up to the longest
LONGEST_RETRY_AFTER = 600.0  # ours: seconds for which a server may ask us to wait
REPEATED = (408, 409, 425, 429)  # statuses below 500 after which the same request may have a reply
COMPLAINTS = (429, 503, 529)  # statuses that say that there are too many requests
REFUSING = (400, 422, 500, 501)  # statuses of a parameter that a server does not know; llama.cpp's in Python says 500
POOR = ("insufficient_quota", "billing_hard_limit_reached")  # codes of a 429 that no waiting mends
FILTERED = ("content_filter", "content_policy_violation")
FULL_CONTEXT = (
    "context_length_exceeded",
    "exceed_context_size_error",
    "context length",
    "context size",
    "context window",
    "maximum context",
    "maximum model length",
    "prompt is too long",
    "too many tokens",
)
TOO_LONG_STATUSES = (400, 413, 422, 500)  # statuses of a text that is too long; some servers of llama.cpp say 500
SHARED_CONTEXT = "context size has been exceeded"  # llama.cpp, to all requests that share the room which they fill
SHOWN = 200  # ours: characters of a server's message


class Stop(RuntimeError):
    """No more requests are to be sent; the message says why."""


@dataclass(frozen=True)
class Fault:
    """Why a request has no reply.

    Attributes:
        message: What happened, on one line.
        stop: Whether no repetition helps.
        unreachable: Whether nothing answers at the address.
        is_complaint: Whether the server is asked too much at a time.
        is_refused: Whether the server says that the request is wrong.
        retry_after: Seconds for which the server asks us to wait.
        reply: What stands for the reply, where the fault is the text's.
        is_shared: Whether the fault may be that of other requests under way instead, so that another time may help.
    """

    message: str
    stop: bool = False
    unreachable: bool = False
    is_complaint: bool = False
    is_refused: bool = False
    retry_after: float | None = None
    reply: Reply | None = None
    is_shared: bool = False

    def wait(self, attempt: int) -> float:
        """Seconds before the next attempt: what the server says, or a random part of a time that doubles with each."""
        if self.retry_after is not None:
            return self.retry_after * random.uniform(1.0, 1.1)
        return min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)


def read_fault(error: Exception, server: str) -> Fault:
    """What an exception of the library, of JSON or of a time limit means.

    Args:
        error: The exception.
        server: The address that was asked, for messages.
    """
    from openai import APIConnectionError, APIStatusError, APITimeoutError

    if isinstance(error, APITimeoutError | TimeoutError):
        return Fault("it took too long", is_complaint=True)
    if isinstance(error, APIConnectionError):
        cause = error.__cause__ or error
        return Fault(named_line(cause if isinstance(cause, Exception) else error), unreachable=True)
    if isinstance(error, APIStatusError):
        return _of_status(error, server)
    if isinstance(error, json.JSONDecodeError):
        return Fault("its reply is no JSON")
    if isinstance(error, ValueError):  # of `read_reply`
        return Fault(named_line(error).removeprefix("ValueError: "))
    if type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "httpcore", "httpcore2", "h11", "anyio"):
        return Fault(named_line(error))  # the connection was closed within a reply
    raise error


def _of_status(error: Any, server: str) -> Fault:
    """What an HTTP status means."""
    status, code = error.status_code, error_code(error.body)
    text = error_message(error.body) or _shown(error.response.text) or "no reason"
    message = f"{status}: {text}"
    if 300 <= status < 400:
        host = urlsplit(error.response.headers.get("location", "")).netloc or "another address"
        return Fault(f"{server} redirects to {without_secrets(host)}: if you trust it, give its address", stop=True)
    if code in POOR:
        return Fault(message, stop=True)
    if code in FILTERED:
        return Fault(message, reply=Reply(text, REFUSAL))
    if is_too_long(status, code, text):
        is_shared = SHARED_CONTEXT in text.lower()
        return Fault(message, is_complaint=is_shared, reply=Reply("", TOO_LONG), is_shared=is_shared)
    if status in REPEATED or status >= 500:
        seconds = _retry_after(error.response.headers)
        if seconds is not None and seconds > LONGEST_RETRY_AFTER:
            return Fault(f"{message}; it asks to wait {seconds / 60:.0f} minutes", stop=True)
        return Fault(message, False, False, status in COMPLAINTS, status in REFUSING, seconds)
    return Fault(message, stop=True, is_refused=status in REFUSING)


def is_too_long(status: Any, code: str, message: str) -> bool:
    """Whether a server refuses a request because the text, or the text and the reply together, are too long.

    Args:
        status: Of HTTP.
        code: What `error_code` returns.
        message: What `error_message` returns.
    """
    return status in TOO_LONG_STATUSES and (
        code in FULL_CONTEXT or any(words in message.lower() for words in FULL_CONTEXT)
    )


def error_code(body: Any) -> str:
    """The code of an error that is known here, which servers write as `code` or `type`; "" for none.

    Args:
        body: The JSON that a server sent.
    """
    codes = [_error_in(body).get(name) for name in ("code", "type")]
    return next((code for code in codes if isinstance(code, str) and code in (*POOR, *FILTERED, *FULL_CONTEXT)), "")


def error_message(body: Any) -> str:
    """What a server said of an error, on one line; "" for nothing.

    Args:
        body: The JSON that it sent.
    """
    error = _error_in(body)
    return _shown(error.get("message") or error.get("error") or error.get("detail") or "")


def _error_in(body: Any) -> dict[str, Any]:
    """The error in the JSON of a server, which is its part "error" or the whole."""
    whole = body if isinstance(body, dict) else {}
    return whole["error"] if isinstance(whole.get("error"), dict) else whole


def _shown(text: object) -> str:
    """A text as messages show it: on one line, without keys, and cut."""
    return without_secrets(" ".join(str(text).split()))[:SHOWN]


def _retry_after(headers: Any) -> float | None:
    """The seconds for which a server asks us to wait, as a number or a date; None where it does not.

    >>> [_retry_after({name: value}) for name, value in (("retry-after", "2"), ("retry-after-ms", "1500"), ("x", "y"))]
    [2.0, 1.5, None]
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if value := headers.get(name):
            try:
                seconds = float(value) * unit
            except ValueError:
                try:
                    seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
                except ValueError:
                    continue
            if seconds == seconds:
                return max(0.0, seconds)
    return None
