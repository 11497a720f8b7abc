"""Hard negatives of a parabank: near sentences that are no paraphrases, as triplets for any loss that takes them.

Two sentences that share a reference are of one set, and so are all that are linked by such sentences; a negative is
never of its anchor's set. The search is exact: a block of anchors is compared with all references. Vectors lie in a
temporary file, 4 bytes a dimension; the texts of the references, some 100 bytes for each of them and 16 bytes a pair
are in memory.

Source: the ceiling by the cosine of the positive is NV-Retriever's TopK-PercPos (Moreira et al. 2024, section 3.2).
"""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from toolkit.bitext.normalize import match_key
from toolkit.package import read as package
from toolkit.package.folder import language_of
from toolkit.paraphraser.english import contraction_key
from toolkit.score.entailment import NliModel, entailments, load_nli
from toolkit.score.guards import GUARDS, LANGUAGES, broken_guard
from toolkit.score.overlap import intersection_over_union
from toolkit.system.extras import require
from toolkit.system.whole_files import whole_file
from toolkit.train.hard_negatives_settings import NegativesSettings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TEXTS_AT_ONCE = 8192  # ours: texts that are encoded at once; longer ones are padded to
SPARE = 4  # ours: more near sentences that a model of entailment reads, because it refuses some
ANCHORS, CHUNK = 256, 1 << 16  # ours: their cosines take 64 MB
LOWEST = -2.0  # below every cosine
COLUMNS = ("anchor", "positive", "negative")
TRIPLETS = pa.schema([(name, pa.string()) for name in COLUMNS])
SCORED = TRIPLETS.append(pa.field("score", pa.float32()))


@dataclass(frozen=True)
class _References:
    """The distinct references of a parabank; references that differ only in case or punctuation are one.

    Attributes:
        texts: Each as it first occurs, N texts.
        sets: (N,) the number of each reference's set.
        order: (N,) the references sorted by their sets.
        starts: Where each set begins in `order`, with the end.
        numbers: The number of a reference by the hash of its match key.
    """

    texts: pa.LargeStringArray
    sets: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    numbers: dict[int, int]

    def number(self, text: str) -> int:
        """The number of a reference."""
        return self.numbers[hash(match_key(text))]

    def related(self, reference: int) -> np.ndarray:
        """The references of the set of a reference, itself included."""
        number = self.sets[reference]
        return self.order[self.starts[number] : self.starts[number + 1]]


@dataclass(frozen=True)
class Mined:
    """What was found.

    Attributes:
        pairs: The pairs that were read, without those whose sides are equal.
        references: The distinct references that were searched.
        triplets: The triplets that were written.
        without: The pairs that have fewer negatives than were wanted.
        refused: Near sentences that were passed over, by reason: "overlap"; "trivial", only contractions differ;
            "entailment"; and rows that the reader left out. Those that are nearer than the ceiling are not counted.
    """

    pairs: int
    references: int
    triplets: int
    without: int
    refused: dict[str, int]


def with_language(settings: NegativesSettings) -> NegativesSettings:
    """The settings with a language: the one given, else what the parabank states, else English.

    Raises:
        ValueError: The parabank states another language than the one given.
    """
    return replace(settings, lang=language_of(settings.parabank, settings.lang) or "en")


def mine_negatives(settings: NegativesSettings, encoder: SentenceTransformer, output: Path) -> Mined:
    """Write triplets of a parabank to a Parquet or JSONL file, whole or not at all.

    Args:
        settings: Those of the command; its `output` is not read. Without a language they get one (`with_language`).
        encoder: Its vectors say what is near.
        output: The file; its suffix is .parquet or .jsonl.

    Raises:
        ValueError: The parabank cannot be read or is in another language, or no pair has a negative.
        FileNotFoundError: The parabank does not exist.
        OSError: The disk is full.
    """
    settings, refused = with_language(settings), Counter[str]()
    references = _read_references(_pairs_of(settings, refused), settings.parabank)
    counts: Counter[str] = Counter()
    nli = None if settings.nli is None else load_nli(settings.nli, settings.device)
    with tempfile.TemporaryDirectory(dir=output.absolute().parent, prefix=".vectors-") as folder:
        vectors = _encode_to(Path(folder, "vectors.npy"), references.texts, encoder, settings.batch_size)
        with whole_file(output) as temporary:
            _write(temporary, output.suffix, _triplets(references, vectors, settings, encoder, nli, refused, counts))
            if not counts["triplets"]:
                reasons = ", ".join(f"{count} {reason}" for reason, count in refused.items()) or "no other reference"
                raise ValueError(
                    f"wanted negatives for {settings.parabank}, got none (near sentences passed over: {reasons}): "
                    "give more references, a smaller --relative_margin or more --neighbours"
                )
        del vectors
    return Mined(counts["pairs"], len(references.texts), counts["triplets"], counts["without"], dict(+refused))


