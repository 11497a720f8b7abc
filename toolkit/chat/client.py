"""Ask a server for replies: many at a time, again after faults, and never twice for the same."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolkit.bitext.text_file import text_lines
from toolkit.chat._batches import BATCH_PRICE, collect, resume, submit
from toolkit.chat._cache import Replies, ServedModel, open_replies
from toolkit.chat._faults import Fault, Stop, read_fault
from toolkit.chat._pace import Pace
from toolkit.chat._prices import MILLION, read_prices
from toolkit.chat.requests import TOO_LONG, Reply, Request, Submitted, read_reply, without_thought
from toolkit.chat.settings import REPLIES, ServerSettings
from toolkit.system.cache import cache_folder
from toolkit.system.errors import named_line
from toolkit.system.extras import naming_extra

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

LOOKS = 20  # ours: replies after which the cost is summed anew, which other processes add to


@dataclass
class _Usage:
    """What was asked for so far.

    Attributes:
        asked: Replies of the server.
        kept: Replies that were there already.
        input_tokens: Tokens of prompts that were sent.
        output_tokens: Tokens of replies.
        cost: Dollars, of these alone.
    """

    asked: int = 0
    kept: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def __str__(self) -> str:
        """One line for a person."""
        tokens = f"{self.input_tokens:,} + {self.output_tokens:,} tokens"
        dollars = f", {self.cost:.2f} dollars" if self.cost else ""
        return f"{self.asked:,} replies ({tokens}{dollars}), {self.kept:,} kept ones"


class ChatClient:
    """A model on a server.

    Attributes:
        name: The name by which the server has the model.
        signature: It and the server's host, for provenance.
        usage: What was asked for so far.
    """

    def __init__(self, name: str, settings: ServerSettings, parallel: int, folder: Path | None = None) -> None:
        """Take a model of a server, which is not asked yet.

        Args:
            name: The name by which the server has the model.
            settings: How it is asked.
            parallel: The most requests at a time.
            folder: Where replies are kept, unless the settings name a file; None is the folder of this user.

        Raises:
            ValueError: There is no server, or its key or the prices cannot be read.
            ModuleNotFoundError: The package `openai` is not installed.
        """
        if settings.server is None:
            raise ValueError("wanted the address of a server, got none")
        with naming_extra():
            import openai  # noqa: F401
        self.name, self.usage = name, _Usage()
        self.signature = f"{name}|served by {urlsplit(settings.server).hostname}"
        self._settings, self._parallel, self._key = settings, parallel, _read_key(settings)
        self._server = settings.server.rstrip("/")
        self._prices = settings.input_price or 0.0, settings.output_price or 0.0
        if settings.prices is not None:
            self._prices = read_prices(settings.prices, name)
        self._path = Path(settings.reply_cache or (folder or cache_folder()) / REPLIES)
        self._left_out: set[str] = set()  # parameters that this server does not know
        self._limit_name = "max_tokens"
        self._is_known = False  # whether the server is known to have the model
        self._is_tried = False  # whether a request was answered, so that it is known what the server refuses
        self._has_told_length = False  # whether it was said that a text is too long

    def ask(self, requests: Sequence[Request], report: Callable[[int], None] = lambda number: None) -> list[Reply]:
        """The replies to requests, in their order.

        Args:
            requests: The requests; equal ones are sent once.
            report: Called with the number of each request whose reply is there.

        Returns:
            The replies, without what the model thought before each.

        Raises:
            OSError: The file of kept replies cannot be written.
            RuntimeError: The server gives no reply, or the cost has reached its limit. What it replied is kept.
            Submitted: The requests wait in a batch.
            ValueError: The server has no such model, or the file of kept replies cannot be read.
        """
        if limit := self._settings.reply_tokens:
            requests = [replace(request, token_limit=limit) for request in requests]
        keys = [request.key(self.name, self._server) for request in requests]
        numbers: dict[str, list[int]] = {}
        for number, key in enumerate(keys):
            numbers.setdefault(key, []).append(number)

        def report_key(key: str) -> None:
            for number in numbers[key]:
                report(number)

        with open_replies(self._path) as replies:
            reply_by_key = replies.find(list(numbers))
            missing = {key: requests[numbers[key][0]] for key in numbers if key not in reply_by_key}
            self.usage.kept += len(reply_by_key)
            for key in reply_by_key:
                report_key(key)
            if missing and self._settings.batch:
                reply_by_key |= self._by_batch(missing, replies)
            elif missing:
                reply_by_key |= self._ask_now(missing, replies, report_key)
        return [without_thought(reply_by_key[key]) for key in keys]

    def _ask_now(
        self, missing: dict[str, Request], replies: Replies, report: Callable[[str], None]
    ) -> dict[str, Reply]:
        """The replies of the server to requests by key; a thread of its own runs them, as notebooks have a loop."""
        sending = _Sending(self, missing, replies, report)
        with ThreadPoolExecutor(1) as executor:
            future = executor.submit(asyncio.run, sending.run())
            try:
                future.result()
            except BaseException:
                sending.cancel()
                raise
        sending.keep()
        if sending.stop is not None:
            raise RuntimeError(self._without_key(str(sending.stop)))
        self._is_tried = True
        return sending.reply_by_key

    def _by_batch(self, missing: dict[str, Request], replies: Replies) -> dict[str, Reply]:
        """The replies that batches have brought; those that are missing still are submitted.

        Raises:
            Submitted: Some are still missing.
        """
        from openai import DefaultHttpxClient, OpenAI, OpenAIError

        owner = ServedModel(self._server, self.name)
        try:
            http_client = DefaultHttpxClient(follow_redirects=False)
            with OpenAI(**self._client_arguments(), http_client=http_client) as client:
                replies.claim_batches(owner, missing.keys())
                for reply, cost in collect(client, replies, owner, self._batch_cost, self._tell_too_long):
                    self._count(reply, cost)
                reply_by_key = replies.find(list(missing))
                waiting = {key for keys in replies.batches(owner).values() for key in keys}
                unsent = [key for key in missing if key not in reply_by_key and key not in waiting]
                if unsent and (unsent := resume(client, replies, owner, unsent)):
                    reply_by_key |= self._submit(client, replies, owner, {key: missing[key] for key in unsent})
        except OpenAIError as error:
            reason = self._without_key(named_line(error))
            raise RuntimeError(f"the server at {self._server} took no batch ({reason})") from error
        if len(reply_by_key) < len(missing):
            raise Submitted(len(missing) - len(reply_by_key))
        return reply_by_key

    def _submit(
        self, client: OpenAI, replies: Replies, owner: ServedModel, unsent: dict[str, Request]
    ) -> dict[str, Reply]:
        """Submit requests; the first is asked at once if none was, as only that shows which parameters are refused.

        Args:
            client: The client of the server.
            replies: Keeps the names of the batches, and the reply.
            owner: This model.
            unsent: The requests by key.

        Returns:
            The reply to what was asked at once, by key.
        """
        self._check_cost(replies.cost())
        now = {} if self._is_tried else dict(list(unsent.items())[:1])
        reply_by_key = self._ask_now(now, replies, lambda key: None) if now else {}
        bodies = {key: self.body(request) for key, request in unsent.items() if key not in now}
        submit(client, replies, owner, bodies)
        return reply_by_key

    def cost_of(self, reply: Reply) -> float:
        """Dollars for a reply, 0 where nobody has said what tokens cost."""
        input_price, output_price = self._prices
        return (reply.input_tokens * input_price + reply.output_tokens * output_price) / MILLION

    def _batch_cost(self, reply: Reply) -> float:
        """Dollars for a reply of a batch."""
        return BATCH_PRICE * self.cost_of(reply)

    def body(self, request: Request) -> dict[str, Any]:
        """A request as this server takes it: without what it has refused, and with its name of the limit of tokens."""
        body = request.body(self.name)
        limit = body.pop("max_tokens")
        known = {name: value for name, value in body.items() if name not in self._left_out}
        return known | {self._limit_name: limit}

    def _count(self, reply: Reply, cost: float) -> None:
        """Count a reply of the server."""
        self.usage.asked += 1
        self.usage.input_tokens += reply.input_tokens
        self.usage.output_tokens += reply.output_tokens
        self.usage.cost += cost

    def _check_cost(self, spent: float) -> None:
        """Stop if the replies that are kept have cost as much as they may.

        Raises:
            Stop: They have.
        """
        limit = self._settings.max_cost
        if limit is not None and spent >= limit:
            raise Stop(
                f"the replies in {self._path} have cost {spent:.2f} dollars, of max_cost {limit:g}: the same command "
                "with a higher one goes on, and asks for none of them again"
            )

    def _tell_too_long(self, message: str) -> None:
        """Say once what the server says of a text that is too long, because the room for the reply counts, too.

        Args:
            message: What it says.
        """
        if not self._has_told_length:
            self._has_told_length = True
            print(
                f"{self.name}: a text is too long for the server ({self._without_key(message)}), so it gets no reply; "
                "where the tokens of the reply count, a smaller --reply_tokens leaves more room",
                file=sys.stderr,
            )

    def _client_arguments(self) -> dict[str, Any]:
        """How a client of OpenAI's library is made for this server; it does not repeat requests, which is done here."""
        return {
            "base_url": self._server,
            "api_key": self._key or "none",
            "max_retries": 0,
            "timeout": self._settings.timeout,
        }

    def _adapt(self, body: dict[str, Any], message: str) -> bool:
        """Leave out a parameter that the server does not know, for good; whether there is one in a request.

        Args:
            body: The request.
            message: What the server said of it.
        """
        if "max_completion_tokens" in message and "max_tokens" in body:
            self._limit_name = "max_completion_tokens"
            return True
        for name, words in OPTIONAL.items():
            if name in body and any(word in message for word in words):
                if name not in self._left_out:
                    self._left_out.add(name)
                    print(f"{self.name}: the server does not take {name!r}, so it is left out", file=sys.stderr)
                return True
        return False

    def _without_key(self, text: str) -> str:
        """A text without the key, which some servers repeat."""
        return text.replace(self._key, "...") if self._key else text


