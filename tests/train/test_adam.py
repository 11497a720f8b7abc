"""Adam by rows against torch's Adam on the whole table."""

import numpy as np
import pytest
import torch

from toolkit.train.adam import BETA1, BETA2, KEPT, LazyAdam, _infinite_sums, _Sums

RATE = 0.01


def dense(table: torch.Tensor, steps: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """What torch.optim.Adam makes of it, in float64."""
    weight = torch.nn.Parameter(table.double())
    adam = torch.optim.Adam([weight], lr=RATE)
    for rows, gradient in steps:
        weight.grad = torch.zeros_like(weight).index_copy_(0, rows, gradient.double())
        adam.step()
    return weight.detach()


def draw(steps: int, rows: int, size: float, often: int = 3) -> tuple[torch.Tensor, list]:
    """A table, and gradients of few rows; row 0 has one at the first step only, row 1 at the first and last."""
    chance = np.random.default_rng(3)
    table = torch.from_numpy(chance.normal(size=(rows, 4)).astype(np.float32))
    gradients = []
    for step in range(steps):
        random_rows = 2 + chance.choice(rows - 3, often, replace=False)  # the last row never
        indices = [0, 1, *random_rows] if step == 0 else [1, *random_rows] if step == steps - 1 else list(random_rows)
        gradient = size * chance.normal(size=(len(indices), 4))
        gradients.append((torch.tensor(indices), torch.from_numpy(gradient.astype(np.float32))))
    return table, gradients


def lazy(table: torch.Tensor, steps: list, sums: _Sums | None = None) -> LazyAdam:
    adam = LazyAdam(table, RATE, sums or _Sums(len(steps)))
    for rows, gradient in steps:
        adam.step(rows, adam.read(rows), gradient)
    return adam


LONG = 700
CASES = [(size, apart, steps) for size, apart in ((1.0, 1e-5), (1e-3, 2e-4)) for steps in (1, 2, 40, LONG)]


@pytest.mark.parametrize(("size", "apart", "steps"), [*CASES, (1e-6, 4e-3, LONG)])
def test_a_table_moves_as_under_torchs_adam(size, apart, steps):
    table, gradients = draw(steps, 30, size)
    adam, expected = lazy(table, gradients), dense(table, gradients)
    movement = expected - table
    assert movement[:2].abs().amax(1).min() > RATE / 2 and (movement[-1] == 0).all()
    assert (adam.table() - expected).norm() <= apart * movement.norm()
    assert torch.equal(adam.table()[-1], table[-1]), "a row that nobody read"
    rows = torch.tensor([5, 0, 7])
    assert torch.equal(adam.read(rows), adam.table()[rows])


def test_a_row_goes_on_when_nobody_looks():
    table, gradients = draw(1, 30, 1.0)
    still = (torch.tensor([7]), torch.ones(1, 4))
    adam, expected = lazy(table, gradients + [still] * 30), dense(table, gradients + [still] * 30)
    after_one = dense(table, gradients)
    assert ((expected[0] - after_one[0]).abs() > 3 * RATE).all(), "momentum carries it"
    torch.testing.assert_close(adam.read(torch.tensor([0]))[0].double(), expected[0], rtol=0, atol=2e-5)


def test_the_sum_is_that_of_its_terms():
    sums = _Sums(60)
    for last, now in ((1, 1), (1, 2), (3, 10), (7, 60)):
        terms = [
            BETA1 ** (j - last) / (1 - BETA1**j) / np.sqrt(BETA2 ** (j - last) * (1 - BETA2**last) / (1 - BETA2**j))
            for j in range(last + 1, now + 1)
        ]
        # `move` has b2(last) in it, so the sum is a multiple of m / sqrt(v / b2(last))
        expected = sum(terms) / np.sqrt(1 / (1 - BETA2**last)) / np.sqrt(1 - BETA2**last)
        assert sums.between(torch.tensor([last]), now).item() == pytest.approx(expected, rel=1e-5)


def test_infinite_sums_by_hand():
    # ratio 1/2, terms 4, 2, 2, 2, ...: before the first 4/2 + 2/4 + 2/8 + ... = 3; from then on 2
    assert _infinite_sums(np.array([4.0, 2.0, 2.0]), 0.5).tolist() == [3, 2, 2, 2]


def test_a_step_beyond_the_table_is_an_error():
    with pytest.raises(IndexError, match=r"^wanted at most 511 steps, got 2000$"):
        _Sums(10).between(torch.tensor([1]), 2000)


def test_what_is_kept_is_all_there_is():
    table, gradients = draw(20, 30, 1.0)
    whole, half = lazy(table, gradients), lazy(table, gradients[:11])
    again = LazyAdam(torch.zeros_like(table), RATE, _Sums(20))
    for name in KEPT:
        setattr(again, name, getattr(half, name))
    for rows, gradient in gradients[11:]:
        again.step(rows, again.read(rows), gradient)
    assert torch.equal(again.table(), whole.table()) and not torch.equal(whole.table(), table)


def test_the_given_table_stays():
    table, gradients = draw(3, 30, 1.0)
    before = table.clone()
    lazy(table, gradients)
    assert torch.equal(table, before)
