"""What a model reads for the pieces of a text that stay, and a paraphrase with these in their places."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from toolkit.paraphraser.protect import MARKUP, OWN, _Piece

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
ALL_WORDS = (*TOWNS, *PEOPLE, *NUMBERS)
OWNS = re.compile(r"\s?['’]s\b")
WORD = re.compile(r"[^\W_]+")
# Of a word beside a reading; Chinese and Japanese have no space between words.
LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff]"
COPIED = ("url", "mail", "code", OWN)  # ours: those that translators copy where they can spell them


@dataclass(frozen=True)
class _Masked:
    """A text with what a model reads for the pieces that are kept.

    Attributes:
        text: What the model reads.
        rest: The text without the pieces.
        owns: Whether "'s" follows a piece.
        readings: What stands for each piece, and the piece. Equal pieces have the same one.
        is_readable: Whether there are not more pieces than words that can stand in.
    """

    text: str
    rest: str
    owns: bool
    readings: tuple[tuple[str, _Piece], ...]
    is_readable: bool = True

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
        pieces_by_key: dict[str, list[_Piece]] = defaultdict(list)
        for reading, piece in self.readings:
            pieces_by_key[_key(reading)].append(piece)
        finder = _finder([reading for reading, _ in self.readings])
        matches = [*finder.finditer(paraphrase)]
        if not self.owns and any(OWNS.match(paraphrase, match.end()) for match in matches):
            return paraphrase, self.readings[0][1]
        counts = Counter(_key(match.group()) for match in matches)
        for key, pieces in pieces_by_key.items():
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
        before = rf"(?<!{LETTER})(?<!\d[.,])" if reading[0].isalnum() else ""
        after = rf"(?!{LETTER})(?![.,]\d)" if reading[-1].isalnum() else ""
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

    >>> from toolkit.paraphraser.protect import CLASSES, kept_pieces
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
    read = (text, *taken, *(piece.reading for piece in pieces))
    used = {word.lower() for words in read for word in WORD.findall(words)}
    by_text: dict[str, str] = {}
    masked, start, readings = "", 0, []
    for piece in pieces:
        if is_asked:
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
    return _Masked(masked + text[start:], rest, owns, tuple(readings), len(by_text) <= len(ALL_WORDS))


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
    return next((word for word in (*words, *ALL_WORDS) if word.lower() not in used), piece.text)
