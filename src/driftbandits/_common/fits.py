"""Straight lines and power laws through points, with Student's interval for the slope."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.intervals import t_quantile
from driftbandits.errors import InputError

LEAST_POINTS = 3


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
