"""The losses that sentence encoders are trained with."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize, relu

MARGIN = 0.4  # ParaNMT-50M, section 5.2
SCALE = 20.0  # ours: sentence-transformers' MultipleNegativesRankingLoss


def margin_loss(one: Tensor, other: Tensor, negatives: Tensor, other_negatives: Tensor, margin: float) -> Tensor:
    """The margin between a pair and its negatives, on both sides.

    l(s, s', t, t') = max(0, margin - cos(s, s') + cos(s, t)) + max(0, margin - cos(s, s') + cos(s', t'))

    Args:
        one: (pairs, dimensions) vectors of s; a zero vector has cosine 0 with all.
        other: Those of s'.
        negatives: Those of t.
        other_negatives: Those of t'.
        margin: How much nearer than its negative the paraphrase should be, in [0, 2].

    Returns:
        (pairs,) in [0, 2 (margin + 2)].

    Source: ParaBank 2 (Hu et al. 2019b), section 3.7; of the equation in ParaNMT-50M, section 4, it is both halves.
    """
    one, other, negatives, other_negatives = (normalize(v, dim=1) for v in (one, other, negatives, other_negatives))
    positive = (one * other).sum(1)
    return relu(margin - positive + (one * negatives).sum(1)) + relu(
        margin - positive + (other * other_negatives).sum(1)
    )


def ranking_loss(one: Tensor, others: Tensor, right: Tensor, forbidden: Tensor, scale: float = SCALE) -> Tensor:
    """Cross-entropy of finding a sentence's paraphrase among all of a batch (multiple negatives ranking).

    Args:
        one: (pairs, dimensions) vectors of s.
        others: (batch, dimensions) vectors of every s' of the batch.
        right: (pairs,) the place of each pair's own s' among them.
        forbidden: (pairs, batch) bool: no negatives, because the reference or the text is the same.
        scale: What cosines are multiplied with.

    Returns:
        (pairs,) in nats.

    Source: Henderson et al. 2017, section 4.4, as sentence-transformers has it.
    """
    cosines = normalize(one, dim=1) @ normalize(others, dim=1).T
    own = torch.zeros_like(forbidden).scatter_(1, right[:, None], True)
    return cross_entropy((scale * cosines).masked_fill(forbidden & ~own, -torch.inf), right, reduction="none")
