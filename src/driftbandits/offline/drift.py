"""estimate_drift(rewards, arms): how fast the means of a log drift, and how noisy its rewards are."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._compile.kernels import loop
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


def estimate_drift(rewards: Any, arms: Any) -> DriftEstimate:
    """The drift limit that fits a log of rewards and of the arms they came from, one entry a step.

    Rewards alone can't show how far a mean moves in a single step, as noise hides it. What they show is which gain
    predicts them best. Each arm's mean is modelled as a random walk of variance g^2 sigma^2 a step, as KalmanTS does; g
    maximises the likelihood of all arms' rewards together, sigma being what fits best with it. The answer is the drift
    delta = sigma g^(3/2)/2 for which KalmanTS would choose that g: of means that rise or fall steadily their true
    drift, of others that of a ramp as hard to follow. (An arm pulled every n-th step only is worth a higher gain to
    KalmanTS, and the answer is n^(1/4) times the drift.) The interval holds all drifts whose log-likelihood is within
    1.92 of the largest; low = 0 says that the means may not move at all. Use ``high`` where a limit is asked for.

    >>> rng = np.random.default_rng(0)
    >>> arms = np.arange(20_000) % 2
    >>> slope = np.where(arms == 0, 2e-5, -2e-5)
    >>> found = estimate_drift(0.5 + slope * np.arange(20_000) + 0.5 * rng.standard_normal(20_000), arms)
    >>> found.low < 2e-5 < found.high, round(found.sigma, 2)
    (True, 0.5)
    """
    values, indices = np.asarray(rewards, dtype=np.float64), np.asarray(arms)
    if values.ndim != 1 or values.shape != indices.shape:
        raise InputError(f"rewards and arms must be two lists of one length; got {values.shape} and {indices.shape}")
    if not np.isfinite(values).all():
        raise InputError("every reward must be a finite number")
    if not np.issubdtype(indices.dtype, np.integer) or (len(indices) and indices.min() < 0):
        raise InputError("arms must be whole numbers from 0 on")
    which = np.unique(indices, return_inverse=True)[1].astype(np.int64)
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
