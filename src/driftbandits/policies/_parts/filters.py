"""What a pull does to the Kalman filters of an arm, one filter at a time, and to all of them together.

The loops of AutoTS and BreakEven call these. They have no branch that depends on a filter, and as few
divisions and roots as can be, so that four filters are computed at a time.
"""

from __future__ import annotations

import math
from typing import Any

from driftbandits._common.arrays import Array
from driftbandits.policies._parts.learnt_noise import POOLED_PULLS

TAIL = 63.0
"""Degrees of freedom of the predictions; 32 = (63 + 1)/2 is a power of two, so no exponential has to be computed."""
LEAST_ROOT = 1e-8
"""Its 32nd power is still a number, so weights never vanish all at once."""
ROUNDING = 1e-24
"""Noise below this share of the squared mean is rounding, and tells nothing."""


def total(values: Array, at: int, count: int) -> float:
    """The sum of ``count`` numbers, a multiple of four, in four sums that do not wait for each other."""
    a, b, c, d = values[at], values[at + 1], values[at + 2], values[at + 3]
    for j in range(at + 4, at + count, 4):
        a += values[j]
        b += values[j + 1]
        c += values[j + 2]
        d += values[j + 3]
    return (a + b) + (c + d)  # type: ignore[no-any-return]


def cut_back(run: Any, arm: Any, center: float, reward: float) -> tuple[float, float]:
    """The reward, cut back if it is an outlier, and one divided by the variance of the noise, 0 if none is known."""
    squares, pulls = arm.pulls * arm.noise + POOLED_PULLS * run.noise, arm.pulls + POOLED_PULLS
    if squares <= ROUNDING * center * center * pulls:
        return reward, 0.0
    if run.coin == 0 and (reward - center) * (reward - center) > squares:
        limit = max(math.sqrt(squares), 2.0 * abs(center - run.center))
        reward = min(max(reward, center - limit), center + limit)
    return reward, pulls / squares


def known_precision(run: Any, arm: Any, center: float) -> float:
    """One divided by the variance of an arm's noise, 0 if none is known."""
    squares, pulls = arm.pulls * arm.noise + POOLED_PULLS * run.noise, arm.pulls + POOLED_PULLS
    return 0.0 if squares <= ROUNDING * center * center * pulls else pulls / squares


def merged(
    weight: float, mean: float, spread: float, received: float, center: float, width: float, precision: float
) -> tuple[float, float, float, float]:
    """Weight, mean and variance of a filter that has received weight from the pool, and the share that it received.

    What comes with the weight has the mean and the variance of all filters together.
    """
    whole = weight + received
    share = received / whole
    offset = center - mean
    wider = share * (width - spread + (1.0 - share) * offset * offset * precision)
    return whole, mean + share * offset, spread + wider, share


def student(error: float, spread: float, precision: float) -> tuple[float, float]:
    """1/(1 + c), and the density of a reward that far from the mean: Student's, but for a factor."""
    wide = 1.0 + spread
    far = wide + error * error * precision * (1.0 / TAIL)
    both = 1.0 / (wide * far)
    scale = both * far
    root = max(both * wide * wide, LEAST_ROOT)
    root *= root
    root *= root
    root *= root
    root *= root
    return scale, root * root * math.sqrt(scale)


def chance(p: float, spread: float, success: bool) -> tuple[float, float]:
    """1/(1 + c), and the probability of what a coin showed."""
    p = min(max(p, 0.0), 1.0)
    return 1.0 / (1.0 + spread), ((p if success else 1.0 - p) + spread) / (1.0 + 2.0 * spread)
