"""Beam search, batched over searches, with lexical constraints that differ for every search.

Without constraints it finds the hypotheses that `transformers.generate(num_beams=...)` finds. With required phrases the
candidates of a search fall into banks by the constraint tokens they have met, and dynamic beam allocation (Post & Vilar
2018) shares out the beam among the banks. With forbidden phrases pieces are masked before anything is chosen. One step
is the same few tensor operations for all searches; one without constraints is the case of a single bank.

Several searches may decode from one sentence: they share its encoder states. A hypothesis that goes on stays in its
place in the caches; only its other children are copied over the places of those that nothing came of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from toolkit.decode.allocation import allocate
from toolkit.decode.engine import Engine, State
from toolkit.decode.lexical import CLOSE, NO_PIECE, Lexical, Progress
from toolkit.decode.sampling import top

COMPACT = 8  # ours: done searches leave when they are an eighth of all; until then they cost less than moving others
NEVER = -torch.inf


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
class Beams:
    """Searches in flight, `beam` rows of each; `keep` drops searches.

    Attributes:
        number: (searches,) which search it is.
        limit: (searches,) most tokens.
        score: (searches, beam) log-probability so far; NEVER where a place is empty.
        said: (searches, beam, steps) ids.
        progress: Of the constraints; None without.
        lexical: The constraints; None without.
    """

    number: Tensor
    limit: Tensor
    score: Tensor
    said: Tensor
    progress: Progress | None
    lexical: Lexical | None

    def keep(self, searches: Tensor) -> Beams:
        """The searches in these places, in this order."""
        return Beams(
            self.number[searches],
            self.limit[searches],
            self.score[searches],
            self.said[searches],
            None if self.progress is None else self.progress.keep(searches),
            None if self.lexical is None else self.lexical.keep(searches),
        )


@dataclass
class Finished:
    """The best finished hypotheses of one search, best first, as many as the beam at most.

    Attributes:
        places: How many.
        cut_last: Whether those that did not end come after all that did: they may not have said what is required yet.
        found: The hypotheses.
    """

    places: int
    cut_last: bool = False
    found: list[Hypothesis] = field(default_factory=list)

    def add(self, hypothesis: Hypothesis) -> None:
        """Take it in, if it is among the best."""
        found = [*self.found, hypothesis]
        self.found = sorted(found, key=lambda h: (self.cut_last and not h.ended, -h.score))[: self.places]

    def bound(self, wanted: int) -> float:
        """What a running hypothesis must score to matter once `wanted` are found."""
        return self.found[wanted - 1].score if len(self.found) >= wanted else NEVER


@torch.inference_mode()
def beam_search(
    engine: Engine,
    sources: Sequence[Sequence[int]],
    beam: int,
    max_tokens: int | Sequence[int],
    n_best: int = 1,
    length_penalty: float = 1.0,
    lexical: Lexical | None = None,
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
        lexical: The constraints, one set for each search; None searches freely.
        searches_each: Searches of each sentence; one unless told.

    Returns:
        Hypotheses for each search, sentence by sentence, best first. A search whose constraints cannot be met, or whose
        limit is too low, has hypotheses that did not end, or none: look at them again (`ConstraintSet.unmet`).

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
    limits = [max_tokens] * len(sources) if isinstance(max_tokens, int) else list(max_tokens)
    limits = [min(n, engine.limit - 1) for n, count in zip(limits, each, strict=True) for _ in range(count)]
    if not limits:
        return []
    _check_lengths(lexical, limits)
    state = engine.start(sources, [count * beam for count in each], max(limits))
    beams = _start(engine, limits, beam, lexical)
    enough = _enough(lexical, len(limits), beam, n_best)
    finished = [Finished(beam, required) for required in _required(lexical, len(limits))]
    alive = torch.ones(len(limits), dtype=torch.bool, device=engine.device)
    last = torch.full((len(limits) * beam,), engine.given[-1], device=engine.device)
    for step in range(max(limits)):
        tokens, scores = _candidates(engine, engine.step(state, last), beams, beam)
        parents, tokens, scores = _choose(engine, beams, tokens, scores, beam, step, length_penalty, alive, finished)
        _place(engine, state, beams, parents, tokens, scores, step)
        _stop(engine, beams, finished, enough, alive, step, length_penalty)
        left = int(alive.sum())
        if not left:
            break
        if (len(alive) - left) * COMPACT >= len(alive):
            beams, alive = _leave(engine, state, beams, alive)
        last = beams.said[:, :, step].flatten()
    return [one.found[:n_best] for one in finished]


def _check_lengths(lexical: Lexical | None, limits: Sequence[int]) -> None:
    tokens = [] if lexical is None else lexical.tokens.tolist()
    for search, (count, limit) in enumerate(zip(tokens, limits, strict=False)):
        if count >= limit:
            raise ValueError(
                f"wanted fewer constraint tokens than a hypothesis may have, got {count} of them and at most {limit} "
                f"tokens with EOS in search {search}; require less or raise max_tokens"
            )


def _start(engine: Engine, limits: Sequence[int], beam: int, lexical: Lexical | None) -> Beams:
    """One empty hypothesis in each search; the other places are empty."""
    score = torch.full((len(limits), beam), NEVER, dtype=torch.double, device=engine.device)
    score[:, 0] = 0.0
    return Beams(
        torch.arange(len(limits), device=engine.device),
        torch.tensor(limits, device=engine.device),
        score,
        torch.full((len(limits), beam, max(limits)), engine.pad, device=engine.device),
        None if lexical is None else lexical.start(beam),
        lexical,
    )


def _enough(lexical: Lexical | None, searches: int, beam: int, n_best: int) -> list[int]:
    """How many finished hypotheses of each search must be beaten by the running ones."""
    return [n_best if required else beam for required in _required(lexical, searches)]


def _required(lexical: Lexical | None, searches: int) -> list[bool]:
    """Whether each search has required phrases."""
    return [False] * searches if lexical is None else lexical.tokens.bool().tolist()


def _candidates(engine: Engine, hidden: Tensor, beams: Beams, beam: int) -> tuple[Tensor, Tensor]:
    """The best tokens of each row, then the tokens that its required phrases go on with.

    Returns:
        (searches, beam, n) tokens and their hypotheses' log-probabilities; NEVER where a token may not be said. The
        tokens of the phrases may be among the best.
    """
    lexical, progress = beams.lexical, beams.progress
    close = complete = pieces = refused = None
    if lexical is not None and progress is not None:
        close, complete = (t.flatten() for t in lexical.closing(progress))
        pieces = lexical.next_pieces(progress).flatten(0, 1)
        refused = lexical.refused(progress).flatten(0, 1) if len(lexical.checked) else None
    tokens, scores = [], []
    for part, logits in engine.logits(hidden):
        logprobs = torch.log_softmax(logits.float(), -1)
        logprobs[:, engine.pad] = NEVER
        if lexical is not None and close is not None and complete is not None and pieces is not None:
            shut = torch.nonzero(close[part]).flatten()
            if len(shut):
                logprobs[shut] = logprobs[shut].masked_fill_(lexical.table.fresh, NEVER)
            logprobs[~complete[part], engine.eos] = NEVER
            if refused is not None:
                logprobs[:, lexical.checked] = logprobs[:, lexical.checked].masked_fill(refused[part], NEVER)
        values, ids = top(logprobs, min(2 * beam, logprobs.shape[1]))
        if pieces is not None and pieces.shape[1]:
            more = torch.where(pieces[part] == NO_PIECE, engine.pad, pieces[part])
            spelled = torch.nonzero((more == CLOSE).any(-1)).flatten()
            if len(spelled) and lexical is not None:
                best = logprobs[spelled].masked_fill_(~lexical.table.fresh, NEVER).argmax(-1, keepdim=True)
                more[spelled] = torch.where(more[spelled] == CLOSE, best, more[spelled])
            values = torch.cat([values, logprobs.gather(1, more).masked_fill(_repeated(more), NEVER)], 1)
            ids = torch.cat([ids, more], 1)
        tokens.append(ids)
        scores.append(values)
    ids = torch.cat(tokens).view(*beams.score.shape, -1)
    values = torch.cat(scores).view_as(ids).double()
    if lexical is not None and progress is not None:
        values = values.masked_fill(lexical.hopeless(progress, ids), NEVER)
    return ids, values + beams.score[..., None]


def _repeated(ids: Tensor) -> Tensor:
    """(rows, n) whether the same number stands further left in the row."""
    return (ids[:, :, None] == ids[:, None]).tril(-1).any(-1)


def _choose(
    engine: Engine,
    beams: Beams,
    tokens: Tensor,
    scores: Tensor,
    beam: int,
    step: int,
    length_penalty: float,
    alive: Tensor,
    finished: list[Finished],
) -> tuple[Tensor, Tensor, Tensor]:
    """The candidates that go on; those that end are put away.

    Returns:
        (searches, beam) parents, tokens and log-probabilities; NEVER where a search has too few.
    """
    searches, each = tokens.shape[0], tokens.shape[2]
    free = each if beams.lexical is None else each - beams.lexical.pieces.shape[1]
    parents = torch.arange(beam, device=tokens.device).repeat_interleave(each).expand(searches, -1)
    order, scores = _eligible(tokens, scores, beam, free)
    parents, tokens = parents.gather(1, order), tokens.flatten(1).gather(1, order)
    bank, most = torch.zeros_like(tokens), 1
    if beams.lexical is not None and beams.progress is not None and beams.lexical.pieces.numel():
        bank = beams.lexical.banks(beams.lexical.say(beams.progress.pick(parents), tokens)[0])
        most = int(beams.lexical.tokens.max()) + 1
    possible = scores > NEVER
    eos, furthest = (tokens == engine.eos) & possible, bank == bank.masked_fill(~possible, -1).amax(-1, keepdim=True)
    cut = possible & furthest & (beams.limit == step + 1)[:, None]
    ending = (eos | cut) & (_rank(bank, possible, most) < beam) & alive[:, None]
    _put_away(engine, beams, parents, tokens, scores, ending, step, length_penalty, finished)
    running = possible & ~eos
    if most == 1:
        chosen = running & (running.cumsum(-1) <= beam)
    else:
        counts = torch.zeros(searches, most, dtype=torch.long, device=tokens.device)
        counts.scatter_add_(1, bank, running.long())
        share = allocate(
            beam, torch.zeros_like(beams.number) if beams.lexical is None else beams.lexical.tokens, counts
        )
        chosen = running & (_rank(bank, running, most) < share.gather(1, bank))
    at = torch.where(chosen, 0, 1).argsort(dim=-1, stable=True)[:, :beam]
    scores = scores.masked_fill(~chosen, NEVER).gather(1, at)
    return parents.gather(1, at), tokens.gather(1, at), scores


def _eligible(tokens: Tensor, scores: Tensor, beam: int, free: int) -> tuple[Tensor, Tensor]:
    """Candidates in falling order of score: the best `free` of all rows, each row's best, and those of constraints.

    Args:
        tokens: (searches, beam, n), `free` free ones in falling order first.
        scores: As `tokens`.
        beam: Rows of a search.
        free: How many of the n are not of constraints.

    Returns:
        (searches, m) numbers in the flattened candidates, and scores.

    Source: Post & Vilar (2018), section 4.1, candidates 1, 2 and 3.
    """
    searches, _, each = tokens.shape
    number = torch.arange(beam * each, device=tokens.device).view(beam, each)
    free_scores = scores[:, :, :free].flatten(1)
    values, at = free_scores.topk(min(free_scores.shape[1], 2 * beam), -1)
    order = number[:, :free].flatten()[at]
    if each > free:
        best = number[:, 0].expand(searches, -1)
        forced = number[:, free:].flatten().expand(searches, -1)
        order = torch.cat([order, best, forced], 1)
        values = scores.flatten(1).gather(1, order)
        candidate = order // each * (int(tokens.max()) + 1) + tokens.flatten(1).gather(1, order)
        values, at = values.masked_fill(_repeated(candidate), NEVER).sort(dim=-1, descending=True, stable=True)
        order = order.gather(1, at)
    return order, values


def _rank(bank: Tensor, counted: Tensor, banks: int) -> Tensor:
    """(searches, m) how many counted candidates of the same bank stand further left."""
    if banks == 1:
        return counted.cumsum(-1) - counted.long()
    among = torch.nn.functional.one_hot(bank, banks) * counted[..., None]
    return (among.cumsum(1) - among).gather(2, bank[..., None])[..., 0]


def _put_away(
    engine: Engine,
    beams: Beams,
    parents: Tensor,
    tokens: Tensor,
    scores: Tensor,
    ending: Tensor,
    step: int,
    length_penalty: float,
    finished: list[Finished],
) -> None:
    """Add the hypotheses that end with this step to the finished ones."""
    searches, at = torch.nonzero(ending, as_tuple=True)
    said = beams.said[searches, parents[searches, at], :step].tolist()
    found = zip(
        beams.number[searches].tolist(), said, tokens[searches, at].tolist(), scores[searches, at].tolist(), strict=True
    )
    for number, before, token, logprob in found:
        score = logprob / (step + len(engine.given)) ** length_penalty
        finished[number].add(Hypothesis([*before, token], logprob, score, token == engine.eos))


def _place(
    engine: Engine, state: State, beams: Beams, parents: Tensor, tokens: Tensor, scores: Tensor, step: int
) -> None:
    """Let the chosen candidates take places in the beam: a parent's first child its own, the others those left over."""
    searches, beam = parents.shape
    # A place where a search has too few candidates takes any: its score says that it is empty.
    order = parents.argsort(dim=-1, stable=True)
    inherited = parents.gather(1, order)
    first = torch.ones_like(inherited, dtype=torch.bool)
    first[:, 1:] = inherited[:, 1:] != inherited[:, :-1]
    barren = torch.ones_like(first).scatter_(1, inherited, False)
    left_over = (~barren).long().argsort(dim=-1, stable=True)
    place = torch.where(first, inherited, left_over.gather(1, ((~first).cumsum(-1) - 1).clamp_(min=0)))
    offset = torch.arange(searches, device=parents.device)[:, None] * beam
    engine.copy(state, (inherited + offset)[~first], (place + offset)[~first])
    parent = torch.empty_like(parents).scatter_(1, place, inherited)
    search = offset // beam
    beams.said = beams.said[search, parent]
    beams.said[:, :, step] = torch.empty_like(tokens).scatter_(1, place, tokens.gather(1, order))
    beams.score = torch.empty_like(scores).scatter_(1, place, scores.gather(1, order))
    if beams.lexical is not None and beams.progress is not None:
        beams.progress, _ = beams.lexical.say(beams.progress.pick(parent), beams.said[:, :, step])


def _stop(
    engine: Engine,
    beams: Beams,
    finished: list[Finished],
    enough: list[int],
    alive: Tensor,
    step: int,
    length_penalty: float,
) -> None:
    """Mark the searches that are done: at their limit, out of hypotheses, or not to be improved on any more."""
    bounds = [finished[number].bound(enough[number]) for number in beams.number.tolist()]
    best = beams.score.amax(-1) / (step + len(engine.given)) ** length_penalty
    alive &= (best > torch.tensor(bounds, device=alive.device).double()) & (beams.limit > step + 1)


def _leave(engine: Engine, state: State, beams: Beams, alive: Tensor) -> tuple[Beams, Tensor]:
    """Drop the searches that are done; the last ones take their places, as the rows do in `Engine.keep`."""
    beam = beams.score.shape[1]
    source, target, left = engine.keep(state, alive.repeat_interleave(beam))
    order = torch.arange(len(alive), device=alive.device)
    order[target[::beam] // beam] = source[::beam] // beam
    return beams.keep(order[: left // beam]), torch.ones(left // beam, dtype=torch.bool, device=alive.device)
