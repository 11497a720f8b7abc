"""What a T5-type model reads and says to fill the gaps between the keywords of a sentence.

A sentinel token stands for each gap. The model says each sentinel again, with the words that it stands for after it.

Source: ParaNet (Liu et al. 2022), section 3.2 and figure 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import torch

from toolkit.bitext.hub_subwords import HubPieces
from toolkit.bitext.languages import near
from toolkit.bitext.subwords import Pieces
from toolkit.generate.keywords import _Keyword
from toolkit.models.config import read_config
from toolkit.translator.load import Translator, described, load_translator

SENTINEL = "<extra_id_{}>"  # of T5's tokenizers; the model reads and says them in this order
SENTINELS = 100  # of T5's checkpoints
MOST_KEYWORDS = SENTINELS - 2  # of a sentence; one sentinel more than keywords, and one that ends the output
CLITIC = re.compile(r"\s+(?=(?:n['’]t|['’](?:s|ll|re|ve|d|m))\b)", re.IGNORECASE)
BEFORE_MARK = re.compile(r"\s+(?=[,.;:!?)\]…])")
AFTER_BRACKET = re.compile(r"(?<=[(\[])\s+")


def infill_input(phrases: Sequence[str], before: str, after: str) -> str:
    """What the model reads: the context, with keywords and sentinels in place of the sentence.

    >>> infill_input(["reported crisply", "final stage"], "It was late.", "")
    'It was late. <extra_id_0> reported crisply <extra_id_1> final stage <extra_id_2>'

    Source: ParaNet, section 3.2 and figure 2.
    """
    masked = SENTINEL.format(0)
    for number, text in enumerate(phrases, 1):
        masked += f" {text} {SENTINEL.format(number)}"
    return " ".join(part for part in (before, masked, after) if part)


def masked_input(sentence: str, masked: _Keyword, before: str, after: str) -> str:
    """What the model reads to say one word of a sentence: the sentence in its context, with a sentinel in its place.

    >>> masked_input("A large sofa.", _Keyword("large", 2, 7), "It was late.", "")
    'It was late. A <extra_id_0> sofa.'

    Source: ParaNet, section 3.1: substitution.
    """
    inside = f"{sentence[: masked.begin]}{SENTINEL.format(0)}{sentence[masked.end :]}"
    return " ".join(part for part in (before, inside, after) if part)


def infill_output(sentence: str, keywords: Sequence[_Keyword]) -> str:
    """What the model should say for a sentence with these keywords: each sentinel with the words that it stands for.

    >>> infill_output("She reported it crisply.", [_Keyword("reported", 4, 12), _Keyword("crisply", 16, 23)])
    '<extra_id_0> She <extra_id_1> it <extra_id_2> .'
    """
    begins, ends = (
        [0, *(keyword.end for keyword in keywords)],
        [*(keyword.begin for keyword in keywords), len(sentence)],
    )
    gaps = [sentence[begin:end].strip() for begin, end in zip(begins, ends, strict=True)]
    return " ".join(f"{SENTINEL.format(number)} {gap}".strip() for number, gap in enumerate(gaps))


def load_infiller(name: str, dtype: str, device: torch.device | str, lang: str) -> Translator:
    """Load a T5-type model that fills gaps.

    Args:
        name: A Hub id ("google-t5/t5-large"), a local path or "starter/infiller".
        dtype: See `load_translator`.
        device: Device on which it computes.
        lang: The language of the texts (ISO 639-1); a model that states another is refused.

    Raises:
        ValueError: The name is none of these, the model is not T5-like, or it states another language.
    """
    family = read_config(name, "an infiller").model_type
    if not family.endswith("t5"):
        raise ValueError(f"wanted a T5-type model as infiller, got {name!r}, which is {family}: give a T5 or mT5")
    model_lang = described(name)["lang"]
    if model_lang is not None and not near(model_lang, lang):
        raise ValueError(
            f"wanted an infiller of {lang}, got {name!r}, which states {model_lang}: give another, or --lang"
        )
    infiller = load_translator(name, dtype, device, scoring=True)  # the encoder takes as long as the decoder
    _sentinel_ids(infiller)
    return infiller


def _sentinel_ids(infiller: Translator) -> list[int]:
    """The ids of the sentinels of a model.

    Raises:
        ValueError: The model has none: it is not T5-like.
    """
    return sentinels_in(infiller.source.vocabulary if isinstance(infiller.source, HubPieces) else {}, infiller.name)


def sentinels_in(vocabulary: Mapping[str, int], name: str) -> list[int]:
    """The ids of the sentinels in the vocabulary of a model.

    Raises:
        ValueError: It lacks one: the model is not T5-like.
    """
    sentinels = [vocabulary[mark] for mark in map(SENTINEL.format, range(SENTINELS)) if mark in vocabulary]
    if len(sentinels) < SENTINELS:
        raise ValueError(
            f"wanted a T5-type model with the tokens {SENTINEL.format(0)} to {SENTINEL.format(SENTINELS - 1)}, "
            f"got {name!r} with {len(sentinels)} of them: give a T5 checkpoint"
        )
    return sentinels


def _fills(ids: Sequence[int], marks: Sequence[int], pieces: Pieces) -> list[str]:
    """What each sentinel stands for in an output; sentinels that are not in their order end it.

    Args:
        ids: The output.
        marks: The ids of the sentinels (`_sentinel_ids`).
        pieces: Of the output.
    """
    parts: list[list[int]] = []
    number_by_mark = {mark: number for number, mark in enumerate(marks)}
    for token in ids:
        number = number_by_mark.get(token)
        if number is not None and number < len(parts):
            break
        if number is not None:
            parts += [[] for _ in range(number + 1 - len(parts))]
        elif parts:
            parts[-1].append(token)
    return pieces.decode(parts)


def sentence_of(phrases: Sequence[str], gap_texts: Sequence[str], reference: str) -> str:
    """The keywords with what was said before, between and after them, in the typography of the reference.

    >>> sentence_of(["reported crisply", "n't", "final stage"], ["she", "that it was", "the", "."], "The end.")
    "She reported crisply that it wasn't the final stage."
    """
    between = [*gap_texts, *[""] * (len(phrases) + 1)]
    parts = [part for pair in zip(between, [*phrases, ""], strict=False) for part in pair if part]
    text = AFTER_BRACKET.sub("", BEFORE_MARK.sub("", CLITIC.sub("", " ".join(parts))))
    text = _with_quotes(text)
    return text[:1].upper() + text[1:] if reference[:1].isupper() else text


def _with_quotes(text: str) -> str:
    """A text with no space inside of its quotation marks, of which the first opens and the second closes.

    >>> _with_quotes('" Go home , " he said')
    '"Go home ," he said'
    """
    pieces = text.split('"')
    if len(pieces) % 2 == 0:
        return text
    for number in range(1, len(pieces), 2):
        pieces[number] = pieces[number].strip()
    return '"'.join(pieces)


def _unmet(phrases: Sequence[str], text: str) -> list[str]:
    """The keywords that a text does not say."""
    return [phrase for phrase in phrases if phrase.lower() not in text.lower()]
