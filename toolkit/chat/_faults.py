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
FULL_CONTEXT = ("context_length_exceeded", "context length", "maximum context", "too many tokens")
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
    """

    message: str
    stop: bool = False
    unreachable: bool = False
    is_complaint: bool = False
    is_refused: bool = False
    retry_after: float | None = None
    reply: Reply | None = None

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
    status, code, text = error.status_code, _code_of(error), _message_of(error)
    message = f"{status}: {text}"
    if 300 <= status < 400:
        host = urlsplit(error.response.headers.get("location", "")).netloc or "another address"
        return Fault(f"{server} redirects to {without_secrets(host)}: if you trust it, give its address", stop=True)
    if code in POOR:
        return Fault(message, stop=True)
    if code in FILTERED:
        return Fault(message, reply=Reply(text, REFUSAL))
    if status in (400, 413, 422) and (code in FULL_CONTEXT or any(words in text.lower() for words in FULL_CONTEXT)):
        return Fault(message, reply=Reply("", TOO_LONG))
    if status in REPEATED or status >= 500:
        seconds = _retry_after(error.response.headers)
        if seconds is not None and seconds > LONGEST_RETRY_AFTER:
            return Fault(f"{message}; it asks to wait {seconds / 60:.0f} minutes", stop=True)
        return Fault(message, False, False, status in COMPLAINTS, status in REFUSING, seconds)
    return Fault(message, stop=True, is_refused=status in REFUSING)


def _code_of(error: Any) -> str:
    """The code of an error, which servers write as `code` or `type`; "" for none."""
    body = error.body if isinstance(error.body, dict) else {}
    body = body["error"] if isinstance(body.get("error"), dict) else body
    codes = [body.get(name) for name in ("code", "type")]
    return next((code for code in codes if isinstance(code, str) and code in (*POOR, *FILTERED, *FULL_CONTEXT)), "")


def _message_of(error: Any) -> str:
    """What a server said of an error, on one line."""
    body = error.body if isinstance(error.body, dict) else {}
    body = body["error"] if isinstance(body.get("error"), dict) else body
    text = body.get("message") or body.get("error") or body.get("detail") or error.response.text or "no reason"
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
