"""How fast means drift and how noisy rewards are: the random walk that fits rewards best."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._numba.compiled import loop
from driftbandits.errors import InputError

GAINS = np.concatenate([[0.0], 2.0 ** (np.arange(-80, -3) / 4)])
"""Steady gains that are tried: none, and 2^-20 to 2^-1 by factors of 2^(1/4)."""
DROP = 1.92
"""How far the log-likelihood may fall within a 95 % interval: half the 95 % point of chi-squared, one degree."""


class DriftEstimate(NamedTuple):
    """An estimate of the drift with its 95 % interval, and the deviation of the noise."""

    drift: float
    low: float
    high: float
    sigma: float


def fit_drift(values: Array, arms: Array) -> DriftEstimate:
    """The estimate from finite rewards and the arms that they came from, as ``estimate_drift`` explains it."""
    which = np.unique(arms, return_inverse=True)[1].astype(np.int64)
    n_arms = int(which.max(initial=-1)) + 1
    if len(values) < n_arms + 2 or np.ptp(values) == 0:
        raise InputError("the log is too short, or constant: nothing can be told from it")
    with ThreadPoolExecutor() as pool:  # compiled loops let each other run
        fits = list(pool.map(lambda gain: _fit(values, which, n_arms, float(gain) ** 2), GAINS))
    likelihood, sigma = np.array([fit[0] for fit in fits]), np.array([fit[1] for fit in fits])
    drift = sigma * GAINS**1.5 / 2
    best = int(likelihood.argmax())
    inside = np.flatnonzero(likelihood >= likelihood[best] - DROP)
    # The ends lie between gains that were tried: take the first ones outside.
    low, high = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, len(GAINS) - 1)
    return DriftEstimate(float(drift[best]), float(drift[low]), float(drift[high]), float(sigma[best]))


@loop
def _fit(rewards: Array, arms: Array, n_arms: int, walk: float) -> tuple[float, float]:
    """Log-likelihood at the best sigma, and that sigma, of random walks with variance walk * sigma^2 a step."""
    mean, spread, last = np.zeros(n_arms), np.ones(n_arms), np.full(n_arms, -1)
    squares, widths, count = 0.0, 0.0, 0
    for step in range(len(rewards)):
        arm = arms[step]
        error, width = rewards[step] - mean[arm], spread[arm] + walk * (step - last[arm])
        if last[arm] < 0:
            mean[arm] = rewards[step]
        else:
            squares += error * error / (1.0 + width)
            widths += math.log1p(width)
            count += 1
            mean[arm] += width / (1.0 + width) * error
            spread[arm] = width / (1.0 + width)
        last[arm] = step
    variance = squares / count
    return -0.5 * (count * math.log(variance) + widths), math.sqrt(variance)
