"""How far each hypothesis has come with the lexical constraints of its search, and what they let it say next.

The methods are those of Sockeye's `lexical_constraints` (Post & Vilar 2018) for all hypotheses of all searches at once:
`advance` consumes a token, `next_pieces` are the tokens that continue unmet constraints, `banks` counts met ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from toolkit.decode._automata import NO_PIECE
from toolkit.decode.lexical import LexicalConstraints
from toolkit.decode.words import BOS, NOTHING


@dataclass
class ConstraintState:
    """The state of every row (hypothesis) of every search.

    Attributes:
        constraints: Of the searches.
        open_word: (searches, rows) hash of the word that a row is in.
        recent: (searches, rows, window - 1) hashes of the last words that a row has closed.
        count: (searches, rows, phrases) how often a row has said each required phrase.
        spelled: (searches, rows, phrases) states of the automata: how many pieces of each required phrase a row's last
            pieces are.
    """

    constraints: LexicalConstraints
    open_word: Tensor
    recent: Tensor
    count: Tensor
    spelled: Tensor

    @classmethod
    def start(cls, constraints: LexicalConstraints, rows: int) -> ConstraintState:
        """The state of `rows` empty hypotheses of each search."""
        times = constraints.times
        searches, phrases = times.shape
        recent = times.new_full((searches, rows, constraints.required.forms.shape[-1] - 1), NOTHING)
        recent[..., -1:] = BOS
        zeros = times.new_zeros(searches, rows, phrases)
        return cls(constraints, times.new_zeros(searches, rows), recent, zeros, zeros)

    def pick(self, parents: Tensor) -> ConstraintState:
        """The state of the rows `parents` (searches, n) of each search."""
        search = torch.arange(len(parents), device=parents.device)[:, None]
        rows = (t[search, parents] for t in (self.open_word, self.recent, self.count, self.spelled))
        return ConstraintState(self.constraints, *rows)

    def keep(self, searches: Tensor) -> ConstraintState:
        """The state of the searches of these numbers, in this order."""
        rows = (t[searches] for t in (self.open_word, self.recent, self.count, self.spelled))
        return ConstraintState(self.constraints.keep(searches), *rows)

    def advance(self, ids: Tensor) -> tuple[ConstraintState, Tensor]:
        """The state after each row has said one more piece.

        Args:
            ids: (searches, rows).

        Returns:
            The new state, and (searches, rows) whether a row has said something forbidden with that piece.
        """
        constraints = self.constraints
        closed, open_word = constraints.table.advance(ids, self.open_word)
        recent, count, violates = self.recent, self.count, torch.zeros_like(ids, dtype=torch.bool)
        spelled, met_inside = constraints.automata.advance(self.spelled, ids), torch.zeros_like(count, dtype=torch.bool)
        for place, word in enumerate(closed):
            window = torch.cat([recent, word[..., None]], -1)
            is_word = (word != NOTHING)[..., None]
            met = constraints.required.match(window) & is_word
            count, met_inside = count + met, (met_inside | met) if place else met_inside
            violates |= (constraints.forbidden.match(window) & is_word).any(-1)
            recent = torch.where(is_word, window[..., 1:], recent)
        # A phrase that its own last piece closes, such as a punctuation mark, is met: its automaton starts again.
        spelled = torch.where(met_inside & (spelled == constraints.automata.length[:, None]), 0, spelled)
        return ConstraintState(constraints, open_word, recent, count, spelled), violates

    def next_pieces(self) -> Tensor:
        """The piece that continues each required phrase: (searches, rows, phrases) ids.

        CLOSE_WORD where the phrase is spelled and its last word still open; NO_PIECE where the phrase has been said as
        often as required, and where a search has fewer phrases.
        """
        piece = self.constraints.automata.next_pieces(self.spelled)
        return torch.where(self.count < self.constraints.times[:, None], piece, NO_PIECE)

    def banks(self) -> Tensor:
        """(searches, rows) constraint tokens met: those of phrases said, and of the phrase that is spelled furthest."""
        times, length = self.constraints.times[:, None], self.constraints.automata.length[:, None]
        met = (torch.minimum(self.count, times) * length).sum(-1)
        begun = torch.where(self.count < times, self.spelled, 0)
        return met + (begun.amax(-1) if begun.shape[-1] else 0)

    def closing(self) -> tuple[Tensor, Tensor]:
        """The effect of closing the open word, as EOS and every piece after a space do.

        Returns:
            (searches, rows) whether that says something forbidden or unknown, and whether all required phrases are
            said then.
        """
        constraints = self.constraints
        window = torch.cat([self.recent, self.open_word[..., None]], -1)
        is_word = self.open_word != NOTHING
        count = self.count + (constraints.required.match(window) & is_word[..., None])
        violates = constraints.forbidden.match(window).any(-1)
        if constraints.known is not None:
            violates = violates | ~constraints.known.is_word(self.open_word)
        return violates & is_word, (count >= constraints.times[:, None]).all(-1)

    def refused(self) -> Tensor:
        """(searches, rows, `checked`) whether such a piece says something forbidden or closes an unknown word."""
        checked, known = self.constraints.checked, self.constraints.known
        searches, rows = self.open_word.shape
        parents = torch.arange(rows, device=checked.device).repeat_interleave(len(checked)).expand(searches, -1)
        before, ids = self.pick(parents), checked.repeat(rows).expand(searches, -1)
        _, violates = before.advance(ids)
        if known is not None:
            word = self.constraints.table.advance(ids, before.open_word)[0][0]
            violates |= (word != NOTHING) & ~known.is_word(word)
        return violates.view(searches, rows, len(checked))

    def completes(self, ids: Tensor) -> Tensor:
        """Whether a piece says something forbidden, or would once its last word is closed.

        A row that never says such a piece never says anything forbidden, and its open word may always be closed.

        Args:
            ids: (searches, rows).

        Returns:
            (searches, rows) booleans.
        """
        after, violates = self.advance(ids)
        return violates | after.closing()[0]

    def dead_ends(self, ids: Tensor) -> Tensor:
        """Whether a piece would leave a row in a word that it can neither close nor continue to a known word.

        Args:
            ids: (searches, rows, n).

        Returns:
            (searches, rows, n) booleans; all false where any word may be said.
        """
        known = self.constraints.known
        if known is None:
            return torch.zeros_like(ids, dtype=torch.bool)
        searches, rows, each = ids.shape
        parents = torch.arange(rows, device=ids.device).repeat_interleave(each).expand(searches, -1)
        after, _ = self.pick(parents).advance(ids.flatten(1))
        return (after.closing()[0] & ~known.is_beginning(after.open_word)).view(searches, rows, each)
