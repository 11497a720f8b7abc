"""The candidates of English texts, judged by how probably they are usable.

Paraphrasers of the language itself add candidates to those of two translators. Scores that cost little choose which
candidates a language model reads, and what it says of them chooses those that it reads back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolkit.bitext.normalize import match_key
from toolkit.bitext.subwords import Pieces
from toolkit.bitext.words import WordPieces
from toolkit.data.rows import Candidate, Row, Scores
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.constrain import constrain_rows
from toolkit.generate.continuations import continued_rows
from toolkit.models.language_model import LanguageModel
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.score.critic import judge_by_reading
from toolkit.score.dual import dual_rows, forward_rows
from toolkit.score.edit_ratio import edit_rows
from toolkit.score.judge import WITHOUT_CRITIC, judge_rows, read_judge
from toolkit.score.overlap import overlap_rows
from toolkit.score.semantic import semantic_rows
from toolkit.select.filter import (
    by_usable,
    refuse_dual,
    refuse_forward,
    refuse_improbable,
    refuse_overlap,
    refuse_semantic,
    refuse_usable,
    refuse_worst,
)
from toolkit.translator.load import Translator

if TYPE_CHECKING:
    from toolkit.score.semantic import Embedder

BATCH_TEXTS = 64  # ours: texts that are encoded at a time
READ_BACK = 4  # ours: one in so many of the candidates that a language model reads is read back
Rewriter = Translator | LanguageModel
Checks = Callable[[Iterable[Row]], Iterable[Row]]


@dataclass(frozen=True)
class _Scorers:
    """The models that score candidates.

    Attributes:
        forward: Scores a candidate given its source.
        backward: Scores the source given a candidate.
        encoder: Gives the cosine.
        critic: A language model that reads the text first; None judges without.
    """

    forward: Translator
    backward: Translator
    encoder: Embedder | None
    critic: LanguageModel | None


def _judged_rows(
    rows: Iterable[Row],
    scorers: _Scorers,
    settings: Paraphrasing,
    checks: Checks,
    constraints: Mapping[str, ConstraintSet],
    rewriters: Sequence[Rewriter] = (),
) -> Iterator[Row]:
    """Add the candidates of other paraphrasers, and fill `usable` of all that are worth it.

    Args:
        rows: English rows whose candidates have forward scores, checked already; all are held at a time.
        scorers: The models.
        settings: How many are scored, and the least probability.
        checks: Refuses candidates by their text: of those that are added here.
        constraints: By id of a row, what those must say and must not say.
        rewriters: Paraphrasers of the rows' language, whose candidates join those of the rows.
    """
    shard = list(rows)
    limit = settings.pool * settings.n
    for rewriter in (rewriter for rewriter in rewriters if _outputs_of(rewriter, settings)):
        candidates = _rewrites(shard, rewriter, settings, constraints)
        _extend(shard, _new_rows(shard, candidates, constraints, scorers, settings, checks))
    scored = _judged(refuse_improbable(shard, 2 * limit) if limit else shard, scorers, settings, limit)
    yield from scored if settings.min_usable is None else refuse_usable(scored, settings.min_usable)


def _judged(rows: Iterable[Row], scorers: _Scorers, settings: Paraphrasing, limit: int) -> Iterator[Row]:
    """Fill the scores of candidates without a reason.

    What takes longer is measured of fewer candidates: the critic reads the best `limit` of each row, and reads back a
    quarter of these; all of them where `limit` is 0. The others are refused: reason "rank".
    """
    scored = dual_rows(rows, scorers.backward, settings.batch_sizes["batch_tokens"])
    if settings.max_dual_nll is not None:
        scored = refuse_dual(scored, settings.max_dual_nll)
    scored = _refuse_unlike(edit_rows(scored), scorers.forward.target, scorers.encoder, settings)
    scored = judge_rows(scored, read_judge(WITHOUT_CRITIC))
    if scorers.critic is None:
        return scored
    scored = refuse_worst(scored, limit, by_usable) if limit else scored

    def best_quarter(read: Iterable[Row]) -> Iterable[Row]:
        return refuse_worst(read, -(-limit // READ_BACK), by_usable) if limit else read

    return judge_by_reading(scored, scorers.critic, settings.batch_sizes["batch_tokens"], best_quarter)


def _refuse_unlike(
    rows: Iterable[Row], pieces: Pieces | WordPieces, encoder: Embedder | None, settings: Paraphrasing
) -> Iterator[Row]:
    """Measure how much of the text candidates repeat and how much of its meaning they keep, and refuse by the settings.

    Args:
        rows: Rows with candidates.
        pieces: Of what overlaps.
        encoder: Gives the cosine; None leaves it out.
        settings: The limits.
    """
    rows = overlap_rows(rows, pieces)
    if settings.max_iou is not None:
        rows = refuse_overlap(rows, settings.max_iou)
    if encoder is not None:
        rows = semantic_rows(rows, encoder, BATCH_TEXTS)
    if settings.min_semantic is not None:
        rows = refuse_semantic(rows, settings.min_semantic)
    return iter(rows)


def _outputs_of(rewriter: Rewriter, settings: Paraphrasing) -> int:
    """How many outputs of a paraphraser for each text join the candidates."""
    return settings.continuations if isinstance(rewriter, LanguageModel) else settings.rewrites


def _rewrites(
    rows: Sequence[Row], rewriter: Rewriter, settings: Paraphrasing, constraints: Mapping[str, ConstraintSet]
) -> list[list[Candidate]]:
    """Some outputs of a paraphraser for each reference."""
    bare = [replace(row, source=None, candidates=[]) for row in rows]
    output_count = _outputs_of(rewriter, settings)
    rewritten_rows: Iterable[Row]
    if isinstance(rewriter, LanguageModel):
        rewritten_rows = continued_rows(bare, rewriter, output_count)
    else:
        rewritten_rows = constrain_rows(
            bare,
            rewriter,
            lambda row: [(None, constraints[row.id])],
            output_count,
            settings.batch_sizes["batch_rows"],
            "beam",
            n_best=output_count,
        )
    return [[replace(c, scores=Scores()) for c in row.candidates if c.reason is None] for row in rewritten_rows]


def _extend(rows: Sequence[Row], additional_rows: Iterable[Row]) -> None:
    """Give each row the candidates of another one, too."""
    for row, additional_row in zip(rows, additional_rows, strict=True):
        row.candidates += additional_row.candidates


def _new_rows(
    rows: Sequence[Row],
    candidates: Sequence[Sequence[Candidate]],
    constraints: Mapping[str, ConstraintSet],
    scorers: _Scorers,
    settings: Paraphrasing,
    checks: Checks,
) -> list[Row]:
    """Rows with new candidates alone, checked and with forward scores.

    Texts that a row has already, and those that do not meet its constraints, are left out.
    """
    new_rows = []
    for row, row_candidates in zip(rows, candidates, strict=True):
        known = {match_key(candidate.text) for candidate in row.candidates}
        distinct: dict[str, Candidate] = {}
        for candidate in row_candidates:  # best first
            if not constraints[row.id].unmet(candidate.text):
                distinct.setdefault(match_key(candidate.text), candidate)
        new_rows.append(replace(row, candidates=[candidate for key, candidate in distinct.items() if key not in known]))
    scored = forward_rows(checks(new_rows), scorers.forward, settings.batch_sizes["batch_tokens"])
    return list(scored if settings.min_forward is None else refuse_forward(scored, settings.min_forward))
