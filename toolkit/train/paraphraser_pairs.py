"""The pairs that a paraphraser is trained on: what is read, what is said, and what a pair counts."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import overload

import pyarrow as pa

from toolkit.bitext.languages import SAMPLE
from toolkit.bitext.normalize import match_key
from toolkit.bitext.split import split_of
from toolkit.clean.contamination import search_for
from toolkit.clean.evaluation_sets import read_sets
from toolkit.clean.script import check_script
from toolkit.data.rows import Candidate, Row
from toolkit.package.folder import language_of
from toolkit.package.read import is_plain, read_references, understood_columns
from toolkit.paraphraser.settings import ParaphraserTraining
from toolkit.train._examples import table_of

VALIDATION_SHARE = 0.01  # ours: of the references of a file, which has no splits
ENOUGH = 50  # ours: held-out references; with fewer, iBLEU says little
TENTH = 10  # ours: of small data, one reference in so many is held out until there are `ENOUGH`
COLUMNS = pa.schema({"text": pa.large_string(), "output": pa.large_string(), "weight": pa.float64()})


@dataclass(frozen=True)
class _TrainingPair:
    """One pair.

    Attributes:
        text: What the model reads.
        output: What it should say.
        weight: What the pair counts, > 0.
    """

    text: str
    output: str
    weight: float


class _PairTable(Sequence[_TrainingPair]):
    """Pairs as columns of Arrow: a pair as Python objects takes several times the memory of its text.

    Args:
        pairs: The pairs, which are read once.
    """

    def __init__(self, pairs: Iterable[_TrainingPair]) -> None:
        self.table = table_of(
            pairs, lambda chunk: [[getattr(pair, name) for pair in chunk] for name in COLUMNS.names], COLUMNS
        )

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[_TrainingPair]:
        for batch in self.table.to_batches():
            yield from map(_TrainingPair, *(column.to_pylist() for column in batch.columns))

    @overload
    def __getitem__(self, index: int) -> _TrainingPair: ...

    @overload
    def __getitem__(self, index: slice) -> list[_TrainingPair]: ...

    def __getitem__(self, index: int | slice) -> _TrainingPair | list[_TrainingPair]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        return _TrainingPair(*(column[index].as_py() for column in self.table.columns))


@dataclass(frozen=True)
class _TrainingText:
    """All that a paraphraser is trained on.

    Attributes:
        pairs: The pairs to train on.
        held_out: For each of at most `held_out` held-out references its pairs.
        refused: How many pairs were left out, by reason.
        contamination: The evaluation sets that were searched, as contamination.json has them.
        columns: What was understood of the columns of each source that is a file.
    """

    pairs: _PairTable
    held_out: list[list[_TrainingPair]]
    refused: Counter[str]
    contamination: list[dict]
    columns: list[str] = field(default_factory=list)


def read_training(settings: ParaphraserTraining) -> _TrainingText:
    """Read all pairs, and those that are held out, reference by reference.

    Pairs with a sentence of a held-out reference or of its paraphrases are not trained on, whatever source they are
    from: the reason "held_out". Held-out references beyond `held_out` are left out of both, and so are the pairs with a
    text of an evaluation set.

    Raises:
        ValueError: A source cannot be read, or there is no pair to train on, or none is held out.
        FileNotFoundError: A source does not exist.
    """
    refused: Counter[str] = Counter()
    _check_language_of_pairs(settings)
    held_out = _held_out_pairs(settings)
    held_out_keys = {match_key(text) for pairs in held_out for pair in pairs for text in (pair.text, pair.output)}
    pairs = _PairTable(_other_pairs(held_out_keys, settings, refused))
    search = search_for(read_sets(settings.decontaminate))
    evaluation_texts = search.found_among(text for pair in chain(pairs, *held_out) for text in (pair.text, pair.output))
    clean_pairs = _PairTable(_exclude_texts(pairs, evaluation_texts)) if evaluation_texts else pairs
    refused["contaminated"] += len(pairs) - len(clean_pairs)
    pairs = clean_pairs
    held_out = list(filter(None, (list(_exclude_texts(group, evaluation_texts)) for group in held_out)))
    sources = ", ".join(settings.pairs)
    if not pairs:
        reasons = ", ".join(f"{count} {reason}" for reason, count in refused.items() if count) or "no other pair"
        raise ValueError(f"wanted pairs to train on, got none in {sources} (refused: {reasons})")
    if settings.held_out and not held_out:
        raise ValueError(
            f"wanted references to hold out, got none in {settings.validation or sources}: give two references or "
            "more, --validation FILE, or --held_out 0"
        )
    return _TrainingText(
        pairs, held_out, +refused, search.record("texts"), understood_columns(settings.pairs, settings.min_score)
    )


def _check_language_of_pairs(settings: ParaphraserTraining) -> None:
    """Refuse parabanks that state another language than that of the settings, and pairs in another script than its.

    Raises:
        ValueError: There is one.
    """
    for source in settings.pairs:
        language_of(source, settings.lang)
        first_rows = islice(_read_rows(source, "train", settings), SAMPLE)
        check_script((row.reference for row in first_rows), settings.lang, f"give --lang, the language of {source}")


def _other_pairs(
    held_out_keys: Set[str], settings: ParaphraserTraining, refused: Counter[str]
) -> Iterator[_TrainingPair]:
    """The pairs of the training splits of all sources without those of a held-out text, which are refused."""
    for source in settings.pairs:
        for row in _read_rows(source, "train", settings, refused):
            for pair in _pairs_of(row, settings, refused):
                if held_out_keys.isdisjoint((match_key(pair.text), match_key(pair.output))):
                    yield pair
                else:
                    refused["held_out"] += 1


def _exclude_texts(pairs: Iterable[_TrainingPair], texts: Set[str]) -> Iterator[_TrainingPair]:
    """The pairs without any of some texts."""
    return (pair for pair in pairs if texts.isdisjoint((pair.text, pair.output)))


def _held_out_pairs(settings: ParaphraserTraining) -> list[list[_TrainingPair]]:
    """The pairs of each held-out reference, a random sample of the references of all sources."""
    if not settings.held_out:
        return []
    if settings.validation:
        pair_groups = _usable(read_references(settings.validation, min_score=settings.min_score), settings)
    else:
        pair_groups = _all_source_pairs("validation", settings)
        pair_groups += _fill_up(len(pair_groups), settings)
    return random.Random(settings.seed).sample(pair_groups, min(settings.held_out, len(pair_groups)))


def _fill_up(count: int, settings: ParaphraserTraining) -> list[list[_TrainingPair]]:
    """The pairs of references that small data holds out of its training pairs: a tenth of all references, or one.

    Args:
        count: How many references are held out anyway.
        settings: Those of the training.
    """
    minimum = min(ENOUGH, settings.held_out)
    if count >= minimum:
        return []
    pair_groups = _all_source_pairs("train", settings)
    sample_size = min(minimum, max(1, (count + len(pair_groups)) // TENTH)) - count
    return random.Random(settings.seed).sample(pair_groups, sample_size) if 0 < sample_size < len(pair_groups) else []


def _all_source_pairs(split: str, settings: ParaphraserTraining) -> list[list[_TrainingPair]]:
    """The pairs of each reference of one split of all sources."""
    return [pairs for source in settings.pairs for pairs in _usable(_read_rows(source, split, settings), settings)]


def _usable(rows: Iterable[Row], settings: ParaphraserTraining) -> list[list[_TrainingPair]]:
    """The pairs of each reference, without references that have none."""
    return [pairs for row in rows if (pairs := list(_pairs_of(row, settings, Counter())))]


def _validation_share(settings: ParaphraserTraining) -> float:
    """The share of a file's references that are held out."""
    return VALIDATION_SHARE if settings.held_out and not settings.validation else 0.0


