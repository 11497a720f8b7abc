"""Beam search, batched over searches, with lexical constraints that differ for every search.

Without constraints it finds the hypotheses that `transformers.generate(num_beams=...)` finds. With required phrases the
candidates of a search fall into banks by the constraint tokens they have met, and dynamic beam allocation (Post & Vilar
2018) shares out the beam among the banks. With forbidden phrases pieces are masked before anything is chosen. One step
is the same few tensor operations for all searches (`_candidates.py`); one without constraints is the case of one bank.

Several searches may decode from one sentence: they share its encoder states. A hypothesis that continues stays in its
place in the caches; only its further children are copied, over the places of hypotheses without children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from toolkit.decode._candidates import NEVER, best_candidates
from toolkit.decode._constraint_state import ConstraintState
from toolkit.decode.engine import Engine, S, State, _moves_to_front, _token_limits
from toolkit.decode.hypotheses import Hypothesis, _NBestLists
from toolkit.decode.lexical import LexicalConstraints

COMPACT = 8  # ours: done searches leave when they are an eighth of all; until then they cost less than moving others


@dataclass
class _Beams:
    """Searches in flight, `beam` rows of each.

    Attributes:
        number: (searches,) the number of each search in the batch.
        limit: (searches,) most tokens.
        score: (searches, beam) log-probability so far; NEVER where a place is empty. (searches, 1) before `widen`.
        said: (searches, beam, steps) ids.
        constraints: How far the rows have come with their constraints; None without.
    """

    number: Tensor
    limit: Tensor
    score: Tensor
    said: Tensor
    constraints: ConstraintState | None

    @classmethod
    def start(cls, engine: Engine, limits: Sequence[int], beam: int, constraints: LexicalConstraints | None) -> _Beams:
        """One empty hypothesis in each search, which has one row until it has its first token (`widen`)."""
        return cls(
            torch.arange(len(limits), device=engine.device),
            torch.tensor(limits, device=engine.device),
            torch.zeros(len(limits), 1, dtype=torch.double, device=engine.device),
            torch.full((len(limits), beam, max(limits)), engine.pad, device=engine.device),
            None if constraints is None else ConstraintState.start(constraints, 1),
        )

    def widen(self, engine: Engine[S], state: S, beam: int) -> None:
        """Give every search `beam` rows; the first is its hypothesis so far, the others are empty."""
        searches, device = len(self.score), engine.device
        first = torch.arange(searches, device=device).repeat_interleave(beam)
        engine.move(state, first, torch.arange(searches * beam, device=device), searches * beam)
        self.score = torch.nn.functional.pad(self.score, (0, beam - 1), value=NEVER)
        if self.constraints is not None:
            self.constraints = self.constraints.pick(torch.zeros(searches, beam, dtype=torch.long, device=device))

    def keep(self, searches: Tensor) -> _Beams:
        """The searches in these places, in this order."""
        return _Beams(
            self.number[searches],
            self.limit[searches],
            self.score[searches],
            self.said[searches],
            None if self.constraints is None else self.constraints.keep(searches),
        )


@torch.inference_mode()
def beam_search(
    engine: Engine,
    sources: Sequence[Sequence[int]],
    beam: int,
    max_tokens: int | Sequence[int],
    n_best: int = 1,
    length_penalty: float = 1.0,
    constraints: LexicalConstraints | None = None,
    searches_each: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The best translations of each sentence, under each of its constraint sets.

    Args:
        engine: The model.
        sources: Ids of each sentence, EOS included.
        beam: Hypotheses that a search follows at a time, >= 1; with 1 it is greedy search.
        max_tokens: A hypothesis without EOS after so many tokens is cut; one number, or one for each sentence.
        n_best: Hypotheses returned of each search, 1 to `beam`.
        length_penalty: Power of the length that log-probabilities are divided by; 0 does not normalise.
        constraints: One set for each search; None searches freely.
        searches_each: The number of searches of each sentence; None is one of each.

    Returns:
        Hypotheses for each search, sentence by sentence, best first. A search whose constraints cannot be met, or whose
        limit is too low, has hypotheses that did not end, or none: check them again (`ConstraintSet.unmet`).

    Raises:
        ValueError: The beam is no beam, or a search has more constraint tokens than a hypothesis may have.

    Source: Post & Vilar (2018), section 4; stopping and finishing as `transformers` 5.23 does (`early_stopping=False`).
    That a search with required phrases stops when its `n_best`, not its `beam`, cannot be beaten is ours, and that its
    hypotheses that did not end come last.
    """
    if not 1 <= n_best <= beam:
        raise ValueError(
            f"wanted 1 <= n_best <= beam, got n_best {n_best} and beam {beam}; raise the beam or take fewer"
        )
    each = [1] * len(sources) if searches_each is None else list(searches_each)
    per_sentence = _token_limits(engine, len(sources), max_tokens)
    limits = [limit for limit, count in zip(per_sentence, each, strict=True) for _ in range(count)]
    if not limits:
        return []
    _check_lengths(constraints, limits)
    state = engine.start(sources, each, max(limits))
    beams = _Beams.start(engine, limits, beam, constraints)
    best_lists = _NBestLists.start(constraints, beams.said, n_best)
    alive = torch.ones(len(limits), dtype=torch.bool, device=engine.device)
    last = torch.full((len(limits),), engine.given[-1], device=engine.device)
    for step in range(max(limits)):
        divisor = (step + len(engine.given)) ** length_penalty  # a forced first token counts, the start token does not
        candidates = best_candidates(engine, engine.step(state, last), beams.score, beams.constraints, beam)
        if step == 0:
            beams.widen(engine, state, beam)
        at_limit = beams.limit == step + 1
        ending = candidates.ending(engine.eos, at_limit, beam) & alive[:, None]
        best_lists.add(beams.number, beams.said, candidates, ending, step, divisor, engine.eos)
        _advance(engine, state, beams, *candidates.running(engine.eos, beam), step)
        alive &= (beams.score.amax(-1) / divisor > best_lists.threshold(beams.number)) & ~at_limit
        left = int(alive.sum())
        if not left:
            break
        if (len(alive) - left) * COMPACT >= len(alive):
            beams, alive = _drop_done(engine, state, beams, alive, left)
        last = beams.said[:, :, step].flatten()
    return best_lists.hypotheses(n_best)


