"""What must not be said next, by hand-made histories."""

import pytest
import torch

from toolkit.decode.constraints import NONE, _NegativeConstraints


def forbidden(phrases: list[list[int]], history: list[int]) -> set[int]:
    """The ids that one row with this history may not say."""
    constraints = _NegativeConstraints.of([phrases])
    assert constraints is not None
    tokens = torch.tensor([history], dtype=torch.long).view(1, len(history))
    return set(constraints.forbidden(torch.tensor([0]), tokens)[0].tolist()) - {NONE}


@pytest.mark.parametrize(
    ("phrases", "history", "expected"),
    [
        ([[7]], [], {7}),  # one id: always
        ([[7]], [7, 8], {7}),
        ([[5, 6]], [], set()),
        ([[5, 6]], [5], {6}),
        ([[5, 6]], [5, 6], set()),
        ([[5, 6]], [5, 7], set()),  # the prefix is over
        ([[5, 5, 6]], [5], set()),  # half a prefix
        ([[5, 5, 6]], [5, 5], {6}),
        ([[5, 5, 6]], [5, 5, 5], {6}),  # the prefix repeats: its last two ids count
        ([[5, 5, 6]], [5, 7, 5], set()),
        ([[5, 6, 5, 6, 8]], [5, 6, 5, 6, 5, 6], {8}),  # overlaps itself
        ([[5, 6], [5, 7], [9]], [5], {6, 7, 9}),
        ([[5, 6], [5, 6]], [5], {6}),  # twice
        ([[1, 2, 3, 4, 5, 6]], [3, 4, 5], set()),  # longer than the history
        ([[0, 6]], [0], {6}),  # id 0 is an id
        ([[0, 6]], [], set()),
        ([[0, 0, 6]], [0], set()),
        ([[7], [1, 2, 3]], [2], {7}),  # phrases of different lengths
        ([[7, 8], [1, 2, 3]], [7], {8}),
    ],
)
def test_forbidden(phrases, history, expected):
    assert forbidden(phrases, history) == expected


def test_each_row_has_the_phrases_of_its_list():
    constraints = _NegativeConstraints.of([[], [[5, 6], [9]], [[4]]])
    ids = constraints.forbidden(torch.tensor([1, 0, 2, 1]), torch.tensor([[5], [5], [5], [6]]))
    assert [set(row) - {NONE} for row in ids.tolist()] == [{6, 9}, set(), {4}, {9}]


def test_unsaid_steps_are_no_ids():
    assert forbidden([[NONE + 1, 6]], [NONE]) == set()


def test_no_phrases_no_constraints():
    assert _NegativeConstraints.of([[], []]) is None
    assert _NegativeConstraints.of([]) is None


def test_an_empty_phrase_is_an_error():
    with pytest.raises(ValueError, match="wanted phrases of at least one token, got an empty one"):
        _NegativeConstraints.of([[[3]], [[]]])
