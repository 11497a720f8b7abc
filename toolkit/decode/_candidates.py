"""One step of beam search without its bookkeeping: which tokens continue the hypotheses, and which of those are kept.

Every hypothesis proposes its best tokens and the tokens that continue its required phrases (`_propose`). The best of
all rows of a search, in falling order of score, are its `Candidates`. Dynamic beam allocation (Post & Vilar 2018)
shares out the beam among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from toolkit.decode._allocation import allocate
from toolkit.decode._automata import CLOSE_WORD, NO_PIECE
from toolkit.decode._constraint_state import ConstraintState
from toolkit.decode._top_k import log_probabilities, most_probable_folded, top
from toolkit.decode.engine import IDS, Engine
from toolkit.decode.lexical import LexicalConstraints

NEVER = -torch.inf


@dataclass
class Candidates:
    """Hypotheses with one more token, in falling order of score.

    Attributes:
        parents: (searches, n) the row that each continues.
        tokens: (searches, n) the token that it adds.
        scores: (searches, n) its log-probability; NEVER where it is none.
        bank: (searches, n) how many constraint tokens it has met.
        required: (searches,) constraint tokens of each search; None where no search requires any.
        banks: The number of banks: one more than the greatest number of constraint tokens, or still more.
    """

    parents: Tensor
    tokens: Tensor
    scores: Tensor
    bank: Tensor
    required: Tensor | None
    banks: int

    def ending(self, eos: int, at_limit: Tensor, beam: int) -> Tensor:
        """Which candidates are finished: those that say EOS, and at the limit of tokens those of the highest bank.

        Args:
            eos: The token that ends a hypothesis.
            at_limit: (searches,) whether this token is the last that is allowed.
            beam: Only as many of the best of each bank count, as in `transformers`.

        Returns:
            (searches, n) booleans.
        """
        possible = self.scores > NEVER
        furthest = self.bank == self.bank.masked_fill(~possible, -1).amax(-1, keepdim=True)
        cut = possible & furthest & at_limit[:, None]
        return (((self.tokens == eos) & possible) | cut) & (self._rank(possible) < beam)

    def running(self, eos: int, beam: int) -> tuple[Tensor, Tensor, Tensor]:
        """The best candidates that have not said EOS, as many of each bank as the beam allots to it.

        Returns:
            (searches, beam) parents, tokens and log-probabilities; NEVER where a search has too few.
        """
        running = (self.scores > NEVER) & (self.tokens != eos)
        if self.required is None or self.banks == 1:
            is_chosen = running & (running.cumsum(-1) <= beam)
        else:
            counts = torch.zeros(len(running), self.banks, dtype=torch.long, device=running.device)
            counts.scatter_add_(1, self.bank, running.long())
            places = allocate(beam, self.required, counts)
            is_chosen = running & (self._rank(running) < places.gather(1, self.bank))
        at = torch.where(is_chosen, 0, 1).argsort(dim=-1, stable=True)[:, :beam]
        tensors = (self.parents, self.tokens, self.scores.masked_fill(~is_chosen, NEVER))
        parents, tokens, scores = (t.gather(1, at) for t in tensors)
        missing = (0, beam - at.shape[1])  # where the vocabulary has fewer tokens than the beam has places
        return pad(parents, missing), pad(tokens, missing), pad(scores, missing, value=NEVER)

    def _rank(self, is_counted: Tensor) -> Tensor:
        """(searches, n) how many counted candidates of the same bank have a better score."""
        if self.banks == 1:
            return is_counted.cumsum(-1) - is_counted.long()
        among = torch.nn.functional.one_hot(self.bank, self.banks) * is_counted[..., None]
        return (among.cumsum(1) - among).gather(2, self.bank[..., None])[..., 0]


def best_candidates(
    engine: Engine, hidden: Tensor, scores: Tensor, state: ConstraintState | None, beam: int
) -> Candidates:
    """The candidates of each search, after all rows have read their last token.

    Args:
        engine: For the logits.
        hidden: (searches * rows, width).
        scores: (searches, rows) log-probability of each row so far.
        state: Of the constraints; None without.
        beam: Rows that a search goes on with.
    """
    searches, rows = scores.shape
    tokens, proposed = _propose(engine, hidden, scores, state, 2 * beam)
    free = tokens.shape[2] - (0 if state is None else state.constraints.phrases)
    parents = torch.arange(rows, device=tokens.device).repeat_interleave(tokens.shape[2]).expand(searches, -1)
    order, values = _eligible(tokens, proposed, free, 2 * beam)
    parents, tokens = parents.gather(1, order), tokens.flatten(1).gather(1, order)
    if state is None or not state.constraints.phrases:
        return Candidates(parents, tokens, values, torch.zeros_like(tokens), None, 1)
    bank, required = state.pick(parents).advance(tokens)[0].banks(), state.constraints.tokens
    return Candidates(parents, tokens, values, bank, required, state.constraints.most_tokens + 1)


def _propose(
    engine: Engine, hidden: Tensor, scores: Tensor, state: ConstraintState | None, count: int
) -> tuple[Tensor, Tensor]:
    """The best tokens of each row, then the tokens that continue its required phrases.

    Args:
        engine: See `best_candidates`.
        hidden: See `best_candidates`.
        scores: See `best_candidates`.
        state: See `best_candidates`.
        count: How many tokens each row proposes freely.

    Returns:
        (searches, rows, n) tokens, and the log-probabilities of the hypotheses that say them; NEVER where a token must
        not be said, and where a token of a phrase is among the best already or comes twice.
    """
    permitted = None if state is None else _Permitted.of(state)
    tokens, gained = [], []
    for part, logits in engine.logits(hidden):
        proposals = min(count, logits.shape[1])
        folded = most_probable_folded(logits, proposals, engine.pad) if permitted is None else None
        if folded is not None:
            values, ids = folded
        else:
            logprobs = log_probabilities(logits)
            logprobs[:, engine.pad] = NEVER
            if permitted is not None:
                permitted.mask(logprobs, part, engine.eos)
            values, ids = top(logprobs, proposals)
            if permitted is not None and permitted.next_pieces.shape[1]:
                more = permitted.continuations(logprobs, part, engine.pad)
                values = torch.cat([values, logprobs.gather(1, more).masked_fill(repeated(more), NEVER)], 1)
                ids = torch.cat([ids, more], 1)
        tokens.append(ids)
        gained.append(values)
    ids = torch.cat(tokens).view(*scores.shape, -1)
    values = torch.cat(gained).view_as(ids).double()
    if state is not None:
        values = values.masked_fill(state.dead_ends(ids), NEVER)
    return ids, values + scores[..., None]


@dataclass
class _Permitted:
    """What the constraints permit the rows of all searches to say at one step.

    Attributes:
        constraints: Of the searches.
        may_close: (rows,) whether the open word may be closed.
        may_end: (rows,) whether all required phrases are said once it is.
        refused: (rows, checked) the pieces of `constraints.checked` that must not be said; None where there are none.
        next_pieces: (rows, phrases) the piece that continues each required phrase, or CLOSE_WORD or NO_PIECE.
    """

    constraints: LexicalConstraints
    may_close: Tensor
    may_end: Tensor
    refused: Tensor | None
    next_pieces: Tensor

    @classmethod
    def of(cls, state: ConstraintState) -> _Permitted:
        """What a state permits, with the rows of one search after those of the other."""
        violates, complete = (t.flatten() for t in state.closing())
        refused = state.refused().flatten(0, 1) if len(state.constraints.checked) else None
        return cls(state.constraints, ~violates, complete, refused, state.next_pieces().flatten(0, 1))

    def mask(self, logprobs: Tensor, part: slice, eos: int) -> None:
        """Set what the rows `part` must not say to NEVER in their log-probabilities (rows of the part, vocabulary)."""
        shut = torch.nonzero(~self.may_close[part]).flatten()
        if len(shut):
            logprobs[shut] = logprobs[shut].masked_fill_(self.constraints.table.closes_first, NEVER)
        logprobs[:, eos].masked_fill_(~self.may_end[part], NEVER)
        if self.refused is not None:
            checked = self.constraints.checked
            logprobs[:, checked] = logprobs[:, checked].masked_fill(self.refused[part], NEVER)

    def continuations(self, logprobs: Tensor, part: slice, pad: int) -> Tensor:
        """(rows of the part, phrases) the tokens that continue required phrases; `pad` where nothing does.

        Where a phrase is spelled but its last word still open, the token is the most probable one that closes the word.
        """
        pieces = self.next_pieces[part]
        tokens = torch.where(pieces == NO_PIECE, pad, pieces)
        spelled = torch.nonzero((tokens == CLOSE_WORD).any(-1)).flatten()
        if len(spelled):
            closing = logprobs[spelled].masked_fill_(~self.constraints.table.closes_first, NEVER)
            best = closing.argmax(-1, keepdim=True)
            tokens[spelled] = torch.where(tokens[spelled] == CLOSE_WORD, best, tokens[spelled])
        return tokens


def _eligible(tokens: Tensor, scores: Tensor, free: int, count: int) -> tuple[Tensor, Tensor]:
    """The proposals of a search that may enter its beam, in falling order of score, each once.

    These are the `count` best of all rows, the best of each row, and all that continue required phrases.

    Args:
        tokens: (searches, rows, n), first `free` ones in falling order of score, then those of required phrases.
        scores: As `tokens`.
        free: How many of the n do not come from required phrases.
        count: Twice the beam.

    Returns:
        (searches, m) places in the flattened (rows, n) proposals, and (searches, m) scores, NEVER of a repeated one.

    Source: Post & Vilar (2018), section 4.1, candidates 1, 2 and 3.
    """
    searches, rows, each = tokens.shape
    number = torch.arange(rows * each, device=tokens.device).view(rows, each)
    free_scores = scores[:, :, :free].flatten(1)
    values, at = free_scores.topk(min(free_scores.shape[1], count), -1)
    order = number[:, :free].flatten()[at]
    if each > free:
        best = number[:, 0].expand(searches, -1)
        forced = number[:, free:].flatten().expand(searches, -1)
        order = torch.cat([order, best, forced], 1)
        values = scores.flatten(1).gather(1, order)
        candidate = order // each * IDS + tokens.flatten(1).gather(1, order)
        values, at = values.masked_fill(repeated(candidate), NEVER).sort(dim=-1, descending=True, stable=True)
        order = order.gather(1, at)
    return order, values


def repeated(ids: Tensor) -> Tensor:
    """(rows, n) whether the same number stands further left in the row."""
    return (ids[:, :, None] == ids[:, None]).tril(-1).any(-1)
