"""Training pairs: each distinct text gets a number, and its words and trigrams are looked up in the tables once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from toolkit.bitext.words import token_count
from toolkit.clean.contamination import EvaluationSet, search_for
from toolkit.encoder.network import ParaphrasticNetwork
from toolkit.encoder.tokens import tokenize
from toolkit.encoder.vocabulary import batches
from toolkit.package import read as package
from toolkit.package.read import is_plain, understood_columns
from toolkit.system.errors import check_several

Ragged = tuple[np.ndarray, np.ndarray]  # table rows of all texts, and the offset of each text in them, with the end


class TextPair(NamedTuple):
    """Two sentences of the same meaning, the reference that they come from, and hard negatives of the first."""

    reference: str
    anchor: str
    positive: str
    negatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pairs:
    """Pairs as numbers of texts.

    Attributes:
        texts: The distinct texts.
        anchor: (pairs,) int64, the index in `texts` of each pair's first text.
        positive: (pairs,) int64, the index in `texts` of its paraphrase.
        reference: (pairs,) int64, the number of its reference; pairs of one reference are not negatives of each other.
        refused: The number of pairs that were left out, by reason.
        contamination: The evaluation sets that were searched, as contamination.json has them.
        columns: What was understood of the columns of each source that is a file.
        negatives: The hard negatives of all pairs, one pair after another, as indices in `texts`, and where those of
            each pair begin, with the end; None where no pair has one.
    """

    texts: list[str]
    anchor: np.ndarray
    positive: np.ndarray
    reference: np.ndarray
    refused: Counter[str]
    contamination: list[dict]
    columns: list[str] = field(default_factory=list)
    negatives: Ragged | None = None

    def __len__(self) -> int:
        return len(self.anchor)

    def negatives_of(self, pairs: Sequence[int] | np.ndarray, turn: int) -> np.ndarray:
        """A hard negative of each of some pairs, another one at every turn, as indices in `texts`; -1 without one."""
        if self.negatives is None:
            return np.full(len(pairs), -1)
        pairs, (numbers, offsets) = np.asarray(pairs), self.negatives
        counts = offsets[pairs + 1] - offsets[pairs]
        positions = offsets[pairs] + turn % np.maximum(counts, 1)
        return np.where(counts > 0, np.append(numbers, -1)[positions], -1)


def _training_pairs(
    sources: Sequence[str], max_tokens: int, sets: Sequence[EvaluationSet], min_score: float | None = None
) -> Pairs:
    """The pairs to train on; the arguments and errors are those of `read_pairs` and `number_pairs`."""
    refused: Counter[str] = Counter()
    pairs = number_pairs(read_pairs(sources, refused=refused, min_score=min_score), max_tokens, sets)
    return replace(pairs, refused=refused + pairs.refused, columns=understood_columns(sources, min_score))


def read_pairs(
    sources: Sequence[str],
    split: str = "train",
    refused: Counter[str] | None = None,
    min_score: float | None = None,
) -> Iterator[TextPair]:
    r"""Read the pairs of parabanks and files.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "demo.tsv")
    >>> _ = path.write_text("Hello!\tHi!\nThanks.\tThank you.\n")
    >>> [pair.positive for pair in read_pairs([str(path)])]
    ['Hi!', 'Thank you.']

    Args:
        sources: `toolkit.package.read.FORMS`. Pairs with the same first sentence have the same reference, also across
            sources; in a file with the column or key `id`, pairs with the same id have the same reference.
        split: The split of a parabank to read; a file is read completely.
        refused: Counts the pairs of files that are left out because of their label or human score.
        min_score: The least human score of a paraphrase; None refuses files with such scores.

    Raises:
        ValueError: A source has another form, is damaged or has no pair; the message names the source and the line.
        FileNotFoundError: A source does not exist.
    """
    check_several(sources, "a list of parabanks and files")
    for source in sources:
        count, reference = 0, "id" if is_plain(source) else "sentence1"
        for table in package.read_pairs(source, split, refused, min_score, negatives=True):
            count += len(table)
            columns = (table[name].to_pylist() for name in (reference, "sentence1", "sentence2"))
            yield from map(TextPair, *columns, (tuple(texts or ()) for texts in table["negatives"].to_pylist()))
        if not count:
            raise ValueError(f"wanted pairs in {source}, got none: give a parabank with paraphrases")


def number_pairs(pairs: Iterable[TextPair], max_tokens: int, sets: Sequence[EvaluationSet] = ()) -> Pairs:
    """Number texts and references, and leave out pairs that are of no use in training, or must not be trained on.

    Args:
        pairs: The pairs, from `read_pairs`.
        max_tokens: A pair is left out if one of its sentences has more tokens (`toolkit.bitext.words.tokens`).
        sets: A pair is left out if one of its sentences is in one of these evaluation sets.

    Raises:
        ValueError: No pair is left.
    """
    refused: Counter[str] = Counter()
    texts: dict[str, int] = {}
    references: dict[str, int] = {}
    triples: list[tuple[int, int, int]] = []
    negatives: list[int] = []
    owners: list[int] = []  # of each negative the place of its pair in `triples`
    for pair in pairs:
        if pair.anchor == pair.positive:
            refused["equal"] += 1
            continue
        anchor_number, positive_number = (texts.setdefault(text, len(texts)) for text in (pair.anchor, pair.positive))
        owners += [len(triples)] * len(pair.negatives)
        negatives += [texts.setdefault(text, len(texts)) for text in pair.negatives]
        triples.append((anchor_number, positive_number, references.setdefault(pair.reference, len(references))))
    numbers = np.array(triples, np.int64).reshape(-1, 3)
    all_texts = list(texts)
    lengths = np.array([token_count(text) for text in all_texts], np.int64)
    search = search_for(sets)
    evaluation_texts = search.found_among(all_texts)
    is_long, is_empty = lengths > max_tokens, lengths == 0
    in_sets = np.array([text in evaluation_texts for text in all_texts], bool)
    is_used = np.ones(len(numbers), bool)
    for reason, mask in ((f"over {max_tokens} tokens", is_long), ("empty", is_empty), ("contaminated", in_sets)):
        has_reason = mask[numbers[:, 0]] | mask[numbers[:, 1]]
        # a pair that is too long and empty counts for both
        refused[reason] = int((has_reason & (is_used if reason == "contaminated" else True)).sum())
        is_used &= ~has_reason
    negative_numbers, negative_owners = np.array(negatives, np.int64), np.array(owners, np.int64)
    is_known = _are_paraphrases(numbers, negative_numbers, negative_owners, len(all_texts))
    is_useless = is_known | (is_long | is_empty | in_sets)[negative_numbers]
    refused["negatives of no use"] = int((is_useless & is_used[negative_owners]).sum())
    is_kept = ~is_useless & is_used[negative_owners]
    counts = np.bincount(negative_owners[is_kept], minlength=len(numbers))[is_used]
    negative_numbers, numbers = negative_numbers[is_kept], numbers[is_used]
    if not len(numbers):
        reasons = ", ".join(f"{count} {reason}" for reason, count in refused.items() if count) or "no pair at all"
        raise ValueError(f"wanted pairs of different texts of 1 to {max_tokens} tokens, got none ({reasons})")
    # texts of refused pairs do not enter the vocabulary
    used_numbers = np.concatenate([numbers[:, :2].ravel(), negative_numbers])
    text_numbers, positions = np.unique(used_numbers, return_inverse=True)
    anchor, positive = positions[: 2 * len(numbers)].reshape(-1, 2).T.copy()
    return Pairs(
        [all_texts[n] for n in text_numbers.tolist()],
        anchor,
        positive,
        numbers[:, 2].copy(),
        +refused,
        search.record("texts"),
        negatives=(positions[2 * len(numbers) :], np.append(0, np.cumsum(counts))) if len(negative_numbers) else None,
    )


def _are_paraphrases(numbers: np.ndarray, negatives: np.ndarray, owners: np.ndarray, texts: int) -> np.ndarray:
    """Whether negatives are texts of the reference of their own pair: (negatives,) of bool.

    >>> _are_paraphrases(np.array([[0, 1, 0], [0, 2, 0]]), np.array([2, 3]), np.array([0, 0]), 4).tolist()
    [True, False]

    Args:
        numbers: (pairs, 3), the texts and the reference of each pair.
        negatives: (negatives,) texts.
        owners: (negatives,) the pair of each.
        texts: How many texts there are.
    """
    known = numbers[:, 2:] * texts + numbers[:, :2]
    return np.isin(numbers[owners, 2] * texts + negatives, known)


def prepare_texts(texts: Sequence[str], encoder: ParaphrasticNetwork) -> dict[str, Ragged]:
    """The table rows of the words or trigrams of all texts, for each kind of table; 4 bytes for each."""
    parts: dict[str, list[Ragged]] = {}
    for batch in batches(texts):
        ids = encoder.ids_of(tokenize(batch, encoder.architecture.chinese))
        for kind in encoder.vocabularies:
            rows = ids[f"{kind}_ids"].astype(np.int32), np.diff(ids[f"{kind}_offsets"])
            parts.setdefault(kind, []).append(rows)
    arrays_by_kind = {
        kind: [np.concatenate(arrays) for arrays in zip(*kind_parts, strict=True)] for kind, kind_parts in parts.items()
    }
    return {kind: (rows, np.append(0, np.cumsum(lengths))) for kind, (rows, lengths) in arrays_by_kind.items()}


def _take(ragged: Ragged, indices: np.ndarray) -> Ragged:
    """The table rows of the chosen texts, concatenated, and their offsets.

    >>> rows, offsets = _take((np.array([5, 6, 7, 8]), np.array([0, 1, 1, 4])), np.array([2, 0, 2]))
    >>> rows.tolist(), offsets.tolist()
    ([6, 7, 8, 5, 6, 7, 8], [0, 3, 4, 7])
    """
    rows, offsets = ragged
    lengths = offsets[indices + 1] - offsets[indices]
    ends = np.append(0, np.cumsum(lengths))
    return rows[np.repeat(offsets[indices] - ends[:-1], lengths) + np.arange(ends[-1])], ends


def _transposed(rows: np.ndarray, offsets: np.ndarray, count: int) -> Ragged:
    """The inverse index: for every row of a table, the texts that read it, repeated as often as they do.

    >>> texts, offsets = _transposed(np.array([1, 0, 1]), np.array([0, 2, 3]), 2)
    >>> texts.tolist(), offsets.tolist()
    ([0, 0, 1], [0, 1, 3])

    Args:
        rows: The table rows of all texts, below `count`.
        offsets: The offset of each text in `rows`, with the end.
        count: The number of rows of the table.
    """
    sortable = rows.astype(np.uint16) if count <= 1 << 16 else rows  # numpy sorts uint16 by radix sort
    text = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    ends = np.append(0, np.cumsum(np.bincount(rows, minlength=count)))
    return text[np.argsort(sortable, kind="stable")], ends


def _scramble(ragged: Ragged, text_mask: np.ndarray, rng: np.random.Generator) -> Ragged:
    """Shuffle the words of some texts.

    Args:
        ragged: The table rows of all texts.
        text_mask: (texts,) bool, whether a text is shuffled.
        rng: The random generator.

    Source: Wieting & Gimpel 2017, as ParaNMT-50M (sections 4 and 5.2) uses it.
    """
    rows, offsets = ragged
    lengths = np.diff(offsets)
    positions = np.arange(len(rows), dtype=np.float64)
    text = np.repeat(np.arange(len(lengths)), lengths)
    word_mask = np.repeat(text_mask, lengths)
    positions[word_mask] = offsets[text[word_mask]] + rng.random(np.count_nonzero(word_mask)) * lengths[text[word_mask]]
    return rows[np.lexsort((positions, text))], offsets
