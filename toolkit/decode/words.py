"""Which words a hypothesis has said, followed through the pieces that it is made of.

Lexical constraints are on words of running text, but a decoder says pieces. A piece of a word does not tell that the
word is over: after "▁for" comes "tune" as easily as "▁me". So each row carries the hash of the word that is still open
and of the last words that are closed, and a piece updates both by a multiplication and an addition. For thousands of
candidates at once this is a gather in a table over the vocabulary, and no text is touched while decoding.

What a word is, `toolkit.bitext.words.constraint_words` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from toolkit.bitext.words import constraint_words, continues_word
from toolkit.decode.constraint_set import _capitalized
from toolkit.models.padding import pad

BASE = 0x5851F42D4C957F2D  # ours: of the polynomial hash, odd; Knuth's multiplier of MMIX
BITS = 64
BOS = -1  # stands for the beginning of the text among the words; no word of a text hashes to it in practice
NOTHING = 0  # the hash of no word


def _word_hash(word: str) -> int:
    """A 64-bit polynomial hash, signed as torch's integers are: h(word + c) = h(word) * BASE + c + 1."""
    value = 0
    for character in word:
        value = value * BASE + ord(character) + 1
    return _signed(value)


def _signed(value: int) -> int:
    """The low 64 bits of a number as torch's signed integers hold them."""
    return (value + (1 << (BITS - 1))) % (1 << BITS) - (1 << (BITS - 1))


@dataclass(frozen=True)
class WordTable:
    """What each piece of a vocabulary does to the open word of a row.

    The text of a piece has three parts: a head that continues the open word, whole words, and a tail that opens the
    next word. Any of them may be empty.

    Attributes:
        factor: (vocabulary,) BASE to the power of the head's length in characters.
        head: (vocabulary,) hash of the head.
        closes: (vocabulary,) whether the open word is closed behind the head; true for EOS.
        inner: (vocabulary, most) hashes of the whole words, padded with NOTHING.
        inner_count: (vocabulary,) number of whole words.
        tail: (vocabulary,) hash of the tail; of no meaning where the piece does not close the open word.
        closes_first: (vocabulary,) whether the piece closes the open word as it is: the head is empty.
    """

    factor: Tensor
    head: Tensor
    closes: Tensor
    inner: Tensor
    inner_count: Tensor
    tail: Tensor
    closes_first: Tensor

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
        inner = pad([[_word_hash(word) for word in words] for _, _, words, _ in parts], NOTHING)
        head, closes = [head for head, _, _, _ in parts], torch.tensor([closes for _, closes, _, _ in parts])
        return cls(
            torch.tensor([_signed(pow(BASE, len(h), 1 << BITS)) for h in head], device=device),
            torch.tensor([_word_hash(h) for h in head], device=device),
            closes.to(device),
            inner.to(device),
            torch.tensor([len(words) for _, _, words, _ in parts], device=device),
            torch.tensor([_word_hash(tail) for _, _, _, tail in parts], device=device),
            (closes & torch.tensor([not h for h in head])).to(device),
        )

    def advance(self, ids: Tensor, open_word: Tensor) -> tuple[list[Tensor], Tensor]:
        """The words that rows close by saying a piece, and the words that are open then.

        Args:
            ids: (...) pieces.
            open_word: (...) hashes of the words that are open before.

        Returns:
            Hashes of the closed words in their order: first a (...) tensor with the word that was open, then one for
            each whole word of the pieces, NOTHING where a row closes none there. Second, (...) hashes of the words that
            are open afterwards.
        """
        continued = open_word * self.factor[ids] + self.head[ids]
        closes = self.closes[ids]
        closed = [torch.where(closes, continued, NOTHING)]
        if self.inner.shape[1]:
            inner, inner_limit = self.inner[ids], self.inner.shape[1]
            if ids.device.type == "cpu":  # another device computes what is not needed sooner than the host has asked it
                inner_limit = int(self.inner_count[ids].max()) if ids.numel() else 0
            closed += [inner[..., i] for i in range(inner_limit)]
        return closed, torch.where(closes, self.tail[ids], continued)


@dataclass(frozen=True)
class KnownWords:
    """The words that may be said, and their beginnings.

    This is not in the papers. A model that must not say "lost" says "Tomlost" instead; small models do so more often.

    Attributes:
        words: (words,) sorted hashes.
        beginnings: (beginnings,) sorted hashes of all proper prefixes of those words.
        own_words: (searches, n) hashes of more words that one search may say: the names and numbers of its source.
        own_beginnings: (searches, m) hashes of the proper prefixes of those.
    """

    words: Tensor
    beginnings: Tensor
    own_words: Tensor
    own_beginnings: Tensor

    @classmethod
    def of(cls, words: Iterable[str], device: torch.device | str = "cpu") -> KnownWords:
        """Each word as it is given, with a capital and in capitals; no search has words of its own."""
        forms = {form for word in words for form in (word, _capitalized(word), word.upper())}
        none = torch.zeros(0, 0, dtype=torch.long, device=device)
        whole, beginnings = (
            torch.tensor(sorted(map(_word_hash, strings)), dtype=torch.long, device=device)
            for strings in (forms, _beginnings(forms))
        )
        return cls(whole, beginnings, none, none)

    def with_own(self, texts: Sequence[str]) -> KnownWords:
        """The same words, and for each search the words of its text as they stand there."""
        search_words, device = [list(constraint_words(text)) for text in texts], self.words.device
        words, beginnings = (
            pad([sorted(map(_word_hash, strings)) for strings in searches], NOTHING).to(device)
            for searches in (search_words, [_beginnings(words) for words in search_words])
        )
        return KnownWords(self.words, self.beginnings, words, beginnings)

    def keep(self, searches: Tensor) -> KnownWords:
        """The searches of these numbers, in this order."""
        if not len(self.own_words):
            return self
        return KnownWords(self.words, self.beginnings, self.own_words[searches], self.own_beginnings[searches])

    def is_word(self, word: Tensor) -> Tensor:
        """(searches, rows) whether a hash is that of a known word."""
        return _among(self.words, self.own_words, word)

    def is_beginning(self, word: Tensor) -> Tensor:
        """(searches, rows) whether a hash is that of a proper prefix of a known word."""
        return _among(self.beginnings, self.own_beginnings, word)


def _beginnings(words: Iterable[str]) -> set[str]:
    """The proper prefixes of some words."""
    return {word[:n] for word in words for n in range(1, len(word))}


def _among(all_searches: Tensor, one_search: Tensor, word: Tensor) -> Tensor:
    """(searches, rows) whether a hash is in a sorted list for all searches, or in the list of its own search."""
    at = torch.searchsorted(all_searches, word).clamp_(max=max(len(all_searches) - 1, 0))
    is_common = all_searches[at] == word if len(all_searches) else torch.zeros_like(word, dtype=torch.bool)
    return is_common | (one_search[:, None] == word[..., None]).any(-1) if one_search.numel() else is_common


def _parts(surface: str) -> tuple[str, bool, list[str], str]:
    """The parts of a piece's text: its head, whether the head ends the open word, its whole words, and its tail."""
    head = ""
    for i, character in enumerate(surface):
        if continues_word(character):
            head += character
            continue
        rest = surface[i:]
        words = list(constraint_words(rest))
        tail = words.pop() if words and continues_word(rest[-1]) else ""
        return head, True, words, tail
    return head, False, [], ""
