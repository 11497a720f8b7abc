"""Dynamic beam allocation (Post & Vilar 2018, section 4): how many places of a beam each bank gets.

A bank holds the candidates that have met equally many constraint tokens. The places are shared out evenly among the
banks, so that neither hypotheses that put constraints off nor those that hurry to meet them crowd the others out.
Integers in, integers out.
"""

from __future__ import annotations

import torch
from torch import Tensor


def allocate(beam: int, tokens: Tensor, candidates: Tensor) -> Tensor:
    """Places of each bank of each search.

    Every bank gets `beam // (tokens + 1)`, the bank with everything met the remainder too. What a bank cannot fill
    goes down to the next bank with candidates to spare; what is left at the bottom comes back up.

    Args:
        beam: Places of a search, >= 1.
        tokens: (searches,) constraint tokens of each, >= 0: banks are 0 to `tokens`.
        candidates: (searches, banks) how many candidates each bank has; 0 in banks that a search does not have.

    Returns:
        (searches, banks) integers; of a search they add up to `beam`, or to all its candidates if they are fewer.

    Example: two constraint tokens, a beam of 6; the upper two banks have one candidate each and bank 0 takes the rest.

    >>> allocate(6, torch.tensor([2]), torch.tensor([[9, 1, 1]])).tolist()
    [[4, 1, 1]]

    Source: Post & Vilar (2018), "Fast Lexically Constrained Decoding with Dynamic Beam Allocation", section 4.2.
    Downward before upward is ours.
    """
    banks = candidates.shape[1]
    even = beam // (tokens + 1)
    share = torch.where(torch.arange(banks, device=tokens.device) <= tokens[:, None], even[:, None], 0)
    share.scatter_add_(1, tokens[:, None], (beam - even * (tokens + 1))[:, None])
    places, spare = torch.zeros_like(candidates), torch.zeros_like(tokens)
    for bank in reversed(range(banks)):
        places[:, bank] = torch.minimum(share[:, bank] + spare, candidates[:, bank])
        spare = share[:, bank] + spare - places[:, bank]
    for bank in range(banks):
        more = torch.minimum(spare, candidates[:, bank] - places[:, bank])
        places[:, bank] += more
        spare = spare - more
    return places
