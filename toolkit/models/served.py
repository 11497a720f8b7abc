"""A language model that a server has: vLLM's, or another with OpenAI's API that reads token ids.

Whoever serves the model chooses how it is spread over GPUs and machines; here it is only asked. Prompts are tokenized
here, so that the model reads what it reads when `transformers` runs it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from toolkit.models._gguf import checkpoint_path
from toolkit.models.checkpoint import reading_model
from toolkit.starters import shown_name
from toolkit.system.errors import named_line, without_secrets
from toolkit.system.extras import naming_extra

if TYPE_CHECKING:
    from openai import OpenAI

KEY = "OPENAI_API_KEY"  # of the environment, for servers that ask for one


@dataclass(frozen=True)
class ServedModel:
    """A causal language model on a server.

    Attributes:
        name: The name by which the server has it.
        client: Asks the server.
        tokenizer: The model's tokenizer.
        signature: Its name and who serves it in one short string, for provenance.
    """

    name: str
    client: OpenAI
    tokenizer: PreTrainedTokenizerBase
    signature: str


def connect(name: str, url: str) -> ServedModel:
    """Connect to a server.

    Args:
        name: A Hub id or a local path: what the server was given, and where its tokenizer is.
        url: Of the server's API: "http://localhost:8000/v1".

    Raises:
        ModuleNotFoundError: The package `openai` is not installed.
        ValueError: The server cannot be reached or has no such model, or there is no
            tokenizer of that name.
    """
    with naming_extra():
        from openai import OpenAI, OpenAIError
    address = without_secrets(url)
    client = OpenAI(base_url=url, api_key=os.environ.get(KEY) or "none")
    try:
        served = {model.id: model.owned_by for model in client.models.list()}
    except (OpenAIError, ValueError) as error:
        raise ValueError(
            f"wanted a server with OpenAI's API as --server, got {address!r} ({_reason(error)}): start one, for "
            f"instance with `vllm serve {name}`, and give its address with /v1"
        ) from None
    if name not in served:
        raise ValueError(
            f"wanted the model {name!r} at {address}, got a server of {', '.join(served) or 'none'}: give --model its "
            "name"
        )
    path = checkpoint_path(name)
    with reading_model(name, "a tokenizer", "which is neither a folder with one nor a Hub id that can be reached"):
        tokenizer = AutoTokenizer.from_pretrained(path)
    return ServedModel(name, client, tokenizer, f"{shown_name(name)}|served by {served[name] or 'a server'}")


def served_replies(
    model: ServedModel, ids: Sequence[int], samples: int, token_limit: int, temperature: float, top_p: float, seed: int
) -> list[tuple[str, bool]]:
    """Replies of a server to one prompt, and whether each ended.

    Args:
        model: The model.
        ids: The prompt.
        samples: How many replies.
        token_limit: The most tokens of a reply.
        temperature: Of the draw; 0 is greedy.
        top_p: The draw is from the most probable tokens with this probability together.
        seed: Of the draw.

    Raises:
        RuntimeError: The server does not answer, or not with so many replies.
    """
    from openai import OpenAIError

    try:
        answer = model.client.completions.create(
            model=model.name, prompt=list(ids), n=samples, max_tokens=token_limit, temperature=temperature, top_p=top_p,
            seed=seed,
        )  # fmt: skip
    except OpenAIError as error:
        address = without_secrets(str(model.client.base_url))
        raise RuntimeError(
            f"the server at {address} gave no reply ({_reason(error)}); run the same command again "
            f"when it does, and it goes on"
        ) from error
    if len(answer.choices) != samples:
        raise RuntimeError(f"wanted {samples} replies of the server, got {len(answer.choices)}")
    return [(choice.text, choice.finish_reason == "stop") for choice in answer.choices]


def _reason(error: Exception) -> str:
    """What a server answered, without the key that some repeat."""
    key = os.environ.get(KEY)
    return named_line(error).replace(key, "...") if key else named_line(error)
