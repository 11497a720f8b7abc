"""Whether a candidate loses what a text holds letter for letter: placeholders, addresses, tags, signs, emoji, brackets.

Vocabularies lack many of these characters, and a model leaves out what it cannot read. A sign that a language has a
word for ("$", "%", "&") may become that word.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache

from toolkit.clean._scripts import OTHER_LETTERS, OWN_LETTERS

RECENT = 1024  # ours: a reference is compared with each of its candidates
WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full-width ASCII
QUOTES = re.compile(r"(?<=\w)[`´](?=\w)|(?<!`)``(?!`)|´")  # apostrophes and quotes of keyboards and corpora
JOINED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"  # letters that stand beside Latin ones without a space
ADDRESS = rf'(?:[^\s<>"\u3000-\u303f\uff00-\uffef{JOINED}]|(?<=[/=])[{JOINED}]+)'
URL = (
    rf"https?://{ADDRESS}+|\bwww\.{ADDRESS}+"
    rf"|(?<![\w@-])(?<![\w-]\.)(?:[\w-]++\.)+(?:com|org|net|edu|gov|io)\b(?:/{ADDRESS}*)?"
)
MAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+"
MENTION = rf"(?<![\w&])@(?:\w+|[{JOINED}]+)"
HASHTAG = rf"(?<![\w&])#(?:\w*[^\W\d]\w*|[{JOINED}][\w{JOINED}]*)"
FIELD = (
    r"\{\{[^{}]*\}\}|\$?\{[^{}]*\}|\$[A-Za-z_]\w*"  # {{name}}, {name}, ${name}, $NAME
    r"|%\(\w+\)[a-z]|%(?:\d+\$)?(?:\.?\d+)?[sdifgxcr@](?!\w)|%[A-Z_]+%"  # %(name)s, %s, %1$s, %.2f, %PATH%
)
TAG = r"</?[A-Za-z][^<>]*>|<[^\s<>]+>|&(?:#x?[\da-fA-F]+|[A-Za-z]+\d*);"  # <b>, <name>, &amp;
SLOT = r"\[[^\[\]\s]+\](?:\([^()\s]*\))?|(?<!\w)__\w+?__(?!\w)"  # [MASK], [text](address), __NAME__
SMILEY = r"(?<!\w)[:;=]['-]?[()\[\]DPpOo3|/\\*]+(?!\w)|<3(?!\d)"  # :-), ;P, <3
EXACT = "|".join((URL, MAIL, MENTION, HASHTAG, FIELD, TAG, SLOT, SMILEY))
AFTER_ADDRESS = ".,!?;:'…。，！？"  # ends the sentence, not the address
BULLET = re.compile(r"\s*(?:[-*+>•]|#{1,6}|\d+[.)])\s")
CHINESE_BRACKETS = frozenset("【】《》〈〉「」『』")  # other languages have quotes or italics for them
SIGNS = CHINESE_BRACKETS | frozenset("()[]{}*_#@&%\\•§¶†‡\u20e3")  # besides Unicode's symbols
SYMBOLS = ("Sc", "Sm", "So", "Sk")  # currency, mathematics, emoji and others, modifiers
MONEY = {  # what a language says for the sign of a currency
    "en": {"$": "dollars?|bucks?|usd", "€": "euros?|eur", "£": "pounds?|quid|gbp|sterling", "¥": "yen|yuan|jpy|cny|rmb"}
    | {"₹": "rupees?|inr", "₽": "rou?bles?|rub", "₩": "won|krw", "¢": "cents?"},
    "de": {"$": "dollars?|usd", "€": "euros?|eur", "£": "pfund|gbp", "¥": "yen|yuan|jpy|cny", "₹": "rupien?|inr"}
    | {"₽": "rubel|rub", "¢": "cents?"},
    "fr": {"$": "dollars?|usd", "€": "euros?|eur", "£": "livres?|gbp", "¥": "yens?|yuans?|jpy|cny"}
    | {"₹": "roupies?|inr", "₽": "roubles?|rub", "¢": "cents?"},
    "es": {"$": "dólar(?:es)?|pesos?|usd", "€": "euros?|eur", "£": "libras?|gbp", "¥": "yen(?:es)?|yuan(?:es)?|jpy|cny"}
    | {"₹": "rupias?|inr", "₽": "rublos?|rub", "¢": "centavos?|céntimos?"},
    "zh": {"$": "美元|美金|元", "€": "欧元", "£": "英镑", "¥": "日元|日圆|人民币|元|块", "₹": "卢比", "₽": "卢布"},
}
WORDS = {  # and for other signs
    "en": {"%": "per ?cent|percentage", "&": "and", "°": "degrees?", "+": "plus|and", "=": "equals?|is|are"}
    | {"#": "number|no"},
    "de": {"%": "prozent", "&": "und", "°": "grad", "+": "plus|und", "=": "gleich|ist|sind", "#": "nummer|nr"},
    "fr": {"%": "pour ?cent", "&": "et", "°": "degrés?", "+": "plus|et", "=": "égale?|est|font", "#": "numéro"},
    "es": {"%": "por ?ciento", "&": "y|e", "°": "grados?", "+": "más|y", "=": "igual|es|son", "#": "número"},
    "zh": {"%": "百分之", "&": "和|与|及", "°": "度", "+": "加|和", "=": "等于|是", "#": "号"},
}
NOTHING: dict[str, str] = {}
HAS_JOINED = re.compile(f"[{JOINED}]")


@cache
def _compiled(pattern: str, is_joined: bool) -> re.Pattern[str]:
    """A pattern, whose letters are those of ASCII in a text with letters that are joined."""
    return re.compile(pattern, re.ASCII if is_joined else 0)


def compiled_for(text: str, pattern: str) -> re.Pattern[str]:
    r"""A pattern for a text: in Chinese, Japanese and Korean a word of Latin letters ends where their letters begin.

    >>> compiled_for("写信给jo@a.org吧", MAIL).findall("写信给jo@a.org吧")
    ['jo@a.org']
    >>> compiled_for("josé@a.org", MAIL).findall("josé@a.org")
    ['josé@a.org']

    Args:
        text: Where the pattern is looked for.
        pattern: A regular expression; "\\w" and "\\b" are those that change.
    """
    return _compiled(pattern, HAS_JOINED.search(text) is not None)


@lru_cache(RECENT)
def _marks(text: str, lang: str, text_lang: str) -> tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]], str]:
    """What must stay of a text: exact strings, single signs, both with their numbers, and the bullet that begins it.

    >>> exact, signs, bullet = _marks("- Mail {name} at jo@example.org, it's 5 € (or less).", "en", "en")
    >>> sorted(exact), sorted(signs), bullet
    ([('jo@example.org', 1), ('{name}', 1)], [('(', 1), (')', 1), ('€', 1)], '-')
    """
    plain = QUOTES.sub("'", text.translate(WIDE))
    bullet = BULLET.match(plain)
    plain = plain[bullet.end() :] if bullet else plain
    pattern = compiled_for(plain, EXACT)
    exact = Counter(mark.rstrip(AFTER_ADDRESS) or mark for mark in pattern.findall(plain))
    exact.update(word for word in _foreign_words(plain, text_lang) if _foreign_words(word, lang))
    rest = pattern.sub(" ", plain)
    required = SIGNS if text_lang == lang else SIGNS - CHINESE_BRACKETS
    signs = Counter(c for c in rest if c in required or unicodedata.category(c) in SYMBOLS)
    return frozenset(exact.items()), frozenset(signs.items()), bullet.group().strip() if bullet else ""


def _foreign_words(text: str, lang: str) -> list[str]:
    """Words in letters of neither the language nor the Latin script, such as Hebrew within English."""
    words = OTHER_LETTERS[lang].findall(text) if lang in OTHER_LETTERS else []
    return [word for word in words if not OWN_LETTERS["en"].match(word)]


def loses_mark(reference: str, candidate: str, lang: str, reference_lang: str | None = None) -> bool:
    """Whether a candidate lacks a placeholder, an address, a tag, a sign, an emoji or a bracket of its reference.

    >>> loses_mark("Hello {name}!", "Hi {name}!", "en"), loses_mark("Hello {name}!", "Hello name!", "en")
    (False, True)
    >>> loses_mark("It costs $5.", "It costs five dollars.", "en"), loses_mark("I love it 😂", "I love it", "en")
    (False, True)
    >>> loses_mark("我读了《红楼梦》。", "I read Dream of the Red Chamber.", "en", "zh")
    False

    Args:
        reference: A text.
        candidate: What should mean the same.
        lang: Of the candidate (ISO 639-1); of a language without `WORDS` every sign stays a sign.
        reference_lang: Of the reference, if the candidate is a translation of it: words in its script need not stay.
    """
    exact, signs, bullet = _marks(reference, lang, reference_lang or lang)
    if not (exact or signs or bullet):
        return False
    plain = QUOTES.sub("'", candidate.translate(WIDE))
    if not plain.lstrip().startswith(bullet) or any(plain.count(mark) < count for mark, count in exact):
        return True
    text_in_lang = reference if reference_lang in (None, lang) else ""
    return any(plain.count(sign) < count and not _says(plain, sign, lang, text_in_lang) for sign, count in signs)


def _says(candidate: str, sign: str, lang: str, reference: str) -> bool:
    """Whether a candidate says a sign by a word that its reference does not say, or a currency once for several sums.

    >>> _says("AT T and Bell", "&", "en", "AT&T and Bell"), _says("Tom and Mary", "&", "en", "Tom & Mary")
    (False, True)
    """
    if unicodedata.category(sign) == "Sc":
        words = MONEY.get(lang, NOTHING).get(sign)
        return sign in candidate or (words is not None and _count(words, candidate, lang) > 0)
    words = WORDS.get(lang, NOTHING).get(sign)
    return words is not None and _count(words, candidate, lang) > _count(words, reference, lang)


def _count(words: str, text: str, lang: str) -> int:
    """How often a text says one of some words."""
    return len(re.findall(bounded(words, lang), text, re.IGNORECASE))


def bounded(alternatives: str, lang: str) -> str:
    """A pattern of whole words; Chinese has no spaces between them."""
    return alternatives if lang == "zh" else rf"\b(?:{alternatives})\b"


def lacks_letters(reference: str, candidate: str, lang: str) -> bool:
    """Whether a candidate has no letter: an empty text, or marks and digits alone.

    >>> lacks_letters("Hello.", ".", "en"), lacks_letters("你好", "您好", "zh")
    (True, False)
    """
    return not any(map(str.isalpha, candidate))
