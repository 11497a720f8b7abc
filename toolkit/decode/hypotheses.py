"""Finished hypotheses: the n-best list of a search, and the score that the search must still beat to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from toolkit.decode.lexical import LexicalConstraints


@dataclass(frozen=True)
class Hypothesis:
    """One translation that a search found.

    Attributes:
        ids: Its tokens, EOS included if it ended, without those that the engine is given.
        logprob: log p(tokens | source), nats, the sum over `ids`.
        score: `logprob` over the number of tokens to the power of the length penalty: what hypotheses are sorted by. A
            forced first token, which is not in `ids`, is one of the tokens here, as in `transformers`.
        ended: Whether it said EOS before the limit of tokens.
    """

    ids: list[int]
    logprob: float
    score: float
    ended: bool


@dataclass
class _NBestList:
    """The best finished hypotheses of one search, best first.

    Attributes:
        size: The most hypotheses that are kept.
        enough: How many of them a running hypothesis must be unable to beat before the search stops.
        ended_first: Whether hypotheses that were cut at the limit of tokens come after all that ended.
        hypotheses: Those kept.
    """

    size: int
    enough: int
    ended_first: bool
    hypotheses: list[Hypothesis] = field(default_factory=list)

    def add(self, hypothesis: Hypothesis) -> None:
        """Insert a hypothesis, if it is among the best."""
        hypotheses = [*self.hypotheses, hypothesis]
        self.hypotheses = sorted(hypotheses, key=lambda h: (self.ended_first and not h.ended, -h.score))[: self.size]

    @property
    def threshold(self) -> float:
        """The score that a running hypothesis must exceed for the search to go on; -inf while there are too few."""
        return self.hypotheses[self.enough - 1].score if len(self.hypotheses) >= self.enough else -torch.inf


def _n_best_lists(
    constraints: LexicalConstraints | None, searches: int, beam: int, n_best: int
) -> Sequence[_NBestList]:
    """An empty list for each search.

    A search without required phrases goes on until none of its `beam` best can be beaten, as in `transformers`. One
    with required phrases stops when its `n_best` cannot be beaten, because the last places of its beam often hold
    hypotheses that are there for their constraints alone. Its hypotheses that did not end come last: they may not have
    said what is required.
    """
    required = [False] * searches if constraints is None else constraints.tokens.bool().tolist()
    return [_NBestList(beam, n_best if constrained else beam, constrained) for constrained in required]
