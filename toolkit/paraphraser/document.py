"""A document whose sentences are paraphrased, and whose marks stay."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any

from toolkit.data.rows import Candidate
from toolkit.paraphraser._html import html_runs
from toolkit.paraphraser._markdown import BYTE_ORDER, markdown_runs
from toolkit.paraphraser._runs import Run, Sentence, sentences_of
from toolkit.paraphraser._sentences import parts_of
from toolkit.paraphraser.protect import LOST

KINDS = ("plain", "markdown", "html")
SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".xhtml": "html"}
NO_PARAPHRASE, MARKED = "no_paraphrase", "markup"  # why a sentence is unchanged, besides what it would lose
REASONS = {
    NO_PARAPHRASE: "the paraphraser has no other words for it",
    MARKED: "marks stand in it that cannot be set again",
}


@dataclass(frozen=True)
class ParaphrasedDocument:
    """A document in other words.

    Attributes:
        texts: The documents.
        sentences: How many sentences the document has.
        unchanged: Those that stay as they are, each with the reason: "no_paraphrase", "markup", or that of a piece that
            could not be kept ("url_lost").
    """

    texts: list[str]
    sentences: int
    unchanged: list[tuple[str, str]]


def check_kind(kind: str) -> None:
    """Refuse a kind of documents that there is not.

    Raises:
        ValueError: It is unknown.
    """
    if kind not in KINDS:
        raise ValueError(f"wanted a document of kind {', '.join(KINDS)}, got {kind!r}")


def kind_of(file: str) -> str:
    """The kind of a document by the end of its file's name.

    >>> kind_of("README.md"), kind_of("notes.txt")
    ('markdown', 'plain')
    """
    return SUFFIXES.get(PurePath(file).suffix.lower(), "plain")


def document_sentences(text: str, kind: str, lang: str) -> list[Sentence]:
    """The sentences of a document, in order.

    Args:
        text: The document.
        kind: Of `KINDS`.
        lang: Its language (ISO 639-1).
    """
    return [sentence for run in _runs(text, kind, lang)[0] for sentence in sentences_of(run, lang)]


def _runs(text: str, kind: str, lang: str) -> tuple[list[Run], Any]:
    """The runs of text of a document, and what else it has, for comparison."""
    if kind == "markdown":
        return markdown_runs(text)
    if kind == "html":
        return html_runs(text)
    begin = len(text) - len(text.removeprefix(BYTE_ORDER))
    runs = []
    for paragraph in parts_of(text[begin:], lang, lambda _: True):
        end = begin + len(paragraph)
        runs.append(Run(paragraph, range(begin, end + 1)))
        begin = end
    return runs, None


def paraphrased(
    text: str,
    kind: str,
    lang: str,
    sentences: Sequence[Sentence],
    candidates: Sequence[Sequence[Candidate]],
    n: int,
) -> ParaphrasedDocument:
    """A document with the paraphrases of its sentences.

    Args:
        text: The document.
        kind: Of `KINDS`.
        lang: Its language (ISO 639-1).
        sentences: Its sentences.
        candidates: Of each sentence that can be read, paraphrases by rank, then what was refused.
        n: How many documents are wanted.
    """
    waiting = iter(candidates)
    choices: list[list[str]] = []
    reasons: dict[int, str] = {}
    for number, sentence in enumerate(sentences):
        sentence_candidates = next(waiting) if sentence.is_readable else []
        choices.append([_written(c.text, kind, sentence) for c in sentence_candidates if c.rank is not None])
        if not choices[-1]:
            lost = next((c.reason for c in sentence_candidates if c.reason in LOST), None)
            reasons[number] = (lost or NO_PARAPHRASE) if sentence.is_readable else MARKED
    differs = partial(_differs, text, kind, lang, sentences, structure=_runs(text, kind, lang)[1])
    texts = []
    for index in range(n if any(choices) else 1):
        new = {number: several[index % len(several)] for number, several in enumerate(choices) if several}
        if differs(new):
            for number in _changing(new, differs):
                del new[number]
                reasons.setdefault(number, MARKED)
            if differs(new):  # only together
                reasons |= dict.fromkeys(new, MARKED)
                new = {}
        texts.append(_with_sentences(text, sentences, new))
    unchanged = [(sentences[number].text, reasons[number]) for number in sorted(reasons)]
    return ParaphrasedDocument(list(dict.fromkeys(texts)), len(sentences), unchanged)


def _changing(new: dict[int, str], differs: Callable[[dict[int, str]], bool]) -> list[int]:
    """The sentences whose new words change the marks of a document, found by halving: a trial reads all of it."""
    if not new or not differs(new):
        return []
    if len(new) == 1:
        return list(new)
    items = list(new.items())
    halves = (dict(items[: len(items) // 2]), dict(items[len(items) // 2 :]))
    return [number for half in halves for number in _changing(half, differs)]


def _written(paraphrase: str, kind: str, sentence: Sentence) -> str:
    """A paraphrase as it is spelled in a document: in HTML with references for the characters of tags."""
    if kind != "html":
        return paraphrase
    tags = sorted({mark for piece in sentence.pieces for mark in (piece.wrap or (piece.text,))}, key=len, reverse=True)
    parts = [paraphrase]
    for tag in tags:
        parts = [part for whole in parts for part in ([whole] if whole in tags else _split(whole, tag))]
    return "".join(part if part in tags else html.escape(part, quote=False) for part in parts)


def _split(text: str, tag: str) -> list[str]:
    """A text at a tag, with the tags."""
    parts: list[str] = []
    for part in text.split(tag):
        parts += [tag, part]
    return parts[1:]


def _with_sentences(text: str, sentences: Sequence[Sentence], new: dict[int, str]) -> str:
    """A document with some sentences in other words."""
    written, place = "", 0
    for number, sentence_text in sorted(new.items()):
        sentence = sentences[number]
        written += text[place : sentence.begin] + sentence_text
        place = sentence.end
    return written + text[place:]


def _differs(
    text: str, kind: str, lang: str, sentences: Sequence[Sentence], new: dict[int, str], structure: Any
) -> bool:
    """Whether a document has other marks with new sentences."""
    return structure is not None and _runs(_with_sentences(text, sentences, new), kind, lang)[1] != structure
