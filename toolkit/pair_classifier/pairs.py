"""Training pairs for paraphrase identification, from a parabank: paraphrases, and similar sentences that are not.

Every distinct sentence s gives (s, s', 1) and (s, n, 0): s' is drawn among those that the parabank pairs it with, and n
is its nearest neighbour among all sentences that share no reference with it. If a parabank has the same meaning under
two references, some neighbours are paraphrases; `max_cosine` leaves out the nearest of them.

Source: ParaBank 2 (Hu et al. 2019b), section 3.8.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from toolkit.pair_classifier._neighbours import nearest
from toolkit.score.overlap import without_punctuation

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class LabelledPair(NamedTuple):
    """Two sentences with a label, 1 for paraphrases and 0 for others; for a scored task, their similarity."""

    sentence1: str
    sentence2: str
    label: float


@dataclass(frozen=True)
class _Sentences:
    """The distinct sentences of a parabank; sentences that differ only in case or punctuation are one.

    Attributes:
        texts: Each sentence as it first occurs in the parabank.
        partners: For each sentence the indices of those that a row pairs it with.
        related: For each sentence the indices of those that share a reference with it, itself included.
    """

    texts: list[str]
    partners: list[list[int]]
    related: list[list[int]]


def _sentences_of(rows: Iterable[Mapping[str, str]]) -> _Sentences:
    """The distinct sentences of rows, and which are paired or share a reference.

    >>> rows = [{"id": "a", "sentence1": "I go.", "sentence2": text} for text in ("I leave.", "i go!", "I'm off.")]
    >>> sentences = _sentences_of(rows)
    >>> sentences.texts, sentences.partners, sentences.related
    (['I go.', 'I leave.', "I'm off."], [[1, 2], [0], [0]], [[0, 1, 2], [0, 1, 2], [0, 1, 2]])

    Args:
        rows: Records with `id`, of the reference, `sentence1` and `sentence2`, as `toolkit.package.read` gives them.
    """
    numbers: dict[str, int] = {}
    texts: list[str] = []
    partners: list[dict[int, None]] = []
    groups: dict[str, dict[int, None]] = {}
    for row in rows:
        pair = []
        for text in (row["sentence1"], row["sentence2"]):
            number = numbers.setdefault(without_punctuation(text), len(texts))
            if number == len(texts):
                texts.append(text)
                partners.append({})
            pair.append(number)
            groups.setdefault(row["id"], {})[number] = None
        first, second = pair
        if first != second:
            partners[first][second] = partners[second][first] = None
    related: list[set[int]] = [{number} for number in range(len(texts))]
    for group in groups.values():
        for number in group:
            related[number].update(group)
    return _Sentences(texts, [list(p) for p in partners], [sorted(r) for r in related])


def identification_pairs(
    rows: Iterable[Mapping[str, str]],
    encoder: SentenceTransformer,
    limit: int | None = None,
    max_cosine: float = 1.0,
    batch_size: int = 64,
    seed: int = 0,
) -> list[LabelledPair]:
    """Training pairs for a binary classifier, as many paraphrases as others.

    Args:
        rows: Records with `id`, of the reference, `sentence1` and `sentence2`, as `toolkit.package.read` gives them.
        encoder: Sentence encoder that defines the nearest neighbours.
        limit: The most pairs, half of them with label 1; neighbours are still searched among all sentences.
        max_cosine: Neighbours with a greater cosine are skipped; 1 is as in the paper.
        batch_size: Sentences that are encoded at once.
        seed: Seed of the choice of sentences and of their paraphrases.

    Returns:
        (s, s', 1) and (s, n, 0) in turn, each s once. A sentence without a permitted neighbour has neither.

    Raises:
        ValueError: No row has two different sentences; all rows are of one reference.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.8.
    """
    sentences, rng = _sentences_of(rows), random.Random(seed)
    anchors = [number for number, partners in enumerate(sentences.partners) if partners]
    if not anchors:
        raise ValueError("wanted pairs of two different sentences, got none: give a parabank with paraphrases")
    rng.shuffle(anchors)
    sampled_anchors = anchors[: None if limit is None else limit // 2]
    pairs = []
    for anchor, neighbour in _nearest_neighbours(sentences, sampled_anchors, encoder, max_cosine, batch_size).items():
        paraphrase = rng.choice(sentences.partners[anchor])
        pairs.append(LabelledPair(sentences.texts[anchor], sentences.texts[paraphrase], 1))
        pairs.append(LabelledPair(sentences.texts[anchor], sentences.texts[neighbour], 0))
    if not pairs:
        raise ValueError(
            f"wanted sentences of different references, got {len(sentences.texts)} without a permitted neighbour: "
            "give a parabank of more references, or raise max_cosine or limit"
        )
    return pairs


def _nearest_neighbours(
    sentences: _Sentences,
    anchors: list[int],
    encoder: SentenceTransformer,
    max_cosine: float,
    batch_size: int,
) -> dict[int, int]:
    """The nearest permitted neighbour of each anchor that has one, in the order of the anchors."""
    vectors = encoder.encode(
        sentences.texts,
        batch_size=batch_size,
        normalize_embeddings=True,
        convert_to_tensor=True,
        show_progress_bar=False,
    ).float()
    related = [sentences.related[anchor] for anchor in anchors]
    neighbours, _ = nearest(vectors, anchors, related, max_cosine)
    return {anchor: neighbour for anchor, neighbour in zip(anchors, neighbours, strict=True) if neighbour >= 0}
