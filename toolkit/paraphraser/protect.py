r"""What of a user's text must stay letter for letter: addresses, placeholders, numbers with units, code, own patterns.

Vocabularies lack many of these characters, so a model does not read them. Where such a piece begins or ends a text, or
stands between two sentences, the text around it is paraphrased without it. Within a sentence a word stands in for it
that models leave alone, such as the name of a town; in a paraphrase that has this word as often, the piece is put
back. A model that is asked in words reads the piece itself, and is told to say it letter for letter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from toolkit.bitext.normalize import normalize
from toolkit.clean.marks import AFTER_ADDRESS, FIELD, HASHTAG, MAIL, MENTION, SLOT, SMILEY, TAG, URL
from toolkit.score.names import words_of
from toolkit.system.ranges import Settings

UNITS = (
    r"%|‰|°(?:\s?[CF])?|[kM]?Hz|GHz|[KMGT]i?B|[kMG]bps|[kMG]bit/s|[kcmµ]?m[²³23]?|km/h|mph|[kmµ]?g|lbs?|oz|[mcd]?l|L|ft|mi"
    r"|k?Wh?|MW|mAh?|k?V|k?Pa|bar|psi|ms|min|hrs?|h|s|px|pt|fps|dpi|MP|USD|EUR|GBP|CHF|JPY|€|£|¥|\$"
)
NUMBER = r"\d+(?:[.,:]\d+)*"
QUANTITY = (
    rf"(?:US)?[$€£¥₹]\s?{NUMBER}(?:\s?(?:k|K|M|bn)\b)?"  # $5, € 1,500
    rf"|(?<![\w.,]){NUMBER}(?:\s?(?:[x×]|-|–|to)\s?{NUMBER})*[\s\u00a0-]?(?:{UNITS})(?![\w/])"  # 10 kg, 20 x 30 cm
    r"|(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])|(?<![\w:])\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?)?(?![\w:])"  # 2026-05-01
)
FILES = (
    "py|js|tsx?|jsx|json|ya?ml|md|txt|csv|tsv|toml|cfg|ini|html?|css|sh|c|h|cpp|go|rs|java|log|xml|pdf|png|jpe?g|zip"
    "|gz|exe|dll"
)
CODE = (
    r"`+[^`\n]+`+"  # as Markdown marks it
    r"|(?:(?<=^)|(?<=\n))(?:feat|fix|docs?|chore|refactor|tests?|perf|build|ci|style|revert)(?:\([^()\n]*\))?!?:(?=\s)"
    r"|(?<![\w.])[A-Za-z_][\w.]*\([^()\n]*\)(?:\.\w+\(\))*"  # parse(x)
    rf"|(?<![\w/])(?:[\w~.-]*/)*[\w.-]+\.(?:{FILES})\b(?::\d+)?"  # src/main.py:3
    r"|(?<![\w/])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]*)+"
    r"|(?<![\w-])--?[a-z][\w-]*(?:=\S+)?(?<![.,;:!?])"  # /etc/hosts, --all
    r"|(?<![\w-])(?=\w*[A-Za-z])\w*[A-Za-z0-9]_\w+|(?<![\w.])v?\d+\.\d+\.\d+(?:[\w.-]*\w)?"  # snake_case, v1.2.3
    r"|(?<![\w-])[A-Z]{2,}-\d+(?![\w-])|(?<!\w)#\d+\b|(?<!\w)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}(?!\w)"  # AB-12, #7
    r"|(?<!\w)(?=\w*\d)(?=\w*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)+(?!\w)|(?<!\w)[A-Z]+\d[A-Z0-9]{3,}(?!\w)"  # AB-1C-99
)
EMOJI = (
    "(?:[\U0001f1e6-\U0001f1ff]{2}|[#*0-9]\ufe0f?\u20e3|[\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff"
    "\u3030\u303d\U0001f000-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]*(?:\u200d[\u2600-\u27bf\U0001f300-\U0001faff]"
    f"[\ufe0f\U0001f3fb-\U0001f3ff]*)*)|{SMILEY}"
)
# Of two that overlap the longer is taken: a mail address has a mention in it, a page an anchor.
PATTERNS = {
    "code": CODE,
    "url": URL,
    "mail": MAIL,
    "placeholder": rf"{FIELD}|{TAG}|{SLOT}",
    "mention": MENTION,
    "hashtag": HASHTAG,
    "quantity": QUANTITY,
    "emoji": EMOJI,
}
CLASSES = tuple(PATTERNS)
WHAT = {
    "code": "a piece of code",
    "url": "an address of a page",
    "mail": "a mail address",
    "placeholder": "a placeholder or tag",
    "mention": "a mention",
    "hashtag": "a hashtag",
    "quantity": "a number with its unit",
    "emoji": "an emoji",
    "pattern": "what a pattern of the user finds",
    "markup": "marked words",
}
NONE = "none"  # for a command line: no class
OWN, MARKUP = "pattern", "markup"  # pieces of the user's patterns, and of a document
LOST = frozenset(f"{name}_lost" for name in WHAT)  # the reasons of candidates
FOUND = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
PAIR = re.compile(r"<([A-Za-z]\w*)(?:\s[^<>]*)?>([^<>]+)</\1>")
# ours: what stands in for a piece; names that the guard of names keeps, and numbers for that of numbers
TOWNS = ("Boston", "Chicago", "London", "Berlin", "Paris", "Tokyo", "Rome", "Madrid", "Toronto", "Moscow")
PEOPLE = ("Tom", "Mary", "John", "Alice", "Peter", "Paul", "Susan", "David")
NUMBERS = ("47", "83", "36", "59", "74", "62", "95", "28")
DAYS = ("Friday", "Tuesday", "Monday", "Thursday")
NAMES_NUMBER = re.compile(
    r"%(?:\d+\$)?(?:\.?\d+)?[difgx](?!\w)|count|num|total|amount|qty|quantity|days|hours|minutes|seconds|size|score|age\b"
    r"|percent|\bn\b",
    re.IGNORECASE,
)
NAMES_PERSON = re.compile(r"name(?!space)|user|author|sender|customer|recipient|member|person|owner", re.IGNORECASE)
NAMES_DAY = re.compile(r"date|day\b|deadline|until", re.IGNORECASE)
SIGNS = tuple(  # ours: a sign, and the word that is read for it
    (re.compile(sign), word)
    for sign, word in (
        ("°\\s?C", "degrees"), ("°\\s?F", "degrees"), ("°", "degrees"), ("%", "percent"), (r"(?:US)?\$", "dollars"),
        ("€|EUR", "euros"), ("£|GBP", "pounds"), ("¥|JPY", "yen"), ("₹", "rupees"),
    )
)  # fmt: skip
# Words before a piece that a sentence cannot end with, and words after one that need it as their subject.
NEED_AFTER = words_of(
    "a an the this that these those my your our his her its their any each every some no at on in to from by with of "
    "for via per as than into onto over under about and or but see visit open check contact email mail follow join use "
    "run call ping cc thank thanks click read set is are was were be been equals says called named using like between"
)
NEED_BEFORE = words_of(
    "is are was were has have had does did can could will would shall should may might must isn't wasn't doesn't "
    "didn't can't won't isn’t wasn’t doesn’t didn’t can’t won’t and or of on in at to by for from with says said"
)
LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
OWNS = re.compile(r"\s?['’]s\b")
ENDS = re.compile(r"[.!?…:;,。！？：；，)\]”’\"'\n–—-]\s*$")  # before a piece that is not of the sentence
STOPS = re.compile(r"[.!?…:;。！？：；]\s*$")
BEGINS = re.compile(r"\s*[,:;–—]|\s+-\s|\s*\n")  # after one
EDGES = ("url", "mail", "mention", "hashtag", "emoji", OWN)  # those that often stand beside a sentence
COPIED = ("url", "mail", "code", OWN)  # ours: those that translators copy where they can spell them
LEAST_WORDS = 2  # ours: a shorter text has no paraphrase


def _check_classes(name: str, classes: Sequence[str], settings: object) -> None:
    """Refuse classes that there are not.

    Raises:
        ValueError: One is unknown.
    """
    unknown = [class_name for class_name in classes if class_name not in CLASSES]
    if unknown and list(classes) != [NONE]:
        raise ValueError(f"wanted {name} of {', '.join(CLASSES)}, or {NONE} alone, got {', '.join(map(repr, unknown))}")


def _check_patterns(name: str, patterns: Sequence[str], settings: object) -> None:
    """Refuse what is no regular expression, or one that finds empty texts.

    Raises:
        ValueError: One is.
    """
    for pattern in patterns:
        try:
            if re.compile(pattern).match(""):
                raise ValueError(f"wanted {name} that find a character at least, got {pattern!r}, which finds none")
        except re.error as error:
            raise ValueError(f"wanted regular expressions as {name}, got {pattern!r}: {error}") from None


Classes = Annotated[tuple[str, ...], _check_classes]
OwnPatterns = Annotated[tuple[str, ...], _check_patterns]


@dataclass(frozen=True, kw_only=True)
class Protection(Settings):
    r"""What of the texts of a command stays letter for letter.

    Attributes:
        protect: Classes of what stays letter for letter: "code", "url", "mail", "placeholder", "mention", "hashtag",
            "quantity" (a number with its unit), "emoji"; or "none" alone.
        protect_patterns: Regular expressions of what else does: --protect_patterns "ART\.[0-9]+".
    """

    GROUP = "what stays of a text"

    protect: Annotated[list[str], _check_classes] = field(default_factory=lambda: list(CLASSES))
    protect_patterns: Annotated[list[str], _check_patterns] = field(default_factory=list)


@dataclass(frozen=True)
class _Piece:
    """A piece of a text that stays as it is.

    Attributes:
        begin: Where it begins in the text.
        end: Where it ends.
        kind: Of `CLASSES`, or `OWN` or `MARKUP`.
        text: The piece.
        reading: What a model reads for it; "" is a word that stands in for it.
        wrap: Where the reading is written with marks around it: those before and after it.
    """

    begin: int
    end: int
    kind: str
    text: str
    reading: str = ""
    wrap: tuple[str, str] | None = None

    @property
    def reason(self) -> str:
        """Of a candidate without it."""
        return f"{self.kind}_lost"

    def moved(self, offset: int) -> _Piece:
        """The piece at another place."""
        return _Piece(self.begin + offset, self.end + offset, self.kind, self.text, self.reading, self.wrap)


def kept_pieces(
    text: str, classes: Collection[str], patterns: Sequence[str] = (), marked: Sequence[_Piece] = ()
) -> list[_Piece]:
    """What of a text is kept, in order; pieces do not overlap.

    >>> [(piece.kind, piece.text) for piece in kept_pieces("Hi @sam, {n} files (5 GB) are at www.a.org/b.", CLASSES)]
    [('mention', '@sam'), ('placeholder', '{n}'), ('quantity', '5 GB'), ('url', 'www.a.org/b')]

    Args:
        text: Any text.
        classes: Of `CLASSES`.
        patterns: The user's.
        marked: Pieces that are known already.
    """
    found = [(OWN, *match.span(), match) for pattern in patterns for match in re.finditer(pattern, text)]
    if "placeholder" in classes:
        found += [(MARKUP, *match.span(), match) for match in PAIR.finditer(text)]
    for name in (name for name in CLASSES if name in classes):
        for match in FOUND[name].finditer(text):
            begin, end = match.span()
            found.append((name, begin, _end_of_address(text, begin, end) if name == "url" else end, match))
    taken = list(marked)
    for kind, begin, end, match in sorted(found, key=lambda item: (item[0] not in (OWN, MARKUP), item[1] - item[2])):
        if begin == end or any(begin < piece.end and piece.begin < end for piece in taken):
            continue
        if kind == MARKUP:
            inner = match[2]
            if inner != inner.strip() or kept_pieces(inner, classes, patterns):
                continue
            wrap = text[begin : match.start(2)], text[match.end(2) : end]
            taken.append(_Piece(begin, end, "placeholder", text[begin:end], normalize(inner), wrap))
            continue
        piece_text = text[begin:end]
        reading = _said(piece_text) if kind == "quantity" else normalize(piece_text) if kind == "emoji" else ""
        taken.append(_Piece(begin, end, kind, piece_text, reading))
    return sorted(taken, key=lambda piece: piece.begin)


def _said(quantity: str) -> str:
    """A number with its unit as models read it: with a word for a sign that vocabularies lack.

    >>> [_said(quantity) for quantity in ("25 °C", "$49.99", "12.5%", "10 kg")]
    ['25 degrees', '49.99 dollars', '12.5 percent', '10 kg']
    """
    for sign, word in SIGNS:
        match = sign.search(quantity)
        if match is not None:
            number = normalize(quantity[: match.start()] + " " + quantity[match.end() :])
            return f"{number} {word}"
    return normalize(quantity)


def _end_of_address(text: str, begin: int, end: int) -> int:
    """Where an address ends, without the marks of the sentence after it.

    >>> text = "(see https://a.org/b_(c).)"
    >>> text[5:_end_of_address(text, 5, len(text))]
    'https://a.org/b_(c)'
    """
    while end > begin:
        address = text[begin:end]
        is_open = address[-1] == ")" and address.count(")") > address.count("(")
        if not (address[-1] in AFTER_ADDRESS or is_open or address[-1] in "]}”’»"):
            break
        end -= 1
    return end


def _around(text: str, pieces: Sequence[_Piece], lang: str) -> list[tuple[int, int, bool]]:
    """A text in spans: those that are paraphrased, and between them those that stay.

    >>> text = "@sam Thanks for the quick help! 🎉 More on www.a.org."
    >>> [text[begin:end] for begin, end, is_read in _around(text, kept_pieces(text, CLASSES), "en") if is_read]
    ['Thanks for the quick help!', 'More on www.a.org.']

    Args:
        text: A sentence or a short text.
        pieces: What of it is kept.
        lang: Its language (ISO 639-1).

    Returns:
        Begin, end, and whether it is paraphrased; together they are the text.
    """
    begin, end = 0, len(text)
    pieces = list(pieces)
    while pieces and (cut := _cut_before(text, begin, pieces[0], lang)) and _word_count(text[cut:end], pieces[1:], cut):
        begin, pieces = cut, pieces[1:]
    while (
        pieces and (cut := _cut_after(text, end, pieces[-1], lang)) and _word_count(text[begin:cut], pieces[:-1], begin)
    ):
        end, pieces = cut, pieces[:-1]
    spans, start = ([(0, begin, False)] if begin else []), begin
    for index, piece in enumerate(pieces):
        before, after = text[start : piece.begin], text[piece.end : end]
        if (
            piece.kind == "emoji"
            and _word_count(before, pieces[:index], start)
            and _word_count(after, pieces[index + 1 :], piece.end)
        ):
            cut_begin = start + len(before.rstrip())
            cut_end = piece.end + len(after) - len(after.lstrip())
            spans += [(start, cut_begin, True), (cut_begin, cut_end, False)]
            start = cut_end
    spans.append((start, end, True))
    return spans + ([(end, len(text), False)] if end < len(text) else [])


def _cut_before(text: str, begin: int, piece: _Piece, lang: str) -> int:
    """Where the sentence after a piece at the beginning begins; 0 if the piece is a part of it."""
    if text[begin : piece.begin].strip(" \t\n([\"'“-*•"):
        return 0
    rest = text[piece.end :]
    mark = re.match(r"[\s,:;–—)\]\"'”!.…-]*", rest)
    cut = piece.end + (mark.end() if mark else 0)
    if cut == piece.end:  # a letter follows at once
        return 0
    if (
        BEGINS.match(rest)
        or (piece.kind == "code" and piece.text.endswith(":"))
        or piece.reading.endswith((":", ".", "!", "?"))
        or piece.kind == "emoji"
    ):
        return cut
    first = LETTERS.match(text, cut)
    if piece.kind not in EDGES or lang != "en" or first is None:
        return 0
    return 0 if first.group().lower() in NEED_BEFORE else cut


def _cut_after(text: str, end: int, piece: _Piece, lang: str) -> int:
    """Where the sentence before a piece at the end ends; 0 if the piece is a part of it."""
    if text[piece.end : end].strip(" \t\n.,!?;:)]\"'”…。！？"):
        return 0
    before = text[: piece.begin]
    cut = len(before.rstrip(" \t\n(["))
    marks = ENDS if piece.kind in EDGES else STOPS
    if marks.search(text[:cut]) or "\n" in before[cut:] or piece.kind == "emoji":
        return cut
    words = LETTERS.findall(text[:cut])
    if piece.kind not in EDGES or lang != "en" or cut == piece.begin or not words:
        return 0
    return 0 if words[-1].lower() in NEED_AFTER else cut


def _word_count(text: str, pieces: Sequence[_Piece], offset: int) -> bool:
    """Whether a text has words enough besides its pieces, which stand at `offset` less."""
    plain = list(text)
    for piece in pieces:
        for place in range(max(0, piece.begin - offset), min(len(plain), piece.end - offset)):
            plain[place] = " "
    return len(LETTERS.findall("".join(plain))) >= LEAST_WORDS


@dataclass(frozen=True)
class _Masked:
    """A text with what a model reads for the pieces that are kept.

    Attributes:
        text: What the model reads.
        rest: The text without the pieces.
        owns: Whether "'s" follows a piece.
        readings: What stands for each piece, and the piece. Equal pieces have the same one.
    """

    text: str
    rest: str
    owns: bool
    readings: tuple[tuple[str, _Piece], ...]

    def required(self, is_asked: bool) -> tuple[str, ...]:
        """What a model is told to say, each as often as the text: a word that only stands in is left alone anyway.

        Args:
            is_asked: Whether it is asked in words: it is told all.
        """
        return tuple(reading for reading, piece in self.readings if piece.reading or is_asked)

    def recased(self, text: str) -> str:
        """A text with the readings in their own case."""
        for reading, _ in self.readings:
            text = _finder([reading]).sub(reading.replace("\\", r"\\"), text)
        return text

    def restored(self, paraphrase: str) -> tuple[str, _Piece | None]:
        """A paraphrase with the pieces in their places, or the first piece that it lacks or says too often."""
        if not self.readings:
            return paraphrase, None
        pieces_by_key: dict[str, list[_Piece]] = {}
        for reading, piece in self.readings:
            pieces_by_key.setdefault(_key(reading), []).append(piece)
        finder = _finder([reading for reading, _ in self.readings])
        counts = Counter(_key(match.group()) for match in finder.finditer(paraphrase))
        for key, pieces in pieces_by_key.items():
            if not self.owns and any(OWNS.match(paraphrase, m.end()) for m in finder.finditer(paraphrase)):
                return paraphrase, pieces[0]
            if counts[key] != len(pieces):
                return paraphrase, pieces[0]

        def restore(match: re.Match[str]) -> str:
            piece = pieces_by_key[_key(match.group())].pop(0)
            if piece.kind == MARKUP and piece.wrap and match.group()[1:] == piece.reading[1:]:  # begins a sentence
                return piece.wrap[0] + match.group() + piece.wrap[1]
            return piece.text

        return finder.sub(restore, paraphrase), None


def _key(reading: str) -> str:
    """What of a reading is compared: a model may begin a sentence with it, or set its apostrophes otherwise."""
    return " ".join(reading.lower().replace("’", "'").replace("‘", "'").split())


def _finder(readings: Sequence[str]) -> re.Pattern[str]:
    """Finds readings, longer ones first, in whole words and in any case."""
    alternatives = []
    for reading in sorted(set(readings), key=len, reverse=True):
        pattern = r"\s+".join(re.escape(word).replace("'", "['’‘]") for word in reading.split())
        before = r"(?<!\w)(?<!\d[.,])" if reading[0].isalnum() else ""
        after = r"(?!\w)(?![.,]\d)" if reading[-1].isalnum() else ""
        alternatives.append(f"{before}{pattern}{after}")
    return re.compile("|".join(alternatives), re.IGNORECASE)


def _masked(
    text: str,
    pieces: Sequence[_Piece],
    is_asked: bool,
    taken: Sequence[str] = (),
    spells: Callable[[str], bool] | None = None,
) -> _Masked:
    """A text with what a model reads for its pieces.

    >>> text = "Hi {name}, mail jo@a.org."
    >>> _masked(text, kept_pieces(text, CLASSES), False).text
    'Hi Tom, mail Mary.'

    Args:
        text: The text.
        pieces: What of it is kept.
        is_asked: Whether the model is asked in words: it reads the pieces themselves.
        taken: Words that cannot stand in, because they are required or avoided.
        spells: Whether a model that copies addresses and code reads a piece as it is.
    """
    rest, start = "", 0
    for piece in pieces:
        rest, start = rest + text[start : piece.begin] + " ", piece.end
    rest += text[start:]
    is_upper, is_lower = rest.isupper() and len(rest) > 3, rest.islower()
    used = {word.lower() for word in LETTERS.findall(rest)} | set(re.findall(r"\d+", rest))
    used |= {word.lower() for phrase in taken for word in phrase.split()}
    by_text: dict[str, str] = {}
    masked, start, readings = "", 0, []
    for piece in pieces:
        if is_asked and piece.wrap is None:
            reading = piece.text
        elif piece.text in by_text:
            reading = by_text[piece.text]
        else:
            is_spelled = spells is not None and piece.kind in COPIED and spells(piece.text)
            reading = piece.reading or (piece.text if is_spelled else _stand_in(piece, used))
        by_text[piece.text] = reading
        used.add(reading.lower())
        shown = reading
        if not piece.reading and reading != piece.text:
            shown = reading.upper() if is_upper else reading.lower() if is_lower else reading
        readings.append((reading, piece))
        masked, start = masked + text[start : piece.begin] + shown, piece.end
    owns = any(OWNS.match(text, piece.end) for piece in pieces)
    return _Masked(masked + text[start:], rest, owns, tuple(readings))


def _stand_in(piece: _Piece, used: Collection[str]) -> str:
    """A word that models leave alone, in place of a piece, other than those that are used.

    >>> [_stand_in(_Piece(0, 1, "placeholder", text), ()) for text in ("{count}", "%s", "{user_name}", "{date}")]
    ['47', 'Boston', 'Tom', 'Friday']
    """
    words: Sequence[str] = TOWNS
    if piece.kind in ("mention", "mail"):
        words = PEOPLE
    elif piece.kind == "placeholder":
        for names, its_words in ((NAMES_NUMBER, NUMBERS), (NAMES_DAY, DAYS), (NAMES_PERSON, PEOPLE)):
            if names.search(piece.text):
                words = its_words
                break
    free = [word for word in (*words, *TOWNS, *PEOPLE, *NUMBERS) if word.lower() not in used]
    return free[0] if free else piece.text
