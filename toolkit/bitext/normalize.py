"""Normalisation of text: Unicode form, white space and punctuation; and the alphabet test of ParaBank 2.

What it does not do: refuse a line. The rules for that are in `clean/`.
"""

from __future__ import annotations

import re
import unicodedata

from toolkit.bitext.words import NO_LETTERS_OR_DIGITS

# ParaBank 2, section 3.1: "we normalize Unicode punctuation". It does not say which marks; ours: quotes, dashes and the
# ellipsis become what ASCII keyboards write for them. Full-width and ideographic marks (，。「」) are left as they are.
PUNCTUATION = {
    **dict.fromkeys("‘’‚‛′‵‹›ʼ`´", "'"),
    **dict.fromkeys(["“", "”", "„", "‟", "″", "‶", "«", "»"], '"'),
    **dict.fromkeys(["«\u00a0", "«\u202f", "\u00a0»", "\u202f»"], '"'),  # French: « Oui »
    **dict.fromkeys("‐‑‒–−", "-"),
    **dict.fromkeys("—―", " - "),  # a dash between words must not make them one hyphenated word
    "…": "...",
}
OWN_PUNCTUATION = ("ja", "ko", "zh")  # ours: languages of which “ ” … — are own marks, as wide as a letter
TYPOGRAPHIC = re.compile("|".join(map(re.escape, sorted(PUNCTUATION, key=len, reverse=True))))

# Control characters, lone surrogates, and the invisible ones that only break words and duplicates (soft hyphen,
# zero-width space, word joiner, byte order mark). Joiners (emoji, Persian) and right-to-left marks stay.
INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\xad\u200b\u2060\ud800-\udfff\ufeff]")

# ParaBank 2, section 3.1: English in latin-1 (ISO 8859-1), Czech in latin-2. The other languages are ours: the part of
# ISO 8859 that spells them whole. French, Finnish and Estonian need latin-9 (œ, š, ž). Romanian is left out: its ș has
# a comma in latin-10 and a cedilla in latin-2, and no part has both.
LANGUAGES = {
    "iso8859-1": "af ca da de en es eu fo ga gd gl is it nb nl nn no pt sq sv sw",
    "iso8859-2": "bs cs hr hu pl sk sl",
    "iso8859-3": "mt",
    "iso8859-9": "tr",
    "iso8859-13": "lt lv",
    "iso8859-15": "et fi fr",
}
CODECS = {lang: codec for codec, langs in LANGUAGES.items() for lang in langs.split()}


def normalize(text: str, punctuation: bool = True) -> str:
    r"""A text in NFC, with single spaces, without control characters and with ASCII punctuation.

    >>> normalize("\ufeff„Cafe\u0301“ –\xa0\x00it’s…\n")
    '"Café" - it\'s...'

    Args:
        text: Any text. Tabs, line ends and every Unicode white space become single spaces.
        punctuation: Whether `PUNCTUATION` applies; False where these marks are the language's own, as in Chinese.

    Returns:
        The text without space at its ends; "" if nothing is left. Normalising again changes nothing.

    Source:
        ParaBank 2, section 3.1, for the punctuation.
    """
    text = unicodedata.normalize("NFC", text)
    if punctuation:
        text = TYPOGRAPHIC.sub(lambda mark: PUNCTUATION[mark[0]], text)
    if not text.isprintable():
        text = unicodedata.normalize("NFC", INVISIBLE.sub("", " ".join(text.split())))
    return " ".join(text.split())


def match_key(text: str) -> str:
    """The letters and digits of a text in lower case: equal for texts that differ in case, punctuation and spaces only.

    >>> match_key("Don't stop!") == match_key("don’t  STOP"), match_key("दिन।") == match_key("दान")
    (True, False)
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return NO_LETTERS_OR_DIGITS.sub("", text.lower())
