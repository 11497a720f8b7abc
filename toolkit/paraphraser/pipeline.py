"""From texts to ranked paraphrases: the parts of ParaBank 2's pipeline, for one language and one model.

A row's source is its reference: the text. The model that generates candidates also scores them backward, as
p(text | candidate), unless another is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolkit.decode.constraint_set import ConstraintSet
from toolkit.generate.constrain import constrain_rows
from toolkit.generate.sample import sample_rows
from toolkit.rows import Candidate, Row
from toolkit.score.dual import dual_rows
from toolkit.score.guards import GUARDS, guard_rows
from toolkit.score.overlap import overlap_rows
from toolkit.score.semantic import semantic_rows
from toolkit.select.cluster import cluster_rows
from toolkit.select.filter import refuse_dual, refuse_overlap, refuse_repeats, refuse_semantic
from toolkit.select.rank import rank_rows
from toolkit.settings import check_among, check_at_least_one, check_between
from toolkit.translator.load import Translator

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

METHODS = ("sample", "beam", "top_p")
RANKINGS = ("dual", "forward", "semantic")
NUCLEUS_TOP_K = 50  # ours: of which `top_p` takes a share
CLUSTERS = 7  # ParaBank 2 (Hu et al. 2019b), section 3.3; more where more paraphrases are wanted


@dataclass(frozen=True)
class Paraphrasing:
    """How texts are paraphrased. The numbers are ours, chosen on validation data (docs/paraphrasers.md).

    Attributes:
        n: The most paraphrases of a text.
        method: "sample" (ParaBank 2's: random words of the text are forbidden), "beam", or "top_p" (no words are).
        rank_by: "dual" (forward plus backward log-likelihood per token), "forward", or "semantic" (the cosine).
        guards: What a paraphrase must keep, of `toolkit.score.guards.GUARDS`.
        min_semantic: The least cosine of text and paraphrase, in [-1, 1]; None refuses none.
        max_iou: The greatest share of pieces that text and paraphrase have in common, in [0, 1]; None refuses none.
        max_dual_nll: The most nats per token, forward plus backward; None refuses none.
        constraint_sets: Of "sample": random sets of forbidden words.
        samples_per_set: Of "sample" and "top_p": samples under each set, and of "top_p" for each text.
        constraint_rate: Of "sample": the probability with which a word of the text is in a set.
        top_k: Of "sample": the number of most probable tokens that are drawn from.
        min_p: Of "sample": tokens below this share of the most probable one's probability are not drawn.
        top_p: Of "top_p": the share of the probability that is drawn from.
        beam: Of "beam", and wherever words are required: hypotheses that a search follows.
        batch_rows: Rows of a decoding batch.
        batch_tokens: Size of a scoring batch, pairs times tokens.
        seed: Of the forbidden words and the samples.
    """

    n: int = 1
    method: str = "sample"
    rank_by: str = "dual"
    guards: tuple[str, ...] = GUARDS
    min_semantic: float | None = None
    max_iou: float | None = None
    max_dual_nll: float | None = None
    constraint_sets: int = 4
    samples_per_set: int = 10
    constraint_rate: float = 0.3
    top_k: int = 10
    min_p: float = 0.05
    top_p: float = 0.9
    beam: int = 12
    batch_rows: int = 2400
    batch_tokens: int = 8192
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A setting is out of its range.
        """
        check_at_least_one(
            self, "n", "constraint_sets", "samples_per_set", "top_k", "beam", "batch_rows", "batch_tokens"
        )
        check_among(self, "method", METHODS)
        check_among(self, "rank_by", RANKINGS)
        check_between(self, 0, 1, "constraint_rate", "min_p", "top_p")
        if self.method == "beam" and self.beam < self.n:
            raise ValueError(f"wanted a beam of at least n, got beam {self.beam} and n {self.n}")
        for name, least, most in (("min_semantic", -1, 1), ("max_iou", 0, 1), ("max_dual_nll", 0, math.inf)):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"wanted {name} in [{least}, {most}], got {value}")


def paraphrase_rows(
    rows: Iterable[Row],
    model: Translator,
    backward: Translator,
    encoder: SentenceTransformer | None,
    settings: Paraphrasing,
    constraints: Mapping[str, ConstraintSet],
) -> Iterator[Row]:
    """Give every row its candidates: chosen ones have a rank, refused ones a reason.

    Args:
        rows: Rows whose source and reference are one text; all are held at a time.
        model: Paraphrases the rows' language.
        backward: Scores a text given a candidate.
        encoder: Gives the cosine; None leaves it out.
        settings: How.
        constraints: By id of a row, what its paraphrases must say and must not say.
    """
    rows = generate(rows, model, settings, constraints)
    rows = refuse_repeats(rows)
    rows = guard_rows(rows, settings.guards)
    rows = overlap_rows(rows, model.target)
    if settings.max_iou is not None:
        rows = refuse_overlap(rows, settings.max_iou)
    if encoder is not None:
        rows = semantic_rows(rows, encoder, settings.batch_rows)
    if settings.min_semantic is not None:
        rows = refuse_semantic(rows, settings.min_semantic)
    rows = dual_rows(rows, backward, settings.batch_tokens)
    if settings.max_dual_nll is not None:
        rows = refuse_dual(rows, settings.max_dual_nll)
    best_first = ORDERS[settings.rank_by]
    rows = cluster_rows(rows, model.target, max(CLUSTERS, settings.n), best_first)
    return rank_rows(rows, settings.n, best_first, fill=True)


def generate(
    rows: Iterable[Row], model: Translator, settings: Paraphrasing, constraints: Mapping[str, ConstraintSet]
) -> Iterator[Row]:
    """Fill the candidates of each row: by constrained beam search where words are required, else by the method."""
    shard = list(rows)
    searched = [row for row in shard if settings.method == "beam" or constraints[row.id].positive]
    sampled = [row for row in shard if row not in searched]
    drawn = sampling(sampled, model, settings, {row.id: constraints[row.id].negative for row in sampled})
    found = constrain_rows(
        searched,
        model,
        lambda row: [(None, constraints[row.id])],
        settings.beam,
        settings.batch_rows,
        "beam",
        n_best=settings.beam,
    )
    done = {row.id: row for stage in (drawn, found) for row in stage}
    yield from (done[row.id] for row in shard)


def sampling(
    rows: Sequence[Row], model: Translator, settings: Paraphrasing, avoid: Mapping[str, Sequence[str]]
) -> Iterator[Row]:
    """Fill the candidates of each row with samples."""
    free = settings.method == "top_p"
    return sample_rows(
        rows,
        model,
        1 if free else settings.constraint_sets,
        settings.samples_per_set,
        NUCLEUS_TOP_K if free else settings.top_k,
        0.0 if free else settings.constraint_rate,
        settings.batch_rows,
        settings.seed,
        0.0 if free else settings.min_p,
        "words",
        settings.top_p if free else 1.0,
        avoid,
    )


def by_dual(candidate: Candidate) -> tuple[float, str]:
    """The sort key of candidates: better dual score first, then by text."""
    return -(candidate.scores.dual or 0.0), candidate.text


def by_forward(candidate: Candidate) -> tuple[float, str]:
    """The sort key of candidates: greater forward log-likelihood per token first, then by text."""
    return -(candidate.scores.translation_score or 0.0), candidate.text


def by_semantic(candidate: Candidate) -> tuple[float, str]:
    """The sort key of candidates: greater cosine first, then by text."""
    return -(candidate.scores.semantic or 0.0), candidate.text


ORDERS = {"dual": by_dual, "forward": by_forward, "semantic": by_semantic}
