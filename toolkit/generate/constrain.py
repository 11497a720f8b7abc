"""The best translation of each row's source under each of its lexical constraint sets (ParaBank, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache

import torch

from toolkit.bitext.subwords import Pieces
from toolkit.data.progress import at_hand
from toolkit.data.rows import Candidate, Origin, Row
from toolkit.decode.beam import beam_search
from toolkit.decode.choose_engine import engine_of
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.hypotheses import Hypothesis
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.words import KnownWords, WordTable
from toolkit.generate.merge import _merge, _rows_at_once, _source_too_long, max_output_tokens
from toolkit.system.memory import in_halves, releasing
from toolkit.translator.load import Translator

NamedSet = tuple[str | None, ConstraintSet]  # the name of a recipe, and one of the constraint sets that it gives
VOCABULARIES = 8  # ours: of two translators and rewriters beside them, whose tables stay in memory
RecipesOfSets = dict[ConstraintSet, list[str | None]]  # the recipes that give each distinct set


def constrain_rows(
    rows: Iterable[Row],
    translator: Translator,
    list_sets: Callable[[Row], Sequence[NamedSet]],
    beam: int,
    batch_rows: int,
    method: str = "constrain",
    n_best: int = 1,
    known_words: Set[str] = frozenset(),
) -> Iterator[Row]:
    """Give every row the best translations under each of its constraint sets; equal texts of one row are one candidate.

    A set that several recipes give is decoded once. Every decoded text is checked: its origin lists the constraints
    that it does not meet.

    Args:
        rows: Rows without candidates; all of a shard are held at a time. Of a row without a source the model reads the
            reference (rewriting, section 6).
        translator: Source language to the references' language, or a monolingual model.
        list_sets: The constraint sets of a row, with the recipes that name them.
        beam: Hypotheses that a search follows at a time.
        batch_rows: How many hypotheses are decoded at a time; the searches of one row stay in one batch.
        method: The `method` of the candidates.
        n_best: Hypotheses kept of each search.
        known_words: Words that may be said, lower-cased, besides those of a row's source, reference and constraints.
            If there are none, as in the papers, any word may be said.

    Yields:
        The rows in their order, `candidates` filled. Reasons are those of `_merge`, and three of candidates without
        text: "constraint_unspellable" for a set with a required phrase that the vocabulary cannot spell,
        "constraint_unmet" for a set under which nothing was found, and "source_too_long" for a source with more tokens
        than the model has positions.

    Source: ParaBank (Hu et al. 2019a), section 3.2.
    """
    shard, engine = list(rows), engine_of(translator.model)
    table = _word_table(translator.target, engine.device)
    known_word_hashes = _known_words(frozenset(known_words), engine.device) if known_words else None
    sources = translator.source.encode([row.reference if row.source is None else row.source for row in shard])
    order = sorted(range(len(shard)), key=lambda i: (len(sources[i]), i))
    for i in (i for i in order if len(sources[i]) > engine.limit):
        shard[i].candidates = [_source_too_long(method, translator.signature)]
    row_sets = {i: _recipes_of_sets(list_sets(shard[i])) for i in order if len(sources[i]) <= engine.limit}
    for i in row_sets:
        shard[i].candidates += _pop_unspellable(row_sets[i], translator, method)
    hypothesis_counts = {i: len(sets) * beam for i, sets in row_sets.items()}
    tokens = [len(ids) for ids in sources]

    def decode(batch: Sequence[int]) -> None:
        sets, search_counts = (
            [constraint_set for i in batch for constraint_set in row_sets[i]],
            [len(row_sets[i]) for i in batch],
        )
        known_texts = [
            " ".join((shard[i].source or "", shard[i].reference, *constraint_set.positive))
            for i in batch
            for constraint_set in row_sets[i]
        ]
        constraints = LexicalConstraints.of(
            sets, table, translator.target.spell, known_word_hashes and known_word_hashes.with_own(known_texts)
        )
        extra_tokens = _required_tokens(constraints, search_counts)
        limits = [max_output_tokens(len(sources[i])) + extra for i, extra in zip(batch, extra_tokens, strict=True)]
        hypotheses = beam_search(
            engine, [sources[i] for i in batch], beam, limits, n_best, 1.0, constraints, search_counts
        )
        for i in batch:
            row_hypotheses, hypotheses = hypotheses[: len(row_sets[i])], hypotheses[len(row_sets[i]) :]
            shard[i].candidates = _candidates(row_sets[i], row_hypotheses, translator, method) + shard[i].candidates

    for batch in releasing(_batches([i for i in order if row_sets.get(i)], tokens, hypothesis_counts, batch_rows)):
        with at_hand([shard[i] for i in batch]):
            in_halves(batch, decode)
    yield from shard


@lru_cache(maxsize=VOCABULARIES)
def _word_table(pieces: Pieces, device: torch.device) -> WordTable:
    """The table of a vocabulary, made once for all shards."""
    return WordTable.of(pieces.surfaces(), pieces.eos, device)


@lru_cache(maxsize=2)
def _known_words(words: frozenset[str], device: torch.device) -> KnownWords:
    """The known words with the hashes of all their beginnings, made once for all shards."""
    return KnownWords.of(words, device)


def _batches(
    order: Sequence[int], tokens: Sequence[int], hypotheses: Mapping[int, int], batch_rows: int
) -> Iterator[list[int]]:
    """Cut rows into batches whose searches follow at most `batch_rows` hypotheses; a batch has at least one row.

    Batches of long sentences have fewer (`_rows_at_once`).

    >>> list(_batches([1, 0, 2], [3, 2, 4], {0: 4, 1: 8, 2: 12}, batch_rows=12))
    [[1, 0], [2]]

    Args:
        order: Numbers of the rows, short sources first.
        tokens: Of the source of each row, EOS counted.
        hypotheses: Of each row: those of all its searches.
        batch_rows: Most hypotheses of a batch of several rows.
    """
    batch: list[int] = []
    for row in order:
        if batch and sum(hypotheses[i] for i in batch) + hypotheses[row] > _rows_at_once(batch_rows, tokens[row]):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _recipes_of_sets(named_sets: Sequence[NamedSet]) -> RecipesOfSets:
    """The recipes that give each distinct set; sets in the order in which they first come."""
    recipes_by_set: RecipesOfSets = {}
    for recipe, constraint_set in named_sets:
        recipes_by_set.setdefault(constraint_set, []).append(recipe)
    return recipes_by_set


def _pop_unspellable(sets: RecipesOfSets, translator: Translator, method: str) -> list[Candidate]:
    """Remove the sets that the vocabulary cannot spell, and return a candidate without text in place of each."""
    unspellable = [
        constraint_set
        for constraint_set in sets
        if any(translator.target.spell(phrase) is None for phrase in constraint_set.positive)
    ]
    return [
        Candidate(
            "",
            method,
            _origins(constraint_set, sets.pop(constraint_set), ""),
            0,
            None,
            translator.signature,
            reason="constraint_unspellable",
        )
        for constraint_set in unspellable
    ]


def _required_tokens(constraints: LexicalConstraints | None, search_counts: Sequence[int]) -> list[int]:
    """The most constraint tokens of any search of each row, by which the row's limit of tokens is raised."""
    if constraints is None:
        return [0] * len(search_counts)
    return [int(tokens.max()) for tokens in constraints.tokens.cpu().split(list(search_counts))]


