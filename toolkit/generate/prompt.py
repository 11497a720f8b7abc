"""What a language model is asked for a paraphrase: a text with places for the reference and its context."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from toolkit.bitext.text_file import text_lines
from toolkit.chat.requests import Message
from toolkit.chat.settings import SEVERAL, PromptedModel
from toolkit.data.rows import Row
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate._replies import sentence_in
from toolkit.generate._several import Several, read_examples

PROMPTS = Path(__file__).parent / "prompts"
PLACES = ("reference", "context_before", "context_after", "lang")
PLACE = re.compile(r"\{(\w*)\}")


class Prompt(Protocol):
    """What a model is asked for a row, and how its reply is read.

    Attributes:
        name: For provenance.
        schema: JSON schema of the replies, as JSON; "" for free text.
        outputs: Paraphrases in a reply.
        shown: Its text, for a card.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def schema(self) -> str: ...  # noqa: D102
    @property
    def outputs(self) -> int: ...  # noqa: D102
    @property
    def shown(self) -> str: ...  # noqa: D102

    def messages(self, row: Row) -> tuple[Message, ...]:
        """The chat that asks for paraphrases of a row's reference."""

    def read(self, reply: str, row: Row) -> list[tuple[str, bool]]:
        """The paraphrases in a reply, and whether there was something else around each."""


@dataclass(frozen=True)
class _Prompt:
    """A prompt with places, whose reply is one sentence.

    Attributes:
        name: Of its file, without suffix.
        text: With places such as {reference}.
        schema: "": free text.
        outputs: One.
    """

    name: str
    text: str
    schema: str = ""
    outputs: int = 1

    @property
    def shown(self) -> str:
        """Its text, for a card."""
        return self.text

    def messages(self, row: Row) -> tuple[Message, ...]:
        """The prompt for a row, as a user says it."""
        return (Message("user", self.asked(row)),)

    def read(self, reply: str, row: Row) -> list[tuple[str, bool]]:
        """The sentence of a reply, and whether there was something else in it; nothing of an empty one."""
        text, has_more = sentence_in(reply, row.reference)
        return [(text, has_more)] if text else []

    def asked(self, row: Row) -> str:
        """The prompt for a row."""
        values = {place: getattr(row, place) or "" for place in PLACES}
        return PLACE.sub(lambda match: values[match[1]], self.text)


def make_prompt(settings: PromptedModel, constraints: Mapping[str, ConstraintSet] | None = None) -> Prompt:
    """The prompt of some settings.

    Args:
        settings: The settings.
        constraints: By id of a row, what its paraphrases must say and must not say; the prompt "several" says so.

    Raises:
        OSError: The file of examples cannot be read.
        ValueError: The prompt, the style or the examples cannot be used.
    """
    if settings.prompt != SEVERAL:
        return read_prompt(settings.prompt)
    examples = read_examples(settings.examples) if settings.examples else ()
    return Several(settings.outputs, settings.style, examples, constraints or {})


def read_prompt(name: str) -> Prompt:
    """A prompt by its name in the toolkit, or by its file.

    >>> read_prompt("paraphrase").asked(Row("a-1", "a", None, None, "He left.", "en", "train")).splitlines()[-1]
    'He left.'

    Raises:
        ValueError: There is no such prompt, or it has no place for the reference, or another place.
    """
    file = prompt_file(name)
    try:
        text = "\n".join(text_lines(str(file))).strip()
    except (OSError, ValueError) as error:
        known_names = ", ".join(sorted(path.stem for path in PROMPTS.glob("*.txt")))
        raise ValueError(f"wanted a prompt of {known_names}, or a text file, got {name!r} ({error})") from None
    unknown_places = sorted(set(PLACE.findall(text)) - set(PLACES))
    if "{reference}" not in text or unknown_places:
        problem = f"{{{unknown_places[0]}}}" if unknown_places else "none for the reference"
        raise ValueError(
            f"wanted a prompt with places of {', '.join(f'{{{place}}}' for place in PLACES)}, got {problem} in {file}"
        )
    return _Prompt(file.stem, text)


def prompt_file(name: str) -> Path:
    """The file of a prompt: of the toolkit, if it has one of that name."""
    toolkit_file = PROMPTS / f"{name}.txt"
    return toolkit_file if re.fullmatch(r"\w+", name) and toolkit_file.is_file() else Path(name)
