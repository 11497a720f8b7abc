"""Find texts that are in evaluation sets: equal ones, and those that contain nearly all of an evaluation text.

Both are compared by their letters and digits in lower case (`toolkit.bitext.normalize.match_key`). A text contains an
evaluation text if it has nearly all of its character n-grams. An inverse index from n-grams to evaluation texts finds
which are to be compared, so that a text without such n-grams costs one look-up for each of its characters. n-grams that
are in very many evaluation texts are counted, but they alone do not say which of these to compare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
import pyarrow as pa

from toolkit.clean.match_keys import match_keys
from toolkit.clean.normal_form import _NormalForm, normal
from toolkit.clean.texts import Texts, ranges

NGRAM = 8  # ours: characters of an n-gram
CONTAINED = 0.8  # ours: the least share of the n-grams of an evaluation text that a text has which contains it
LEAST_NGRAMS = 12  # ours: evaluation texts with fewer are only compared as a whole: "i don't know" is in everything
BLOCK = 100_000  # ours: texts that are looked up at a time
COMMON = 1000  # ours: an n-gram of more evaluation texts than this does not say which of them to compare
EXACT, CONTAINS = "equal", "contains"  # how a text is in an evaluation set
MULTIPLIER, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True)
class EvaluationSet:
    """The texts of an evaluation set.

    Attributes:
        name: Its name, for the record.
        revision: What tells its content from that of another revision: a hash of its file, or that of a data set.
        texts: As they were read; several may be equal.
    """

    name: str
    revision: str
    texts: Sequence[str]


@dataclass(frozen=True)
class _Index:
    """Evaluation texts, to be looked up.

    Attributes:
        sets: Where they are from.
        exact: By match key the number of the first set that has the text.
        set_of: The number of the set of each text that is long enough to be contained: (E,).
        sizes: The number of its distinct n-grams: (E,).
        grams: The hashes of their n-grams, ascending, each as often as there are texts with it: (G,) of uint64.
        owners: The texts that have them: (G,).
    """

    sets: Sequence[EvaluationSet]
    exact: dict[str, int]
    set_of: np.ndarray
    sizes: np.ndarray
    grams: np.ndarray
    owners: np.ndarray


def _index_of(sets: Sequence[EvaluationSet], forms: Collection[_NormalForm] = ()) -> _Index:
    """The index of evaluation sets, of their texts as they are and in normal forms."""
    exact: dict[str, int] = {}
    for number, evaluation_set in enumerate(sets):
        texts = [*evaluation_set.texts, *(normal(text, form) for form in forms for text in evaluation_set.texts)]
        for key in filter(None, match_keys(pa.array(texts, pa.large_string())).to_pylist()):
            exact.setdefault(key, number)
    keys = [key for key in exact if len(key) >= NGRAM + LEAST_NGRAMS - 1]
    hashes, offsets = _key_ngrams(keys)
    owners = np.repeat(np.arange(len(keys)), np.diff(offsets))
    distinct = np.unique(np.stack([owners.astype(np.uint64), hashes]), axis=1)
    owners, hashes = distinct[0].astype(np.int64), distinct[1]
    order = np.argsort(hashes, kind="stable")
    sizes = np.bincount(owners, minlength=len(keys))
    return _Index(sets, exact, np.array([exact[key] for key in keys], np.int64), sizes, hashes[order], owners[order])


def _key_ngrams(keys: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of the n-grams of match keys; a key that is shorter than an n-gram has none.

    Returns:
        The hashes of all keys, one after another, as uint64, and where each key begins and the last ends: (N + 1,).
    """
    texts = Texts.of(keys)
    points = texts.points.astype(np.uint64)
    hashes = np.zeros(max(0, len(points) - NGRAM + 1), np.uint64)
    for n in range(NGRAM):
        hashes = hashes * MULTIPLIER + points[n : n + len(hashes)]
    counts = np.maximum(texts.lengths - NGRAM + 1, 0)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    hashes = hashes[ranges(texts.bounds[::2], counts)]
    return (hashes ^ (hashes >> np.uint64(31))) * MIXER, offsets


def _found_in(index: _Index, texts: pa.Array) -> list[tuple[int, str] | None]:
    """Where each text is in the evaluation sets.

    >>> index = _index_of([EvaluationSet("demo", "1", ["The cat sat on the mat, and the dog barked at it."])])
    >>> say = ["the cat sat on the mat and the dog barked at it", "He said: the cat sat on the mat, and the dog barked"]
    >>> _found_in(index, pa.array([*say, "The cat sat on a chair."]))
    [(0, 'equal'), (0, 'contains'), None]

    Args:
        index: The evaluation sets.
        texts: (N,) of strings.

    Returns:
        For each text the number of the first set that has it, and whether it is equal or contains one; None if it is in
        none.
    """
    keys = match_keys(texts).to_pylist()
    matches = [None if (number := index.exact.get(key)) is None else (number, EXACT) for key in keys]
    for number, text in _find_contained(index, keys):
        if matches[number] is None:
            matches[number] = int(index.set_of[text]), CONTAINS
    return matches