def _pairs_of(settings: NegativesSettings, refused: Counter[str]) -> Iterator[list[tuple[str, str]]]:
    """The pairs of the parabank's training split whose sides differ and have letters, a few thousand at a time."""
    for table in package.read_pairs(settings.parabank, "train", refused):
        texts = zip(table["sentence1"].to_pylist(), table["sentence2"].to_pylist(), strict=True)
        yield [pair for pair in texts if len({match_key(text) for text in pair} - {""}) == 2]


def _read_references(batches: Iterable[list[tuple[str, str]]], source: str) -> _References:
    """Read the references, and find which sets they are of.

    Raises:
        ValueError: There are fewer than two references.
    """
    numbers: dict[int, int] = {}
    chunks, links = [pa.array([], pa.large_string())], [np.zeros((0, 2), np.int64)]
    for pairs in batches:
        hashes = [[hash(match_key(text)) for text in pair] for pair in pairs]
        texts: list[str] = []
        for (reference, _), (key, _) in zip(pairs, hashes, strict=True):
            if key not in numbers:
                numbers[key] = len(numbers)
                texts.append(reference)
        chunks.append(pa.array(texts, pa.large_string()))
        links.append(np.array(hashes, np.int64).reshape(-1, 2))
    if len(numbers) < 2:
        raise ValueError(f"wanted pairs of several references, got {len(numbers)} in {source}: give more")
    keys, ends = np.unique(np.concatenate(links), return_inverse=True)
    sets_of_keys = _connected(ends.reshape(-1, 2), len(keys))
    reference_keys = np.searchsorted(keys, np.fromiter(numbers, np.int64, len(numbers)))
    _, sets = np.unique(sets_of_keys[reference_keys], return_inverse=True)
    order = np.argsort(sets, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(sets)))
    return _References(pa.concat_arrays(chunks), sets, order, starts, numbers)


def _connected(links: np.ndarray, count: int) -> np.ndarray:
    """The number of the connected part that each of `count` nodes is in: (count,).

    >>> _connected(np.array([[0, 1], [3, 1]]), 5).tolist()
    [0, 0, 1, 0, 2]

    Args:
        links: (links, 2) of nodes that are linked.
        count: How many nodes there are.
    """
    matrix = require("scipy.sparse").coo_array((np.ones(len(links), bool), links.T), shape=(count, count))
    return require("scipy.sparse.csgraph").connected_components(matrix, directed=False)[1]


def _encode_to(path: Path, texts: pa.LargeStringArray, encoder: SentenceTransformer, batch_size: int) -> np.ndarray:
    """Encode texts into a file: (texts, dimensions), float32, each of length 1 or 0."""
    vectors: np.ndarray | None = None
    for begin in range(0, len(texts), TEXTS_AT_ONCE):
        batch = _encode(encoder, texts[begin : begin + TEXTS_AT_ONCE].to_pylist(), batch_size)
        if vectors is None:
            vectors = np.lib.format.open_memmap(path, "w+", np.float32, (len(texts), batch.shape[1]))
        vectors[begin : begin + len(batch)] = batch
    assert vectors is not None
    return vectors


def _encode(encoder: SentenceTransformer, texts: list[str], batch_size: int) -> np.ndarray:
    """The vectors of texts: (texts, dimensions), float32, each of length 1 or 0."""
    vectors = encoder.encode(texts, batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, np.float32)


