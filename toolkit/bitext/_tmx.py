"""The units of TMX, the exchange format of translation memories, as a stream.

Entities that a file declares are refused, so that none can grow without end, and nothing outside the file is read: a
DTD that it names is not fetched. Source: TMX 1.4b.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from xml.parsers import expat

from toolkit.bitext.text_file import BUFFER, LONGEST_FIELD, TextFile, _Text, broken

CODE = ("bpt", "ept", "it", "ph", "ut")  # elements within a text that hold the markup of its document


class _Units:
    """What the handlers of a parser have read.

    Attributes:
        units: Units that are complete: the texts of source and reference, of which either may be empty.
        names: The codes of languages that have been seen, each with the sides that they are.
    """

    def __init__(self, sides_of: Callable[[str], tuple[int, ...]], names: dict[str, tuple[int, ...]]):
        self.sides_of, self.names = sides_of, names
        self.units: list[tuple[str, str]] = []
        self.texts: list[list[str] | None] = [None, None]  # of the unit
        self.sides: tuple[int, ...] = ()  # of the variant
        self.parts: list[str] | None = None  # of the segment
        self.code_depth, self.size = 0, 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        if tag in CODE:
            self.code_depth += 1
        elif tag == "tu":
            self.texts = [None, None]
        elif tag == "tuv":
            name = attributes.get("xml:lang") or attributes.get("lang") or ""
            if name not in self.names:
                self.names[name] = self.sides_of(name)
            self.sides = self.names[name]
        elif tag == "seg":
            self.parts, self.size, self.code_depth = [], 0, 0

    def text(self, text: str) -> None:
        """Read a part of a text; what is much longer than a text may be is not kept."""
        if self.parts is not None and not self.code_depth and self.size <= LONGEST_FIELD:
            self.parts.append(text)
            self.size += len(text)

    def end(self, tag: str) -> None:
        """End an element."""
        if tag in CODE:
            self.code_depth -= 1
        elif tag == "seg":
            for side in self.sides:
                if self.texts[side] is None:  # of several variants in a language, the first
                    self.texts[side] = self.parts
            self.parts = None
        elif tag == "tu":
            source, reference = ("".join(parts or ()) for parts in self.texts)
            self.units.append((source, reference))


def read_units(
    text: _Text, sides_of: Callable[[str], tuple[int, ...]], names: dict[str, tuple[int, ...]]
) -> Iterator[tuple[str, str]]:
    """The texts of source and reference of each unit; a unit without a text in a language has an empty one.

    Args:
        text: The file.
        sides_of: The sides that the code of a language is: 0 for the source, 1 for the reference.
        names: Gets the codes that have been seen, each with its sides.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: It is no well-formed XML, declares entities, or its compression is damaged.
    """
    units = _Units(sides_of, names)
    parser, error = _parser(units, text), None
    with TextFile(*text, is_text=False) as file:
        is_end = False
        while not is_end and error is None:
            try:
                part = file.read(BUFFER)
                is_end = not part
                parser.Parse(part, is_end)
            except expat.ExpatError as fault:
                reason = f"{expat.ErrorString(fault.code)} in line {fault.lineno}"
                error = ValueError(f"wanted whole and well-formed TMX, got {text} ({reason}): fetch it again")
            except OSError as fault:
                error = broken(str(text), parser.CurrentLineNumber, fault)
            yield from units.units
            units.units.clear()
    if error is not None:
        raise error


def _parser(units: _Units, text: _Text) -> expat.XMLParserType:
    """A parser of XML that refuses declarations of entities."""

    def refuse(name: str, *_: object) -> None:
        raise ValueError(
            f"wanted TMX without entities of its own, got {text}, which declares {name!r}: fetch it from a source that "
            "you trust, or replace them"
        )

    def skipped(name: str, is_parameter: bool) -> None:
        """Take an entity of a declaration that is not read as that of HTML, which has most of them."""
        character = html.unescape(f"&{name};")
        if not is_parameter and character == f"&{name};":
            raise ValueError(f"wanted TMX with entities of HTML at most, got &{name}; in {text}: replace it")
        units.text("" if is_parameter else character)

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.EntityDeclHandler, parser.SkippedEntityHandler = refuse, skipped
    parser.StartElementHandler, parser.EndElementHandler = units.start, units.end
    parser.CharacterDataHandler = units.text
    return parser
