"""Which part of the toolkit knows which languages, and the one check that refuses a part for another language.

docs/guides/languages.md shows the table; a test compares them. What is not in the table does not depend on the
language, or is a model of the user's.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolkit.bitext.languages import CODES, near
from toolkit.starters import STARTERS, resolve
from toolkit.system.outputs import MEASURED

ENGLISH = ("en",)
MULTILINGUAL_ENCODER = "a sentence encoder of that language, such as sentence-transformers/LaBSE"


@dataclass(frozen=True)
class _Part:
    """A part of the toolkit, or a model that it has by default.

    Attributes:
        languages: The languages that it knows (ISO 639-1).
        what: What it is for.
        instead: What to give or to do for another language.
    """

    languages: tuple[str, ...]
    what: str
    instead: str


PARTS: dict[str, _Part] = {
    "starter/encoder": _Part(ENGLISH, "the cosine of two texts", MULTILINGUAL_ENCODER),
    "starter/paraphraser": _Part(ENGLISH, "paraphrases, and its known words", "a paraphraser of that language"),
    "starter/infiller": _Part(ENGLISH, "ParaNet's gaps, and the fluency", "a T5 or mT5 of that language"),
    "google-t5/t5-large": _Part(ENGLISH, "ParaNet's gaps", "a T5 or mT5 of that language"),
    "openai-community/gpt2": _Part(ENGLISH, "the fluency", "a causal language model of that language"),
    "starter/smollm2": _Part(ENGLISH, "the fluency", "a causal language model of that language"),
    "starter/rewriter": _Part(ENGLISH, "the critic, and paraphrases", "a causal language model of that language"),
    "starter/de-en": _Part(ENGLISH, "translations, its IDF table and its known words", "a file of that language"),
    "starter/en-de": _Part(("de",), "translations", "a translator into that language"),
    "the guards": _Part(("en", "de", "fr", "es", "zh"), "negation, numbers and names", "no guards"),
    "the stop words": _Part(ENGLISH, "words that are no keywords", "a file with one word per line"),
    "the judge of paraphrases": _Part(ENGLISH, "rank_by usable, and min_usable", "rank_by dual"),
    "the judgment score": _Part(ENGLISH, "ParaBank's ranking", "another builder, such as parabank2"),
    "link-grammar": _Part(ENGLISH, "trees of sentences", "stanza:LANGUAGE or file:PATH"),
}


def check_language_of(part: str | os.PathLike[str], lang: str, flag: str = "") -> None:
    """Refuse a part of the toolkit, or a model that states its language, for a language that it does not know.

    Args:
        part: A name of `PARTS`, a Hub id or a folder.
        lang: The language of the texts (ISO 639-1).
        flag: The flag or argument that names the part, for the error; "" where none does.

    Raises:
        ValueError: The part knows other languages only.
    """
    name = _starter_name(part)
    known = PARTS[name].languages if name in PARTS else _read_languages(part)
    if known and not any(near(lang, language) for language in known):
        instead = PARTS[name].instead if name in PARTS else "a model of that language"
        if name == "starter/paraphraser" and flag == "model":
            code = "zh-Hans" if lang == "zh" else lang
            command = f"parabank augment --lang {lang} --pivot firefox/{code}-en firefox/en-{code}"
            instead += f", or two translators: {command}"
        raise ValueError(
            f"wanted {flag or 'a builder'} for texts in {lang}, got {os.fspath(part)}, which knows {', '.join(known)} "
            f"only: give {f'{flag} ' if flag else ''}{instead}"
        )


def of_language(name: str, part: str, settings: Any) -> None:
    """Refuse a setting that names a part or a model for another language than that of the texts, `settings.lang`.

    Raises:
        ValueError: As `check_language_of`.
    """
    if part:
        check_language_of(part, settings.lang, f"--{name}")


def starter_of_language(name: str, model: str, settings: Any) -> None:
    """Refuse a model that ships, as `of_language`; of another model the language is not asked.

    Raises:
        ValueError: As `check_language_of`.
    """
    if model.startswith("starter/"):
        of_language(name, model, settings)


def covers(part: str, lang: str) -> bool:
    """Whether a part of `PARTS` knows a language."""
    return lang in PARTS[part].languages


def _starter_name(part: str | os.PathLike[str]) -> str:
    """`starter/NAME` for the folder of a starter; any other name as it is."""
    if (name := os.fspath(part)) in PARTS:
        return name
    folder = Path(resolve(name)).resolve()
    return f"starter/{folder.name}" if folder.parent == STARTERS.resolve() else name


def _read_languages(part: str | os.PathLike[str]) -> tuple[str, ...]:
    """The language that the measured.json of a folder states for its output or its texts; none where it states none."""
    file = Path(resolve(part), MEASURED)
    record = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    language = record.get("lang") or record.get("language")
    return (language,) if language in CODES else ()  # not "mul" or another group of languages
