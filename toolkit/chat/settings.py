"""How a server of language models is asked, without imports that take seconds."""

from __future__ import annotations

import hashlib
import ipaddress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from toolkit.system.errors import without_secrets
from toolkit.system.ranges import Count, Positive, Range, Settings, Share, at_least, between

Dollars = Annotated[float, at_least(0)]
LM = "lm"  # of a command: the generator or paraphraser that is a language model
REPLIES = "replies.sqlite"  # the file of kept replies
SEVERAL = "several"  # the prompt that asks for several paraphrases, as JSON
STYLES = {
    "formal": "Write formally, as in a letter to an office.",
    "simple": "Write simply: short sentences and everyday words.",
    "short": "Write shorter than the text, without leaving out what it says.",
    "spoken": "Write as people talk.",
}


Style = Annotated[
    str,
    Range(
        f"a {{}} of {', '.join(STYLES)}, or a sentence that says it",
        lambda style: not style or style in STYLES or len(style.split()) > 1,
        note="",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ServerSettings(Settings):
    """How a server is asked. None of these changes what it replies.

    Attributes:
        server: Address of a server with OpenAI's chat API, with its /v1: "http://localhost:11434/v1" (Ollama),
            "http://localhost:8000/v1" (vLLM), "https://api.openai.com/v1". None runs the model here.
        key_env: Environment variable that holds the key, where the server asks for one.
        key_file: File whose first line is the key, instead of the variable.
        insecure: Send texts and key without encryption (http) to another machine.
        requests_per_minute: Most requests in a minute; None is as many as the server takes.
        tokens_per_minute: Most tokens in a minute, of prompts and replies; None likewise.
        timeout: Seconds after which a request without a whole reply is sent again.
        attempts: Times that a request is sent, before the command ends with the server's error.
        reply_tokens: Most tokens of a reply. None is by the length of the text; a model that reasons needs thousands.
        input_price: Dollars for a million tokens of prompts.
        output_price: Dollars for a million tokens of replies.
        prices: JSON file of prices by model instead: {"MODEL": {"input": 0.15, "output": 0.6}}, dollars for a million
            tokens, or the list that litellm publishes.
        max_cost: Dollars, with those of earlier runs whose replies are kept, after which nothing more is asked. The
            same command with a higher one goes on.
        reply_cache: File (SQLite) that keeps every reply, so that no request is paid for twice; several runs may share
            one. None is "replies.sqlite" in the folder of the run's shards, or beside the output, or in Python in the
            cache of this user.
        batch: Ask by batch files, which many servers answer within a day for half the price: the command ends when they
            are submitted; given again, it collects what is there.
    """

    GROUP = "server of a language model"

    server: str | None = None
    key_env: str = "OPENAI_API_KEY"
    key_file: str | None = None
    insecure: bool = False
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    timeout: Positive = 120.0
    attempts: Count = 8
    reply_tokens: Count | None = None
    input_price: Dollars | None = None
    output_price: Dollars | None = None
    prices: str | None = None
    max_cost: Dollars | None = None
    reply_cache: str | None = None
    batch: bool = False

    def __post_init__(self) -> None:
        """Refuse an address that is none or sends texts in the clear, and a limit of cost without prices."""
        super().__post_init__()
        if self.server is None:
            changed = [f"--{f.name}" for f in fields(ServerSettings) if getattr(self, f.name) != f.default]
            if changed:
                raise ValueError(
                    f"wanted --server with {', '.join(changed)}, got none: give its address, or leave them"
                )
            return
        _check_address(self.server, self.insecure)
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError("wanted both input_price and output_price, or none, got one")
        if self.prices is not None and self.input_price is not None:
            raise ValueError("wanted prices of a file or input_price and output_price, got both")
        if self.max_cost is not None and self.input_price is None and self.prices is None:
            raise ValueError(
                f"wanted prices, or input_price and output_price, for max_cost {self.max_cost:g}, got none"
            )


@dataclass(frozen=True, kw_only=True)
class PromptedModel(ServerSettings):
    """A language model, and what it is asked.

    Attributes:
        model: A causal or chat language model: a Hub id or a folder, or with --server the name by which that has it.
        prompt: What it is asked: "several" (different paraphrases of a text, which stands as data in JSON),
            "paraphrase", "context" (for running text) or "examples" (for models that do not chat), or a file with
            {reference} in it.
        outputs: Of "several": paraphrases in a reply.
        style: Of "several": "formal", "simple", "short", "spoken", or a sentence that says how.
        examples: Of "several": a file of examples for the model, in each line a text and paraphrases of it, with tabs
            between.
        samples: Replies to each prompt; None is as many as the wanted paraphrases need.
        temperature: Of the draw of a reply; 0 is greedy, with one sample.
        top_p: A reply is drawn from the most probable tokens with this probability together.
        replies_at_once: Replies that are decoded at a time, or asked of the server at a time.
    """

    GROUP = "language model"

    model: str | None = None
    prompt: str = SEVERAL
    outputs: Count = 4
    style: Style = ""
    examples: str | None = None
    samples: Count | None = None
    temperature: Annotated[float, between(0, 10)] = 1.0
    top_p: Share = 0.95
    replies_at_once: Count = 64

    def __post_init__(self) -> None:
        """Refuse a style and examples for a prompt without places for them, and several replies that are equal."""
        super().__post_init__()
        if self.prompt != SEVERAL and (self.style or self.examples):
            raise ValueError(f"wanted --prompt {SEVERAL} with --style and --examples, got {self.prompt!r}")
        if self.temperature == 0 and self.model and (self.samples or 1) > 1:
            raise ValueError(
                f"wanted one of --samples with temperature 0, got {self.samples}: greedy replies are equal"
            )

    def record(self) -> dict[str, Any]:
        """What the replies depend on, with the content of the prompt and of the examples in place of their files."""
        free = FREE_OF_SERVER | ({"replies_at_once"} if self.server else set())
        values = {f.name: getattr(self, f.name) for f in fields(PromptedModel) if f.name not in free}
        prompt = self.prompt if Path(self.prompt).is_file() else None
        return values | {"examples": _file_hash(self.examples), "content of prompt": _file_hash(prompt)}

    def check_model(self, is_asked: bool, flag: str, has_other_use: bool = False) -> None:
        """Refuse a model that is not asked, or none that is.

        Args:
            is_asked: Whether a model writes candidates.
            flag: The flag that says so, with its value: "--generator lm".
            has_other_use: Whether the server is asked for something else.

        Raises:
            ValueError: It is so.
        """
        if is_asked != (self.model is not None):
            actual = "no model" if self.model is None else f"only the model {self.model}"
            raise ValueError(f"wanted {flag} and --model together, got {actual}")
        if self.server is not None and not (is_asked or has_other_use):
            raise ValueError(f"wanted --server with {flag}, got it alone: leave --server out")


def _check_address(server: str, insecure: bool) -> None:
    """Refuse the address of a server that is none, or to which texts and key would go without encryption.

    Args:
        server: The address.
        insecure: Whether that is wanted.

    Raises:
        ValueError: It is.
    """
    parts, shown = urlsplit(server), without_secrets(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"wanted the address of a server as https://HOST/v1, got {shown!r}")
    if parts.username or parts.query:
        raise ValueError(
            f"wanted the address of a server without a key in it, got one at {shown}: see key_env, key_file"
        )
    if parts.scheme == "http" and not insecure and not _is_loopback(parts.hostname):
        raise ValueError(
            f"wanted https for a server on another machine, got {shown!r}: texts and key would be sent in the clear; "
            "--insecure does so"
        )


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name or number."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _file_hash(path: str | None) -> str | None:
    """The SHA-256 of a file's bytes, in hexadecimal; None for no file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else None


# Of a run, what may differ from call to call: none changes a reply.
FREE_OF_SERVER = {f.name for f in fields(ServerSettings)} - {"server", "reply_tokens"}
