"""Which words a row has said, whatever pieces it said them in.

Lexical constraints are words of running text, but a decoder says pieces. A piece of a word does not tell that the word
is over: after "▁for" comes "tune" as easily as "▁me". So each row carries the hash of the word it is in and of the last
words it closed, and a piece updates both by a multiplication and an addition: for thousands of candidates at once this
is a gather in a table over the vocabulary, and no text is touched while decoding.

A word is a run of letters, marks and digits; every other visible character is a word of its own, and so is every
character of a script without spaces. White space parts words and is nothing itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

BASE = 0x5851F42D4C957F2D  # ours: of the polynomial hash, odd; Knuth's multiplier of MMIX
BITS = 64
BOS = -1  # stands for the beginning of the text among the words; no word of a text hashes to it in practice
NOTHING = 0  # the hash of no word
WORDS_WITHOUT_SPACES = re.compile("[\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def in_word(character: str) -> bool:
    """Whether a character goes on with the word before it.

    >>> [in_word(c) for c in "a7' 字"]
    [True, True, False, False, False]
    """
    return unicodedata.category(character)[0] in "LMN" and not WORDS_WITHOUT_SPACES.match(character)


def runs(text: str) -> Iterator[str]:
    """The words of a text in order.

    >>> list(runs("Don't go,  Tom!"))
    ['Don', "'", 't', 'go', ',', 'Tom', '!']
    """
    word = ""
    for character in text:
        if in_word(character):
            word += character
            continue
        if word:
            yield word
        word = ""
        if not character.isspace():
            yield character
    if word:
        yield word


def times_said(text: str, phrase: str) -> int:
    """How often a text says a phrase: its words in a row, the first also with a capital.

    >>> times_said("For me? No, for fortune!", "for"), times_said("New York", "new york"), times_said("a a a", "a a")
    (2, 0, 2)
    """
    said, forms = list(runs(text)), phrase_forms(phrase)
    return sum(said[i : i + len(forms[0])] in forms for i in range(len(said)))


def begins_with(text: str, phrase: str) -> bool:
    """Whether a text begins with the words of a phrase; the case of the first letter does not count.

    >>> begins_with("How often?", "how"), begins_with("However", "how")
    (True, False)
    """
    said, forms = list(runs(text)), anchored_forms(phrase)
    return said[: len(forms[0])] in forms


def phrase_forms(phrase: str) -> tuple[list[str], list[str]]:
    """The words of a phrase as given, and with the first letter of the first in upper case."""
    words = list(runs(phrase))
    return words, [_capital(words[0]), *words[1:]] if words else []


def anchored_forms(phrase: str) -> tuple[list[str], list[str]]:
    """The words of a phrase with the first letter in lower case, and in upper case; marks may stand before it.

    >>> anchored_forms('"For me')
    (['"', 'for', 'me'], ['"', 'For', 'me'])
    """
    words = list(runs(phrase))
    at = next((n for n, word in enumerate(words) if in_word(word[0])), None)
    if at is None:
        return words, words
    before, first, after = words[:at], words[at], words[at + 1 :]
    return [*before, first[0].lower() + first[1:], *after], [*before, _capital(first), *after]


def _capital(word: str) -> str:
    return word[0].upper() + word[1:]


def word_hash(word: str) -> int:
    """A 64-bit polynomial hash, signed as torch's integers are: h(word + c) = h(word) * BASE + c + 1."""
    value = 0
    for character in word:
        value = value * BASE + ord(character) + 1
    return _signed(value)


def _signed(value: int) -> int:
    return (value + (1 << (BITS - 1))) % (1 << BITS) - (1 << (BITS - 1))


