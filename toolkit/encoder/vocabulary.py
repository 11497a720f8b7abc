"""Vocabularies: which words or trigrams have a row in a table, and which row.

Keys are looked up by open addressing in one array, with a few array operations for a whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from toolkit.encoder.settings import CHARACTERS
from toolkit.encoder.tokens import LETTER_BITS, _spell_trigram, _Tokens, _trigrams, _word_keys, tokenize
from toolkit.system.whole_files import write_whole

UNKNOWN = "<unk>"  # row 0 of a table of words: every word without a row of its own
MIX = np.uint64(0xD6E8FEB86659FD93)  # ours: spreads keys over the slots
SLOTS_PER_KEY = 8  # ours: 1 MB for 30,000 keys; nine lookups in ten end at the first slot
TEXTS = 100_000  # ours: texts that are tokenized at once


class _Vocabulary:
    """The rows of a table: entry k, a word or a trigram, has row k.

    Attributes:
        entries: Distinct strings.
        keys: (entries,) uint64.
    """

    def __init__(self, entries: Sequence[str], compute_keys: Callable[[Sequence[str]], np.ndarray]) -> None:
        """Assign the keys to slots.

        Args:
            entries: Distinct strings.
            compute_keys: Maps entries to their keys, in order.

        Raises:
            ValueError: Two entries are the same, or have the same key.
        """
        self.entries = list(entries)
        self.keys = compute_keys(self.entries)
        distinct, first = np.unique(self.keys, return_index=True)
        if len(distinct) < len(self.keys):
            duplicates = set(range(len(self.keys))) - set(first.tolist())
            raise ValueError(f"wanted distinct entries of a vocabulary, got {self.entries[min(duplicates)]!r} twice")
        bits = max(4, (SLOTS_PER_KEY * len(self.entries)).bit_length())
        self.shift = np.uint64(64 - bits)
        self.rows = np.full(1 << bits, -1, np.int32)
        for row, slot in enumerate(self._slots(self.keys).tolist()):
            while self.rows[slot] >= 0:
                slot = (slot + 1) % len(self.rows)
            self.rows[slot] = row
        self.key_in = np.append(self.keys, np.uint64(0))[self.rows]  # row -1 of an empty slot reads the final zero

    def __len__(self) -> int:
        return len(self.entries)

    def _slots(self, keys: np.ndarray) -> np.ndarray:
        """The slot at which the search for a key begins."""
        return ((keys * MIX) >> self.shift).astype(np.int64)

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Look up the rows of keys.

        Args:
            keys: (n,) uint64.

        Returns:
            (n,) int64; -1 for a key that has no row.
        """
        slots = self._slots(keys)
        rows = self.rows[slots]
        collisions = np.flatnonzero((rows >= 0) & (self.key_in[slots] != keys))
        while len(collisions):
            slots[collisions] = (slots[collisions] + 1) % len(self.rows)
            rows[collisions] = self.rows[slots[collisions]]
            collisions = collisions[(rows[collisions] >= 0) & (self.key_in[slots[collisions]] != keys[collisions])]
        return rows.astype(np.int64)


def words(entries: Sequence[str]) -> _Vocabulary:
    """A vocabulary of words. The first entry stands for all unknown words, whatever its spelling.

    >>> words([UNKNOWN, "tom", "'s"]).find(_word_keys(tokenize(["Tom's dog"]))).tolist()
    [1, 2, -1]
    """
    return _Vocabulary(entries, _keys_of_words)


def _keys_of_words(entries: Sequence[str]) -> np.ndarray:
    """The keys of words, (entries,) uint64; an entry is one word, whatever characters it has."""
    lengths = np.array([len(entry) for entry in entries], np.int64)
    codes = np.frombuffer("".join(entries).encode("utf-32-le", "surrogatepass"), np.uint32)
    return _word_keys(_Tokens(codes, np.append(0, np.cumsum(lengths)), np.array([0, len(entries)])))


def character_trigrams(entries: Sequence[str]) -> _Vocabulary:
    """A vocabulary of character trigrams."""
    return _Vocabulary(entries, _keys_of_trigrams)


def _keys_of_trigrams(entries: Sequence[str]) -> np.ndarray:
    """The keys of trigrams, (entries,) uint64."""
    return np.array([sum(ord(c) << (LETTER_BITS * n) for n, c in enumerate(entry)) for entry in entries], np.uint64)


def count_words(texts: Iterable[str], min_count: int, maximum: int, chinese: str = CHARACTERS) -> list[str]:
    """The most frequent words of texts, in descending order of frequency.

    Args:
        texts: Any number of texts.
        min_count: Words with a smaller count are left out.
        maximum: The largest number of words.
        chinese: See `tokenize`.

    Returns:
        The words; those of equal count in alphabetical order.
    """
    count: dict[int, int] = {}
    spelling: dict[int, str] = {}
    for batch in batches(texts):
        tokens = tokenize(batch, chinese)
        keys, first, counts = np.unique(_word_keys(tokens), return_index=True, return_counts=True)
        new_indices = [n for n, key in enumerate(keys.tolist()) if key not in count]
        spelling.update(zip(keys[new_indices].tolist(), _words_at(tokens, first[new_indices]), strict=True))
        for key, occurrences in zip(keys.tolist(), counts.tolist(), strict=True):
            count[key] = count.get(key, 0) + occurrences
    return _most_frequent({spelling[key]: total for key, total in count.items()}, min_count, maximum)


def _words_at(tokens: _Tokens, indices: np.ndarray) -> list[str]:
    """The words at some indices."""
    bounds = zip(tokens.starts[indices].tolist(), tokens.starts[indices + 1].tolist(), strict=True)
    return [tokens.codes[a:b].tobytes().decode("utf-32-le", "surrogatepass") for a, b in bounds]


def count_trigrams(texts: Iterable[str], min_count: int, maximum: int, chinese: str = CHARACTERS) -> list[str]:
    """The most frequent character trigrams of texts; as `count_words`."""
    count: dict[int, int] = {}
    for batch in batches(texts):
        keys, counts = np.unique(_trigrams(tokenize(batch, chinese))[0], return_counts=True)
        for key, occurrences in zip(keys.tolist(), counts.tolist(), strict=True):
            count[key] = count.get(key, 0) + occurrences
    return _most_frequent({_spell_trigram(key): total for key, total in count.items()}, min_count, maximum)


def _most_frequent(count: dict[str, int], min_count: int, maximum: int) -> list[str]:
    """The entries with the largest counts; a lone surrogate cannot be written to a file and is left out."""
    frequent = [entry for entry, total in count.items() if total >= min_count and _writable(entry)]
    return sorted(frequent, key=lambda entry: (-count[entry], entry))[:maximum]


def _writable(text: str) -> bool:
    """Whether a text has no surrogate, so that it can be written as UTF-8."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def batches(texts: Iterable[str]) -> Iterable[list[str]]:
    """The texts in lists of at most `TEXTS`."""
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == TEXTS:
            yield batch
            batch = []
    if batch:
        yield batch


def _write_entries(path: Path, vocabulary: _Vocabulary) -> None:
    """Write the entries to a file, one per line; no word or trigram has a line break."""
    write_whole(path, "".join(f"{entry}\n" for entry in vocabulary.entries))


def _read_entries(path: Path) -> list[str]:
    """Read the entries from a file of `_write_entries`."""
    text = path.read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n") if text else []