def _check_lengths(constraints: LexicalConstraints | None, limits: Sequence[int]) -> None:
    """Refuse a search whose required phrases do not fit into its limit of tokens."""
    tokens = [] if constraints is None else constraints.tokens.tolist()
    for search, (count, limit) in enumerate(zip(tokens, limits, strict=False)):
        if count >= limit:
            raise ValueError(
                f"wanted fewer constraint tokens than a hypothesis may have, got {count} of them and at most {limit} "
                f"tokens with EOS in search {search}; require less or raise max_tokens"
            )


def _advance(
    engine: Engine, state: State, beams: _Beams, parents: Tensor, tokens: Tensor, scores: Tensor, step: int
) -> None:
    """Replace the hypotheses by the chosen candidates.

    A parent's first child takes the parent's place, and further children take places whose hypotheses have no child.

    Args:
        engine: For the caches.
        state: Rows in flight.
        beams: Searches in flight.
        parents: (searches, beam) rows that the candidates continue.
        tokens: (searches, beam) what they add.
        scores: (searches, beam) their log-probabilities; NEVER where a search has too few.
        step: Number of the token.
    """
    searches, beam = parents.shape
    # Where a search has too few candidates, a place takes any of them; its score says that it is empty.
    order = parents.argsort(dim=-1, stable=True)
    inherited = parents.gather(1, order)
    first = torch.ones_like(inherited, dtype=torch.bool)
    first[:, 1:] = inherited[:, 1:] != inherited[:, :-1]
    childless = torch.ones_like(first).scatter_(1, inherited, False)
    spare_places = (~childless).long().argsort(dim=-1, stable=True)
    place = torch.where(first, inherited, spare_places.gather(1, ((~first).cumsum(-1) - 1).clamp_(min=0)))
    offset = torch.arange(searches, device=parents.device)[:, None] * beam
    moving = torch.nonzero(~first.flatten()).flatten()
    source, target = ((rows + offset).flatten()[moving] for rows in (inherited, place))
    engine.move(state, source, target, searches * beam, within_sentences=True)
    parent = torch.empty_like(parents).scatter_(1, place, inherited)
    search = offset // beam
    beams.said = beams.said[search, parent]
    beams.said[:, :, step] = torch.empty_like(tokens).scatter_(1, place, tokens.gather(1, order))
    beams.score = torch.empty_like(scores).scatter_(1, place, scores.gather(1, order))
    if beams.constraints is not None:
        beams.constraints, _ = beams.constraints.pick(parent).advance(beams.said[:, :, step])


def _drop_done(engine: Engine[S], state: S, beams: _Beams, alive: Tensor, left: int) -> tuple[_Beams, Tensor]:
    """Drop the searches that are done; the last of the `left` ones take their places, as their rows do."""
    beam = beams.score.shape[1]
    source, target = _moves_to_front(alive, left)
    rows = torch.arange(beam, device=alive.device)
    source_rows, target_rows = ((searches[:, None] * beam + rows).flatten() for searches in (source, target))
    engine.move(state, source_rows, target_rows, left * beam)
    order = torch.arange(len(alive), device=alive.device)
    order[target] = source
    return beams.keep(order[:left]), torch.ones(left, dtype=torch.bool, device=alive.device)
