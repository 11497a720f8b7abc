"""The losses of the fine-tuning of transformers, for sentence-transformers' trainer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from toolkit.encoder.settings import TransformerTraining
from toolkit.system.extras import naming_extra
from toolkit.train._encoder_loss import SCALE, margin_loss
from toolkit.train._negatives import nearest
from toolkit.train.encoder_pairs import Pairs

with naming_extra():
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.losses.gradcache import CachedLossMixin
    from sentence_transformers.sentence_transformer.losses import (
        CachedMultipleNegativesRankingLoss,
        MultipleNegativesRankingLoss,
    )
    from sentence_transformers.util import all_gather, all_gather_with_grad


class MegaBatchMargin(CachedLossMixin, nn.Module):
    """`margin_loss` against the nearest sentences of a batch, for the library's trainer.

    The negatives of both sides are chosen among the sentences of all processes that have another reference. The hard
    negative of a pair takes the place of its anchor's nearest sentence.

    Source: ParaBank 2 (Hu et al. 2019b), section 3.7; ParaNMT-50M, section 4.
    """

    def __init__(self, model: nn.Module, margin: float, mini_batch: int, gather: bool) -> None:
        """Store the settings.

        Args:
            model: The sentence encoder.
            margin: See `margin_loss`.
            mini_batch: Pairs that the model encodes at a time.
            gather: Whether negatives come from the batches of all processes.
        """
        super().__init__()
        self.model, self.margin, self.mini_batch_size, self.gather = model, margin, mini_batch, gather

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """The mean loss of this process's pairs; `labels` are those of `margin_labels`."""
        return self.forward_cached(sentence_features, labels)

    def calculate_loss(
        self, reps: list[list[Tensor]], labels: Tensor | None = None, *, with_backward: bool = False
    ) -> Tensor:
        """The same from the vectors of both sides, mini-batch by mini-batch; the library's interface."""
        anchors, positives, *hard = (torch.cat(side).float() for side in reps)
        first, count = 0, len(anchors)
        assert labels is not None
        if self.gather:
            first = torch.distributed.get_rank() * count
            anchors, positives = all_gather_with_grad(anchors), all_gather_with_grad(positives)
            labels = all_gather(labels)
        references, has_hard = (labels // 2).cpu().numpy(), (labels % 2 == 1)[first : first + count]
        hard_negatives = (has_hard, hard[0]) if hard else None
        loss = nearest_margin(anchors, positives, references, first, first + count, self.margin, hard_negatives).mean()
        if with_backward:
            loss.backward()
        return loss.detach() if with_backward else loss

    def get_config_dict(self) -> dict[str, Any]:
        """The settings that the library writes into the model card."""
        return {"margin": self.margin, "mini_batch": self.mini_batch_size, "gather": self.gather}


def margin_labels(pairs: Pairs) -> np.ndarray:
    """The labels of pairs for `MegaBatchMargin`: twice the index of the reference, and 1 more with a hard negative."""
    has_hard = pairs.negatives_of(np.arange(len(pairs)), 0) >= 0 if pairs.negatives is not None else 0
    return 2 * pairs.reference + has_hard


def nearest_margin(
    anchors: Tensor,
    positives: Tensor,
    references: np.ndarray,
    first: int,
    last: int,
    margin: float,
    hard_negatives: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """The margin loss of some pairs of a batch, against the nearest of all its sentences.

    Args:
        anchors: (pairs, dimensions) vectors of the anchors.
        positives: (pairs, dimensions) vectors of the positives.
        references: (pairs,) indices of the references; pairs of one reference are no negatives of each other.
        first: The first pair whose loss is computed.
        last: The end of the range of pairs, exclusive.
        margin: See `margin_loss`.
        hard_negatives: Of the pairs from first to last, which of them have a hard negative, (last - first,) bool, and
            its vectors, (last - first, dimensions); it takes the place of the anchor's nearest sentence.

    Returns:
        (last - first,) losses.
    """
    vectors, count = torch.cat([anchors, positives]), len(anchors)
    keys = [np.tile(references, 2)]
    negatives, positives_negatives = (
        torch.from_numpy(nearest(vectors.detach(), keys, side + first, side + last, torch.float32)).to(vectors.device)
        for side in (0, count)
    )
    negative_vectors = vectors[negatives]
    if hard_negatives is not None:
        has_hard, hard_vectors = hard_negatives
        negative_vectors = torch.where(has_hard[:, None], hard_vectors, negative_vectors)
    return margin_loss(
        anchors[first:last], positives[first:last], negative_vectors, vectors[positives_negatives], margin
    )


def loss_for(encoder: SentenceTransformer, settings: TransformerTraining, gather: bool) -> nn.Module:
    """The loss of a training; with `gather`, negatives come from the batches of all processes."""
    if settings.loss == "margin":
        return MegaBatchMargin(encoder, settings.margin, settings.mini_batch, gather)
    if settings.loss == "ranking":
        return MultipleNegativesRankingLoss(encoder, scale=SCALE, gather_across_devices=gather)
    return CachedMultipleNegativesRankingLoss(
        encoder, scale=SCALE, mini_batch_size=settings.mini_batch, gather_across_devices=gather
    )
