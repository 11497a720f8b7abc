"""Dynamic beam allocation (Post & Vilar 2018, section 4): how many places of a beam each bank gets.

A bank holds the candidates that have met equally many constraint tokens. The places of a beam are shared out evenly
among the banks. Otherwise hypotheses that have met few constraints would displace those that have met many, because
constraint tokens are often less probable. The function reads and returns integers only.
"""

from __future__ import annotations

import torch
from torch import Tensor


def allocate(beam: int, tokens: Tensor, candidates: Tensor) -> Tensor:
    """Places of each bank of each search.

    Every bank gets `beam // (tokens + 1)` places, and the bank with all constraint tokens met gets the remainder too.
    Places that a bank cannot fill go to the next lower bank with candidates left; places that remain after bank 0 go
    to the higher banks.

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
    That places go down before they go up is ours.
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