@dataclass(frozen=True)
class WordTable:
    """What each piece of a vocabulary does to the word that a row is in.

    Attributes:
        factor: (vocabulary,) BASE to the number of characters that go on with the open word.
        head: (vocabulary,) their hash.
        closes: (vocabulary,) whether the open word is over after them; true for EOS.
        inner: (vocabulary, most) hashes of words that the piece says whole after that; NOTHING pads.
        inner_count: (vocabulary,) how many those are.
        tail: (vocabulary,) hash of the word that the piece leaves open; of no meaning where it does not close.
        fresh: (vocabulary,) whether the piece closes the open word before it says anything.
    """

    factor: Tensor
    head: Tensor
    closes: Tensor
    inner: Tensor
    inner_count: Tensor
    tail: Tensor
    fresh: Tensor

    @classmethod
    def of(cls, surfaces: Sequence[str], eos: int, device: torch.device | str = "cpu") -> WordTable:
        """The table of a vocabulary.

        Args:
            surfaces: What each id adds to the text, white space included ("▁for" is " for"); "" for specials.
            eos: The id that ends a text.
            device: Where the table lives.
        """
        parts = [_parts(surface) for surface in surfaces]
        parts[eos] = ("", True, [], "")
        most = max((len(inner) for _, _, inner, _ in parts), default=0)
        inner = torch.zeros(len(parts), most, dtype=torch.long)
        for row, (_, _, words, _) in zip(inner, parts, strict=True):
            row[: len(words)] = torch.tensor([word_hash(word) for word in words], dtype=torch.long)
        head, closes = [head for head, _, _, _ in parts], torch.tensor([closes for _, closes, _, _ in parts])
        return cls(
            torch.tensor([_signed(pow(BASE, len(h), 1 << BITS)) for h in head], device=device),
            torch.tensor([word_hash(h) for h in head], device=device),
            closes.to(device),
            inner.to(device),
            torch.tensor([len(words) for _, _, words, _ in parts], device=device),
            torch.tensor([word_hash(tail) for _, _, _, tail in parts], device=device),
            (closes & torch.tensor([not h for h in head])).to(device),
        )

    def events(self, ids: Tensor, open_word: Tensor) -> tuple[list[Tensor], Tensor]:
        """The words that are closed when rows say a piece.

        Args:
            ids: (...) pieces.
            open_word: (...) hashes of the words that the rows are in.

        Returns:
            Hashes of the words closed, one (...) tensor for each place, NOTHING where a row closes none there; and the
            words (...) that the rows are in afterwards.
        """
        going_on = open_word * self.factor[ids] + self.head[ids]
        closes = self.closes[ids]
        closed = [torch.where(closes, going_on, NOTHING)]
        if self.inner.shape[1]:
            inner = self.inner[ids]
            closed += [inner[..., i] for i in range(int(self.inner_count[ids].max()) if ids.numel() else 0)]
        return closed, torch.where(closes, self.tail[ids], going_on)


@dataclass(frozen=True)
class KnownWords:
    """The words that may be said, and how they begin.

    Not in the papers. A model that may not say "lost" says "Tomlost" rather than nothing, the smaller it is the sooner.

    Attributes:
        words: (words,) sorted hashes.
        beginnings: (beginnings,) sorted hashes of all beginnings of those words but the words themselves.
        own_words: (searches, n) hashes of more words that a search may say: the names and numbers of its source.
        own_beginnings: (searches, m) their beginnings.
    """

    words: Tensor
    beginnings: Tensor
    own_words: Tensor
    own_beginnings: Tensor

    @classmethod
    def of(cls, words: Iterable[str], device: torch.device | str = "cpu") -> KnownWords:
        """Words as they are given, with a capital and in capitals; no search has words of its own."""
        forms = {form for word in words for form in (word, _capital(word), word.upper())}
        none = torch.zeros(0, 0, dtype=torch.long, device=device)
        whole, begun = (
            torch.tensor(sorted(map(word_hash, some)), dtype=torch.long, device=device)
            for some in (forms, _beginnings(forms))
        )
        return cls(whole, begun, none, none)

    def with_own(self, texts: Sequence[str]) -> KnownWords:
        """The same words, and for each search those of a text."""
        own = [list(runs(text)) for text in texts]
        device = self.words.device
        return KnownWords(
            self.words, self.beginnings, _padded(own).to(device), _padded([_beginnings(ws) for ws in own]).to(device)
        )

    def keep(self, searches: Tensor) -> KnownWords:
        """The searches of these numbers, in this order."""
        if not len(self.own_words):
            return self
        return KnownWords(self.words, self.beginnings, self.own_words[searches], self.own_beginnings[searches])

    def whole(self, word: Tensor) -> Tensor:
        """(searches, rows) whether the hash is a known word's."""
        return _among(self.words, self.own_words, word)

    def begun(self, word: Tensor) -> Tensor:
        """(searches, rows) whether more letters can make it a known word's."""
        return _among(self.beginnings, self.own_beginnings, word)


def _beginnings(words: Iterable[str]) -> set[str]:
    return {word[:n] for word in words for n in range(1, len(word))}


def _padded(words: Sequence[Iterable[str]]) -> Tensor:
    """(searches, most) hashes of each search's words; NOTHING pads."""
    hashes = [sorted(map(word_hash, some)) for some in words]
    found = torch.full((len(hashes), max(map(len, hashes), default=0)), NOTHING)
    for row, own in zip(found, hashes, strict=True):
        row[: len(own)] = torch.tensor(own, dtype=torch.long)
    return found


def _among(all_searches: Tensor, one_search: Tensor, word: Tensor) -> Tensor:
    at = torch.searchsorted(all_searches, word).clamp_(max=max(len(all_searches) - 1, 0))
    found = all_searches[at] == word if len(all_searches) else torch.zeros_like(word, dtype=torch.bool)
    return found | (one_search[:, None] == word[..., None]).any(-1) if one_search.numel() else found


def _parts(surface: str) -> tuple[str, bool, list[str], str]:
    """Head, whether it closes, the words said whole after that, and the open rest of a piece's text."""
    head = ""
    for i, character in enumerate(surface):
        if in_word(character):
            head += character
            continue
        rest = surface[i:]
        words = list(runs(rest))
        tail = words.pop() if words and in_word(rest[-1]) else ""
        return head, True, words, tail
    return head, False, [], ""
