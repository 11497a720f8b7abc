"""What each sample must not say next: phrases of ids (`constraints.py`) or words (`lexical.py`), alike to the sampler.

The state is a sample's own. Samples of one row have said the same, but not everything is forbidden to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from toolkit.decode._constraint_state import ConstraintState
from toolkit.decode.constraints import NONE, _NegativeConstraints
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.words import NOTHING

Phrases = Sequence[Sequence[Sequence[int]]]  # lists of phrases of ids


class _Forbidden(Protocol):
    """What some samples must not say next.

    Attributes:
        more_is_bound: Whether `more` is never too small.
    """

    more_is_bound: ClassVar[bool]

    @property
    def more(self) -> int:
        """How many of a sample's most probable tokens it must not say, at most; a bound, or an estimate for speed."""

    def among(self, ids: Tensor) -> Tensor:
        """(samples, n) whether each sample must not say (samples, n) ids."""

    def keep(self, samples: Tensor) -> _Forbidden:
        """The same of the samples of these numbers, or of those that are true here, in this order."""

    def advance(self, ids: Tensor) -> _Forbidden:
        """What they must not say after they have said (samples,) ids."""


def _forbidden_of(
    constraints: Phrases | LexicalConstraints | None, samples: int, device: torch.device
) -> _Forbidden | None:
    """What samples that have said nothing yet must not say; None if nothing is forbidden, now or later.

    Args:
        constraints: Lists of phrases or sets of words, each for as many samples that follow one another.
        samples: How many.
        device: Where the samples are drawn.

    Raises:
        ValueError: A phrase is empty, or something is required.
    """
    if constraints is None:
        return None
    number = torch.arange(samples, device=device) // (samples // len(constraints))
    if isinstance(constraints, LexicalConstraints):
        return _ForbiddenWords.start(constraints, number)
    on_ids = _NegativeConstraints.of(constraints, device)
    return None if on_ids is None else _ForbiddenPhrases.start(on_ids, number)


@dataclass
class _ForbiddenPhrases:
    """Phrases of ids, which hold on ids only.

    Attributes:
        constraints: The lists of phrases.
        lists: (samples,) the number of each sample's list.
        said: (samples, n) the last ids that it said, as many as a phrase may need.
        ids: (samples, phrases) the ids that it must not say now, NONE in place of others.
    """

    constraints: _NegativeConstraints
    lists: Tensor
    said: Tensor
    ids: Tensor
    more_is_bound: ClassVar[bool] = True

    @classmethod
    def start(cls, constraints: _NegativeConstraints, lists: Tensor) -> _ForbiddenPhrases:
        """Before the first token."""
        last_ids = lists.new_empty(len(lists), 0)
        return cls(constraints, lists, last_ids, constraints.forbidden(lists, last_ids))

    @property
    def more(self) -> int:
        """The most ids that one sample must not say; on a device a number that the host knows, which is no less."""
        return int((self.ids != NONE).sum(1).max()) if self.ids.device.type == "cpu" else self.ids.shape[1]

    def among(self, ids: Tensor) -> Tensor:
        """See `_Forbidden`."""
        return (ids[:, :, None] == self.ids[:, None]).any(2)

    def keep(self, samples: Tensor) -> _ForbiddenPhrases:
        """See `_Forbidden`."""
        return _ForbiddenPhrases(self.constraints, self.lists[samples], self.said[samples], self.ids[samples])

    def advance(self, ids: Tensor) -> _ForbiddenPhrases:
        """See `_Forbidden`."""
        window = max(self.constraints.prefix.shape[-1], 1)
        last_ids = torch.cat([self.said, ids[:, None]], 1)[:, -window:]
        return _ForbiddenPhrases(
            self.constraints, self.lists, last_ids, self.constraints.forbidden(self.lists, last_ids)
        )


@dataclass
class _ForbiddenWords:
    """Words and phrases of words, whatever pieces spell them.

    The piece that completes a forbidden word is what must not be said. So "▁for" is left out where "for" is forbidden,
    although "fortune" might come of it.

    Attributes:
        state: A search of one row for each sample.
        completing: (vocabulary,) whether a piece can complete a forbidden word.
    """

    state: ConstraintState
    completing: Tensor
    more_is_bound: ClassVar[bool] = False

    @classmethod
    def start(cls, constraints: LexicalConstraints, sets: Tensor) -> _ForbiddenWords:
        """Before the first token, with the number of each sample's set.

        Raises:
            ValueError: Something is required: a phrase, or that all words are known.
        """
        if constraints.phrases or constraints.known is not None:
            required = "required phrases" if constraints.phrases else "known words"
            raise ValueError(f"wanted words that samples must not say, got {required}; use beam_search for those")
        table, last = constraints.table, constraints.forbidden.forms[..., -1].unique()
        last = last[last != NOTHING]
        completing = ~table.closes_first | torch.isin(table.tail, last) | torch.isin(table.inner, last).any(-1)
        return cls(ConstraintState.start(constraints.keep(sets), 1), completing)

    @property
    def more(self) -> int:
        """The number of phrases: more pieces than that complete words of a list, but hardly all are probable."""
        return self.state.constraints.forbidden.forms.shape[2]

    def among(self, ids: Tensor) -> Tensor:
        """See `_Forbidden`."""
        is_forbidden = self.completing[ids]
        sample, at = torch.nonzero(is_forbidden, as_tuple=True)
        is_forbidden[sample, at] = self.state.keep(sample).completes(ids[sample, at, None])[:, 0]
        return is_forbidden

    def keep(self, samples: Tensor) -> _ForbiddenWords:
        """See `_Forbidden`."""
        return _ForbiddenWords(self.state.keep(samples), self.completing)

    def advance(self, ids: Tensor) -> _ForbiddenWords:
        """See `_Forbidden`."""
        return _ForbiddenWords(self.state.advance(ids[:, None])[0], self.completing)
