"""The sentences of running text that have a length, each with the text around it, in constant memory."""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from sentencex import segment

from toolkit.bitext.books import _Book, is_wide

MIN_CHARS, MAX_CHARS = 60, 100  # ParaNet, section 4: "a length between 60 and 100 characters"
WIDE = 3  # ours: a Chinese, Japanese or Korean character says as much as some three Latin letters, as in cleaning
CONTEXT = 250  # ParaNet, section 4: "an average length of 250 characters", on both sides
MAYBE_WIDE = re.compile("[\u1100-\U0010ffff]")  # U+1100 is the first wide character of Unicode
QUOTES = '"“”„«»'
AS_SPACES = str.maketrans(QUOTES, " " * len(QUOTES))
ENDS = (".", "!", "?", "…", "。", "！", "？")


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
    books: Iterable[_Book], lang: str, min_chars: int = MIN_CHARS, max_chars: int = MAX_CHARS, context: int = CONTEXT
) -> Iterator[Passage]:
    """The sentences of books that have a length, with their context, in the order of the text.

    Args:
        books: The books (`toolkit.bitext.books.read_books`).
        lang: Their language (ISO 639-1), by which sentences are split.
        min_chars: The fewest characters of a sentence; one of Chinese, Japanese or Korean counts as `WIDE` (`_length`).
        max_chars: The most characters of a sentence.
        context: The most characters of the text before a sentence, and of that after it.

    Raises:
        ValueError: A file is damaged, or is no UTF-8.
    """
    for book in books:
        yield from _split_passages(book.paragraphs, book.name, lang, min_chars, max_chars, context)


def drawn(sentences: Iterable[str], size: int, seed: int) -> frozenset[bytes]:
    """The keys (`draw_key`) of a random sample of different sentences; of a number of bytes for each that is wanted.

    Args:
        sentences: The sentences.
        size: How many; all if there are fewer.
        seed: The seed of the sample.
    """
    keys: set[bytes] = set()
    heap: list[bytes] = []  # the complements of the keys, of which the least is the greatest key
    for sentence in sentences:
        key = draw_key(sentence, seed)
        if key in keys:
            continue
        keys.add(key)
        heapq.heappush(heap, _complement(key))
        if len(heap) > size:
            keys.remove(_complement(heapq.heappop(heap)))
    return frozenset(keys)


def draw_key(sentence: str, seed: int) -> bytes:
    """A random number of a sentence, of 8 bytes."""
    return hashlib.blake2b(f"{seed}\t{sentence}".encode(errors="replace"), digest_size=8).digest()


def _complement(key: bytes) -> bytes:
    """The bytes that sort in the opposite order."""
    return bytes(255 - byte for byte in key)


def _split_passages(
    paragraphs: Iterable[str], origin: str, lang: str, min_chars: int, max_chars: int, context: int
) -> Iterator[Passage]:
    """The sentences of paragraphs that have a length, see `read_passages`; a sentence ends with a mark."""
    before = ""
    waiting: list[tuple[int, str, str, str]] = []  # number, sentence, text before it, text after it so far
    sentences = chain.from_iterable(sentences_of(paragraph, lang) for paragraph in paragraphs)
    for number, sentence in enumerate(sentences, 1):
        waiting = [(*entry[:3], f"{entry[3]} {sentence}".lstrip()) for entry in waiting]
        while waiting and len(waiting[0][3]) >= context:
            yield _cut_passage(origin, waiting.pop(0), context)
        if min_chars <= _length(sentence) <= max_chars and _is_complete(sentence):
            waiting.append((number, sentence, before, ""))
        before = f"{before} {sentence}"[-context - 1 :]
    for entry in waiting:
        yield _cut_passage(origin, entry, context)


def _length(sentence: str) -> int:
    """The length of a sentence in Latin letters.

    >>> _length("He left."), _length("他走了。")
    (8, 12)
    """
    return len(sentence) + (WIDE - 1) * sum(map(is_wide, MAYBE_WIDE.findall(sentence)))


def _cut_passage(origin: str, entry: tuple[int, str, str, str], context: int) -> Passage:
    """A passage with its context cut at words."""
    number, sentence, before, after = entry
    before = before.partition(" ")[2] if len(before) > context else before.strip()
    after = after if len(after) <= context else after[: context + 1].rpartition(" ")[0]
    return Passage(origin, number, sentence, before, after)


def sentences_of(paragraph: str, lang: str) -> Iterator[str]:
    """The sentences of a paragraph, also of speech in quotation marks, without marks that have no partner.

    >>> list(sentences_of('He said, "Go home. We stay." Then he left.', "en"))
    ['He said, "Go home."', 'We stay.', 'Then he left.']
    """
    position = 0
    for part in segment(lang, paragraph.translate(AS_SPACES)):
        sentence = paragraph[position : position + len(part)].strip()
        position += len(part)
        if sentence := _balanced(sentence):
            yield sentence


def _balanced(sentence: str) -> str:
    """A sentence with a partner for its one quotation mark, or without the mark if it stands at an end."""
    if sum(sentence.count(mark) for mark in QUOTES) != 1:
        return sentence
    if sentence[0] in QUOTES or sentence[-1] in QUOTES:
        return sentence.strip(QUOTES).strip()
    return sentence + '"' if '"' in sentence and ' "' in sentence else sentence


def _is_complete(sentence: str) -> bool:
    """Whether a text is a whole sentence: it begins with a capital, where its script has them, and ends with a mark.

    >>> [_is_complete(text) for text in ("He left.", "CHAPTER I", "and he left.", "他走了。")]
    [True, False, False, True]
    """
    first = next((letter for letter in sentence if letter.isalnum()), "a")
    return not first.islower() and sentence.rstrip(QUOTES + "'’)]").endswith(ENDS)
