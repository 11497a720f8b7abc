"""The form of a text: white space, quotes, case and final mark; a paraphraser reads plain texts and keeps the form.

Models are trained on sentences that begin with a capital, and most of them on sentences that end with a mark. A text of
another form is made plain before the model reads it, and its paraphrases get its form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import cycle

from toolkit.bitext.normalize import normalize
from toolkit.paraphraser._wide_marks import TO_CURLED, cornered, narrowed, width_of, with_width
from toolkit.paraphraser.english import _joined_up, _set_apart

MARKS = (".", "!", "?", "…", ":", ";", ",", "-", "。", "！", "？", "；", "：", "，")
FINAL = (".", "!", "?", "。", "！", "？")  # a text without a mark gets none of these
CLOSING = "\"'”’“»)」』）》】"  # may follow the last mark of a sentence
QUOTES = {  # the pair that begins with a mark, the longer before the shorter
    "„": ("„", "“"),
    "“": ("“", "”"),
    "«\u00a0": ("«\u00a0", "\u00a0»"),
    "«\u202f": ("«\u202f", "\u202f»"),
    "« ": ("« ", " »"),
    "«": ("«", "»"),
    "``": ("``", "''"),  # of the Penn Treebank
}
DASH = re.compile(r"(?<=\w)(\s?[–—]\s?)(?=\w)")
PLAIN_DASH = re.compile(r"(?<=\w) - (?=\w)")
WIDE, NARROW = re.compile(r"[.!?][\"'”’)]? {2}(?=\S)"), re.compile(r"([.!?][\"'”’)]?) (?=[^\W_a-z])")
OPENING = re.compile(r"(?<![\w.,!?…])'(?=\w)")  # begins a word: a single quote that opens
PRONOUN = re.compile(r"I(?:'\w+)?\b")
LOWER_PRONOUN = re.compile(r"\bi(?=\b(?!\.))")  # not that of "i.e."
AUXILIARY = r"(?:is|are|was|were|am|does|did|can|could|will|would|shall|should|has|had|may|might|must)(?:n't)?"
SUBJECT = r"(?:i|you|he|she|we|they|it|this|that|there|the|an?|any|my|your|his|her|our|their)"
QUESTION = re.compile(  # "do" and "have" before other words begin a request
    rf"(?:who|whom|whose|which|why|how)\b|(?:what|when|where)(?:'s|\s+(?:do|have|{AUXILIARY}))\b"
    rf"|{AUXILIARY}\s+{SUBJECT}\b|(?:do|have)(?:n't)?\s+(?:i|you|we|they)\b",
    re.IGNORECASE,
)
LOWER_WORD = re.compile(r"[^\W\d_A-Z]+(?!\w)")  # a first word without a capital, unlike "iPhone"
OWN_PUNCTUATION = ("zh", "ja")  # languages whose quotes and dashes stay as they are


@dataclass(frozen=True)
class Form:
    """What `plain` takes from a text.

    Attributes:
        before: White space before the text.
        after: White space after it.
        case: "upper" and "lower" where all its letters have one case, "first_lower" where only the first is lower and
            others have capitals, "" for any other text.
        marked: Whether it ends with a mark.
        quotes: A pair of double quotation marks; () for straight ones.
        apostrophe: Its apostrophe, which also closes single quotes.
        opening: The mark that opens single quotes.
        words: Its words with a capital, which keep it at the beginning of a lower-cased text.
        clitics: Whether its "n't" and "'s" stand apart, as tokenisers write English.
        marks: Whether its marks do.
        dash: The dash between its words; "" where it has none.
        ellipsis: Whether it has the sign of an ellipsis, and no three full stops.
        wide: Whether two spaces part its sentences.
        width: Of Chinese and Japanese text: the width of its marks, "full" or "half"; "" for other text.
        corners: Whether Chinese text quotes with corner brackets.
        capital: Whether its first letter is a capital.
    """

    before: str
    after: str
    case: str
    marked: bool
    quotes: tuple[str, ...]
    apostrophe: str
    opening: str
    words: frozenset[str]
    clitics: bool = False
    marks: bool = False
    dash: str = ""
    ellipsis: bool = False
    wide: bool = False
    width: str = ""
    corners: bool = False
    capital: bool = False


def plain(
    text: str, lang: str, mark: bool = True, half_width: bool = False, cased: str | None = None
) -> tuple[str, Form]:
    r"""A text as a model has seen its like, and its form.

    >>> plain("  the elevator is “broken”\n", "en")[0]
    'The elevator is "broken".'
    >>> plain("WHERE ARE YOU?", "en")[0]
    'Where are you?'
    >>> plain("where are you", "en")[0]
    'Where are you?'

    Args:
        text: Any text with a visible character.
        lang: Its language (ISO 639-1).
        mark: Whether a text without a mark at its end gets one.
        half_width: Whether Chinese and Japanese text gets the marks of ASCII, because the model has no others.
        cased: Of the text, what its case is told by; None is all of it.
    """
    body = text.strip()
    own_marks = lang in OWN_PUNCTUATION
    corners = lang == "zh" and "「" in body
    body = body.translate(TO_CURLED) if corners else body
    body, clitics, marks = _joined_up(body) if lang == "en" else (body, False, False)
    quotes = next((pair for mark, pair in QUOTES.items() if mark in body and pair[1] in body), ())
    dash = DASH.search(body) if lang not in OWN_PUNCTUATION else None
    apostrophe = "’" if "’" in body else "'"
    told_by = body if cased is None else cased.strip()
    form = Form(
        before=text[: len(text) - len(text.lstrip())],
        after=text[len(text.rstrip()) :],
        case=_letter_case(told_by),
        marked=is_marked(body),
        quotes=quotes,
        apostrophe=apostrophe,
        opening="‘" if "‘" in body else apostrophe,
        words=frozenset(word for word in re.findall(r"\w+", body) if word[0].isupper()),
        clitics=clitics,
        marks=marks,
        dash=dash[1] if dash else "",
        ellipsis="…" in body and "..." not in body,
        wide=WIDE.search(text.strip()) is not None,
        width=width_of(body) if own_marks else "",
        corners=corners,
        capital=next((c for c in told_by if c.isalpha()), "").isupper(),
    )
    if quotes and not own_marks:
        body = body.replace(quotes[0], '"').replace(quotes[1], '"')
    body = narrowed(body) if own_marks and half_width else normalize(body, punctuation=not own_marks)
    if form.case == "upper":
        body = body.lower()
    if form.case:
        body = LOWER_PRONOUN.sub("I", body) if lang == "en" else body
        body = body[:1].upper() + body[1:]
    if mark and not form.marked:
        asks = lang == "en" and QUESTION.match(body) is not None
        body += "。" if own_marks else "?" if asks else "."
    return body, form


def is_marked(text: str) -> bool:
    """Whether a text ends with a mark, which quotes or brackets may follow.

    >>> is_marked("He said: 'Go.'"), is_marked("to go")
    (True, False)
    """
    return text.rstrip(CLOSING).endswith(MARKS)


def _letter_case(text: str) -> str:
    """The case of a text, see `Form`.

    >>> [_letter_case(text) for text in ("GO AWAY", "go away", "go to Boston", "Go away", "123", "I")]
    ['upper', 'lower', 'first_lower', '', '', '']
    """
    if text.isupper() and sum(c.isalpha() for c in text) > 3:
        return "upper"
    if text.islower():
        return "lower"
    first = next((c for c in text if c.isalpha()), "")
    return "first_lower" if first.islower() else ""


def formed(paraphrase: str, form: Form) -> str:
    r"""A paraphrase of a plain text, in the form of the text that it is of.

    >>> text, form = plain("  the elevator is “broken”\n", "en")
    >>> formed('I think the lift isn\'t "working".', form)
    "  i think the lift isn't “working”\n"
    """
    paraphrase = " ".join(paraphrase.split())
    if form.width:
        paraphrase = with_width(paraphrase, form.width)
    if form.corners:
        paraphrase = cornered(paraphrase)
    if not form.marked:
        paraphrase = paraphrase[:-1] if paraphrase.endswith(FINAL) else paraphrase
    if form.case == "upper":
        paraphrase = paraphrase.upper()
    elif form.case == "lower":
        paraphrase = paraphrase.lower()
    elif form.case == "first_lower" and not _keeps_capital(paraphrase, form):
        paraphrase = paraphrase[:1].lower() + paraphrase[1:]
    elif form.capital and LOWER_WORD.match(paraphrase):
        paraphrase = paraphrase[:1].upper() + paraphrase[1:]
    if form.quotes:
        pair = cycle(form.quotes)
        paraphrase = re.sub('"', lambda _: next(pair), paraphrase)
    if form.dash:
        paraphrase = PLAIN_DASH.sub(form.dash, paraphrase)
    if form.ellipsis:
        paraphrase = paraphrase.replace("...", "…")
    paraphrase = _set_apart(paraphrase, form.clitics, form.marks)
    if form.quotes != QUOTES["``"]:
        paraphrase = OPENING.sub(form.opening, paraphrase).replace("'", form.apostrophe)
    if form.wide:
        paraphrase = NARROW.sub(r"\1  ", paraphrase)
    return form.before + paraphrase + form.after


def _keeps_capital(paraphrase: str, form: Form) -> bool:
    """Whether the first word of a paraphrase has a capital wherever it stands."""
    first = re.match(r"\w+", paraphrase)
    return first is not None and (first.group() in form.words or PRONOUN.match(paraphrase) is not None)