def _triplets(
    references: _References,
    vectors: np.ndarray,
    settings: NegativesSettings,
    encoder: SentenceTransformer,
    nli: NliModel | None,
    refused: Counter[str],
    counts: Counter[str],
) -> Iterator[pa.Table]:
    """The triplets of all pairs, in their order, a batch of the parabank at a time; both counters are filled."""
    for pairs in _pairs_of(settings, Counter()):
        if not pairs:
            continue
        anchors = np.array([references.number(anchor) for anchor, _ in pairs])
        positives = _encode(encoder, [positive for _, positive in pairs], settings.batch_size)
        cosines = np.einsum("nd,nd->n", vectors[anchors], positives)
        ceilings = cosines - settings.relative_margin * np.abs(cosines)
        neighbours = _neighbours(references, vectors, anchors, ceilings, settings.skip + settings.neighbours)
        near_lists = []
        for pair, anchor, ceiling in zip(pairs, anchors.tolist(), ceilings, strict=True):
            near, near_cosines = neighbours[anchor]
            allowed = np.flatnonzero(near_cosines <= ceiling)[settings.skip :]
            near_texts = zip(references.texts.take(near[allowed]).to_pylist(), near_cosines[allowed], strict=True)
            near_lists.append(_negatives_of(pair[0], near_texts, settings, refused))
        if nli is not None:
            near_lists = _not_entailed(pairs, near_lists, nli, settings, refused)
        rows = []
        for pair, cosine, negatives in zip(pairs, cosines, near_lists, strict=True):
            first_negatives = negatives[: settings.negatives]
            rows += [(*pair, text, cosine - near_cosine) for text, near_cosine in first_negatives]
            counts["without"] += len(first_negatives) < settings.negatives
        counts["pairs"] += len(pairs)
        counts["triplets"] += len(rows)
        yield _table(rows, settings.scores)


def _negatives_of(
    anchor: str, near: Iterable[tuple[str, float]], settings: NegativesSettings, refused: Counter[str]
) -> list[tuple[str, float]]:
    """The first near sentences that are no paraphrases of an anchor, with their cosines; the others are counted.

    There are some more than are wanted where a model of entailment refuses some of them afterwards.
    """
    limit = settings.negatives + (SPARE if settings.nli else 0)
    negatives: list[tuple[str, float]] = []
    for text, cosine in near:
        reason = _refusal(anchor, text, settings)
        if reason:
            refused[reason] += 1
        else:
            negatives.append((text, cosine))
        if len(negatives) == limit:
            break
    return negatives


def _not_entailed(
    pairs: Sequence[tuple[str, str]],
    near_lists: Sequence[Sequence[tuple[str, float]]],
    nli: NliModel,
    settings: NegativesSettings,
    refused: Counter[str],
) -> list[list[tuple[str, float]]]:
    """The near sentences of each pair that a model of entailment does not take for paraphrases of its anchor."""
    anchors_and_texts = [
        (anchor, text) for (anchor, _), near in zip(pairs, near_lists, strict=True) for text, _ in near
    ]
    probabilities = iter(entailments(anchors_and_texts, nli, settings.batch_size))
    remaining = []
    for near in near_lists:
        both_ways = [next(probabilities) for _ in near]
        is_other = [
            entailed is not None and entails is not None and min(entailed, entails) <= settings.max_entailment
            for entailed, entails in both_ways
        ]
        refused["entailment"] += is_other.count(False)
        remaining.append([item for item, other in zip(near, is_other, strict=True) if other])
    return remaining


def _refusal(anchor: str, text: str, settings: NegativesSettings) -> str | None:
    """Why a near sentence may be a paraphrase of an anchor; None if it is a negative.

    A sentence that changes a number, a name, a negation or a person is none, however many words it shares.

    Args:
        anchor: A reference.
        text: Another.
        settings: Those with a language.
    """
    if settings.lang == "en" and contraction_key(anchor) == contraction_key(text):
        return "trivial"
    if settings.lang in LANGUAGES and broken_guard(anchor, text, settings.lang, GUARDS):
        return None
    return "overlap" if intersection_over_union(anchor, text) > settings.max_overlap else None


