"""Which words or trigrams have a row of their own in a table, and which row.

Keys are found by open addressing in one array: a lookup is a few operations on the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from toolkit.encoder.tokens import LETTER_BITS, Tokens, spell_trigram, tokenize, trigrams, word_keys
from toolkit.shards import write_whole

UNKNOWN = "<unk>"  # row 0 of a table of words: every word without a row of its own
MIX = np.uint64(0xD6E8FEB86659FD93)  # ours: spreads keys over the slots
SLOTS_PER_KEY = 8  # ours: of a table of 30,000 keys 1 MB; nine lookups in ten are over at the first slot
TEXTS = 100_000  # ours: texts that are tokenized at a time


class Vocabulary:
    """The rows of a table: entry k, a word or a trigram, has row k.

    Attributes:
        entries: Distinct strings.
        keys: (entries,) uint64.
    """

    def __init__(self, entries: Sequence[str], key_of: Callable[[Sequence[str]], np.ndarray]) -> None:
        """Lay the keys out in slots.

        Args:
            entries: Distinct strings.
            key_of: Their keys, in order.

        Raises:
            ValueError: Two entries are the same, or have the same key.
        """
        self.entries = list(entries)
        self.keys = key_of(self.entries)
        distinct, first = np.unique(self.keys, return_index=True)
        if len(distinct) < len(self.keys):
            twice = set(range(len(self.keys))) - set(first.tolist())
            raise ValueError(f"wanted distinct entries of a vocabulary, got {self.entries[min(twice)]!r} twice")
        bits = max(4, (SLOTS_PER_KEY * len(self.entries)).bit_length())
        self.shift = np.uint64(64 - bits)
        self.rows = np.full(1 << bits, -1, np.int32)
        for row, slot in enumerate(self._slots(self.keys).tolist()):
            while self.rows[slot] >= 0:
                slot = (slot + 1) % len(self.rows)
            self.rows[slot] = row
        self.key_in = np.append(self.keys, np.uint64(0))[self.rows]  # an empty slot's row -1 is the last, a zero

    def __len__(self) -> int:
        return len(self.entries)

    def _slots(self, keys: np.ndarray) -> np.ndarray:
        return ((keys * MIX) >> self.shift).astype(np.int64)

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The rows of keys, -1 where there is none.

        Args:
            keys: Any uint64 numbers, (n,).

        Returns:
            (n,) int64.
        """
        slots = self._slots(keys)
        rows = self.rows[slots]
        again = np.flatnonzero((rows >= 0) & (self.key_in[slots] != keys))
        while len(again):
            slots[again] = (slots[again] + 1) % len(self.rows)
            rows[again] = self.rows[slots[again]]
            again = again[(rows[again] >= 0) & (self.key_in[slots[again]] != keys[again])]
        return rows.astype(np.int64)


def words(entries: Sequence[str]) -> Vocabulary:
    """A vocabulary of words. The first entry is that of all unknown words, whatever it is called.

    >>> words([UNKNOWN, "tom", "'s"]).find(word_keys(tokenize(["Tom's dog"]))).tolist()
    [1, 2, -1]
    """
    return Vocabulary(entries, keys_of_words)


def keys_of_words(entries: Sequence[str]) -> np.ndarray:
    """The keys of single words, (entries,) uint64, whatever letters they have."""
    lengths = np.array([len(entry) for entry in entries], np.int64)
    codes = np.frombuffer("".join(entries).encode("utf-32-le", "surrogatepass"), np.uint32)
    return word_keys(Tokens(codes, np.append(0, np.cumsum(lengths)), np.array([0, len(entries)])))


def character_trigrams(entries: Sequence[str]) -> Vocabulary:
    """A vocabulary of character trigrams."""
    return Vocabulary(entries, keys_of_trigrams)


def keys_of_trigrams(entries: Sequence[str]) -> np.ndarray:
    """The keys of trigrams, (entries,) uint64."""
    return np.array([sum(ord(c) << (LETTER_BITS * n) for n, c in enumerate(entry)) for entry in entries], np.uint64)


def count_words(texts: Iterable[str], min_count: int, most: int) -> list[str]:
    """The words that texts say often, most frequent first.

    Args:
        texts: Any number of texts.
        min_count: A word that stands there less often has no row.
        most: The largest number of words.

    Returns:
        Their spellings; words of equal count in order of spelling.
    """
    count: dict[int, int] = {}
    spelling: dict[int, str] = {}
    for batch in batches(texts):
        tokens = tokenize(batch)
        keys, first, found = np.unique(word_keys(tokens), return_index=True, return_counts=True)
        new = [n for n, key in enumerate(keys.tolist()) if key not in count]
        spelling.update(zip(keys[new].tolist(), spell_some(tokens, first[new]), strict=True))
        for key, times in zip(keys.tolist(), found.tolist(), strict=True):
            count[key] = count.get(key, 0) + times
    return most_frequent({spelling[key]: times for key, times in count.items()}, min_count, most)


def spell_some(tokens: Tokens, chosen: np.ndarray) -> list[str]:
    """The words at some places."""
    bounds = zip(tokens.starts[chosen].tolist(), tokens.starts[chosen + 1].tolist(), strict=True)
    return [tokens.codes[a:b].tobytes().decode("utf-32-le", "surrogatepass") for a, b in bounds]


def count_trigrams(texts: Iterable[str], min_count: int, most: int) -> list[str]:
    """The character trigrams that texts have often, most frequent first; as `count_words`."""
    count: dict[int, int] = {}
    for batch in batches(texts):
        keys, found = np.unique(trigrams(tokenize(batch))[0], return_counts=True)
        for key, times in zip(keys.tolist(), found.tolist(), strict=True):
            count[key] = count.get(key, 0) + times
    return most_frequent({spell_trigram(key): times for key, times in count.items()}, min_count, most)


def most_frequent(count: dict[str, int], min_count: int, most: int) -> list[str]:
    """The entries with the largest counts; a lone surrogate cannot be written to a file and is left out."""
    fit = [entry for entry, times in count.items() if times >= min_count and writable(entry)]
    return sorted(fit, key=lambda entry: (-count[entry], entry))[:most]


def writable(text: str) -> bool:
    """Whether a text has no half of a character."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def batches(texts: Iterable[str]) -> Iterable[list[str]]:
    """The texts, some at a time."""
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == TEXTS:
            yield batch
            batch = []
    if batch:
        yield batch


def write_entries(path: Path, vocabulary: Vocabulary) -> None:
    """Write the entries to a file, one a line; no word or trigram has a line break."""
    write_whole(path, "".join(f"{entry}\n" for entry in vocabulary.entries))


def read_entries(path: Path) -> list[str]:
    """Read what `write_entries` wrote."""
    text = path.read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n") if text else []
