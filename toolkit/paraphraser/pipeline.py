"""From texts to ranked paraphrases: the parts of ParaBank 2's pipeline, for one language and one model.

A row's source is its reference: the text. The model that generates candidates also scores them backward, as
p(text | candidate), unless another is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any

from toolkit.bitext.subwords import Pieces
from toolkit.bitext.words import WordPieces
from toolkit.chat.client import ChatClient
from toolkit.data.rows import Candidate, Row
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.constrain import constrain_rows
from toolkit.generate.language_model import Asking, ask_rows
from toolkit.generate.pivot import PivotDecoding, pivot_rows
from toolkit.generate.sample import sample_rows
from toolkit.models.language_model import LanguageModel
from toolkit.paraphraser.english import _refuse_no_words, correct_english, refuse_english
from toolkit.paraphraser.judged import Rewriter, _judged_rows, _outputs_of, _refuse_unlike, _Scorers
from toolkit.paraphraser.settings import MEANING, Paraphrasing
from toolkit.score.dual import dual_rows, forward_rows
from toolkit.score.guards import guard_rows
from toolkit.select.cluster import best_first, cluster_rows
from toolkit.select.filter import (
    by_forward,
    by_usable,
    refuse_dual,
    refuse_forward,
    refuse_improbable,
    refuse_repeats,
    refuse_unknown_words,
)
from toolkit.select.rank import rank_best_and_others, rank_rows
from toolkit.translator.load import Translator

if TYPE_CHECKING:
    from toolkit.score.semantic import Embedder

NUCLEUS_TOP_K = 50  # ours: of which `top_p` takes a share
Measure = Callable[[Iterable[Row]], Iterable[Row]]
LostReason = Callable[[str, str], str | None]
CLUSTERS = 7  # ParaBank 2 (Hu et al. 2019b), section 3.3; more where more paraphrases are wanted


def _paraphrase_rows(
    rows: Iterable[Row],
    model: Translator,
    backward: Translator,
    encoder: Embedder | None,
    settings: Paraphrasing,
    constraints: Mapping[str, ConstraintSet],
    lost_reason: LostReason,
    known_words: Set[str] = frozenset(),
    forward: Translator | None = None,
    pivot_lang: str = "",
    critic: LanguageModel | None = None,
    rewriters: Sequence[Rewriter] = (),
    measure: Measure | None = None,
) -> Iterator[Row]:
    """Give every row its candidates: chosen ones have a rank, refused ones a reason.

    Args:
        rows: Rows whose reference is the text, and whose source is what the model reads: the text, or a template before
            it. Afterwards the source is the text. All are held at a time.
        model: Paraphrases the rows' language.
        backward: Scores a text given a candidate, where the settings need that score.
        encoder: Gives the cosine; None leaves it out.
        settings: How.
        constraints: By id of a row, what its paraphrases must say and must not say.
        lost_reason: Why a text cannot be a paraphrase of the row with an id: it does not meet its constraints, or lacks
            what is kept.
        known_words: Candidates with other words are refused; if empty, nothing is.
        forward: Where given, a text is translated by it, and `model` translates back; a row's source is then its best
            translation.
        pivot_lang: The language that it writes (ISO 639-1).
        critic: Reads the text before each candidate, where candidates are judged.
        rewriters: Paraphrase the rows' language: their candidates join those of the translators, which are judged.
        measure: Fills the scores of meaning of what all else left, and refuses by them; None measures none.
    """
    if forward is not None:
        rows = pivot_rows(rows, forward, model, pivot_lang, _pivot_decoding(settings), constraints)
    else:
        rows = _without_templates(_generate(rows, model, settings, constraints))
    checks = partial(
        _check_candidates,
        lost_reason=lost_reason,
        known_words=known_words,
        pieces=model.target if forward else None,
        settings=settings,
    )
    rows = checks(rows)
    if settings.min_forward is not None:
        rows = refuse_forward(rows, settings.min_forward)
    if settings.judges:
        scorers = _Scorers(model, backward, encoder, critic)
        rows = _judged_rows(rows, scorers, settings, checks, constraints, rewriters)
        return _chosen_rows(rows, model.target, settings, measure)
    rows = _refuse_unlike(rows, model.target, encoder, settings)
    if settings.pool:
        rows = refuse_improbable(rows, settings.pool * settings.n)
    if settings.scores_backward:
        rows = dual_rows(rows, backward, settings.batch_sizes["batch_tokens"])
    if settings.max_dual_nll is not None:
        rows = refuse_dual(rows, settings.max_dual_nll)
    return _chosen_rows(rows, model.target, settings, measure)


def _prompted_rows(
    rows: Iterable[Row],
    model: LanguageModel | ChatClient,
    asking: Asking,
    scorer: Translator | None,
    encoder: Embedder | None,
    settings: Paraphrasing,
    lost_reason: LostReason,
    measure: Measure | None = None,
) -> Iterator[Row]:
    """Give every row the candidates that a language model writes: chosen ones have a rank, refused ones a reason.

    Args:
        rows: Rows whose source and reference are the text. All are held at a time.
        model: The language model.
        asking: What it is asked.
        scorer: A paraphraser that scores both directions; None leaves these scores out.
        encoder: Gives the cosine; None leaves it out.
        settings: How candidates are refused and ranked.
        lost_reason: See `_paraphrase_rows`.
        measure: See `_paraphrase_rows`.
    """
    rows = _check_candidates(ask_rows(rows, model, asking), lost_reason, frozenset(), None, settings)
    rows = _refuse_unlike(rows, WordPieces(), encoder, settings)
    if scorer is not None:
        rows = dual_rows(
            forward_rows(rows, scorer, settings.batch_sizes["batch_tokens"]),
            scorer,
            settings.batch_sizes["batch_tokens"],
        )
        if settings.min_forward is not None:
            rows = refuse_forward(rows, settings.min_forward)
        if settings.max_dual_nll is not None:
            rows = refuse_dual(rows, settings.max_dual_nll)
    return _chosen_rows(rows, WordPieces(), settings, measure)


def _refuse_lost(rows: Iterable[Row], lost_reason: LostReason) -> Iterator[Row]:
    """Refuse candidates that do not meet the constraints of their row, or lack what is kept of its text."""
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                candidate.reason = lost_reason(row.id, candidate.text)
        yield row


def reporting_stages(
    settings: Paraphrasing,
    forward: Translator | None,
    critic: LanguageModel | None,
    rewriters: Sequence[Rewriter],
    measures: int = 0,
) -> int:
    """How many stages of `_paraphrase_rows` report a text to the progress bar; the arguments are its own.

    Of two translators the first reports a text once, the other one each way back of each pivot. A judge reports its
    backward score, a language model when it has read the text and when it has read back, and a rewriter its outputs and
    their forward score. `measures` is the number of scores of meaning.
    """
    pivots, decoding = settings.pivots, _pivot_decoding(settings)
    sampled, greedy = bool(decoding.constraint_sets), min(decoding.greedy_pivots, pivots)
    back = pivots * (1 + sampled) + greedy if forward else 0
    if not settings.judges:
        return 1 + back + settings.scores_backward + measures
    return (
        2
        + back
        + measures
        + 2 * (critic is not None)
        + 2 * sum(_outputs_of(rewriter, settings) > 0 for rewriter in rewriters)
    )


def _check_candidates(
    rows: Iterable[Row],
    lost_reason: LostReason,
    known_words: Set[str],
    pieces: Pieces | None,
    settings: Paraphrasing,
) -> Iterator[Row]:
    """Refuse candidates by their text: by what they lack, as copies and repeats, by guards, and by what English adds.

    Args:
        rows: Rows with candidates.
        lost_reason: See `_paraphrase_rows`.
        known_words: Candidates with other words are refused; if empty, nothing is.
        pieces: Of a translator that may spell words which do not exist; None where the model has not.
        settings: Which guards, and whether a contraction is a paraphrase.
    """
    rows = refuse_repeats(_refuse_lost(correct_english(rows), lost_reason))
    rows = refuse_unknown_words(rows, known_words)
    rows = rows if pieces is None else _refuse_no_words(rows, pieces)
    return refuse_english(guard_rows(rows, settings.guards), settings.allow_trivial, forms=pieces is not None)


def _chosen_rows(
    rows: Iterable[Row], pieces: Pieces | WordPieces, settings: Paraphrasing, measure: Measure | None = None
) -> Iterator[Row]:
    """Rank the best candidates of each row that differ from each other in their pieces."""
    rows = measure(rows) if measure else rows
    order = ORDERS[settings.rank_by]
    rows = cluster_rows(rows, pieces, max(CLUSTERS, settings.n), order)
    if settings.rank_by == "usable":
        return rank_best_and_others(rows, settings.n, order)
    return rank_rows(rows, settings.n, order, fill=True)


def _generate(
    rows: Iterable[Row], model: Translator, settings: Paraphrasing, constraints: Mapping[str, ConstraintSet]
) -> Iterator[Row]:
    """Fill the candidates of each row: by constrained beam search where words are required, else by the method."""
    shard = list(rows)
    searches = {row.id: settings.searches or bool(constraints[row.id].positive) for row in shard}
    rows_to_search = [row for row in shard if searches[row.id]]
    rows_to_sample = [row for row in shard if not searches[row.id]]
    sampled_rows = _sampling(
        rows_to_sample, model, settings, {row.id: constraints[row.id].negative for row in rows_to_sample}
    )
    searched_rows = constrain_rows(
        rows_to_search,
        model,
        lambda row: [(None, constraints[row.id])],
        settings.beam,
        settings.batch_sizes["batch_rows"],
        "beam",
        n_best=settings.beam,
    )
    rows_by_id = {row.id: row for stage in (sampled_rows, searched_rows) for row in stage}
    yield from (rows_by_id[row.id] for row in shard)


def _pivot_decoding(settings: Paraphrasing) -> PivotDecoding:
    """How much is decoded by way of another language."""
    is_searched, is_sampled = settings.method != "sample", settings.method != "beam"
    return PivotDecoding(
        beam=settings.pivot_beam if is_searched else 1,
        greedy_pivots=settings.greedy_pivots if is_searched else 0,
        pivots=settings.pivots,
        constraint_sets=settings.constraint_sets if is_sampled else 0,
        top_k=settings.top_k,
        min_p=settings.min_p,
        batch_rows=settings.batch_sizes["batch_rows"],
        seed=settings.seed,
    )


def _without_templates(rows: Iterable[Row]) -> Iterator[Row]:
    """Make the text the source of each row, which the backward score is of."""
    for row in rows:
        row.source = row.reference
        yield row


def _sampling(
    rows: Sequence[Row], model: Translator, settings: Paraphrasing, avoid: Mapping[str, Sequence[str]]
) -> Iterator[Row]:
    """Fill the candidates of each row with samples, equally many by both methods."""
    free = settings.method == "top_p"
    sets, each = settings.constraint_sets, settings.samples_per_set
    return sample_rows(
        rows,
        model,
        1 if free else sets,
        sets * each if free else each,
        NUCLEUS_TOP_K if free else settings.top_k,
        0.0 if free else settings.constraint_rate,
        settings.batch_sizes["batch_rows"],
        settings.seed,
        0.0 if free else settings.min_p,
        "words",
        settings.top_p if free else 1.0,
        avoid,
    )


def _by_semantic(candidate: Candidate) -> tuple[float, str]:
    """The sort key of candidates: greater cosine first, then by text."""
    return -(candidate.scores.semantic or 0.0), candidate.text


def _by_draws(candidate: Candidate) -> int:
    """The sort key of candidates: those that were said more often first, then in their order."""
    return -candidate.draws


def _by_score(name: str) -> Callable[[Candidate], tuple[float, str]]:
    """The sort key of candidates by a score: greater first, those without it last, then by text."""

    def key(candidate: Candidate) -> tuple[float, str]:
        score = getattr(candidate.scores, name)
        return math.inf if score is None else -score, candidate.text

    return key


ORDERS: Mapping[str, Callable[[Candidate], Any]] = {
    "dual": best_first,
    "forward": by_forward,
    "semantic": _by_semantic,
    "usable": by_usable,
    "draws": _by_draws,
    **{name: _by_score(name) for name in MEANING},
}
