"""The losses that sentence encoders are trained with."""

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
    """The margin between a pair and its negatives, on both sides.

    l(s, s', t, t') = max(0, margin - cos(s, s') + cos(s, t)) + max(0, margin - cos(s, s') + cos(s', t'))

    Args:
        anchors: (pairs, dimensions) vectors of s; a zero vector has cosine 0 with all.
        positives: Those of s'.
        negatives: Those of t, the anchors' negatives.
        positives_negatives: Those of t'.
        margin: How much nearer than its negative the paraphrase should be, in [0, 2].

    Returns:
        (pairs,) in [0, 2 (margin + 2)].

    Source: ParaBank 2 (Hu et al. 2019b), section 3.7; of the equation in ParaNMT-50M, section 4, it is both halves.
    """
    return MarginLoss.apply(torch.stack([anchors, positives, negatives, positives_negatives]), margin)


class MarginLoss(torch.autograd.Function):
    """`margin_loss` of four stacked sides with its gradient written down: half the time of what autograd would do.

    With n = v / |v| a hinge that is open moves n_s by n_t - n_s', n_s' by - n_s and n_t by n_s, and a move g of n is a
    move (g - (g . n) n) / |v| of v.
    """

    @staticmethod
    def forward(ctx: Any, sides: Tensor, margin: float) -> Tensor:
        """Four sides (4, pairs, dimensions) to (pairs,)."""
        lengths = torch.linalg.vector_norm(sides, dim=2, keepdim=True).clamp_(min=SHORTEST)
        unit = sides / lengths
        positive = (unit[0] * unit[1]).sum(1)
        hinges = relu(margin - positive + (unit[:2] * unit[2:]).sum(2))  # (2, pairs)
        ctx.save_for_backward(unit, lengths, hinges)
        return hinges.sum(0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of the four sides."""
        unit, lengths, hinges = ctx.saved_tensors
        opened = ((hinges > 0) * gradients[0])[..., None]  # (2, pairs, 1)
        moves = torch.cat([unit[2:], unit[:2]]).mul_(opened.repeat(2, 1, 1))
        moves[:2].addcmul_(unit[:2].flip(0), opened.sum(0), value=-1)
        moves.addcmul_(unit, (moves * unit).sum(2, keepdim=True), value=-1)
        return moves.div_(lengths), None


def ranking_loss(anchors: Tensor, positives: Tensor, own: Tensor, forbidden: Tensor, scale: float = SCALE) -> Tensor:
    """Cross-entropy of finding a sentence's paraphrase among all of a batch (multiple negatives ranking).

    Args:
        anchors: (pairs, dimensions) vectors of s.
        positives: (batch, dimensions) vectors of every s' of the batch.
        own: (pairs,) the place of each pair's own s' among them.
        forbidden: (pairs, batch) bool: no negatives, because the reference or the text is the same.
        scale: What cosines are multiplied with.

    Returns:
        (pairs,) in nats.

    Source: Henderson et al. 2017, section 4.4, as sentence-transformers has it.
    """
    cosines = normalize(anchors, dim=1) @ normalize(positives, dim=1).T
    allowed = torch.zeros_like(forbidden).scatter_(1, own[:, None], True) | ~forbidden
    return cross_entropy((scale * cosines).masked_fill(~allowed, -torch.inf), own, reduction="none")
