"""What the policy gains over a holdout that always gets the same arm, with an interval that is honest under drift."""

from __future__ import annotations

import math
from typing import NamedTuple

FIRST_WIDTH, MOST_BLOCKS = 64, 256
FEWEST = 20
"""Rewards of either group in a stretch of time that is compared."""


class Lift(NamedTuple):
    """``lift``: the mean reward of Decisions that the policy made, less that of the holdout, with a 95 % interval.

    ``policy`` and ``holdout`` are the two means and ``rewards``, ``held_out`` how many rewards they are of. All but the
    counts are None while there are fewer than 20 rewards of either.
    """

    lift: float | None
    low: float | None
    high: float | None
    policy: float | None
    holdout: float | None
    rewards: int
    held_out: int


class Strata:
    """Counts, sums and squares of rewards of both groups, in blocks of steps: at most 256, and then wider ones.

    A Decision is held out by chance, so in every stretch of time the holdout is a sample of the same visitors. A
    stretch is as many blocks as it takes until both groups have 20 rewards. With n_b of all N rewards in stretch b,
    means x_b, y_b and variances s_b^2, r_b^2 of the m_b rewards of the policy and the k_b of the holdout, the lift is
    the average of x_b - y_b with weights n_b/N, and its variance the sum of (n_b/N)^2 (s_b^2/m_b + r_b^2/k_b). Means
    may drift as they like: what moves from one stretch to another is compared within each.
    """

    def __init__(self) -> None:
        self.width = FIRST_WIDTH
        self.blocks: dict[int, list[float]] = {}

    def add(self, step: int, held_out: bool, reward: float) -> None:
        """A reward of the Decision of that step."""
        block = self.blocks.setdefault((step - 1) // self.width, [0.0] * 6)
        first = 3 if held_out else 0
        block[first] += 1.0
        block[first + 1] += reward
        block[first + 2] += reward * reward
        if len(self.blocks) > MOST_BLOCKS:
            before, self.blocks, self.width = self.blocks, {}, 2 * self.width
            for number, numbers in sorted(before.items()):
                there = self.blocks.get(number // 2, [0.0] * 6)
                self.blocks[number // 2] = [one + other for one, other in zip(there, numbers, strict=True)]

    def lift(self) -> Lift:
        """What is known now."""
        stretches = [[0.0] * 6]
        for _, numbers in sorted(self.blocks.items()):
            if min(stretches[-1][0], stretches[-1][3]) >= FEWEST:
                stretches.append([0.0] * 6)
            stretches[-1] = [one + other for one, other in zip(stretches[-1], numbers, strict=True)]
        if len(stretches) > 1 and min(stretches[-1][0], stretches[-1][3]) < FEWEST:
            rest = stretches.pop()
            stretches[-1] = [one + other for one, other in zip(stretches[-1], rest, strict=True)]
        total = [sum(column) for column in zip(*stretches, strict=True)]
        if min(total[0], total[3]) < FEWEST:
            return Lift(None, None, None, None, None, int(total[0]), int(total[3]))
        lift = variance = 0.0
        for m, x, xx, k, y, yy in stretches:
            share = (m + k) / (total[0] + total[3])
            lift += share * (x / m - y / k)
            variance += share**2 * (_variance(m, x, xx) / m + _variance(k, y, yy) / k)
        reach = 1.96 * math.sqrt(variance)
        means = total[1] / total[0], total[4] / total[3]
        return Lift(lift, lift - reach, lift + reach, *means, int(total[0]), int(total[3]))


def _variance(count: float, total: float, squares: float) -> float:
    return max(squares - total * total / count, 0.0) / (count - 1.0)
