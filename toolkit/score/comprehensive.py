"""ParaNet's comprehensive score: a weighted sum of semantic score, fluency and diversity (section 3.3.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import pstdev
from typing import NamedTuple

from toolkit.data.rows import Candidate, Row, Scores

FITTED_ON = 500  # appendix A: "we take 500 examples", of which the standard deviations give the weights
DIGITS = 3  # ours: of a fitted weight, so that the last bits of a score do not change it


class Weights(NamedTuple):
    """The weights of the three scores."""

    semantic: float = 4.0  # appendix A, lambda 1
    fluency: float = 8.0  # appendix A, lambda 2
    diversity: float = 1.2  # appendix A, lambda 3

    @property
    def signature(self) -> str:
        """The weights in one short string, for provenance."""
        return f"{self.semantic:g} semantic + {self.fluency:g} / perplexity + {self.diversity:g} diversity|v:1.0.0"


def comprehensive(scores: Scores, weights: Weights) -> float:
    """The weighted sum of the semantic score, 1 / perplexity, and the diversity.

    The printed fluency is the product of the probabilities of all words, which is nearly 0 beside the other two scores.
    Here it is their geometric mean, 1 / perplexity = exp(nats per token), which the printed weights fit.

    >>> round(comprehensive(Scores(semantic=0.9, fluency=-3.0, diversity=0.25), Weights()), 3)
    4.298

    Source: ParaNet (Liu et al. 2022), equation 3.
    """
    semantic, fluency, diversity = _parts(scores)
    return weights.semantic * semantic + weights.fluency * fluency + weights.diversity * diversity


def _parts(scores: Scores) -> tuple[float, float, float]:
    """The semantic score, 1 / perplexity, and the diversity of a candidate."""
    assert scores.semantic is not None and scores.fluency is not None and scores.diversity is not None
    return scores.semantic, math.exp(scores.fluency), scores.diversity


def comprehensive_rows(rows: Iterable[Row], weights: Weights) -> Iterator[Row]:
    """Fill `ranking` of every candidate without a reason.

    Args:
        rows: Rows whose candidates have the three scores.
        weights: Of the scores.

    Source: ParaNet, section 3.3.4.
    """
    for row in rows:
        for candidate in row.candidates:
            if candidate.reason is None:
                candidate.scores.ranking = comprehensive(candidate.scores, weights)
        yield row


def fitted_weights(candidates: Sequence[Candidate]) -> Weights:
    """Weights with which each score varies as much as the others: one over its standard deviation.

    Args:
        candidates: Some hundred candidates with the three scores.

    Raises:
        ValueError: The candidates do not differ in a score.

    Source: ParaNet, appendix A: "we set the weights inversely proportional to its corresponding score's std".
    """
    parts = [_parts(candidate.scores) for candidate in candidates]
    spreads = [pstdev(column) for column in zip(*parts, strict=True)] or [0.0]
    if min(spreads) == 0:
        raise ValueError(
            f"wanted candidates that differ in each score to fit the weights, got {len(candidates)} with standard "
            f"deviations {', '.join(f'{spread:g}' for spread in spreads)}: leave out --fit_weights"
        )
    return Weights(*(float(f"{1 / spread:.{DIGITS}g}") for spread in spreads))
