"""Whether a candidate loses or adds a number, in digits or in words, its minus, or the currency of a sum."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from text_to_num import alpha2digit

from toolkit.clean.marks import MONEY, bounded

RECENT = 1024  # ours: a reference is compared with each of its candidates
THOUSANDS = r"\d{1,3}(?:[.,'’ ]\d{3})+"
DIGITS = re.compile(rf"(?<!\d){THOUSANDS}(?!\d)|\d+(?:[.,]\d+)?")
OTHER_DIGITS = re.compile(r"(?![0-9])\d")  # full-width ones and those of other scripts
FRACTIONS = re.compile("[¼-¾⅐-⅞]")
# A minus for sure, which a range and the dash before an utterance are not; and any dash
MINUS = re.compile(r"(?<!\d)(?<!\d\s)(?:(?<=[\s(\[“«])(?<![.!?…:;]\s)-|(?<![A-Za-z])−)[$€£¥]?(?=\d)")
DASH = re.compile(r"[-–−]\s?[$€£¥]?(?=\d)")
# No minus stands behind a time of day ("9 am -5 pm") or a name ("COVID -19").
NO_NUMBER = re.compile(r"(?:\d\s?[aApP]\.?[mM]\.?|\b[A-ZÀ-ÖØ-Þ]\w*)\s*$")
# Words for a minus where they are no subtraction ("the price minus 10 dollars"); "moins" and "menos" may say "at least"
MINUS_WORDS = {
    lang: re.compile(rf"(^|\b(?:{before})\s)(?:{words})\s(?=[$€£¥]?\d)", re.IGNORECASE)
    for lang, before, words in (
        (
            "en",
            r"is|was|are|were|be|been|s|to|at|of|from|with|about|around|reach\w*|hits?|says?|said",
            "minus|negative",
        ),
        ("de", r"ist|sind|war|waren|auf|von|bei|um|bis|mit|etwa|rund|hat|haben|hatte\w*|erreich\w*", "minus"),
    )
}
DOZENS = re.compile(r"\b(\d+) dozen\b")
SCALED = re.compile(r"(\d+(?:[.,]\d+)?) (1000000000|1000000|1000)\b")  # "1.5 million", when its words are digits
# Words that are numbers only in some contexts (moments, ranks, articles): they are ignored.
UNSURE = {
    "en": re.compile(r"(?<![-\w])(?:seconds?|first|ones|oneself|zero|oh|a)\b", re.IGNORECASE),
    "de": re.compile(r"\b(?:eine?[mnrs]?|erste\w*|sekunden?|acht (?=geb|nehm|lass)|null|sieben(?=d))\b", re.IGNORECASE),
    "fr": re.compile(r"\b(?:(?<!\bet )une?s?|premi\w+|secondes?|neuf(?:s|ve|ves)?|zéro)\b", re.IGNORECASE),
    "es": re.compile(r"\b(?:(?<!\by )un[oa]?s?|primer\w*|segund\w+|cero)\b", re.IGNORECASE),
    "zh": re.compile("十分|万一|千万|万分|百姓|百货|四周|第一|万岁|八卦|七夕"),
}
# What else says a number, so that a text with such a word has it.
SAYS = {
    "en": {"2": "second|both|twice|double|pair|couple|either|half|two", "12": "dozen", "30": "half", "15": "quarter"}
    | {"4": "quarters?"}
    | {"45": "quarter", "0": "zero|no|none|nothing", "3": "triple", "10": "decade", "100": "hundreds?|century"}
    | {"1000": "thousands?", "50": "half", "20": "score", "14": "fortnight", "24": "day", "60": "hour"},
    "de": {"2": "beide\\w*|zweimal|doppelt\\w*|paar|halb\\w*", "12": "dutzend\\w*", "30": "halb\\w*", "15": "viertel"}
    | {"45": "viertel", "0": "null|kein\\w*", "100": "jahrhundert\\w*", "10": "jahrzehnt\\w*"}
    | {"3": "dreimal|drittel\\w*|dreiviertel", "4": "(?:drei)?viertel"},
    "fr": {"2": "deux|double|paire|couple|demie?", "12": "douzaine", "30": "demie?", "15": "quart|quinzaine"}
    | {"45": "quart", "10": "dizaine|décennie", "20": "vingtaine", "100": "centaine|siècle", "0": "zéro|aucune?"}
    | {"3": "tiers", "4": "quarts?"},
    "es": {"2": "ambos|ambas|doble|par|medi[oa]", "12": "docena", "30": "media", "15": "cuarto", "45": "cuarto"}
    | {"10": "decena|década", "100": "cien\\w*|siglo", "21": "veintiún", "0": "cero|ning\\w+"}
    | {"3": "tercios?|tercer\\w*", "4": "cuart\\w+"},
    "zh": {"2": "双|俩|两|半", "0": "零|没", "12": "打", "30": "半"},
}
# What else says that a number is negative
BELOW = {
    "en": r"minus|negative|below|under|sub-?zero|freezing|frost|cold|loss(?:es)?|los[et]|debts?|deficit|owe[sd]?|down|"
    r"less|drop\w*|f[ae]ll\w*|declin\w+|decreas\w+|lower\w*|reduc\w+|short\w*|shr[aiu]nk\w*",
    "de": r"minus\w*|negativ\w*|unter\w*|frost\w*|kalt\w*|kälte|verl[iou]\w+|schuld\w*|fällt|fiel\w*|gefallen|gesunken|"
    r"s[aiu]nk\w*|rückgang|weniger|niedriger|defizit",
    "fr": r"moins|négati\w+|sous|dessous|gel\w*|froid\w*|pert\w+|perd\w*|dett\w+|baiss\w+|chut\w+|recul\w*|déficit",
    "es": r"menos|negativ\w+|bajo|debajo|hel\w+|frío|pérdid\w+|perd\w+|deud\w+|baj\w+|ca[eíy]\w*|reduc\w+|déficit",
    "zh": "零下|以下|负|負|低|跌|降|亏|虧|减|減|少|冷|欠|赤字",
}
SUMS = "$€"  # ours: a number before a word for these is a sum for sure; "5 pounds" may be a weight
CHINESE = re.compile("[零〇一二两兩三四五六七八九十百千万萬亿]+")
CHINESE_DIGITS = {
    c: n for n, cs in enumerate(("零〇", "一", "二两兩", "三", "四", "五", "六", "七", "八", "九")) for c in cs
}
CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "萬": 10_000, "亿": 100_000_000}


@lru_cache(RECENT)
def _in_digits(text: str, lang: str) -> str:
    """A text with the numbers that it says in words, and in other digits or as one character, as digits from 0 to 9.

    >>> _in_digits("minus five, or ½ of ３", "en")
    '−5, or  1/2 _ of 3'
    """
    plain = OTHER_DIGITS.sub(lambda m: str(unicodedata.decimal(m[0])), text)
    plain = FRACTIONS.sub(lambda m: f" {unicodedata.normalize('NFKC', m[0]).replace('⁄', '/')} _", plain)
    plain = UNSURE[lang].sub(" _ ", plain)
    if lang == "en":
        plain = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", plain)  # "a twenty-year-old"
    if lang == "zh":
        return CHINESE.sub(_chinese_number, plain.replace("零下", "−"))
    plain = alpha2digit(plain, lang, threshold=0)
    return MINUS_WORDS[lang].sub(r"\1−", plain) if lang in MINUS_WORDS else plain


@lru_cache(RECENT)
def _currencies(text: str, lang: str) -> frozenset[str]:
    """The signs of the currencies of a text's sums.

    >>> sorted(_currencies("It was $5 (or 4 euros), and weighs 3 pounds.", "en"))
    ['$', '€']
    """
    words = MONEY[lang]
    signs = {s for s in words if s in text and re.search(rf"{re.escape(s)}\s?\d|\d\s?{re.escape(s)}", text)}
    if lang != "zh" and any(re.search(words[sign], text, re.IGNORECASE) for sign in SUMS):
        plain = _in_digits(text, lang)
        signs |= {sign for sign in SUMS if re.search(rf"\d\s*(?:{words[sign]})\b", plain, re.IGNORECASE)}
    return frozenset(signs)


@lru_cache(RECENT)
def quantities(text: str, lang: str) -> frozenset[str]:
    """The numbers of a text, without 1, which "a" and "the" say as well.

    >>> sorted(quantities("Two hundred and five of the 1,500 men left at 7.30.", "en"))
    ['1500', '205', '7.3']
    """
    plain = _in_digits(text, lang)
    plain = SCALED.sub(lambda m: f"{float(m[1].replace(',', '.')) * int(m[2]):.0f}", plain)
    plain = DOZENS.sub(lambda m: str(12 * int(m[1])), plain)
    return frozenset(map(_value, DIGITS.findall(plain))) - {"1"}


@lru_cache(RECENT)
def _negatives(text: str, lang: str) -> frozenset[str]:
    """The numbers of a text that are negative for sure.

    >>> sorted(_negatives("It fell from -5 to minus 10 in 1990-95, on pages 3 -5.", "en"))
    ['10', '5']
    """
    plain = _in_digits(text, lang)
    signs = (sign for sign in MINUS.finditer(plain) if not NO_NUMBER.search(plain, 0, sign.start()))
    return frozenset(_number_at(plain, sign.end()) for sign in signs)


def _number_at(text: str, place: int) -> str:
    """The value of the number that begins at a place of a text."""
    match = DIGITS.match(text, place)
    assert match is not None
    return _value(match.group())


def _value(digits: str) -> str:
    """Digits without the marks between thousands, and without zeros at the beginning and after the point.

    >>> _value("1,500"), _value("1.500.000"), _value("007"), _value("2.50"), _value("3,75"), _value("0.0")
    ('1500', '1500000', '7', '2.5', '3.75', '0')
    """
    if re.fullmatch(THOUSANDS, digits):
        return re.sub(r"\D", "", digits).lstrip("0") or "0"
    whole, _, part = digits.replace(",", ".").partition(".")
    return (whole.lstrip("0") or "0") + (f".{part}".rstrip("0").rstrip("."))


def _chinese_number(match: re.Match) -> str:
    """The digits of a Chinese number.

    >>> [_chinese_number(CHINESE.search(text)) for text in ("二十五", "三百零二", "两万五千", "二〇二六", "十")]
    ['25', '302', '25000', '2026', '10']
    """
    text = match.group()
    if not any(c in CHINESE_UNITS for c in text):
        return "".join(str(CHINESE_DIGITS[c]) for c in text)
    total = section = digit = 0
    for c in text:
        if c in CHINESE_DIGITS:
            digit = CHINESE_DIGITS[c]
        elif CHINESE_UNITS[c] < 10_000:
            section, digit = section + (digit or 1) * CHINESE_UNITS[c], 0
        else:
            total, section, digit = total + (section + digit or 1) * CHINESE_UNITS[c], 0, 0
    return str(total + section + digit)


def changes_number(reference: str, candidate: str, lang: str) -> bool:
    """Whether a number of one text, its minus, or the currency of a sum, is missing in the other.

    >>> changes_number("He has three dogs.", "He has 3 dogs.", "en")
    False
    >>> changes_number("He has three dogs.", "He has dogs.", "en")
    True
    >>> changes_number("It costs $25.", "It costs 25.", "en"), changes_number("It costs $25.", "It's 25 dollars.", "en")
    (True, False)
    >>> changes_number("It's -5 °C.", "It's 5 °C.", "en"), changes_number("It's -5 °C.", "It's minus five °C.", "en")
    (True, False)

    Args:
        reference: A text.
        candidate: What should mean the same.
        lang: Of both, a key of `UNSURE`.
    """
    before, after = quantities(reference, lang), quantities(candidate, lang)
    if not (_says_numbers(before - after, candidate, lang) and _says_numbers(after - before, reference, lang)):
        return True
    if _lacks_minus(candidate, reference, lang) or _lacks_minus(reference, candidate, lang):
        return True
    return _lacks_currency(candidate, reference, lang) or _lacks_currency(reference, candidate, lang)


def _lacks_minus(text: str, other_text: str, lang: str) -> bool:
    """Whether a negative number of another text has neither a dash nor another word for a minus in a text."""
    negatives = _negatives(other_text, lang)
    if not negatives or re.search(bounded(BELOW[lang], lang), text, re.IGNORECASE):
        return False
    plain = _in_digits(text, lang)
    return not negatives <= {_number_at(plain, dash.end()) for dash in DASH.finditer(plain)}


def _lacks_currency(text: str, other_text: str, lang: str) -> bool:
    """Whether a text says a currency of another neither by its sign nor by a word."""
    missing_signs = _currencies(other_text, lang) - _currencies(text, lang)
    words = MONEY[lang]
    return any(
        sign not in text and not re.search(bounded(words[sign], lang), text, re.IGNORECASE) for sign in missing_signs
    )


def _says_numbers(numbers: frozenset[str], text: str, lang: str) -> bool:
    """Whether a text has other words for each of these numbers."""
    words = SAYS[lang]
    return all(n in words and re.search(bounded(words[n], lang), text, re.IGNORECASE) for n in numbers)
