"""Adam for a large table of which a step reads few rows: the same numbers, without touching the others.

Adam moves every weight at every step, also where the gradient is zero: its running mean goes on for a while. A step that
reads 1,000 of 30,000 rows would spend nearly all its time on rows that nobody looks at. But what such a row will do is
known in advance. With m and v as they were at its last step l, and k steps of zero gradient since,

    m becomes beta1^k m,    v becomes beta2^k v,    w has moved by    - rate * sum over j = l+1 .. l+k of
                                                        beta1^(j-l) m / b1(j) / (sqrt(beta2^(j-l) v / b2(j)) + epsilon)

with b1, b2 the bias corrections. Without epsilon that is m / sqrt(v) times a number that depends on l and k alone, the
difference of two entries of a table (`Sums`). So a row is brought up to date when it is next read. Epsilon enters as the
Pade approximant that is exact for small and for large epsilon; what is left of a difference is in the seventh digit.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Kingma & Ba 2015, section 2; ParaNMT-50M changes none
TAIL = 1000  # ours: steps after which beta1^k is no number any more


class Sums:
    """What a row without a gradient moves between two steps, as a multiple of m / sqrt(v).

    first(l, t) = sum over j = l+1 .. t of (beta1 / sqrt(beta2))^(j-l) sqrt(b2(j)) / b1(j), and second the same of
    (beta1 / beta2)^(j-l) b2(j) / b1(j), each as the difference of two infinite sums.
    """

    def __init__(self, steps: int) -> None:
        """Tabulate the infinite sums for every step of a training."""
        j = np.arange(1, steps + TAIL + 1)
        b1, b2 = 1 - BETA1**j, 1 - BETA2**j
        self.ratios = BETA1 / BETA2**0.5, BETA1 / BETA2
        self.sums = [
            torch.from_numpy(infinite_sums(terms, ratio))
            for terms, ratio in zip((np.sqrt(b2) / b1, b2 / b1), self.ratios, strict=True)
        ]

    def between(self, last: Tensor, now: int) -> tuple[Tensor, Tensor]:
        """Both sums from each row's last step to this one, (rows, 1) float32.

        Args:
            last: (rows,) int64, at most `now`.
            now: Steps that have been taken.
        """
        if len(self.sums[0]) <= now + TAIL // 2:
            raise IndexError(f"wanted at most {len(self.sums[0]) - TAIL // 2} steps, got {now}")
        self.sums = [sums.to(last.device) for sums in self.sums]
        gap = (now - last).double()
        first, second = (
            (sums[last] - ratio**gap * sums[now]).clamp(min=0)
            for sums, ratio in zip(self.sums, self.ratios, strict=True)
        )
        return first.float()[:, None], second.float()[:, None]


def infinite_sums(terms: np.ndarray, ratio: float) -> np.ndarray:
    """For every l the sum over j > l of ratio^(j-l) terms[j-1], the last term standing for all after it."""
    sums = np.empty(len(terms) + 1)
    sums[-1] = terms[-1] * ratio / (1 - ratio)
    for place in range(len(terms) - 1, -1, -1):
        sums[place] = ratio * (terms[place] + sums[place + 1])
    return sums


class LazyAdam:
    """A table under Adam.

    Attributes:
        state: (rows, 3, dimensions) float32: weight, running mean and running mean square as of each row's last step.
        last: (rows,) that step, 0 before the first.
    """

    def __init__(self, table: Tensor, rate: float, sums: Sums) -> None:
        """Begin with a table of weights.

        Args:
            table: (rows, dimensions), which is copied.
            rate: The learning rate.
            sums: For as many steps as there will be.
        """
        self.state = torch.stack([table, torch.zeros_like(table), torch.zeros_like(table)], 1)
        self.last = torch.zeros(len(table), dtype=torch.int64, device=table.device)
        self.rate, self.sums, self.steps = rate, sums, 0

    def read(self, rows: Tensor) -> Tensor:
        """The state of some rows as it is after all steps so far, (rows, 3, dimensions)."""
        state = self.state.index_select(0, rows)
        last = self.last[rows]
        gap = (self.steps - last)[:, None]
        first, second = self.sums.between(last, self.steps)
        weight, mean, square = state.unbind(1)
        denominator = square.sqrt().add_(EPSILON * (second / first.clamp(min=1e-30)).clamp(min=1e-30))
        weight.sub_((mean * (self.rate * first)).div_(denominator))
        mean.mul_(BETA1**gap)
        square.mul_(BETA2**gap)
        return state

    def step(self, rows: Tensor, state: Tensor, gradient: Tensor) -> None:
        """Take one step.

        Args:
            rows: (n,) distinct rows: every row with a gradient.
            state: What `read` returned for them; it is changed.
            gradient: (n, dimensions).
        """
        self.steps += 1
        weight, mean, square = state.unbind(1)
        mean.lerp_(gradient, 1 - BETA1)
        square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        b1, b2 = 1 - BETA1**self.steps, 1 - BETA2**self.steps
        weight.sub_((mean * (self.rate / b1)).div_((square / b2).sqrt_().add_(EPSILON)))
        self.state.index_copy_(0, rows, state)
        self.last[rows] = self.steps

    def table(self) -> Tensor:
        """All weights as they are now, (rows, dimensions)."""
        return self.read(torch.arange(len(self.state), device=self.state.device))[:, 0].contiguous()