# What may be left out of a request, and what a server that does not know it says.
OPTIONAL = {
    "response_format": ("response_format", "json_schema", "grammar", "structured"),
    "seed": ("seed",),
    "top_p": ("top_p",),
    "temperature": ("temperature",),
}


class _Sending:
    """Requests that are under way.

    Attributes:
        reply_by_key: The replies so far.
        stop: Why no more are sent; None while they are.
    """

    def __init__(
        self, client: ChatClient, missing: dict[str, Request], replies: Replies, report: Callable[[str], None]
    ) -> None:
        self.reply_by_key: dict[str, Reply] = {}
        self.stop: Stop | None = None
        self._unkept: dict[str, Reply] = {}
        self._is_file_sound = True
        self._client, self._missing, self._replies, self._report = client, missing, replies, report
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._spent = replies.cost()

    async def run(self) -> None:
        """Send all, until a fault that no repetition mends; what is under way then is waited for, as it is paid for."""
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        settings = self._client._settings
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        pace = Pace(self._client._parallel, settings.requests_per_minute, settings.tokens_per_minute)
        # a redirection would take the texts to another host
        async with AsyncOpenAI(
            **self._client._client_arguments(), http_client=DefaultAsyncHttpxClient(follow_redirects=False)
        ) as client:
            if not self._client._is_known:
                await self._check_model(client)
            async with asyncio.TaskGroup() as group:
                for key, request in self._missing.items() if self.stop is None else ():
                    group.create_task(self._send(client, pace, key, request))

    def cancel(self) -> None:
        """End the requests that are under way, of a command that is interrupted."""
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def _check_model(self, client: AsyncOpenAI) -> None:
        """Stop if the server cannot be reached, or says which models it has and the one that is wanted is not there."""
        name, server = self._client.name, self._client._server
        try:
            answer = await client.models.with_raw_response.list()
            names = _model_names(json.loads(answer.http_response.text))
        except Exception as error:
            fault = read_fault(error, server)
            if fault.unreachable:
                self.stop = Stop(
                    f"wanted a server with OpenAI's chat API at {server}, got none ({fault.message}): start one, such "
                    f"as `ollama serve` or `vllm serve {name}`, and give its address with /v1"
                )
            names = []  # not every server can say it
        if names and name not in names:
            shown = ", ".join(names[:10]) + (" ..." if len(names) > 10 else "")
            self.stop = Stop(f"wanted a model that {server} has, got {name!r}: it has {shown}")
        self._client._is_known = self.stop is None  # every shard asks, and only the first finds out

    async def _send(self, client: AsyncOpenAI, pace: Pace, key: str, request: Request) -> None:
        """Send a request until there is a reply; set `stop` where there will be none."""
        settings, attempt = self._client._settings, 0
        while self.stop is None:
            await pace.begin(request.estimated_tokens)
            is_accepted, wait, body = True, 0.0, self._client.body(request)
            try:
                if self.stop is not None:
                    return
                self._client._check_cost(self._spent)
                reply = await asyncio.wait_for(_post(client, body), settings.timeout)
                self._take(key, reply)
                return
            except Stop as stop:
                self.stop = self.stop or stop
            except Exception as error:
                fault = read_fault(error, self._client._server)
                if fault.reply is not None and not (fault.is_shared and attempt + 1 < settings.attempts):
                    if fault.reply.finish == TOO_LONG:
                        self._client._tell_too_long(fault.message)
                    self._take(key, fault.reply)
                    return
                if fault.is_refused and self._client._adapt(body, fault.message):
                    continue
                attempt += 1
                is_accepted = not fault.is_complaint
                if fault.stop or attempt >= settings.attempts:
                    self.stop = self.stop or Stop(_last_words(fault, attempt, self._client._server))
                    return
                wait = fault.wait(attempt)
                if fault.retry_after is not None:
                    pace.wait(fault.retry_after)
            finally:
                await pace.end(is_accepted)
            await asyncio.sleep(wait)

    def _take(self, key: str, reply: Reply) -> None:
        """Count a reply, keep it and report it; where the file takes none, stop, and hold those that are under way."""
        cost = self._client.cost_of(reply)
        self._client._count(reply, cost)
        self._spent += cost
        self.reply_by_key[key] = self._unkept[key] = reply
        if self._is_file_sound:
            try:
                self.keep()
                if len(self.reply_by_key) % LOOKS == 0:
                    self._spent = self._replies.cost()
            except sqlite3.DatabaseError as error:
                self._is_file_sound = False
                self.stop = self.stop or Stop(
                    f"wanted to keep a reply in {self._replies.path}, got: {error}; all replies are kept now: the same "
                    "command goes on"
                )
        self._report(key)

    def keep(self) -> None:
        """Keep the replies that are not kept yet.

        Raises:
            sqlite3.DatabaseError: The file takes none.
        """
        for key, reply in list(self._unkept.items()):
            self._replies.keep(key, reply, self._client.cost_of(reply))
            del self._unkept[key]


