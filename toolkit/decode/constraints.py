"""Negative constraints on ids, a list for some rows each, as tensors.

A constraint is a phrase of token ids. Its last id is forbidden while the row's own last ids are the rest of the
phrase, so that a phrase of one id is always forbidden (Post & Vilar 2018; ParaBank 2, section 2.1). Constraints hold on
ids only: a word may come back in another segmentation, which is what ParaBank 2 wants.

What it does not do: constraints on words, whatever pieces spell them, and positive ones (`lexical.py`). `forbidden.py`
puts both before the sampler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from toolkit.models.padding import pad

NONE = -1  # pads phrases and lists of phrases


@dataclass
class _NegativeConstraints:
    """Lists of phrases that must not be said.

    Attributes:
        prefix: (lists, phrases, longest phrase - 1) ids before a phrase's last, right-aligned, NONE on the left.
        last: (lists, phrases) a phrase's last id; NONE where a list has fewer phrases.
    """

    prefix: Tensor
    last: Tensor

    @classmethod
    def of(
        cls, phrases: Sequence[Sequence[Sequence[int]]], device: torch.device | None = None
    ) -> _NegativeConstraints | None:
        """The tensors of some lists of phrases; None if there is no phrase.

        >>> _NegativeConstraints.of([[[7]], [[5, 6], [8]]]).last.tolist()
        [[7, -1], [6, 8]]

        Raises:
            ValueError: A phrase is empty.
        """
        if any(not phrase for row in phrases for phrase in row):
            raise ValueError("wanted phrases of at least one token, got an empty one; drop it")
        count = max((len(row) for row in phrases), default=0)
        if not count:
            return None
        longest = max(len(phrase) for row in phrases for phrase in row)
        last = pad([[phrase[-1] for phrase in row] for row in phrases], NONE)
        prefix = torch.full((len(phrases), count, longest - 1), NONE)
        for i, row in enumerate(phrases):
            for j, phrase in enumerate(row):
                if len(phrase) > 1:
                    prefix[i, j, longest - len(phrase) :] = torch.tensor(phrase[:-1])
        return cls(prefix.to(device), last.to(device))

    def forbidden(self, lists: Tensor, ids: Tensor) -> Tensor:
        """The ids that each row must not say next.

        Args:
            lists: (rows,) the number of each row's list of phrases.
            ids: (rows, steps) ids so far.

        Returns:
            (rows, phrases) the last id of each phrase whose other ids the row has just said, NONE in place of the rest.
        """
        last, window = self.last[lists], self.prefix.shape[-1]
        if not window:
            return last
        recent = ids[:, -window:]
        if recent.shape[1] < window:
            before_first = ids.new_full((len(ids), window - recent.shape[1]), NONE - 1)  # equal to no id, nor to NONE
            recent = torch.cat([before_first, recent], 1)
        prefix = self.prefix[lists]
        met = ((prefix == NONE) | (prefix == recent[:, None])).all(-1)
        return torch.where(met, last, NONE)
