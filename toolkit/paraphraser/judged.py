"""The candidates of English texts, judged by how probably they are usable, and new ones from their edits.

Paraphrasers of the language itself add candidates to those of two translators. All are taken apart into single edits,
which are judged, too, and the best of these are put together (`toolkit.generate.recombine`). Scores that cost little
choose which candidates a language model reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolkit.bitext.normalize import match_key
from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.constrain import constrain_rows
from toolkit.generate.continuations import continued_rows
from toolkit.generate.recombine import apply_edits, combinations, edits_of, single_edits
from toolkit.models.language_model import LanguageModel
from toolkit.paraphraser.settings import Paraphrasing
from toolkit.rows import Candidate, Row, Scores
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
    from sentence_transformers import SentenceTransformer

BATCH_TEXTS = 64  # ours: texts that are encoded at a time
METHOD = "recombine"
COMBINED = 0.25  # ours: the least probability of a single edit that is put together with others
MOST_COMBINED = 4  # ours: single edits of a text that are
Rewriter = Translator | LanguageModel
Checks = Callable[[Iterable[Row]], Iterable[Row]]


@dataclass(frozen=True)
class Scorers:
    """The models that score candidates.

    Attributes:
        forward: Scores a candidate given its source.
        backward: Scores the source given a candidate.
        encoder: Gives the cosine.
        critic: A language model that reads the text first; None judges without.
    """

    forward: Translator
    backward: Translator
    encoder: SentenceTransformer | None
    critic: LanguageModel | None


def judged_rows(
    rows: Iterable[Row],
    scorers: Scorers,
    settings: Paraphrasing,
    checks: Checks,
    recombines: bool,
    constraints: Mapping[str, ConstraintSet],
    rewriters: Sequence[Rewriter] = (),
) -> Iterator[Row]:
    """Fill `usable` of the candidates that are worth it, and add candidates from edits.

    Args:
        rows: English rows whose candidates have forward scores, checked already; all are held at a time.
        scorers: The models.
        settings: How many are scored, and the least probability.
        checks: Refuses candidates by their text: of those that are made here.
        recombines: Whether candidates are made from edits.
        constraints: By id of a row, what those must say and must not say.
        rewriters: Paraphrasers of the rows' language, whose candidates join those of the rows.
    """
    shard = list(rows)
    most = settings.pool * settings.n
    for rewriter in rewriters:
        some = rewrites(shard, rewriter, settings, constraints)
        extend(shard, new_rows(shard, some, constraints, scorers, settings, checks))
    single = [singles(row, settings.single_edits) if recombines else [] for row in shard]
    shard = list(refuse_improbable(shard, 2 * most)) if most else shard
    extend(shard, new_rows(shard, single, constraints, scorers, settings, checks))
    shard = list(judged(shard, scorers, settings, most))
    together = [put_together(row) if recombines else [] for row in shard]
    extend(shard, judged(new_rows(shard, together, constraints, scorers, settings, checks), scorers, settings, 0))
    yield from shard if settings.min_usable is None else refuse_usable(shard, settings.min_usable)


def judged(rows: Sequence[Row], scorers: Scorers, settings: Paraphrasing, most: int) -> Iterator[Row]:
    """Fill the scores of candidates without a reason.

    What takes longer is measured of fewer candidates: the critic reads the best `most` of each row, and reads back half
    of these; all of them where `most` is 0. The others are refused: reason "rank".
    """
    scored = dual_rows(rows, scorers.backward, settings.batch_tokens)
    if settings.max_dual_nll is not None:
        scored = refuse_dual(scored, settings.max_dual_nll)
    scored = edit_rows(overlap_rows(scored, scorers.forward.target))
    if settings.max_iou is not None:
        scored = refuse_overlap(scored, settings.max_iou)
    if scorers.encoder is not None:
        scored = semantic_rows(scored, scorers.encoder, BATCH_TEXTS)
    if settings.min_semantic is not None:
        scored = refuse_semantic(scored, settings.min_semantic)
    scored = judge_rows(scored, read_judge(WITHOUT_CRITIC))
    if scorers.critic is None:
        return scored
    scored = refuse_worst(scored, most, by_usable) if most else scored

    def best_half(read: Iterable[Row]) -> Iterable[Row]:
        return refuse_worst(read, -(-most // 2), by_usable) if most else read

    return judge_by_reading(scored, scorers.critic, settings.batch_tokens, best_half)


def rewrites(
    rows: Sequence[Row], rewriter: Rewriter, settings: Paraphrasing, constraints: Mapping[str, ConstraintSet]
) -> list[list[Candidate]]:
    """Some outputs of a paraphraser for each reference."""
    bare = [replace(row, source=None, candidates=[]) for row in rows]
    each = settings.continuations if isinstance(rewriter, LanguageModel) else settings.rewrites
    if not each:
        return [[] for _ in rows]
    found: Iterable[Row]
    if isinstance(rewriter, LanguageModel):
        found = continued_rows(bare, rewriter, each)
    else:
        found = constrain_rows(
            bare,
            rewriter,
            lambda row: [(None, constraints[row.id])],
            each,
            settings.batch_rows,
            "beam",
            n_best=each,
        )
    return [[replace(c, scores=Scores()) for c in row.candidates if c.reason is None] for row in found]


def singles(row: Row, most: int) -> list[Candidate]:
    """The reference with single edits of its candidates."""
    usable = [candidate for candidate in row.candidates if candidate.reason is None]
    texts = [apply_edits(row.reference, [edit]) for edit in single_edits(row.reference, usable, most)]
    return recombined(row, (text for text in texts if text is not None))


def recombined(row: Row, texts: Iterable[str]) -> list[Candidate]:
    """Texts as candidates that are made of a row's others."""
    generator = row.candidates[0].generator if row.candidates else None
    return [Candidate(text, METHOD, generator=generator) for text in texts]


def put_together(row: Row) -> list[Candidate]:
    """The reference with the best of its single edits together."""
    waiting = sorted((c for c in row.candidates if c.reason is None), key=by_usable)
    probable = [edits_of(row.reference, c.text) for c in waiting if (c.scores.usable or 0) >= COMBINED]
    single = [edits[0] for edits in probable if len(edits) == 1]
    return recombined(row, combinations(row.reference, single[:MOST_COMBINED]))


def extend(rows: Sequence[Row], others: Iterable[Row]) -> None:
    """Give each row the candidates of another one, too."""
    for row, other in zip(rows, others, strict=True):
        row.candidates += other.candidates


def new_rows(
    rows: Sequence[Row],
    candidates: Sequence[Sequence[Candidate]],
    constraints: Mapping[str, ConstraintSet],
    scorers: Scorers,
    settings: Paraphrasing,
    checks: Checks,
) -> list[Row]:
    """Rows with new candidates alone, checked and with forward scores.

    Texts that a row has already, and those that do not meet its constraints, are left out.
    """
    new = []
    for row, some in zip(rows, candidates, strict=True):
        known = {match_key(candidate.text) for candidate in row.candidates}
        distinct = {match_key(c.text): c for c in some if not constraints[row.id].unmet(c.text)}
        new.append(replace(row, candidates=[candidate for key, candidate in distinct.items() if key not in known]))
    scored = forward_rows(checks(new), scorers.forward, settings.batch_tokens)
    return list(scored if settings.min_forward is None else refuse_forward(scored, settings.min_forward))
