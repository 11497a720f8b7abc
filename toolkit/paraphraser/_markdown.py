"""Where the sentences of a Markdown document stand, by markdown-it-py, character by character.

The parser says in which lines a block is, and the lines of a block's text end its lines of the document. Within that
text each rule of the parser begins and ends at a place that is recorded here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from toolkit.paraphraser._runs import BREAK, STOP, WHOLE, Mark, Run, pairs_of_tags

FRONT = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*[\r\n].*?[\r\n]\1[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL)
LINE_END = re.compile(r"\r\n?|\n")
BYTE_ORDER = "\ufeff"
ATX = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)*#{1,6}[ \t]*")
LABEL = re.compile(r"\[[ xX]\]\s+|\[\^[^\]]+\]:\s+")  # of a task, and of a footnote
DIRECTIVE = re.compile(r"\s*(?::::|!!!|\?\?\?|\{%)")
FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables, whose rules within a text record where they apply."""
    parser = MarkdownIt("commonmark").enable("table")
    for rule in list(parser.inline.ruler.__rules__):
        parser.inline.ruler.at(rule.name, partial(_recorded, rule.name, rule.fn))
    return parser


def _recorded(name: str, rule: Callable[[StateInline, bool], bool], state: StateInline, silent: bool) -> bool:
    """Apply a rule, and record its name, its places, and the marks of emphasis that it found."""
    begin, delimiters = state.pos, state.delimiters
    count = len(delimiters)
    label_end = (
        state.md.helpers.parseLinkLabel(state, begin, True) if name == "link" and state.src[begin] == "[" else -1
    )
    applies = rule(state, silent)
    if applies and not silent:
        env: dict[Any, Any] = state.env  # type: ignore[assignment]
        events = env.setdefault(("events", state.src), {})
        marks_of_rule = [(delimiters, i) for i in range(count, len(delimiters))]
        events[name, begin, state.pos] = label_end, marks_of_rule  # equal texts have equal ones
    return applies


def markdown_runs(text: str) -> tuple[list[Run], list[Any]]:
    """The runs of text of a document in order, and all else of it, for comparison.

    Args:
        text: Markdown.
    """
    front = FRONT.match(text)
    start = front.end() if front else len(text) - len(text.removeprefix(BYTE_ORDER))
    ends = [match.span() for match in LINE_END.finditer(text, start)]
    places = [start, *(end for _, end in ends)]
    lines = [text[place:end] for place, (end, _) in zip(places, [*ends, (len(text), 0)], strict=True)]
    env: dict[Any, Any] = {}
    tokens = _parser().parse(text[start:], env)
    runs: list[Run] = []
    structure: list[Any] = [text[:start]]
    cursors: dict[int, int] = {}  # by line, where its last cell ends
    for token, before in zip(tokens, [None, *tokens], strict=False):
        if token.type != "inline":
            structure.append((token.type, token.tag, token.markup, token.info, token.content))
            continue
        structure.append(
            [(c.type, c.tag, c.markup, c.attrs) for c in token.children or () if c.type not in ("text", "softbreak")]
        )
        structure += [c.content for c in token.children or () if c.type in ("code_inline", "html_inline", "image")]
        assert token.map is not None and before is not None
        content_places = _places(token.content, token.map[0], lines, places, before.type, cursors)
        if content_places is None or DIRECTIVE.match(token.content):
            continue
        events = env.get(("events", token.content), {})
        label = LABEL.match(token.content)
        marks = _marks(token.content, events)
        if label is not None:
            marks = [Mark(0, label.end(), BREAK), *(mark for mark in marks if mark.begin >= label.end())]
        runs.append(Run(token.content, content_places, marks))
    return runs, structure


def _places(
    content: str, first: int, lines: list[str], places: list[int], opened: str, cursors: dict[int, int]
) -> list[int] | None:
    """The place in the document of each character of a block's text, and of its end; None if it has another spelling.

    Args:
        content: The text of the block.
        first: Its first line.
        lines: Of the document.
        places: Where they begin.
        opened: What the block is.
        cursors: Where the last cell of a line ends; that of a table moves it.
    """
    content_places: list[int] = []
    for number, line in enumerate(content.split("\n"), first):
        source = lines[number]
        if opened in ("td_open", "th_open"):
            at = source.find(line, cursors.get(number, 0))
            cursors[number] = at + len(line)
        elif opened == "heading_open" and (mark := ATX.match(source)) and "#" in mark.group():
            at = source.find(line, mark.end())
        else:
            at = len(source.rstrip()) - len(line.rstrip())
        if at < 0 or source[at : at + len(line)] != line:
            return None
        content_places += range(places[number] + at, places[number] + at + len(line) + 1)
    return content_places


def _marks(content: str, events: dict[Any, Any]) -> list[Mark]:
    """The marks within a text."""
    marks: list[Mark] = []
    tags, delimiters = [], {}
    for (name, begin, end), (label_end, marks_of_rule) in events.items():
        raw = content[begin:end]
        if name == "link":
            marks.append(Mark(begin, begin + 1, "open", (label_end, end)))
        elif name in ("image", "autolink") or (name == "backticks" and raw.strip("`")):
            marks.append(Mark(begin, end, WHOLE))
        elif name == "html_inline":
            tags.append((begin, end))
        elif name == "newline" and content[:begin].endswith("  "):
            marks.append(Mark(begin, end, BREAK))
        elif name in ("escape", "entity"):
            marks.append(Mark(begin, end, BREAK if raw.endswith("\n") else STOP))
        for place, (several, index) in enumerate(marks_of_rule, begin):
            delimiters[id(several), index] = (place, several[index], several)
    marks += pairs_of_tags(content, tags)
    pairs = []
    for (key, _), (place, delimiter, _) in delimiters.items():
        if delimiter.end >= 0 and (key, delimiter.end) in delimiters:
            pairs.append((place, delimiters[key, delimiter.end][0]))
    marks += _emphasis(pairs)
    marks += [Mark(match.start(), match.end(), WHOLE) for match in FOOTNOTE.finditer(content)]
    return sorted(marks, key=lambda mark: mark.begin)


def _emphasis(pairs: list[tuple[int, int]]) -> list[Mark]:
    """Marks from pairs of single characters; those side by side are one.

    >>> [(mark.begin, mark.end, mark.close) for mark in _emphasis([(0, 7), (1, 6)])]
    [(0, 2, (6, 8))]
    """
    marks, inner_places = [], set()
    known = set(pairs)
    for begin, end in sorted(pairs):
        if (begin, end) in inner_places:
            continue
        width = 1
        while (begin + width, end - width) in known:
            inner_places.add((begin + width, end - width))
            width += 1
        marks.append(Mark(begin, begin + width, "open", (end - width + 1, end + 1)))
    return marks
