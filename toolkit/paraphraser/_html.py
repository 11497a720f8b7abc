"""Where the sentences of an HTML document stand, by the parser of the standard library."""

from __future__ import annotations

import html
from html.parser import HTMLParser
from itertools import accumulate

from toolkit.paraphraser._runs import STOP, WHOLE, Mark, Run, pairs_of_tags
from toolkit.score.names import words_of

INLINE = words_of(
    "a abbr b bdi bdo cite data del dfn em font i ins label mark q s small span strong sub sup time tt u"
) | words_of("br img wbr input")
CODE = words_of("code kbd samp var")
SKIPPED = words_of("script style pre textarea svg math template head noscript")
IN_HEAD = words_of("base link meta noscript script style template title")  # what ends no head whose end tag is left out


class _Runs(HTMLParser):
    """Collects the runs of a document.

    Args:
        text: The document.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.runs: list[Run] = []
        self.tags: list[str] = []
        self._text = text
        self._lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._skipped: list[str] = []
        self._code: tuple[str, int] | None = None
        self._begin()
        self.feed(text)
        self.close()
        self._finish(len(text))

    def _begin(self) -> None:
        """Begin a run."""
        self._content, self._places = "", list[int]()
        self._marks: list[Mark] = []
        self._tag_spans: list[tuple[int, int]] = []

    def _finish(self, end: int) -> None:
        """End the run, if it has a letter."""
        if any(map(str.isalpha, self._content)):
            marks = [*self._marks, *pairs_of_tags(self._content, self._tag_spans)]
            if self._code is not None:
                marks.append(Mark(self._code[1], len(self._content), STOP))
            self.runs.append(Run(self._content, [*self._places, end], sorted(marks, key=lambda mark: mark.begin)))
        self._begin()

    def _place(self) -> int:
        """Where what is read begins in the document."""
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _add(self, raw: str, place: int) -> tuple[int, int]:
        """Add what stands so in the document, and return where it is in the run."""
        begin = len(self._content)
        self._content += raw
        self._places += range(place, place + len(raw))
        return begin, len(self._content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See `HTMLParser`."""
        raw, place = self.get_starttag_text() or "", self._place()
        self.tags.append(raw)
        if self._skipped == ["head"] and tag not in IN_HEAD:
            self._skipped.pop()
        if self._skipped or (tag in SKIPPED and not raw.endswith("/>")):
            self._skipped += [tag] if tag in SKIPPED and not raw.endswith("/>") else []
            self._finish(place)
        elif tag in CODE and self._code is None:
            self._code = tag, self._add(raw, place)[0]
        elif self._code is not None:
            self._add(raw, place)
        elif tag in INLINE:
            self._tag_spans.append(self._add(raw, place))
        else:
            self._finish(place)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See `HTMLParser`, which would read such a tag twice: at its beginning and at its end."""
        if tag in CODE and not self._skipped and self._code is None:  # there is no code in it
            raw, place = self.get_starttag_text() or "", self._place()
            self.tags.append(raw)
            self._tag_spans.append(self._add(raw, place))
        else:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """See `HTMLParser`."""
        place = self._place()
        raw = self._text[place : self._text.find(">", place) + 1]
        self.tags.append(raw)
        if self._skipped:
            if tag == self._skipped[-1]:
                self._skipped.pop()
            return
        if self._code is not None:
            _, end = self._add(raw, place)
            if tag == self._code[0]:
                self._marks.append(Mark(self._code[1], end, WHOLE))
                self._code = None
        elif tag in INLINE:
            self._tag_spans.append(self._add(raw, place))
        else:
            self._finish(place)

    def handle_data(self, data: str) -> None:
        """See `HTMLParser`."""
        if not self._skipped:
            self._add(data, self._place())

    def _reference(self, raw: str) -> None:
        """Add a reference to a character as that character."""
        place = self._place()
        raw += ";" if self._text[place + len(raw) : place + len(raw) + 1] == ";" else ""
        if self._skipped:
            return
        shown = html.unescape(raw)
        if len(shown) == 1 and shown != raw and self._code is None:
            self._content += shown
            self._places.append(place)
            return
        begin, end = self._add(raw, place)
        if self._code is None:
            self._marks.append(Mark(begin, end, STOP))

    def handle_entityref(self, name: str) -> None:
        """See `HTMLParser`."""
        self._reference(f"&{name}")

    def handle_charref(self, name: str) -> None:
        """See `HTMLParser`."""
        self._reference(f"&#{name}")

    def _stop(self) -> None:
        """End the run at what is no text."""
        self.tags.append(self._text[self._place() : self._place() + 20])
        self._finish(self._place())

    def handle_comment(self, data: str) -> None:
        """See `HTMLParser`."""
        self._stop()

    def handle_decl(self, decl: str) -> None:
        """See `HTMLParser`."""
        self._stop()

    def unknown_decl(self, data: str) -> None:
        """See `HTMLParser`."""
        self._stop()

    def handle_pi(self, data: str) -> None:
        """See `HTMLParser`."""
        self._stop()


def html_runs(text: str) -> tuple[list[Run], list[str]]:
    """The runs of text of a document in order, and its tags, for comparison.

    Args:
        text: HTML.
    """
    parsed = _Runs(text)
    return parsed.runs, parsed.tags
