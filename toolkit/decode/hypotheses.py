"""Finished hypotheses: the n-best list of a search, and the score that the search must still beat to go on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from toolkit.decode._candidates import NEVER, Candidates
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
class _NBestLists:
    """The best finished hypotheses of all searches, best first, on the device until all searches are done.

    Attributes:
        enough: (searches,) how many of them a running hypothesis must be unable to beat before a search stops.
        ended_first: (searches,) whether hypotheses that were cut at the limit of tokens come after all that ended; None
            where that is so in no search.
        score: (searches, size) see `Hypothesis`; NEVER where a list has fewer hypotheses.
        logprob: (searches, size) see `Hypothesis`.
        length: (searches, size) number of tokens.
        ended: (searches, size) see `Hypothesis`.
        said: (searches, size, steps) ids.
    """

    enough: Tensor
    ended_first: Tensor | None
    score: Tensor
    logprob: Tensor
    length: Tensor
    ended: Tensor
    said: Tensor

    @classmethod
    def start(cls, constraints: LexicalConstraints | None, said: Tensor, n_best: int) -> _NBestLists:
        """An empty list for each search, with room for as many hypotheses as (searches, beam, steps) `said` has.

        A search without required phrases goes on until none of its `beam` best can be beaten, as in `transformers`. One
        with required phrases stops when its `n_best` cannot be beaten, because the last places of its beam often hold
        hypotheses that are there for their constraints alone. Its hypotheses that did not end come last: they may not
        have said what is required.
        """
        searches, beam, _ = said.shape
        constrained = None if constraints is None or not constraints.most_tokens else constraints.tokens.bool()
        enough = torch.full((searches,), beam, device=said.device)
        enough = enough if constrained is None else enough.masked_fill_(constrained, n_best)
        numbers = enough.new_zeros(searches, beam)
        score = torch.full_like(numbers, NEVER, dtype=torch.double)
        return cls(enough, constrained, score, score.clone(), numbers, numbers.bool(), torch.empty_like(said))

    def add(
        self,
        number: Tensor,
        said: Tensor,
        candidates: Candidates,
        ending: Tensor,
        step: int,
        divisor: float,
        eos: int,
    ) -> None:
        """Insert the candidates that end with a step, those that are among the best of their search.

        Args:
            number: (searches in flight,) the number of each.
            said: (searches in flight, beam, steps) ids of the rows before the step.
            candidates: What continues these rows.
            ending: (searches in flight, n) which of the candidates end.
            step: Number of the token.
            divisor: The power of the length that log-probabilities are divided by.
            eos: The token that ends a hypothesis.
        """
        size = self.score.shape[1]
        score = torch.cat([self.score[number], (candidates.scores / divisor).masked_fill(~ending, NEVER)], 1)
        ended = torch.cat([self.ended[number], candidates.tokens == eos], 1)
        order = score.sort(dim=1, descending=True, stable=True).indices
        if self.ended_first is not None:
            is_later = self.ended_first[number, None] & ~ended
            is_later = is_later.long().masked_fill(score == NEVER, 2).gather(1, order)
            order = order.gather(1, is_later.sort(dim=1, stable=True).indices)
        order = order[:, :size]
        candidate, is_new = (order - size).clamp_(min=0), order >= size
        texts = torch.cat([self.said[number, :, : step + 1], said[:, :, : step + 1]], 1)
        text = torch.where(is_new, size + candidates.parents.gather(1, candidate), order)
        texts = texts.gather(1, text[..., None].expand(-1, -1, step + 1))
        texts[:, :, step] = torch.where(is_new, candidates.tokens.gather(1, candidate), texts[:, :, step])
        logprob = torch.cat([self.logprob[number], candidates.scores], 1)
        self.score[number], self.logprob[number] = score.gather(1, order), logprob.gather(1, order)
        self.length[number] = torch.where(is_new, step + 1, self.length[number].gather(1, order.clamp(max=size - 1)))
        self.ended[number] = ended.gather(1, order)
        self.said[number, :, : step + 1] = texts

    def threshold(self, number: Tensor) -> Tensor:
        """(searches in flight,) the score that a running hypothesis must exceed for its search to go on.

        NEVER while a list has too few hypotheses.
        """
        return self.score[number, self.enough[number] - 1]

    def hypotheses(self, n_best: int) -> list[list[Hypothesis]]:
        """The best of each search, as many as are asked for and were found."""
        tensors = (self.said, self.length, self.logprob, self.score, self.ended)
        lists = (tensor[:, :n_best].tolist() for tensor in tensors)
        return [
            [
                Hypothesis(ids[:length], logprob, score, ended)
                for ids, length, logprob, score, ended in zip(*search, strict=True)
                if score > NEVER
            ]
            for search in zip(*lists, strict=True)
        ]
