"""What a language model is asked for a paraphrase: a text with places for the reference and its context."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from toolkit.bitext.text_file import text_lines
from toolkit.data.rows import Row

PROMPTS = Path(__file__).parent / "prompts"
PLACES = ("reference", "context_before", "context_after", "lang")
PLACE = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class _Prompt:
    """A prompt.

    Attributes:
        name: Of its file, without suffix.
        text: With places such as {reference}.
    """

    name: str
    text: str

    def asked(self, row: Row) -> str:
        """The prompt for a row."""
        values = {place: getattr(row, place) or "" for place in PLACES}
        return PLACE.sub(lambda match: values[match[1]], self.text)


def read_prompt(name: str) -> _Prompt:
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
