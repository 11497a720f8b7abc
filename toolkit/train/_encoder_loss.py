"""The losses of sentence encoders: margin loss and multiple negatives ranking loss."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize, relu

SHORTEST = 1e-12  # torch.nn.functional.normalize's
SCALE = 20.0  # ours: sentence-transformers' MultipleNegativesRankingLoss


def margin_loss(
    anchors: Tensor, positives: Tensor, negatives: Tensor, positives_negatives: Tensor, margin: float
) -> Tensor:
    """The margin loss of pairs against their negatives, on both sides.

    l(s, s', t, t') = max(0, margin - cos(s, s') + cos(s, t)) + max(0, margin - cos(s, s') + cos(s', t'))

    Args:
        anchors: (pairs, dimensions) vectors of s; a zero vector has cosine 0 with all others.
        positives: (pairs, dimensions) vectors of s'.
        negatives: (pairs, dimensions) vectors of t, the negatives of the anchors.
        positives_negatives: (pairs, dimensions) vectors of t', the negatives of the positives.
        margin: How much greater the cosine of the positive than that of the negative should be, in [0, 2].

    Returns:
        (pairs,) in [0, 2 (margin + 2)].

    Source: ParaBank 2 (Hu et al. 2019b), section 3.7; of the equation in ParaNMT-50M, section 4, it is both halves.
    """
    return _MarginLoss.apply(torch.stack([anchors, positives, negatives, positives_negatives]), margin)


class _MarginLoss(torch.autograd.Function):
    """`margin_loss` of four stacked tensors with an explicit gradient, in half the time of autograd.

    With n = v / |v|, the gradient of an active hinge is n_t - n_s' for n_s, -n_s for n_s' and n_s for n_t; a gradient g
    of n is a gradient (g - (g . n) n) / |v| of v.
    """

    @staticmethod
    def forward(ctx: Any, sides: Tensor, margin: float) -> Tensor:
        """Losses (pairs,) of (4, pairs, dimensions): anchors, positives and the negatives of both."""
        lengths = torch.linalg.vector_norm(sides, dim=2, keepdim=True).clamp_(min=SHORTEST)
        unit = sides / lengths
        positive = (unit[0] * unit[1]).sum(1)
        hinges = relu(margin - positive + (unit[:2] * unit[2:]).sum(2))  # (2, pairs)
        ctx.save_for_backward(unit, lengths, hinges)
        return hinges.sum(0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of the four stacked tensors."""
        unit, lengths, hinges = ctx.saved_tensors
        active = ((hinges > 0) * gradients[0])[..., None]  # (2, pairs, 1)
        gradient = torch.cat([unit[2:], unit[:2]]).mul_(active.repeat(2, 1, 1))
        gradient[:2].addcmul_(unit[:2].flip(0), active.sum(0), value=-1)
        gradient.addcmul_(unit, (gradient * unit).sum(2, keepdim=True), value=-1)
        return gradient.div_(lengths), None


def ranking_loss(
    anchors: Tensor, positives: Tensor, positive_indices: Tensor, forbidden: Tensor, scale: float = SCALE
) -> Tensor:
    """Cross-entropy of finding an anchor's positive among all positives of a batch (multiple negatives ranking).

    Args:
        anchors: (pairs, dimensions) vectors.
        positives: (batch, dimensions) vectors of all positives of the batch.
        positive_indices: (pairs,) index of each anchor's own positive among them.
        forbidden: (pairs, batch) bool: not negatives, because the reference or the text is the same.
        scale: Factor of the cosines.

    Returns:
        (pairs,) in nats.

    Source: Henderson et al. 2017, section 4.4, as implemented in sentence-transformers.
    """
    return ranking_of_cosines(
        normalize(anchors, dim=1) @ normalize(positives, dim=1).T, positive_indices, forbidden, scale
    )


def ranking_of_cosines(cosines: Tensor, positive_indices: Tensor, forbidden: Tensor, scale: float = SCALE) -> Tensor:
    """`ranking_loss` of the (pairs, batch) cosines of the anchors with all positives; the other arguments are its."""
    allowed = torch.zeros_like(forbidden).scatter_(1, positive_indices[:, None], True) | ~forbidden
    return cross_entropy((scale * cosines).masked_fill(~allowed, -torch.inf), positive_indices, reduction="none")
