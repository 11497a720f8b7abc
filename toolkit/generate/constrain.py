"""The best translation of each row's source under each of its lexical constraint sets (ParaBank, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import lru_cache

import torch

from toolkit.bitext.subwords import Pieces
from toolkit.decode.beam import beam_search
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.decode.engine import engine_of
from toolkit.decode.hypotheses import Hypothesis
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.words import KnownWords, WordTable
from toolkit.generate.merge import longest, merge, too_long
from toolkit.progress import at_hand
from toolkit.rows import Candidate, Origin, Row
from toolkit.translator.load import Translator

Named = tuple[str | None, ConstraintSet]  # a recipe and one of the constraint sets that it gives


def constrain_rows(
    rows: Iterable[Row],
    translator: Translator,
    sets_of: Callable[[Row], Sequence[Named]],
    beam: int,
    batch_rows: int,
    method: str = "constrain",
    n_best: int = 1,
    known_words: Set[str] = frozenset(),
) -> Iterator[Row]:
    """Give every row the best translations under each of its constraint sets; equal texts of one row are one candidate.

    Equal sets of several recipes are decoded once. Every text is looked at again: an origin lists the constraints that
    it does not meet.

    Args:
        rows: Rows without candidates; all of a shard are held at a time. A row without a source is rewritten: the model
            reads its reference (section 6).
        translator: Source language to the references' language, or a monolingual model.
        sets_of: The constraint sets of a row, with the recipes that name them.
        beam: Hypotheses that a search follows at a time.
        batch_rows: How many hypotheses are decoded at a time; the searches of one row are never parted.
        method: What the candidates are said to be made by.
        n_best: Hypotheses kept of each search.
        known_words: Words that may be said, lower-cased, besides those of a row's source, reference and constraints;
            none, as in the papers, lets any be said.

    Yields:
        The rows in their order, `candidates` filled. Reasons are those of `merge`; a set with a required phrase that
        the vocabulary cannot spell gives a candidate without text, "constraint_unspellable"; one under which nothing
        was found "constraint_unmet"; a source that the model has no positions for "source_too_long".

    Source: ParaBank (Hu et al. 2019a), section 3.2.
    """
    shard, engine = list(rows), engine_of(translator.model)
    table = _word_table(translator.target, engine.device)
    known = _known(frozenset(known_words), engine.device) if known_words else None
    sources = translator.source.encode([row.reference if row.source is None else row.source for row in shard])
    order = sorted(range(len(shard)), key=lambda i: (len(sources[i]), i))
    for i in (i for i in order if len(sources[i]) > engine.limit):
        shard[i].candidates = [too_long(method, translator.signature)]
    named = {i: _by_set(sets_of(shard[i])) for i in order if len(sources[i]) <= engine.limit}
    for i in named:
        shard[i].candidates += _unspellable(named[i], translator, method)
    for batch in batches(
        [i for i in order if named.get(i)], {i: len(sets) for i, sets in named.items()}, beam, batch_rows
    ):
        with at_hand([shard[i] for i in batch]):
            sets = [one for i in batch for one in named[i]]
            own = [
                " ".join((shard[i].source or "", shard[i].reference, *one.positive)) for i in batch for one in named[i]
            ]
            lexical = LexicalConstraints.of(sets, table, translator.target.spell, known and known.with_own(own))
            room = _room(lexical, [len(named[i]) for i in batch])
            limits = [longest(len(sources[i])) + more for i, more in zip(batch, room, strict=True)]
            found = beam_search(
                engine, [sources[i] for i in batch], beam, limits, n_best, 1.0, lexical, [len(named[i]) for i in batch]
            )
            for i in batch:
                here, found = found[: len(named[i])], found[len(named[i]) :]
                shard[i].candidates = _candidates(named[i], here, translator, method) + shard[i].candidates
    yield from shard


@lru_cache(maxsize=2)
def _word_table(pieces: Pieces, device: torch.device) -> WordTable:
    """Made once for all shards: it reads the whole vocabulary."""
    return WordTable.of(pieces.surfaces(), pieces.eos, device)


@lru_cache(maxsize=2)
def _known(words: frozenset[str], device: torch.device) -> KnownWords:
    """Made once for all shards: it hashes every beginning of every word."""
    return KnownWords.of(words, device)


def batches(order: Sequence[int], searches: dict[int, int], beam: int, batch_rows: int) -> Iterator[list[int]]:
    """Rows in order, as many at a time as have searches for `batch_rows` hypotheses; at least one.

    >>> list(batches([4, 2, 7], {4: 2, 2: 1, 7: 3}, beam=4, batch_rows=12))
    [[4, 2], [7]]
    """
    batch: list[int] = []
    for row in order:
        if batch and (sum(searches[i] for i in batch) + searches[row]) * beam > batch_rows:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _by_set(named: Sequence[Named]) -> dict[ConstraintSet, list[str | None]]:
    """The recipes of each distinct set, in the order of the first."""
    found: dict[ConstraintSet, list[str | None]] = {}
    for recipe, one in named:
        found.setdefault(one, []).append(recipe)
    return found


def _unspellable(sets: dict[ConstraintSet, list[str | None]], translator: Translator, method: str) -> list[Candidate]:
    """Take out the sets that the vocabulary cannot spell, and say so in candidates without text."""
    bad = [one for one in sets if any(translator.target.spell(phrase) is None for phrase in one.positive)]
    return [
        Candidate(
            "", method, _origins(one, sets.pop(one), ""), 0, None, translator.signature, reason="constraint_unspellable"
        )
        for one in bad
    ]


def _room(lexical: LexicalConstraints | None, searches_each: Sequence[int]) -> list[int]:
    """More tokens of each row for what one of its searches must say, whatever rows it is decoded with."""
    if lexical is None:
        return [0] * len(searches_each)
    return [int(tokens.max()) for tokens in lexical.tokens.cpu().split(list(searches_each))]


def _origins(one: ConstraintSet, recipes: Sequence[str | None], text: str) -> list[Origin]:
    negative = [*one.negative, *(f"<BOS> {phrase}" for phrase in one.not_first)]
    return [Origin(recipe, list(one.positive), negative, one.unmet(text)) for recipe in recipes]


def _candidates(
    sets: dict[ConstraintSet, list[str | None]],
    found: Sequence[Sequence[Hypothesis]],
    translator: Translator,
    method: str,
) -> list[Candidate]:
    """What the searches of one row found, equal texts merged, and the searches that found nothing."""
    reached: list[tuple[Hypothesis, str, Origin]] = []
    missing: list[Origin] = []
    for (one, recipes), hypotheses in zip(sets.items(), found, strict=True):
        texts = translator.target.decode([hypothesis.ids for hypothesis in hypotheses])
        for hypothesis, text in zip(hypotheses, texts, strict=True):
            reached += [(hypothesis, text, origin) for origin in _origins(one, recipes, text)]
        missing += [] if hypotheses else _origins(one, recipes, "")
    candidates = merge(
        [h for h, _, _ in reached], [t for _, t, _ in reached], [o for _, _, o in reached], method, translator.signature
    )
    if missing:
        candidates.append(Candidate("", method, missing, 0, None, translator.signature, reason="constraint_unmet"))
    return candidates
