"""Student's interval for a mean, so that ten runs are not taken for a thousand."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist
from typing import Any

import numpy as np

LEVEL = 0.95
MANY = 1000


@functools.cache
def t_quantile(freedom: int) -> float:
    """How many standard errors a 95 % interval reaches on each side, with so many degrees of freedom.

    >>> [round(t_quantile(freedom), 3) for freedom in (1, 2, 9, 99, 10**6)]
    [12.706, 4.303, 2.262, 1.984, 1.96]
    """
    normal = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    if freedom > MANY:
        return normal + (normal**3 + normal) / (4 * freedom)
    low, high = normal, 1e3
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability_within(middle, freedom) < LEVEL else (low, middle)
    return high


def _probability_within(t: float, freedom: int) -> float:
    """P(|X| <= t) for Student's X: the finite series for whole degrees of freedom (Abramowitz and Stegun 26.7.3-4)."""
    angle = math.atan(t / math.sqrt(freedom))
    term, total = (math.cos(angle) if freedom % 2 else 1.0), 0.0
    for k in range(1, (freedom - 1) // 2 + 1) if freedom % 2 else range(1, freedom // 2 + 1):
        total += term
        term *= (2 * k if freedom % 2 else 2 * k - 1) / (2 * k + 1 if freedom % 2 else 2 * k) * math.cos(angle) ** 2
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if freedom % 2 else total


def mean_interval(values: Any, axis: int = 0) -> tuple[Any, Any, Any]:
    """The mean along ``axis`` and the ends of its 95 % interval; with one value the ends are not a number.

    >>> [round(float(x), 3) for x in mean_interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    values = np.asarray(values, dtype=np.float64)
    count = values.shape[axis]
    mean = values.mean(axis=axis)
    if count < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    reach = t_quantile(count - 1) * values.std(axis=axis, ddof=1) / math.sqrt(count)
    return mean, mean - reach, mean + reach