def _read_rows(
    source: str, split: str, settings: ParaphraserTraining, refused: Counter[str] | None = None
) -> Iterator[Row]:
    """The references of one split of a source; of a file, which has none, a share is the validation split."""
    if not is_plain(source):
        return read_references(source, split)
    share, rows = _validation_share(settings), read_references(source, None, refused, settings.min_score)
    return (row for row in rows if split_of(row.reference, share, 0.0) == split)


def _pairs_of(row: Row, settings: ParaphraserTraining, refused: Counter[str]) -> Iterator[_TrainingPair]:
    """The pairs of a reference in the directions of the settings; equal texts and bad scores are refused."""
    key = match_key(row.reference)
    for rank, candidate in enumerate(row.candidates[: settings.most_ranks or None]):
        if match_key(candidate.text) in (key, ""):
            refused["equal"] += 1
            continue
        dual = candidate.scores.dual
        if settings.max_dual_nll is not None and dual is not None and -dual > settings.max_dual_nll:
            refused["dual"] += 1
            continue
        weight = _pair_weight(candidate, rank, settings.weight)
        if settings.direction in ("from_reference", "both"):
            yield _TrainingPair(row.reference, candidate.text, weight)
        if settings.direction in ("to_reference", "both"):
            yield _TrainingPair(candidate.text, row.reference, weight)


def _pair_weight(candidate: Candidate, rank: int, kind: str) -> float:
    """What a pair counts.

    >>> _pair_weight(Candidate("Hi!", "sample"), 1, "rank")
    0.5

    Args:
        candidate: The paraphrase.
        rank: 0 for the best of its reference.
        kind: "equal"; "rank", 1 / (rank + 1); or "dual", the geometric mean of both models' probability of a token.

    Raises:
        ValueError: There is no dual score to weigh by.
    """
    if kind == "equal":
        return 1.0
    if kind == "rank":
        return 1 / (rank + 1)
    if candidate.scores.dual is None:
        raise ValueError(
            "wanted pairs with a dual score for --weight dual, got one without: give --weight rank or equal"
        )
    return math.exp(candidate.scores.dual / 2)


def _inputs_and_references(held_out: Sequence[Sequence[_TrainingPair]]) -> tuple[list[str], list[list[str]]]:
    """The distinct inputs of held-out pairs, and the outputs of each."""
    outputs: dict[str, list[str]] = {}
    for pairs in held_out:
        for pair in pairs:
            outputs.setdefault(pair.text, []).append(pair.output)
    return list(outputs), list(outputs.values())