def _model_names(answer: Any) -> list[str]:
    """The models that a server says it has; none where it says it in another form.

    >>> _model_names({"data": [{"id": "a"}]}), _model_names([{"id": "a"}, 3]), _model_names({"data": None})
    (['a'], ['a'], [])
    """
    models = answer.get("data") if isinstance(answer, dict) else answer
    ids = [model.get("id") for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    return [name for name in ids if isinstance(name, str)]


async def _post(client: AsyncOpenAI, body: dict[str, Any]) -> Reply:
    """The reply to one request that is sent once.

    Raises:
        Exception: There is none; `read_fault` says why.
    """
    answer = await client.chat.completions.with_raw_response.create(**body)
    return read_reply(json.loads(answer.http_response.text))


def _last_words(fault: Fault, attempts: int, server: str) -> str:
    """The error of a server that gives no reply."""
    times = f" in {attempts} attempts" if attempts > 1 else ""
    return (
        f"the server at {server} gave no reply{times} ({fault.message}); run the same command again when it does, and "
        "it goes on"
    )


def _read_key(settings: ServerSettings) -> str:
    """The key of the server, "" for none.

    Raises:
        ValueError: The file of the key has none.
    """
    if settings.key_file is None:
        return os.environ.get(settings.key_env, "")
    key = next((line.strip() for line in text_lines(settings.key_file) if line.strip()), "")
    if not key:
        raise ValueError(f"wanted a key in the first line of {settings.key_file}, got an empty file")
    return key