def _find_contained(index: _Index, keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Which keys contain which evaluation texts.

    Args:
        index: The evaluation sets.
        keys: Match keys.

    Yields:
        The number of a key, and that of an evaluation text which it contains; the texts of a key in order.
    """
    hashes, offsets = _key_ngrams(keys)
    if not len(index.grams):
        return
    begins = np.searchsorted(index.grams, hashes)
    known = np.flatnonzero(index.grams[np.minimum(begins, len(index.grams) - 1)] == hashes)
    gram_keys = np.repeat(np.arange(len(keys)), np.diff(offsets))
    key_gram_codes = np.unique(gram_keys[known] * len(index.grams) + begins[known])  # each n-gram of a key once
    gram_keys, begins = np.divmod(key_gram_codes, len(index.grams))
    counts = np.searchsorted(index.grams, index.grams[begins], "right") - begins
    rare = counts <= COMMON
    positions = ranges(begins[rare], counts[rare])
    pair_codes = np.repeat(gram_keys[rare], counts[rare]) * len(index.sizes) + index.owners[positions]
    distinct, shared_counts = np.unique(pair_codes, return_counts=True)
    numbers, texts = np.divmod(distinct, max(1, len(index.sizes)))
    if not rare.all():
        common = gram_keys[~rare], begins[~rare], counts[~rare]
        shared_counts += _count_common_grams(index, *common, numbers, texts)
    enough = shared_counts >= CONTAINED * index.sizes[texts]
    order = np.lexsort((index.set_of[texts[enough]], numbers[enough]))
    yield from zip(numbers[enough][order].tolist(), texts[enough][order].tolist(), strict=True)


def _count_common_grams(
    index: _Index, gram_keys: np.ndarray, begins: np.ndarray, counts: np.ndarray, numbers: np.ndarray, texts: np.ndarray
) -> np.ndarray:
    """How many common n-grams some keys share with some evaluation texts.

    Args:
        index: The evaluation sets.
        gram_keys: The key of each common n-gram, ascending: (M,).
        begins: Where its texts begin in the index: (M,).
        counts: How many texts it has: (M,).
        numbers: Keys to compare: (P,).
        texts: The evaluation texts to compare them with: (P,).

    Returns:
        (P,) of int64.
    """
    first, last = (np.searchsorted(gram_keys, numbers, side) for side in ("left", "right"))
    pair_numbers = np.repeat(np.arange(len(numbers)), last - first)
    pair_grams = begins[ranges(first, last - first)]
    distinct, first_positions = np.unique(begins, return_index=True)
    text_counts = counts[first_positions]
    # the texts of an n-gram are in order, and so are these numbers, one for each n-gram and text that has it
    entries = np.repeat(distinct, text_counts) * len(index.sizes) + index.owners[ranges(distinct, text_counts)]
    queries = pair_grams * len(index.sizes) + texts[pair_numbers]
    is_shared = entries[np.minimum(np.searchsorted(entries, queries), len(entries) - 1)] == queries
    return np.bincount(pair_numbers[is_shared], minlength=len(numbers))


@dataclass(frozen=True)
class Search:
    """A search for evaluation sets in records of some texts, with its counts.

    Attributes:
        index: The evaluation sets.
        counts: How many records were found, by the number of the set and by how.
    """

    index: _Index
    counts: Counter[tuple[int, str]]

    def found(self, *columns: pa.Array | pa.ChunkedArray) -> np.ndarray:
        """Which records have a text of an evaluation set in one of their columns; each is counted once.

        Args:
            columns: The texts of N records, (N,) each.

        Returns:
            (N,) of bool.
        """
        if not self.index.exact:
            return np.zeros(len(columns[0]), bool)
        texts = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns]
        by_column = zip(*(_found_in(self.index, column) for column in texts), strict=True)
        first_matches = [next((match for match in record if match), None) for record in by_column]
        self.counts.update(match for match in first_matches if match)
        return np.array([match is not None for match in first_matches], bool)

    def found_among(self, texts: Iterable[str]) -> frozenset[str]:
        """The texts that are in an evaluation set; each distinct one is looked up and counted once."""
        distinct = list(dict.fromkeys(texts)) if self.index.exact else []
        contaminated_texts: set[str] = set()
        for start in range(0, len(distinct), BLOCK):
            batch = distinct[start : start + BLOCK]
            contaminated_texts.update(compress(batch, self.found(pa.array(batch, pa.large_string()))))
        return frozenset(contaminated_texts)

    def record(self, unit: str) -> list[dict]:
        """What contamination.json says: a record for each set.

        Args:
            unit: What was counted, such as "lines".
        """
        rule = (
            f"equal letters and digits, or {CONTAINED:.0%} of the {NGRAM}-grams of a text with at least {LEAST_NGRAMS}"
        )
        return [
            {
                "set": evaluation_set.name,
                "revision": evaluation_set.revision,
                "texts": len(evaluation_set.texts),
                "rule": rule,
                f"{unit} equal": self.counts[number, EXACT],
                f"{unit} that contain one": self.counts[number, CONTAINS],
            }
            for number, evaluation_set in enumerate(self.index.sets)
        ]


def search_for(sets: Sequence[EvaluationSet], forms: Collection[_NormalForm] = ()) -> Search:
    """A search for evaluation sets.

    Args:
        sets: The evaluation sets.
        forms: The normal forms of the texts that will be searched; texts of the sets are looked for in each of these,
            too.
    """
    return Search(_index_of(sets, forms), Counter())
