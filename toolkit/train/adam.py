"""Adam for a large table of which a step reads few rows: the same numbers, without touching the others.

Adam moves every weight at every step, also where the gradient is zero, because its running mean decays slowly. A step
that reads 1,000 of 30,000 rows would spend nearly all its time on rows that it does not read. But the movement of such
a row is known in advance. With m and v as they were at its last step l, and b1, b2 the bias corrections, k steps
without gradient move a weight by

    - rate * sum over j = l+1 .. l+k of  beta1^(j-l) m / b1(j) / (sqrt(beta2^(j-l) v / b2(j)) + epsilon)
    = - rate * m / (sqrt(v / b2(l)) + epsilon) * (a number that depends on l and k alone)

where epsilon is small beside sqrt(v), as intended: with gradients of 1e-3 the movement of a table over a training
differs by at most 0.005 % of its length, with gradients of 1e-6 by up to 1.5 %. The first factor is the last movement
of the row, and is stored. The number is the difference of two entries of a precomputed table. So a row is brought up to
date when it is next read, by one multiplication and one addition.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Kingma & Ba 2015, section 2; ParaNMT-50M changes none
TAIL = 1000  # ours: steps after which beta1^k is negligible
KEPT = ("weight", "mean", "square", "move", "last", "steps")  # of a table, for a checkpoint


class _Sums:
    """How far a row moves without a gradient, as a multiple of its last m / (sqrt(v / b2(l)) + epsilon).

    From step l to step t that is the sum over j = l+1 .. t of (beta1 / sqrt(beta2))^(j-l) sqrt(b2(j) / b2(l)) / b1(j),
    the difference of two infinite sums.
    """

    def __init__(self, steps: int) -> None:
        """Tabulate the infinite sums for every step of a training.

        Args:
            steps: Steps of the training, at least as many as will be taken.
        """
        j = np.arange(1, steps + TAIL + 1)
        self.ratio = BETA1 / BETA2**0.5
        self.sums = torch.from_numpy(_infinite_sums(np.sqrt(1 - BETA2**j) / (1 - BETA1**j), self.ratio))

    def between(self, last: Tensor, now: int) -> Tensor:
        """The sum from each row's last step to this one, (rows, 1) float32.

        Args:
            last: (rows,) int64, at most `now`; 0 for a row that has not moved, whose sum has no meaning.
            now: Steps that have been taken.

        Raises:
            IndexError: More steps have been taken than were tabulated.
        """
        if len(self.sums) <= now + TAIL // 2:
            raise IndexError(f"wanted at most {len(self.sums) - TAIL // 2} steps, got {now}")
        self.sums = self.sums.to(last.device)
        left = self.sums[last] - self.ratio ** (now - last).double() * self.sums[now]
        return (left.clamp(min=0) / (1 - BETA2 ** last.clamp(min=1).double()).sqrt()).float()[:, None]


def _infinite_sums(terms: np.ndarray, ratio: float) -> np.ndarray:
    """For every l the sum over j > l of ratio^(j-l) terms[j-1], with the last term in place of all later ones."""
    sums = np.empty(len(terms) + 1)
    sums[-1] = terms[-1] * ratio / (1 - ratio)
    for index in range(len(terms) - 1, -1, -1):
        sums[index] = ratio * (terms[index] + sums[index + 1])
    return sums


class LazyAdam:
    """A table under Adam. The stored values of a row are those of its last step.

    Attributes:
        weight: (rows, dimensions) float32.
        mean: Adam's m.
        square: Adam's v.
        move: m / (sqrt(v / b2) + epsilon).
        last: (rows,) the row's last step, 0 before the first.
        steps: Steps that have been taken.
    """

    def __init__(self, table: Tensor, rate: float, sums: _Sums) -> None:
        """Start from a table of weights.

        Args:
            table: (rows, dimensions), which is copied.
            rate: The learning rate.
            sums: Of at least as many steps as will be taken.
        """
        self.weight = table.clone()
        self.mean, self.square, self.move = (torch.zeros_like(table) for _ in range(3))
        self.last = torch.zeros(len(table), dtype=torch.int64, device=table.device)
        self.rate, self.sums, self.steps = rate, sums, 0

    def read(self, rows: Tensor) -> Tensor:
        """The weights of some rows as they are after all steps so far, (rows, dimensions)."""
        factor = self.sums.between(self.last[rows], self.steps)
        return self.weight.index_select(0, rows).addcmul_(self.move.index_select(0, rows), factor, value=-self.rate)

    def step(self, rows: Tensor, weight: Tensor, gradient: Tensor) -> None:
        """Take one step.

        Args:
            rows: (n,) distinct rows: every row with a gradient.
            weight: (n, dimensions) return value of `read` for them; it is changed in place.
            gradient: (n, dimensions).
        """
        self.steps += 1
        gap = (self.steps - self.last[rows])[:, None]
        mean = self.mean.index_select(0, rows).mul_(BETA1**gap).add_(gradient, alpha=1 - BETA1)
        square = self.square.index_select(0, rows).mul_(BETA2**gap)
        square.addcmul_(gradient, gradient, value=1 - BETA2)
        move = square.sqrt().mul_((1 - BETA2**self.steps) ** -0.5).add_(EPSILON)
        torch.div(mean, move, out=move)
        weight.add_(move, alpha=-self.rate / (1 - BETA1**self.steps))
        self.last[rows] = self.steps
        for table, values in ((self.weight, weight), (self.mean, mean), (self.square, square), (self.move, move)):
            table.index_copy_(0, rows, values)

    def table(self) -> Tensor:
        """All weights as they are now, (rows, dimensions)."""
        return self.read(torch.arange(len(self.weight), device=self.weight.device))
