"""Automata that tell how much of a required phrase the last pieces of a hypothesis have spelled.

They guide the search towards required phrases: the state of an automaton names the piece that continues its phrase.
Whether the phrase is said in the end is decided on words (`lexical.py`), because other pieces can spell it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from toolkit.models.padding import pad

NO_PIECE = -1  # pads the pieces of a phrase, and stands where nothing continues a phrase
CLOSE_WORD = -2  # in place of a piece: any piece that closes the open word


@dataclass
class PieceAutomata:
    """One Knuth-Morris-Pratt automaton for each required phrase of each search.

    The state of an automaton is the number of first pieces of its phrase that the last pieces of a hypothesis are.

    Attributes:
        pieces: (searches, phrases, longest) ids of the phrases, NO_PIECE at the end.
        length: (searches, phrases) number of pieces of each phrase; 0 where a search has fewer phrases.
        transitions: (searches, phrases, longest + 1, longest) next state by state and by number of the phrase's piece.
    """

    pieces: Tensor
    length: Tensor
    transitions: Tensor

    @classmethod
    def of(cls, spelled: Sequence[Sequence[Sequence[int]]], device: torch.device | None = None) -> PieceAutomata:
        """The automata of the phrases of each search, each phrase given by its ids."""
        phrases = max(map(len, spelled), default=0)
        longest = max((len(ids) for search in spelled for ids in search), default=0)
        pieces = torch.full((len(spelled), phrases, longest), NO_PIECE)
        transitions = torch.zeros(len(spelled), phrases, longest + 1, longest, dtype=torch.long)
        for search, row in enumerate(spelled):
            for phrase, ids in enumerate(row):
                pieces[search, phrase, : len(ids)] = torch.tensor(ids)
                transitions[search, phrase, : len(ids) + 1, : len(ids)] = torch.tensor(transition_table(ids))
        length = pad([[len(ids) for ids in search] for search in spelled], 0)
        return cls(pieces.to(device), length.to(device), transitions.to(device))

    def keep(self, searches: Tensor) -> PieceAutomata:
        """The automata of the searches of these numbers, in this order."""
        return PieceAutomata(self.pieces[searches], self.length[searches], self.transitions[searches])

    def advance(self, state: Tensor, ids: Tensor) -> Tensor:
        """The states after one more piece.

        Args:
            state: (searches, rows, phrases).
            ids: (searches, rows).

        Returns:
            (searches, rows, phrases).
        """
        if not self.pieces.numel():
            return state
        same = self.pieces[:, None] == ids[..., None, None]  # (searches, rows, phrases, longest)
        search = torch.arange(len(state), device=ids.device)[:, None, None]
        phrase = torch.arange(state.shape[-1], device=ids.device)
        next_state = self.transitions[search, phrase, state, same.long().argmax(-1)]
        return torch.where(same.any(-1), next_state, 0)

    def next_pieces(self, state: Tensor) -> Tensor:
        """(searches, rows, phrases) the piece that continues each phrase; CLOSE_WORD where the phrase is spelled."""
        if not self.pieces.numel():
            return state
        ended = self.pieces.new_full((*self.pieces.shape[:2], 1), NO_PIECE)
        pieces = torch.cat([self.pieces, ended], -1)[:, None].expand(-1, state.shape[1], -1, -1)
        piece = pieces.gather(-1, state[..., None])[..., 0]
        return torch.where(state == self.length[:, None], CLOSE_WORD, piece)


def transition_table(pieces: Sequence[int]) -> list[list[int]]:
    """The next state of a phrase's automaton, by state and by number of the piece of the phrase that is said.

    >>> transition_table([5, 5, 6])
    [[1, 1, 0], [2, 2, 0], [2, 2, 3], [1, 1, 0]]
    """
    table = []
    for state in range(len(pieces) + 1):
        row = []
        for piece in pieces:
            output = [*pieces[:state], piece]
            row.append(
                max(n for n in range(min(len(pieces), len(output)) + 1) if output[len(output) - n :] == [*pieces[:n]])
            )
        table.append(row)
    return table
