"""Read sentences with their context from running text, such as books, in constant memory.

A text is a plain file (.txt, also .gz or .zst), a folder or a glob of them, or a dataset with a column of texts. In a
file whose lines are wrapped, empty lines separate paragraphs; in others each line is a paragraph.
"""

from __future__ import annotations

import glob
import hashlib
import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from sentencex import segment

from toolkit.bitext.read import checked_path, decode, lines

MIN_CHARS, MAX_CHARS = 60, 100  # ParaNet, section 4: "a length between 60 and 100 characters"
CONTEXT = 250  # ParaNet, section 4: "an average length of 250 characters", on both sides
SAMPLE = 1000  # ours: lines by which wrapped files are known
WRAPPED = 90  # ours: characters of a line; who wraps does it at 60 to 80
SHORT = 0.98  # ours: share of the lines of a wrapped file that are not longer
TEXT_SUFFIXES = (".txt", ".txt.gz", ".txt.zst")
QUOTES = '"“”„«»'
AS_SPACES = str.maketrans(QUOTES, " " * len(QUOTES))
ENDS = (".", "!", "?", "…", "。", "！", "？")
# Lines that Project Gutenberg puts before and after a book.
HEADER = re.compile(r"\*\*\* ?START OF (THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
FOOTER = re.compile(r"(\*\*\* ?)?END OF (THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
HEADER_LINES = 500  # ours: a header is in the first lines of a file


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence with the text around it.

    Attributes:
        origin: The name of the book.
        number: The number of the sentence in the book, from 1.
        sentence: The sentence, on one line.
        before: The text before it, of at most `CONTEXT` characters and of whole words.
        after: The text after it.
    """

    origin: str
    number: int
    sentence: str
    before: str
    after: str


def read_passages(
    text: str,
    lang: str,
    min_chars: int = MIN_CHARS,
    max_chars: int = MAX_CHARS,
    context: int = CONTEXT,
) -> Iterator[Passage]:
    """The sentences of a text that have a length, with their context, in the order of the text.

    Args:
        text: A file, a folder, or a glob of files.
        lang: The language of the text (ISO 639-1), by which sentences are split.
        min_chars: The fewest characters of a sentence.
        max_chars: The most characters of a sentence.
        context: The most characters of the text before a sentence, and of that after it.

    Raises:
        FileNotFoundError: There is no such text.
        ValueError: A file is damaged, or is no UTF-8.
    """
    for path in text_files(text):
        yield from passages_of(read_paragraphs(path), book_name(path), lang, min_chars, max_chars, context)


def drawn(passages: Iterable[Passage], wanted: int | None, seed: int) -> list[Passage]:
    """A sample of passages with different sentences, in the order of the text.

    Args:
        passages: The passages.
        wanted: How many; None takes all.
        seed: The seed of the sample.
    """
    distinct = {passage.sentence: passage for passage in passages}.values()
    if wanted is None:
        return list(distinct)

    def key(passage: Passage) -> bytes:
        return hashlib.blake2b(f"{seed}\t{passage.sentence}".encode(errors="replace"), digest_size=8).digest()

    chosen = {id(passage) for passage in heapq.nsmallest(wanted, distinct, key=key)}
    return [passage for passage in distinct if id(passage) in chosen]


def text_files(text: str) -> list[str]:
    """The files of a text, sorted.

    Raises:
        FileNotFoundError: There are none.
    """
    if Path(text).is_dir():
        found = [str(path) for path in sorted(Path(text).rglob("*")) if path.name.endswith(TEXT_SUFFIXES)]
    elif glob.has_magic(text) and not Path(text).exists():
        found = sorted(glob.glob(text, recursive=True))
    else:
        found = [str(checked_path(text))]
    if not found:
        raise FileNotFoundError(f"wanted text in {', '.join(TEXT_SUFFIXES)}, got no such file in {text}")
    return found


def book_name(path: str) -> str:
    """The name of a book by its file.

    >>> book_name("novels/Doyle_Hound_1902.txt.gz")
    'Doyle_Hound_1902'
    """
    return Path(path).name.split(".")[0]


def read_paragraphs(path: str) -> Iterator[str]:
    """The paragraphs of a file, each on one line, without the header and footer of Project Gutenberg.

    Raises:
        ValueError: The file is damaged, or is no UTF-8.
    """
    source = without_frame(decoded(path))
    first = list(islice(source, SAMPLE))
    filled = [len(line) for line in first if line.strip()]
    wrapped = sum(length <= WRAPPED for length in filled) >= SHORT * len(filled) and len(filled) < len(first)
    paragraph: list[str] = []
    for line in chain(first, source, [""]):
        if paragraph and (not wrapped or not line.strip()):
            yield " ".join(" ".join(paragraph).split())
            paragraph = []
        if line.strip():
            paragraph.append(line)


def decoded(path: str) -> Iterator[str]:
    """The lines of a file as text.

    Raises:
        ValueError: The file is damaged, or is no UTF-8.
    """
    for number, raw in enumerate(lines(path), 1):
        line, fault = decode(raw)
        if fault:
            raise ValueError(f"wanted UTF-8, got {path} with other bytes in line {number}: convert it")
        yield line.removeprefix("\ufeff")


def without_frame(source: Iterator[str]) -> Iterator[str]:
    """Lines without those before a book and after it."""
    first = list(islice(source, HEADER_LINES))
    begin = next((number for number, line in enumerate(first, 1) if HEADER.search(line)), 0)
    for line in chain(first[begin:], source):
        if FOOTER.match(line.strip()):
            return
        yield line


def passages_of(
    paragraphs: Iterable[str], origin: str, lang: str, min_chars: int, max_chars: int, context: int
) -> Iterator[Passage]:
    """The sentences of paragraphs that have a length, see `read_passages`; a sentence ends with a mark."""
    before = ""
    waiting: list[tuple[int, str, str, str]] = []  # number, sentence, text before it, text after it so far
    sentences = chain.from_iterable(sentences_of(paragraph, lang) for paragraph in paragraphs)
    for number, sentence in enumerate(sentences, 1):
        waiting = [(*one[:3], f"{one[3]} {sentence}".lstrip()) for one in waiting]
        while waiting and len(waiting[0][3]) >= context:
            yield passage_of(origin, waiting.pop(0), context)
        if min_chars <= len(sentence) <= max_chars and is_complete(sentence):
            waiting.append((number, sentence, before, ""))
        before = f"{before} {sentence}"[-context - 1 :]
    for one in waiting:
        yield passage_of(origin, one, context)


def passage_of(origin: str, waiting: tuple[int, str, str, str], context: int) -> Passage:
    """A passage with its context cut at words."""
    number, sentence, before, after = waiting
    before = before.partition(" ")[2] if len(before) > context else before.strip()
    after = after if len(after) <= context else after[: context + 1].rpartition(" ")[0]
    return Passage(origin, number, sentence, before, after)


def sentences_of(paragraph: str, lang: str) -> Iterator[str]:
    """The sentences of a paragraph, also of speech in quotation marks, without marks that have no partner.

    >>> list(sentences_of('He said, "Go home. We stay." Then he left.', "en"))
    ['He said, "Go home."', 'We stay.', 'Then he left.']
    """
    place = 0
    for part in segment(lang, paragraph.translate(AS_SPACES)):
        sentence = paragraph[place : place + len(part)].strip()
        place += len(part)
        if sentence := balanced(sentence):
            yield sentence


def balanced(sentence: str) -> str:
    """A sentence with a partner for its one quotation mark, or without the mark if it stands at an end."""
    if sum(sentence.count(mark) for mark in QUOTES) != 1:
        return sentence
    if sentence[0] in QUOTES or sentence[-1] in QUOTES:
        return sentence.strip(QUOTES).strip()
    return sentence + '"' if '"' in sentence and ' "' in sentence else sentence


def is_complete(sentence: str) -> bool:
    """Whether a text is a whole sentence: it begins with a capital, where its script has them, and ends with a mark.

    >>> [is_complete(text) for text in ("He left.", "CHAPTER I", "and he left.", "他走了。")]
    [True, False, False, True]
    """
    first = next((letter for letter in sentence if letter.isalnum()), "a")
    return not first.islower() and sentence.rstrip(QUOTES + "'’)]").endswith(ENDS)
