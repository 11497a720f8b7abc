"""How the places of a beam are shared out among banks: by hand, and against a loop over integers."""

import random

import pytest
import torch

from toolkit.decode._allocation import allocate


@pytest.mark.parametrize(
    ("beam", "tokens", "candidates", "expected"),
    [
        (5, 0, [10], [5]),  # nothing required: one bank
        (5, 0, [3], [3]),  # fewer candidates than places
        (6, 2, [9, 9, 9], [2, 2, 2]),  # even
        (7, 2, [9, 9, 9], [2, 2, 3]),  # the remainder goes to the bank with everything met
        (8, 2, [9, 9, 9], [2, 2, 4]),  # all of it
        (6, 2, [9, 9, 0], [2, 4, 0]),  # nobody has met everything: the bank below takes those places
        (6, 2, [9, 1, 1], [4, 1, 1]),  # what two banks leave goes down to the last
        (6, 2, [9, 0, 9], [4, 0, 2]),  # an empty bank in the middle: down, not up
        (6, 2, [0, 9, 9], [0, 4, 2]),  # nothing in bank 0: its places come back up to the next
        (6, 2, [0, 3, 9], [0, 3, 3]),  # and what that one has no use for to the one above
        (7, 2, [1, 0, 9], [1, 0, 6]),  # over an empty one
        (6, 2, [1, 1, 1], [1, 1, 1]),  # fewer candidates than places in all
        (6, 2, [0, 0, 0], [0, 0, 0]),  # no candidate at all
        (2, 5, [9, 9, 9, 9, 9, 9], [0, 0, 0, 0, 0, 2]),  # more banks than places: the best-off bank has all
        (2, 5, [9, 9, 9, 0, 0, 0], [0, 0, 2, 0, 0, 0]),  # or the one that is furthest
        (2, 5, [9, 9, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0]),  # and the next
        (1, 3, [5, 1, 0, 0], [0, 1, 0, 0]),  # a beam of one follows whoever is furthest
    ],
)
def test_by_hand(beam, tokens, candidates, expected):
    assert allocate(beam, torch.tensor([tokens]), torch.tensor([candidates])).tolist() == [expected]


def by_loop(beam: int, tokens: int, candidates: list[int]) -> list[int]:
    """The same, one place at a time."""
    share = [beam // (tokens + 1)] * (tokens + 1)
    share[-1] += beam % (tokens + 1)
    places = [0] * len(candidates)
    spare = 0
    for bank in range(tokens, -1, -1):
        hands = share[bank] + spare
        while hands and places[bank] < candidates[bank]:
            places[bank], hands = places[bank] + 1, hands - 1
        spare = hands
    for bank in range(tokens + 1):
        while spare and places[bank] < candidates[bank]:
            places[bank], spare = places[bank] + 1, spare - 1
    return places


@pytest.mark.parametrize("seed", range(30))
def test_batches_against_a_loop_over_places(seed):
    chance = random.Random(seed)
    beam, banks = chance.randint(1, 20), chance.randint(1, 8)
    tokens = [chance.randrange(banks) for _ in range(12)]
    counts = [[chance.choice((0, 1, 2, 5, 20)) if b <= t else 0 for b in range(banks)] for t in tokens]
    allocations = allocate(beam, torch.tensor(tokens), torch.tensor(counts)).tolist()
    for places, count, candidates in zip(allocations, tokens, counts, strict=True):
        assert places == by_loop(beam, count, candidates)
        assert sum(places) == min(beam, sum(candidates))
        assert all(0 <= place <= candidate for place, candidate in zip(places, candidates, strict=True))


def test_the_candidates_are_left_as_they_are():
    candidates = torch.tensor([[9, 1, 1]])
    allocate(6, torch.tensor([2]), candidates)
    assert candidates.tolist() == [[9, 1, 1]]
