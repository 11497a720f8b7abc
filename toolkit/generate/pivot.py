"""Paraphrases by way of another language: each text is translated, and its translations are translated back.

The best translations of a text, its pivots, are found by beam search. From each pivot candidates are decoded back in
three ways, because translators are sharp and no single way finds all: by beam search; by greedy search with one word of
the text forbidden, for each of its words (the negative constraints of ParaBank); and by samples with random words
forbidden (ParaBank 2). Afterwards the source of a row is its best pivot: `toolkit.score.dual` then measures how
probable the candidate makes the text's own translation.

Source: Mallinson et al. 2017, "Paraphrasing Revisited with Neural Machine Translation" (several pivots); ParaBank 2 (Hu
et al. 2019b), section 2.1, for the constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolkit.bitext.words import plain_word_spans
from toolkit.data.rows import Candidate, Row
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.constrain import NamedSet, constrain_rows
from toolkit.generate.sample import sample_rows
from toolkit.generate.translate import translate_rows
from toolkit.translator.load import Translator

METHOD = "pivot"


@dataclass(frozen=True)
class PivotDecoding:
    """How much is decoded for a text.

    Attributes:
        pivots: Translations of a text, the best of a beam.
        beam: Hypotheses of the searches there and back.
        greedy_pivots: For so many of the pivots each word of the text is forbidden in turn; 0 for none.
        constraint_sets: Random sets of forbidden words, for each pivot; 0 draws no samples.
        samples_per_set: Samples under each set.
        constraint_rate: The probability with which a word of the text is in a set.
        top_k: Tokens that a sample draws from.
        min_p: Tokens below this share of the most probable one's probability are not drawn.
        batch_rows: Rows of the decoder at a time.
        seed: Of the forbidden words and the samples.
    """

    pivots: int = 3
    beam: int = 6
    greedy_pivots: int = 2
    constraint_sets: int = 4
    samples_per_set: int = 4
    constraint_rate: float = 0.2
    top_k: int = 10
    min_p: float = 0.1
    batch_rows: int = 2400
    seed: int = 0


def pivot_rows(
    rows: Iterable[Row],
    forward: Translator,
    backward: Translator,
    pivot_lang: str,
    settings: PivotDecoding,
    constraints: Mapping[str, ConstraintSet],
) -> Iterator[Row]:
    """Give every row its candidates, and its best pivot as its source.

    Args:
        rows: Rows without candidates, whose references are paraphrased; all are held at a time.
        forward: From the rows' language to the pivot language.
        backward: Back.
        pivot_lang: The pivot language (ISO 639-1).
        settings: How much is decoded.
        constraints: By id of a row, what its candidates must say and must not say; a row that is not there is free.

    Yields:
        The rows in their order. A candidate's forward score is log p(candidate | pivot) of the pivot that makes it the
        most probable; its origins name the pivots by number ("pivot-0"). Reasons are those of `constrain_rows`. A row
        that cannot be translated has a candidate without text, with the reason.
    """
    shard = list(rows)
    translations = _find_pivots(shard, forward, settings)
    pivots = {
        row_id: [c.text for c in row_candidates if c.reason is None] for row_id, row_candidates in translations.items()
    }
    backward_rows = [
        replace(row, id=f"{row.id}/{n}", source=pivot, source_lang=pivot_lang, candidates=[])
        for row in shard
        for n, pivot in enumerate(pivots[row.id])
    ]
    candidates: dict[str, list[Candidate]] = {
        row_id: [] if pivots[row_id] else [replace(c, text="") for c in row_candidates]
        for row_id, row_candidates in translations.items()
    }
    sets = {row.id: constraints.get(row.id, ConstraintSet()) for row in shard}
    for row in _translate_back(backward_rows, backward, settings, sets):
        row_id, _, number = row.id.rpartition("/")
        for candidate in row.candidates:
            candidate.method, candidate.generator = METHOD, f"{forward.signature}>{backward.signature}"
            candidate.origins = [replace(origin, recipe=f"pivot-{number}") for origin in candidate.origins]
        candidates[row_id] += row.candidates
    for row in shard:
        row.source, row.source_lang = next(iter(pivots[row.id]), row.reference), pivot_lang
        row.candidates = _merge_equal(candidates[row.id])
        yield row


def _find_pivots(rows: Sequence[Row], forward: Translator, settings: PivotDecoding) -> dict[str, list[Candidate]]:
    """The best translations of each row's reference, best first, by the row's id; those with a reason are no pivots."""
    sources = [replace(row, source=row.reference, candidates=[]) for row in rows]
    beam = max(settings.beam, settings.pivots)
    translated = translate_rows(sources, forward, beam, settings.batch_rows, settings.pivots)
    return {row.id: row.candidates for row in translated}


def _translate_back(
    rows: Sequence[Row], backward: Translator, settings: PivotDecoding, constraints: Mapping[str, ConstraintSet]
) -> Iterator[Row]:
    """Fill the candidates of rows whose sources are pivots; by beam search alone where words are required.

    Args:
        rows: Rows whose ids are those of `constraints` with "/" and the number of the pivot behind.
        backward: Into the language of the references.
        settings: How much is decoded.
        constraints: By id of the row without the number.
    """

    def row_constraints(row: Row) -> ConstraintSet:
        return constraints[row.id.rpartition("/")[0]]

    def list_word_sets(row: Row) -> Sequence[NamedSet]:
        number = int(row.id.rpartition("/")[2])
        return (
            [(None, constraint_set) for constraint_set in _forbid_each_word(row.reference, row_constraints(row))]
            if number < settings.greedy_pivots
            else ()
        )

    free_rows = [row for row in rows if not row_constraints(row).positive]
    searched_rows = constrain_rows(
        [replace(row, candidates=[]) for row in rows],
        backward,
        lambda row: [(None, row_constraints(row))],
        settings.beam,
        settings.batch_rows,
        n_best=settings.beam,
    )
    yield from searched_rows
    yield from constrain_rows(
        [replace(row, candidates=[]) for row in free_rows], backward, list_word_sets, 1, settings.batch_rows
    )
    if not settings.constraint_sets:
        return
    yield from sample_rows(
        [replace(row, candidates=[]) for row in free_rows],
        backward,
        settings.constraint_sets,
        settings.samples_per_set,
        settings.top_k,
        settings.constraint_rate,
        settings.batch_rows,
        settings.seed,
        settings.min_p,
        "words",
        1.0,
        {row.id: row_constraints(row).negative for row in free_rows},
    )


def _forbid_each_word(text: str, constraints: ConstraintSet) -> list[ConstraintSet]:
    """The constraints with one more word forbidden, for each word of a text that is no name and no number.

    >>> [constraint_set.negative for constraint_set in _forbid_each_word("We met Tom at home.", ConstraintSet())]
    [('met',), ('at',), ('home',)]
    """
    words = dict.fromkeys(text[begin:end] for begin, end in plain_word_spans(text))
    return [
        replace(constraints, negative=(*constraints.negative, word))
        for word in words
        if word not in constraints.negative
    ]


def _merge_equal(candidates: Iterable[Candidate]) -> list[Candidate]:
    """One candidate for all of the same text: that with the greatest forward score per token, with all origins."""
    by_text: dict[str, Candidate] = {}
    for candidate in candidates:
        earlier = by_text.setdefault(candidate.text, candidate)
        if earlier is candidate:
            continue
        best = max(earlier, candidate, key=_forward)
        by_text[candidate.text] = replace(
            best, origins=earlier.origins + candidate.origins, draws=earlier.draws + candidate.draws
        )
    return list(by_text.values())


def _forward(candidate: Candidate) -> tuple[bool, float]:
    """The sort key of equal candidates: those that are not refused first, then by forward score per token."""
    score = candidate.scores.translation_score
    return candidate.reason is None, float("-inf") if score is None else score