def _neighbours(
    references: _References, vectors: np.ndarray, anchors: np.ndarray, ceilings: np.ndarray, count: int
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """The nearest references of other sets below the highest ceiling of an anchor's pairs, from the nearest on.

    Args:
        references: All references.
        vectors: (references, dimensions), theirs.
        anchors: (pairs,) references; one may occur several times.
        ceilings: (pairs,) the greatest cosine of a negative of each pair.
        count: How many neighbours of each anchor, at most.

    Returns:
        By anchor, the neighbours and their cosines.
    """
    distinct, inverse = np.unique(anchors, return_inverse=True)
    highest = np.full(len(distinct), LOWEST, np.float32)
    np.maximum.at(highest, inverse, ceilings.astype(np.float32))
    neighbours = {}
    for begin in range(0, len(distinct), ANCHORS):
        block = distinct[begin : begin + ANCHORS]
        ceiling = torch.from_numpy(highest[begin : begin + ANCHORS, None])
        numbers, cosines = _search(references, vectors, block, ceiling, count)
        for anchor, anchor_numbers, anchor_cosines in zip(block.tolist(), numbers, cosines, strict=True):
            is_near = anchor_cosines > LOWEST
            neighbours[anchor] = anchor_numbers[is_near], anchor_cosines[is_near]
    return neighbours


def _search(
    references: _References, vectors: np.ndarray, block: np.ndarray, ceiling: torch.Tensor, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest references of other sets of a block of anchors, chunk by chunk.

    Args:
        references: All references.
        vectors: (references, dimensions), theirs.
        block: (anchors,) references.
        ceiling: (anchors, 1), the greatest cosine.
        count: How many of each anchor, at most.

    Returns:
        (anchors, at most `count`) references and their cosines, from the nearest on; `LOWEST` where there are fewer.
    """
    queries = torch.from_numpy(vectors[block])
    related = [references.related(anchor) for anchor in block.tolist()]
    rows = np.repeat(np.arange(len(block)), [len(members) for members in related])
    columns = np.concatenate(related)
    best_cosines = torch.full((len(block), 0), LOWEST)
    best_numbers = torch.zeros((len(block), 0), dtype=torch.long)
    for begin in range(0, len(vectors), CHUNK):
        chunk = torch.from_numpy(vectors[begin : begin + CHUNK])
        cosines = queries @ chunk.T
        is_here = (columns >= begin) & (columns < begin + len(chunk))
        cosines[torch.from_numpy(rows[is_here]), torch.from_numpy(columns[is_here] - begin)] = LOWEST
        cosines.masked_fill_(cosines > ceiling, LOWEST)
        chunk_best, positions = cosines.topk(min(count, len(chunk)), 1)
        all_cosines = torch.cat([best_cosines, chunk_best], 1)
        best_cosines, places = all_cosines.topk(min(count, all_cosines.shape[1]), 1)
        best_numbers = torch.cat([best_numbers, positions + begin], 1).gather(1, places)
    return best_numbers.numpy(), best_cosines.numpy()


def _table(rows: Sequence[tuple[str, str, str, float]], with_scores: bool) -> pa.Table:
    """Triplets as a table, with the column of scores where it is wanted."""
    schema = SCORED if with_scores else TRIPLETS
    columns: list[Sequence] = list(zip(*rows, strict=True)) or [()] * len(SCORED)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=False)], schema)


def _write(path: Path, suffix: str, tables: Iterator[pa.Table]) -> None:
    """Write tables to a file in the form of a suffix, .parquet or .jsonl."""
    first = next(tables)
    if suffix == ".parquet":
        with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)
        return
    import json

    with path.open("w", encoding="utf-8") as file:
        for table in itertools.chain([first], tables):
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in table.to_pylist())


def public_record(settings: NegativesSettings, mined: Mined) -> dict:
    """The settings and the counts for a record, with only the names of local files."""
    record = asdict(settings)
    for name in ("parabank", "encoder"):
        record[name] = Path(record[name]).name if Path(record[name]).exists() else record[name]
    record.pop("output")
    return {"settings": record, **asdict(mined)}
