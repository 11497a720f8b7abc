r"""What of a user's text must stay letter for letter: addresses, placeholders, numbers with units, code, own patterns.

Vocabularies lack many of these characters, so a model does not read them. Where such a piece begins or ends a text, or
stands between two sentences, the text around it is paraphrased without it (`_beside`). Within a sentence a word stands
in for it that models leave alone, such as the name of a town; in a paraphrase that has this word as often, the piece is
put back (`_masked`). A model that is asked in words reads the piece itself, and is told to say it letter for letter.

The patterns take a time that grows as the text does: each begins only where a run of its characters begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from toolkit.bitext.normalize import normalize
from toolkit.clean.marks import AFTER_ADDRESS, FIELD, HASHTAG, MAIL, MENTION, SLOT, SMILEY, TAG, URL, compiled_for
from toolkit.system.ranges import Settings

UNITS = (
    r"%|‰|°(?:\s?[CF])?|[kM]?Hz|GHz|[KMGT]i?B|[kMG]bps|[kMG]bit/s|[kcmµ]?m[²³23]?|km/h|mph|[kmµ]?g|lbs?|oz|[mcd]?l|L|ft|mi"
    r"|k?Wh?|MW|mAh?|k?V|k?Pa|bar|psi|ms|min|hrs?|h|s|px|pt|fps|dpi|MP|USD|EUR|GBP|CHF|JPY|€|£|¥|\$"
)
NUMBER = r"\d+(?:[.,:]\d+)*"
QUANTITY = (
    rf"(?:US)?[$€£¥₹]\s?{NUMBER}(?:\s?(?:k|K|M|bn)\b)?"  # $5, € 1,500
    # 10 kg, 20 x 30 cm
    rf"|(?<![\w.,])(?<!\d:){NUMBER}(?:\s?(?:[x×]|-|–|to)\s?{NUMBER}){{0,3}}[\s\u00a0-]?(?:{UNITS})(?![\w/])"
    r"|(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])|(?<![\w:])\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?)?(?![\w:])"  # 2026-05-01
)
FILES = (
    "py|js|tsx?|jsx|json|ya?ml|md|txt|csv|tsv|toml|cfg|ini|html?|css|sh|c|h|cpp|go|rs|java|log|xml|pdf|png|jpe?g|zip"
    "|gz|exe|dll"
)
CODE = (
    r"(?<!`)`++[^`\n]+`+"  # as Markdown marks it
    r"|(?:(?<=^)|(?<=\n))(?:feat|fix|docs?|chore|refactor|tests?|perf|build|ci|style|revert)(?:\([^()\n]*\))?!?:(?=\s)"
    r"|(?<![\w.])[A-Za-z_][\w.]*+\([^()\n]*\)(?:\.\w+\(\))*"  # parse(x)
    rf"|(?<![\w/~.-])(?:[\w~.-]*+/)*[\w.-]+\.(?:{FILES})\b(?::\d+)?"  # src/main.py:3
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
SAMPLE = "a A. 1"  # a pattern that finds an empty text finds one here
PAIR = re.compile(r"<([A-Za-z]\w*)(?:\s[^<>]*)?>([^<>]+)</\1>")
SIGNS = tuple(  # ours: a sign, and the word that is read for it
    (re.compile(sign), word)
    for sign, word in (
        ("°\\s?C", "degrees"), ("°\\s?F", "degrees"), ("°", "degrees"), ("%", "percent"), (r"(?:US)?\$", "dollars"),
        ("€|EUR", "euros"), ("£|GBP", "pounds"), ("¥|JPY", "yen"), ("₹", "rupees"),
    )
)  # fmt: skip


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
            if any(not match.group() for text in ("", SAMPLE) for match in re.finditer(pattern, text)):
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
    >>> [(piece.kind, piece.text) for piece in kept_pieces("请@sam看www.a.org/b，文件有5GB。", CLASSES)]
    [('mention', '@sam'), ('url', 'www.a.org/b'), ('quantity', '5GB')]

    Args:
        text: Any text.
        classes: Of `CLASSES`.
        patterns: The user's.
        marked: Pieces that are known already.
    """
    matches = [(OWN, *match.span(), match) for pattern in patterns for match in re.finditer(pattern, text)]
    if "placeholder" in classes:
        matches += [(MARKUP, *match.span(), match) for match in PAIR.finditer(text)]
    for name in (name for name in CLASSES if name in classes):
        for match in compiled_for(text, PATTERNS[name]).finditer(text):
            begin, end = match.span()
            matches.append((name, begin, _end_of_address(text, begin, end) if name == "url" else end, match))
    pieces, covered = list(marked), bytearray(len(text))
    for piece in marked:
        covered[piece.begin : piece.end] = b"\1" * (piece.end - piece.begin)
    for kind, begin, end, match in sorted(matches, key=lambda item: (item[0] not in (OWN, MARKUP), item[1] - item[2])):
        if begin == end or 1 in covered[begin:end]:
            continue
        if kind == MARKUP:
            inner = match[2]
            if inner != inner.strip() or kept_pieces(inner, classes, patterns):
                continue
            wrap = text[begin : match.start(2)], text[match.end(2) : end]
            pieces.append(_Piece(begin, end, "placeholder", text[begin:end], normalize(inner), wrap))
        else:
            piece_text = text[begin:end]
            reading = _said(piece_text) if kind == "quantity" else normalize(piece_text) if kind == "emoji" else ""
            pieces.append(_Piece(begin, end, kind, piece_text, reading))
        covered[begin:end] = b"\1" * (end - begin)
    return sorted(pieces, key=lambda piece: piece.begin)


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
    closed = text.count(")", begin, end) - text.count("(", begin, end)
    while end > begin:
        if text[end - 1] == ")" and closed > 0:
            closed -= 1
        elif text[end - 1] not in AFTER_ADDRESS + "]}”’»":
            break
        end -= 1
    return end


def lost_piece(text: str, paraphrase: str, classes: Collection[str], patterns: Sequence[str] = ()) -> str | None:
    """The reason of the first piece that a paraphrase has not as often as its text; None if it has all.

    >>> lost_piece("It weighs 10 kg.", "It weighs ten kilograms.", CLASSES)
    'quantity_lost'

    Args:
        text: Any text.
        paraphrase: What was not written by a model that read the pieces.
        classes: Of `CLASSES`.
        patterns: The user's.
    """
    pieces = kept_pieces(text, classes, patterns)
    if not pieces:
        return None
    counts = Counter(piece.text for piece in pieces)
    new_counts = Counter(piece.text for piece in kept_pieces(paraphrase, classes, patterns))
    return next((piece.reason for piece in pieces if counts[piece.text] != new_counts[piece.text]), None)