def _origins(constraint_set: ConstraintSet, recipes: Sequence[str | None], text: str) -> list[Origin]:
    """How a text was reached under a set, an origin for each recipe, with the constraints that it does not meet."""
    negative = [*constraint_set.negative, *(f"<BOS> {phrase}" for phrase in constraint_set.not_first)]
    return [Origin(recipe, list(constraint_set.positive), negative, constraint_set.unmet(text)) for recipe in recipes]


def _candidates(
    sets: RecipesOfSets,
    hypotheses_by_set: Sequence[Sequence[Hypothesis]],
    translator: Translator,
    method: str,
) -> list[Candidate]:
    """The candidates of one row: those its searches found, equal texts merged, and one for all that found nothing."""
    outputs: list[tuple[Hypothesis, str, Origin]] = []
    unmet_origins: list[Origin] = []
    for (constraint_set, recipes), hypotheses in zip(sets.items(), hypotheses_by_set, strict=True):
        texts = translator.target.decode([hypothesis.ids for hypothesis in hypotheses])
        for hypothesis, text in zip(hypotheses, texts, strict=True):
            outputs += [(hypothesis, text, origin) for origin in _origins(constraint_set, recipes, text)]
        unmet_origins += [] if hypotheses else _origins(constraint_set, recipes, "")
    candidates = _merge(
        [hypothesis for hypothesis, _, _ in outputs],
        [text for _, text, _ in outputs],
        [origin for _, _, origin in outputs],
        method,
        translator.signature,
        translator.target.unk,
    )
    if unmet_origins:
        candidates.append(
            Candidate("", method, unmet_origins, 0, None, translator.signature, reason="constraint_unmet")
        )
    return candidates
