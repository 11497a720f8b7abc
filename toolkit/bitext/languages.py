"""Language codes, and a check that a bitext is in the languages that its settings name.

The identifier (py3langid) works offline. It identifies most single sentences correctly, so that a sample of lines is
enough to find swapped columns and wrong codes. No single line is refused for its language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from toolkit.bitext.read import Pair

# ISO 639-1, the two-letter codes
ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee "
    "el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is "
    "it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms "
    "mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si "
    "sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh "
    "yi yo za zh zu "
)
CODES = frozenset(ISO_639_1.split())
SAMPLE = 500  # ours: lines that are identified, which takes a second
FEWEST = 10  # ours: fewer lines are not checked
# ours: languages that the identifier confuses in short sentences; "wuu" and "yue" are written like zh
NEAR = (
    ("no", "nb", "nn", "da"),
    ("bs", "hr", "sr", "sh"),
    ("id", "ms"),
    ("zh", "wuu", "yue"),
    ("cs", "sk"),
    ("gl", "pt"),
)


def check_code(lang: str, flag: str) -> str:
    """The code itself, if it is one of ISO 639-1.

    >>> check_code("en", "--lang")
    'en'

    Args:
        lang: The code.
        flag: The command-line flag that gave it, for the message.

    Raises:
        ValueError: It is not.
    """
    if lang not in CODES:
        raise ValueError(f'wanted {flag} as a code of ISO 639-1, two letters like "en" or "de", got {lang!r}')
    return lang


def check_codes(settings: object) -> None:
    """Refuse settings whose `source_lang` or `lang` is no code of ISO 639-1.

    Raises:
        ValueError: One of them is not.
    """
    for name in ("source_lang", "lang"):
        check_code(getattr(settings, name), f"--{name}")


def check_languages(pairs: Sequence[Pair], source_lang: str, lang: str) -> None:
    """Refuse a bitext of which one side is in another language than the settings say.

    Args:
        pairs: Cleaned pairs; the first `SAMPLE` of them are identified.
        source_lang: The language of the sources according to the settings (ISO 639-1).
        lang: The language of the references according to the settings.

    Raises:
        ValueError: More than half of a side's lines are identified as one other language.
    """
    if len(pairs) < FEWEST:
        return
    sides = [pair.source for pair in pairs[:SAMPLE]], [pair.reference for pair in pairs[:SAMPLE]]
    found = [main_language(texts) for texts in sides]
    for side, wanted, (got, share) in zip(("source", "reference"), (source_lang, lang), found, strict=True):
        if got is not None and not near(wanted, got):
            swapped = found[0][0] == lang and found[1][0] == source_lang
            hint = "check the columns and the language codes"
            if swapped:
                hint = (
                    "the columns are swapped (of a TSV: --source_column 1 --reference_column 0), or the language codes"
                )
            raise ValueError(
                f"wanted the {side} side in {wanted}, got {got} in {share:.0%} of {len(sides[0])} lines: {hint}, "
                "or say --no-check_language"
            )


def check_language(texts: Sequence[str], lang: str) -> None:
    """Refuse text in another language than the settings say.

    Args:
        texts: Its sentences; the first `SAMPLE` of them are identified.
        lang: The language according to the settings (ISO 639-1).

    Raises:
        ValueError: More than half of the sentences are identified as one other language.
    """
    found, share = main_language(texts[:SAMPLE]) if len(texts) >= FEWEST else (None, 0.0)
    if found is not None and not near(lang, found):
        raise ValueError(
            f"wanted text in {lang}, got {found} in {share:.0%} of {len(texts[:SAMPLE])} sentences: "
            "check the text and --lang, or say --no-check_language"
        )


def main_language(texts: Sequence[str]) -> tuple[str | None, float]:
    """The language of more than half of the texts, and their share; None if no language has so many."""
    from py3langid import classify  # its model takes a second to load

    label, count = Counter(str(classify(text)[0]) for text in texts).most_common(1)[0]
    share = count / len(texts)
    return (label if share > 0.5 else None), share


def near(lang: str, other: str) -> bool:
    """Whether two languages are the same, or too similar to be distinguished by single sentences.

    >>> near("nb", "da"), near("de", "nl")
    (True, False)
    """
    return lang == other or any(lang in group and other in group for group in NEAR)
