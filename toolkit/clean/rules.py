"""The rules that refuse pairs of a bitext by their text, each with a reason that is counted.

A rule compares measures (`measures.py`) with a setting, for all pairs of a batch at once. `RULES` has them in their
order. Rules that must see the whole corpus are in `corpus.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import numpy as np

from toolkit.bitext.normalize import match_key
from toolkit.bitext.read import Pair
from toolkit.bitext.text_file import LONGEST_FIELD
from toolkit.clean import _measures as measures
from toolkit.clean._batch import Batch, Side, normal_side
from toolkit.clean._duplicates import seen_before
from toolkit.clean._scripts import SCRIPTS, in_latin_script
from toolkit.clean.language import _check_identifier, _in_other_language
from toolkit.clean.normal_form import _NormalForm, form_of
from toolkit.clean.texts import Texts
from toolkit.system.ranges import Count, Range, Settings, Share, between

BATCH = 1000  # ours: pairs that are measured at a time, where they come one by one
MOST_CHARS = LONGEST_FIELD // 4  # a character has at most four bytes; of a longer text only the beginning is read
MUCH_TOO_LONG = 10  # ours: a text of so many times `max_chars` is refused without being normalised
LIMITS = ("max_words", "max_length_ratio")
TextLength = Annotated[int, between(1, MOST_CHARS)]
Limit = Range("max_words and max_length_ratio of at least 1", lambda most: most >= 1, ": raise them", LIMITS)


def _identified(name: str, letters: int, settings: Any) -> None:
    """Refuse to identify languages that the identifier does not know, if the settings name languages.

    Raises:
        ValueError: It does not know one.
    """
    if hasattr(settings, "lang"):
        _check_identifier(settings.source_lang, settings.lang)


@dataclass(frozen=True)
class CleanSettings(Settings):
    """How pairs are normalised and which are refused. Lengths are those of the normalised text, for each side.

    Attributes:
        normalize_punctuation: Typographic marks to ASCII, but not in Chinese, Japanese and Korean.
        entities: HTML references such as "&gt;" and "&#62;" to characters.
        half_width: Full-width letters, digits and marks to ASCII, and so the other marks of Chinese, Japanese and
            Korean that ASCII has.
        simplified: Traditional Chinese characters to simplified ones (OpenCC).
        refuse_misread: Refuse a side whose bytes were decoded by a wrong codec, such as "CafÃ©" (ftfy).
        latin: Refuse a side that its language's 8-bit alphabet cannot encode; ParaBank 2, section 3.1.
        min_chars: Fewest characters of a side, >= 1.
        max_chars: Most characters of a side.
        max_words: Most words of a side, between spaces.
        max_length_ratio: Most characters of one side per character of the other, >= 1.
        length_grace: Characters of the longer side that the ratio does not count.
        wide_letter: Characters that a Chinese, Japanese or Korean one counts in the ratio.
        deduplicate: Refuse a pair seen before; False for a corpus deduplicated elsewhere.
        most_frequent: Of several translations of a source keep the one of most lines, and of these the first.
        drop_same_text: Refuse a pair whose sides are equal but for case, punctuation and spaces.
        max_english: Most English letters per character of a side in a language of another script, in [0, 1].
        min_script_share: Least share of a side's letters that are in its language's script, in [0, 1].
        identify_from: Refuse a side that is surely in another language, if it has so many letters (a Chinese one counts
            as for the ratio); 30 is good. It needs heliport, of the extra "language".
        max_rare_share: Most rare tokens per token of both sides, in [0, 1].
        rare_below: A token is rare if the corpus has it less often than this on its side.
    """

    GROUP = "cleaning"

    normalize_punctuation: bool = True  # ParaBank 2, section 3.1
    entities: bool = True  # ParaZh, section 2.2
    half_width: bool = False  # ours: ParaZh has it; it changes the marks of Japanese and Chinese
    simplified: bool = False  # ours: ParaZh has it
    refuse_misread: bool = True  # ParaZh, section 2.2
    latin: bool = False  # ours: the paper has it for English and Czech; many scripts have no 8-bit alphabet
    min_chars: int = 1
    max_chars: TextLength = 1000  # ours: beyond it a "sentence" is a paragraph that the models truncate
    max_words: Annotated[int, Limit] = 200  # ours: the same
    max_length_ratio: Annotated[float, Limit] = 3.0  # ours: misaligned beyond doubt; real translations stay below 2
    length_grace: int = 10  # ours: "Ja." and "Yes, I do." may be a pair
    wide_letter: float = 3.0  # ours: a Chinese character is about three Latin letters of the translation
    deduplicate: bool = True  # ParaBank 2, section 3.1
    most_frequent: bool = False  # ours: ParaZh, section 2.2, has it
    drop_same_text: bool = True
    max_english: Share = 1.0  # ours: off; ParaZh refuses more than 0.6
    min_script_share: Share = 0.5  # ours: a line with a name in another script passes, a line in another language not
    identify_from: Annotated[Count, _identified] | None = None  # ours: not in the papers
    max_rare_share: Share = 1.0  # ours: off; ParaZh, section 2.2, has it and prints no number
    rare_below: Count = 5  # ours

    def __post_init__(self) -> None:
        """Refuse limits that no text, or hardly any, could pass."""
        if not 1 <= self.min_chars <= self.max_chars:
            limits = f"{self.min_chars} and {self.max_chars}"
            raise ValueError(f"wanted 1 <= min_chars <= max_chars, got {limits}: raise max_chars")
        super().__post_init__()
        between(0, self.max_chars)("length_grace", self.length_grace, self)
        between(1, self.max_chars)("wide_letter", self.wide_letter, self)


def _judged(
    pairs: Iterable[Pair], settings: CleanSettings, source_lang: str, lang: str
) -> Iterator[tuple[Pair, str | None]]:
    """The normalised pairs in their order, each with the reason for which it is refused, None if it is not.

    Args:
        pairs: As read. The stream is read once, some pairs ahead. Memory is needed for the hashes of the pairs that
            pass the other rules, about 100 bytes each, and none with `deduplicate=False`; a whole corpus is cleaned by
            `corpus.clean_corpus`.
        settings: How pairs are normalised and which are refused.
        source_lang: The language of the sources (ISO 639-1).
        lang: The language of the references.

    Yields:
        A pair and the reason of the first rule that refuses it, in the order of `RULES`, then "duplicate". Two
        different pairs with equal 64-bit hashes are taken for duplicates: odds of 1 in 3000 for a hundred million.
    """
    hashes: set[int] = set()
    stream = iter(pairs)
    while batch_pairs := list(islice(stream, BATCH)):
        sides = Texts.of([pair.source for pair in batch_pairs]), Texts.of([pair.reference for pair in batch_pairs])
        batch = normal_batch(*sides, settings, source_lang, lang)
        reasons = first_reasons(batch, settings, [pair.fault for pair in batch_pairs])
        texts = zip(batch_pairs, batch.source.strings, batch.reference.strings, reasons, strict=True)
        for pair, source, reference, reason in texts:
            pair = Pair(pair.line, source, reference, pair.fault)
            if reason is None and settings.deduplicate and seen_before(pair, hashes):
                reason = "duplicate"
            yield pair, reason


def clean(
    pairs: Iterable[Pair], settings: CleanSettings, source_lang: str, lang: str, refused: Counter[str]
) -> Iterator[Pair]:
    """The normalised pairs that no rule refuses, in their order and with their line numbers.

    >>> pairs = [Pair(1, "Danke  schön!", "Thank you – really."), Pair(2, "Danke", ""), Pair(3, "Hotel", "hotel")]
    >>> refused = Counter()
    >>> [pair.reference for pair in clean(pairs, CleanSettings(), "de", "en", refused)]
    ['Thank you - really.']
    >>> dict(refused)
    {'empty': 1, 'same_text': 1}

    Args:
        pairs: See `_judged`.
        settings: See `_judged`.
        source_lang: See `_judged`.
        lang: See `_judged`.
        refused: Counts each refused pair under its reason.
    """
    for pair, reason in _judged(pairs, settings, source_lang, lang):
        if reason is None:
            yield pair
        else:
            refused[reason] += 1


def none_usable(bitext: Sequence[str], refused: Mapping[str, int]) -> str:
    """The error message for a bitext of which no pair was left.

    >>> none_usable(["a.tsv"], {"columns": 2}).partition(", got ")[2]
    'none of 2 lines: 2 as columns (too few or too many columns between TABs); check the file'
    """
    lines = sum(refused.values())
    return (
        f"wanted at least one usable pair in {' '.join(bitext)}, got none of {lines} lines: {refusals(refused)}; "
        "check the file"
    )


def refusals(refused: Mapping[str, int]) -> str:
    """The number of refused lines of each reason and what the reason means, the most frequent first.

    >>> refusals({"columns": 1, "duplicate": 3})
    '3 as duplicate (the same text before), 1 as columns (too few or too many columns between TABs)'
    """
    reason_counts = sorted(refused.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n:,} as {reason} ({REASONS[reason]})" for reason, n in reason_counts) or "none"


def side_form(settings: CleanSettings, lang: str) -> _NormalForm:
    """The normal form of a side in a language."""
    return form_of(lang, settings.normalize_punctuation, settings.entities, settings.half_width, settings.simplified)


def normal_batch(source: Texts, reference: Texts, settings: CleanSettings, source_lang: str, lang: str) -> Batch:
    """The normal form of pairs as they were read."""

    def side(texts: Texts, lang: str) -> Side:
        form = side_form(settings, lang)
        return normal_side(texts, lang, form, MUCH_TOO_LONG * settings.max_chars, settings.refuse_misread)

    return Batch(side(source, source_lang), side(reference, lang))


def first_reasons(batch: Batch, settings: CleanSettings, faults: Sequence[str | None]) -> list[str | None]:
    """For each pair of a batch the reason of the first rule that refuses it; None if all accept it.

    Args:
        batch: The pairs.
        settings: Which of them are refused.
        faults: For each of them the reason why it could not be read, which comes before all rules; None for a good one.
    """
    reasons = list(faults)
    left = np.array([fault is None for fault in faults], bool) if any(faults) else np.ones(len(reasons), bool)
    for reason, rule in RULES.items():
        if not left.any():
            break
        for number in np.flatnonzero(rule(batch, settings, left) & left).tolist():
            reasons[number] = reason
            left[number] = False
    return reasons


def _misread(batch: Batch, settings: CleanSettings, left: np.ndarray) -> np.ndarray:
    """Refuse a side whose bytes were decoded by a wrong codec."""
    return _has_refused_side(batch, lambda side: side.misread)


def _empty(batch: Batch, settings: CleanSettings, left: np.ndarray) -> np.ndarray:
    """Refuse a side with fewer than `min_chars` characters."""
    return _has_refused_side(batch, lambda side: side.texts.lengths < settings.min_chars)


def _too_long(batch: Batch, settings: CleanSettings, left: np.ndarray) -> np.ndarray:
    """Refuse a side with more than `max_chars` characters or `max_words` words."""
    return _has_refused_side(
        batch,
        lambda side: (side.texts.lengths > settings.max_chars) | (measures.words(side.texts) > settings.max_words),
    )


def _length_ratio(batch: Batch, settings: CleanSettings, left: np.ndarray) -> np.ndarray:
    """Refuse a pair with one side much longer than the other, a sign of misalignment."""
    source, reference = (measures.widths(side.texts, settings.wide_letter) for side in batch.sides)
    longest = settings.max_length_ratio * np.minimum(source, reference) + settings.length_grace
    return np.maximum(source, reference) > longest


def _same_text(batch: Batch, settings: CleanSettings, left: np.ndarray) -> np.ndarray:
    """Refuse a pair that is not translated: equal letters and digits in the same order."""
    if not settings.drop_same_text:
        return np.zeros(len(left), bool)
    source, reference = (measures.letters_and_digits(side.texts) for side in batch.sides)
    same = left & (source == reference)  # the texts themselves are compared where the lengths are equal
    for number in np.flatnonzero(same).tolist():
        same[number] = match_key(batch.source.strings[number]) == match_key(batch.reference.strings[number])
    return same


def _english(batch: Batch, settings: CleanSettings, left: np.ndarray) -> np.ndarray:
    """Refuse a side that is mostly English letters, in a language of another script; ParaZh, section 2.4."""
    refused = np.zeros(len(left), bool)
    for side in batch.sides if settings.max_english < 1 else ():
        if side.lang in SCRIPTS and not in_latin_script(side.lang):
            refused |= measures.english_shares(side.texts) > settings.max_english
    return refused


def _wrong_script(batch: Batch, settings: CleanSettings, left: np.ndarray) -> np.ndarray:
    """Refuse a side whose letters are mostly not in the script of its language."""
    return _has_refused_side(
        batch, lambda side: measures.script_shares(side.texts, side.lang) < settings.min_script_share
    )


def _latin(batch: Batch, settings: CleanSettings, left: np.ndarray) -> np.ndarray:
    """Refuse a side that the 8-bit alphabet of its language cannot encode; ParaBank 2, section 3.1."""
    if not settings.latin:
        return np.zeros(len(left), bool)
    return _has_refused_side(batch, lambda side: measures.unencodable(side.texts, side.lang) > 0)


def _wrong_language(batch: Batch, settings: CleanSettings, left: np.ndarray) -> np.ndarray:
    """Refuse a side that is surely in another language."""
    refused = np.zeros(len(left), bool)
    for side in batch.sides if settings.identify_from is not None else ():
        long = measures.widths(side.texts, settings.wide_letter) >= settings.identify_from
        numbers = np.flatnonzero(left & ~refused & long)
        refused[numbers] = _in_other_language([side.strings[number] for number in numbers.tolist()], side.lang)
    return refused


def _has_refused_side(batch: Batch, refused: Callable[[Side], np.ndarray]) -> np.ndarray:
    """Whether one side of each pair is refused or both are: (N,) of bool."""
    return refused(batch.source) | refused(batch.reference)


REASONS = {  # what each reason means, for messages
    "invalid_utf8": "not in UTF-8",
    "columns": "too few or too many columns between TABs",
    "misread": "a side was decoded by a wrong codec",
    "empty": "a side has too few characters",
    "too_long": "a side has too many characters or words",
    "length_ratio": "one side is much longer than the other",
    "same_text": "both sides say the same",
    "english": "a side is mostly English letters",
    "wrong_script": "a side is not in the script of its language",
    "latin": "a letter its alphabet lacks",
    "wrong_language": "a side is in another language",
    "contaminated": "a side is in an evaluation set",
    "duplicate": "the same text before",
    "rarer_translation": "another translation of its source is more frequent",
    "rare_tokens": "too many tokens are rare in the corpus",
    "cross_entropy": "two translators find it improbable, or do not agree",
}

# (batch, settings, pairs that no earlier rule has refused) -> pairs that this rule refuses; both of (N,) bool
RULES: dict[str, Callable[[Batch, CleanSettings, np.ndarray], np.ndarray]] = {
    "empty": _empty,
    "too_long": _too_long,
    "misread": _misread,
    "length_ratio": _length_ratio,
    "same_text": _same_text,
    "english": _english,
    "wrong_script": _wrong_script,
    "latin": _latin,
    "wrong_language": _wrong_language,
}
