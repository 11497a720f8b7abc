"""The rules that refuse pairs of a bitext by their text, each with a reason that is counted.

The rules read one pair at a time, except for the rule on duplicates. Rules that need a model (dual cross-entropy) are
not here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolkit.bitext.normalize import OWN_PUNCTUATION, fits_latin, match_key, normalize
from toolkit.bitext.read import Pair
from toolkit.bitext.words import LETTER_OR_DIGIT
from toolkit.clean.duplicates import seen_before
from toolkit.clean.scripts import in_script

LENGTH_GRACE = 10  # ours: characters, so that "Ja." and "Yes, I do." may be a pair
WIDE_LETTER = 3  # ours: a Chinese character is about three Latin letters of the translation
WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+")


@dataclass(frozen=True)
class CleanSettings:
    """Which pairs are refused. Lengths are those of the normalised text; a limit on length holds for each side.

    Attributes:
        normalize_punctuation: Typographic marks to ASCII, but not in Chinese, Japanese and Korean.
        latin: Refuse a side that its language's 8-bit alphabet cannot encode; ParaBank 2, section 3.1.
        min_chars: Fewest characters of a side, >= 1.
        max_chars: Most characters of a side.
        max_words: Most words of a side, between spaces.
        max_length_ratio: Most characters of one side per character of the other, >= 1; the first 10 are
            free, and a Chinese, Japanese or Korean character counts as 3.
        deduplicate: Refuse a pair seen before; False for a corpus deduplicated elsewhere, which then costs no memory.
        drop_same_text: Refuse a pair whose sides are equal but for case, punctuation and spaces.
        check_script: Refuse a side with less than half of its letters in its language's script.
    """

    normalize_punctuation: bool = True  # ParaBank 2, section 3.1
    latin: bool = False  # ours: the paper has it for English and Czech; many scripts have no 8-bit alphabet
    min_chars: int = 1
    max_chars: int = 1000  # ours: beyond it a "sentence" is a paragraph that the models truncate
    max_words: int = 200  # ours: the same
    max_length_ratio: float = 3.0  # ours: misaligned beyond doubt; real translations stay below 2
    deduplicate: bool = True  # ParaBank 2, section 3.1
    drop_same_text: bool = True
    check_script: bool = True

    def __post_init__(self) -> None:
        """Check the limits against each other.

        Raises:
            ValueError: No text, or hardly any, could pass.
        """
        if not 1 <= self.min_chars <= self.max_chars:
            raise ValueError(
                f"wanted 1 <= min_chars <= max_chars, got {self.min_chars} and {self.max_chars}: raise max_chars"
            )
        if self.max_words < 1 or self.max_length_ratio < 1:
            raise ValueError(
                f"wanted max_words and max_length_ratio of at least 1, got {self.max_words} and "
                f"{self.max_length_ratio}: raise them"
            )


def judged(
    pairs: Iterable[Pair], settings: CleanSettings, source_lang: str, lang: str
) -> Iterator[tuple[Pair, str | None]]:
    """The normalised pairs in their order, each with the reason for which it is refused, None if it is not.

    Args:
        pairs: As read. The stream is read once. Memory is needed for the hashes of the pairs that pass the other rules,
            about 100 bytes each (1.9 GB for ParaBank 2's 19.7 million), and none with `deduplicate=False`.
        settings: Which pairs are refused.
        source_lang: The language of the sources (ISO 639-1).
        lang: The language of the references.

    Yields:
        A pair and the reason of the first rule that refuses it, in the order of `RULES`, then "duplicate". Two
        different pairs with equal 64-bit hashes are taken for duplicates: odds of 1 in 3000 for a hundred million.
    """
    seen: set[int] = set()
    marks = [settings.normalize_punctuation and language not in OWN_PUNCTUATION for language in (source_lang, lang)]
    for pair in pairs:
        pair = Pair(pair.line, normalize(pair.source, marks[0]), normalize(pair.reference, marks[1]), pair.fault)
        reason = first_reason(pair, settings, source_lang, lang)
        if reason is None and settings.deduplicate and seen_before(pair, seen):
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
        pairs: As of `judged`.
        settings: As of `judged`.
        source_lang: As of `judged`.
        lang: As of `judged`.
        refused: Counts each refused pair under its reason.
    """
    for pair, reason in judged(pairs, settings, source_lang, lang):
        if reason is None:
            yield pair
        else:
            refused[reason] += 1


def none_usable(bitext: Sequence[str], refused: Mapping[str, int]) -> str:
    """The error message for a bitext of which no pair was left.

    >>> none_usable(["a.tsv"], {"columns": 2}).partition(", got ")[2]
    'none of 2 lines: 2 as columns (too few columns between TABs); check the file'
    """
    lines = sum(refused.values())
    return (
        f"wanted at least one usable pair in {' '.join(bitext)}, got none of {lines} lines: {refusals(refused)}; "
        "check the file"
    )


def refusals(refused: Mapping[str, int]) -> str:
    """The number of refused lines of each reason and what the reason means, the most frequent first.

    >>> refusals({"columns": 1, "duplicate": 3})
    '3 as duplicate (the same text before), 1 as columns (too few columns between TABs)'
    """
    counted = sorted(refused.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n:,} as {reason} ({REASONS[reason]})" for reason, n in counted) or "none"


def first_reason(pair: Pair, settings: CleanSettings, source_lang: str, lang: str) -> str | None:
    """The reason of the first rule that refuses a normalised pair; None if all accept it."""
    for rule in RULES:
        reason = rule(pair, settings, source_lang, lang)
        if reason is not None:
            return reason
    return None


def faulty(pair: Pair, settings: CleanSettings, source_lang: str, lang: str) -> str | None:
    """Refuse a line that could not be read: "invalid_utf8" or "columns"."""
    return pair.fault


def empty(pair: Pair, settings: CleanSettings, source_lang: str, lang: str) -> str | None:
    """Refuse a side with fewer than `min_chars` characters."""
    return "empty" if min(len(pair.source), len(pair.reference)) < settings.min_chars else None


def too_long(pair: Pair, settings: CleanSettings, source_lang: str, lang: str) -> str | None:
    """Refuse a side with more than `max_chars` characters or `max_words` words."""
    if max(len(pair.source), len(pair.reference)) > settings.max_chars:
        return "too_long"
    words = 1 + max(pair.source.count(" "), pair.reference.count(" "))
    return "too_long" if words > settings.max_words else None


def length_ratio(pair: Pair, settings: CleanSettings, source_lang: str, lang: str) -> str | None:
    """Refuse a pair with one side much longer than the other, a sign of misalignment."""
    shorter, longer = sorted((width(pair.source), width(pair.reference)))
    return "length_ratio" if longer > settings.max_length_ratio * shorter + LENGTH_GRACE else None


def same_text(pair: Pair, settings: CleanSettings, source_lang: str, lang: str) -> str | None:
    """Refuse a pair that is not translated: equal letters and digits in the same order."""
    # the first letters are compared first, because most pairs differ there and the whole texts take longer
    if not settings.drop_same_text or initial(pair.source) != initial(pair.reference):
        return None
    return "same_text" if match_key(pair.source) == match_key(pair.reference) else None


def wrong_script(pair: Pair, settings: CleanSettings, source_lang: str, lang: str) -> str | None:
    """Refuse a side whose letters are mostly not in the script of its language."""
    if not settings.check_script or (in_script(pair.source, source_lang) and in_script(pair.reference, lang)):
        return None
    return "wrong_script"


def latin(pair: Pair, settings: CleanSettings, source_lang: str, lang: str) -> str | None:
    """Refuse a side that the 8-bit alphabet of its language cannot encode; ParaBank 2, section 3.1."""
    if not settings.latin or fits_latin(pair.source, pair.reference, source_lang, lang):
        return None
    return "latin"


REASONS = {  # what each reason means, for messages
    "invalid_utf8": "not in UTF-8",
    "columns": "too few columns between TABs",
    "empty": "a side has too few characters",
    "too_long": "a side has too many characters or words",
    "length_ratio": "one side is much longer than the other",
    "same_text": "both sides say the same",
    "wrong_script": "a side is not in the script of its language",
    "latin": "a letter its alphabet lacks",
    "duplicate": "the same text before",
}

RULES: tuple[Callable[[Pair, CleanSettings, str, str], str | None], ...] = (
    faulty,
    empty,
    too_long,
    length_ratio,
    same_text,
    wrong_script,
    latin,
)


def initial(text: str) -> str:
    """The first letter or digit of a text, without case; "" if there is none.

    >>> initial("„Ärger“")
    'ä'
    """
    first = LETTER_OR_DIGIT.search(text)
    return match_key(first[0])[:1] if first else ""


def width(text: str) -> int:
    """The length of a text in Latin characters.

    >>> width("Hello"), width("你好")
    (5, 6)
    """
    if text.isascii():
        return len(text)
    return len(text) + (WIDE_LETTER - 1) * sum(map(len, WIDE.findall(text)))
