"""Straight lines and power laws through points, with Student's interval for the slope."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.intervals import t_quantile
from driftbandits.errors import InputError

LEAST_POINTS = 3
ROUNDING = 1e-9
"""Intervals without width are met if a line misses them by no more than this."""


class PowerLaw(NamedTuple):
    """A fitted exponent with its 95 % interval."""

    exponent: float
    low: float
    high: float


def fit_power_law(x: Any, y: Any) -> PowerLaw:
    """The exponent b of y = a x^b: least squares of logarithms. The interval covers the scatter about a straight line.

    >>> fit = fit_power_law([1, 10, 100, 1000], [1.1, 1.9, 4.1, 8.2])
    >>> f"{fit.exponent:.2f} ({fit.low:.2f} to {fit.high:.2f})"
    '0.30 (0.24 to 0.35)'
    """
    _, exponent, reach = fit_line(np.log(np.asarray(x)), np.log(np.asarray(y)))
    return PowerLaw(exponent, exponent - reach, exponent + reach)


class Curvature(NamedTuple):
    """How a curve bends in logarithms: c of ln y = a + b ln x + c (ln x)^2 with its 95 % interval, and both slopes."""

    value: float
    low: float
    high: float
    first_slope: float
    """d ln y/d ln x at the smallest x ..."""
    last_slope: float
    """... and at the largest."""

    @property
    def bends(self) -> bool:
        """Whether the interval excludes a straight line, hence a power law."""
        return self.low > 0.0 or self.high < 0.0


def fit_curvature(x: Any, y: Any) -> Curvature:
    """Whether y = a x^b can be true of these points at all: a parabola through their logarithms, by least squares.

    >>> fit_curvature([1, 10, 100, 1000, 10000], [1.0, 2.1, 3.9, 8.1, 16.0]).bends
    False
    >>> found = fit_curvature([1, 10, 100, 1000, 10000], [1.0, 3.0, 6.0, 7.0, 7.1])
    >>> found.bends, round(found.first_slope, 2), round(found.last_slope, 2)
    (True, 0.54, -0.13)
    """
    log_x, log_y = np.log(np.asarray(x, np.float64)), np.log(np.asarray(y, np.float64))
    if len(log_x) < LEAST_POINTS + 1:
        raise InputError(f"a bend with an interval needs at least {LEAST_POINTS + 1} points; got {len(log_x)}")
    centre = log_x.mean()
    terms = np.vander(log_x - centre, 3, increasing=True)
    inverse = np.linalg.inv(terms.T @ terms)
    _, slope, bend = found = inverse @ terms.T @ log_y
    left = log_y - terms @ found
    error = math.sqrt(float(left @ left) / (len(log_x) - 3) * float(inverse[2, 2]))
    reach = float(t_quantile(len(log_x) - 3)) * error
    ends = [float(slope + 2 * bend * (end - centre)) for end in (log_x.min(), log_x.max())]
    return Curvature(float(bend), float(bend) - reach, float(bend) + reach, *ends)


def power_law_meets(x: Any, low: Any, high: Any) -> bool:
    """Whether some y = a x^b passes through all the intervals low .. high: a straight line through logarithms.

    It finds what a parabola overlooks: a curve that bends one way and then the other, as an S does.

    >>> power_law_meets([1, 10, 100, 1000], [0.9, 1.9, 3.9, 7.9], [1.1, 2.1, 4.1, 8.1])
    True
    >>> power_law_meets([1, 10, 100, 1000], [0.9, 0.9, 7.9, 7.9], [1.1, 1.1, 8.1, 8.1])
    False
    """
    log_x, below, above = (np.log(np.asarray(values, np.float64)) for values in (x, low, high))
    first, second = np.triu_indices(len(log_x), 1)
    run = log_x[second] - log_x[first]
    slopes = np.concatenate([(ends[second] - ends[first]) / run for ends in (below, above)])
    # The room that a slope leaves is concave in it, and largest where two ends on one side lie on one line.
    room = (above - slopes[:, None] * log_x).min(axis=1) - (below - slopes[:, None] * log_x).max(axis=1)
    return bool(room.max(initial=-math.inf) >= -ROUNDING)


def fit_line(x: Any, y: Any) -> tuple[float, float, float]:
    """Least squares: the offset, the slope, and how far its 95 % interval reaches to each side."""
    if len(x) < LEAST_POINTS:
        raise InputError(f"a fit with an interval needs at least {LEAST_POINTS} points; got {len(x)}")
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    left = y - y.mean() - slope * centred
    error = math.sqrt(float(left @ left) / (len(x) - 2) / spread)
    return float(y.mean()) - slope * float(x.mean()), slope, float(t_quantile(len(x) - 2)) * error
