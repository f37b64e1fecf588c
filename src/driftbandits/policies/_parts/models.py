"""Sixteen models of how an arm's mean moves: stationary, seven random walks and eight local linear trends.

Under a model the mean moves by its velocity b at each step, plus Gaussian noise of variance kappa v, where v is the
variance of the rewards' noise. The velocity has standard deviation d sqrt(v) and a memory of 1/(2 d) steps. A random
walk is a trend with d = 0, and the stationary model a walk with kappa = 0: so one loop serves all of them.

The Kalman filter of a model holds the posterior of mean and velocity: two means, and a covariance matrix in units of v.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array

MODELS, WALKS = 16, 8
"""The stationary model is the first, then come the walks, then the trends."""
SLOWEST_WALK, WALK_STEP = 2.0**-24, 8.0
"""kappa of the slowest walk, and how many times larger that of the next one is."""
SLOWEST_TREND, TREND_STEP = 1e-5, 3.0
"""d of the slowest trend, and how many times larger that of the next one is."""
FORGOTTEN = 2.0
"""A velocity of standard deviation d is forgotten at rate 2 d per step."""

POSTERIOR = ("weight", "level", "variance", "slope", "covariance", "slope_variance")
"""What is known of an arm under each model: its weight, the posterior of the mean (level) and of the velocity (slope).
"""


class Models(NamedTuple):
    """One number per model: the constants of its filter, the variance at which that settles, and its prior weight."""

    walk: Array
    rate: Array
    fading: Array
    settled: Array
    prior: Array


@functools.cache
def models() -> Models:
    """Return the constants of all models: kappa, d^2, 2 d, c* and the prior weight."""
    walk, d = np.zeros(MODELS), np.zeros(MODELS)
    walk[1:WALKS] = SLOWEST_WALK * np.power(WALK_STEP, np.arange(WALKS - 1.0))
    d[WALKS:] = SLOWEST_TREND * np.power(TREND_STEP, np.arange(MODELS - WALKS + 0.0))
    settled = 0.5 * (walk + np.sqrt(walk * (walk + 4.0)))
    settled[WALKS:] = [settled_variance(each) for each in d[WALKS:].tolist()]
    prior = 1.0 / np.where(settled > 0.0, settled, settled[1] / math.sqrt(WALK_STEP))
    found = Models(walk, d * d, FORGOTTEN * d, settled, prior / prior.sum())
    for array in found:
        array.setflags(write=False)
    return found


def settled_variance(d: float) -> float:
    """Return c*: a trend's variance of the mean, in units of v, before each pull of an arm pulled at every step.

    It is the first entry of the solution P of P = F P (I + H P)^(-1) F' + Q, H = ((1, 0), (0, 0)), with F and Q of
    ``predicted`` for n = 1. It is found by doubling: each round covers twice as many steps as the one before.

    >>> [round(settled_variance(d), 6) for d in (1e-5, 1e-3)]
    [0.000336, 0.009468]
    """
    d2, x = d * d, FORGOTTEN * d
    kept = 1.0 / (1.0 + x + 0.5 * x * x)
    reach = (1.0 + 0.5 * x) * kept
    across, last = x * d2 * reach * reach, d2 * (1.0 - kept * kept)
    a, g = np.array([[1.0, 0.0], [reach, kept]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    p = np.array([[d2 * kept * kept * x * (1.0 + 1.25 * x + 0.5 * x * x), across], [across, last]])
    for _ in range(40):
        inverse = np.linalg.inv(np.eye(2) + g @ p)
        a, g, p = a @ inverse @ a, g + a @ inverse @ g @ a.T, p + a.T @ p @ inverse @ a
    return float(p[0, 0])


def predicted(
    row: Any, shared: Any, j: Any, away: float, merge: tuple[float, float, float, float]
) -> tuple[float, float, float, float, float, float]:
    """Return weight, mean, variance, velocity, covariance and velocity's variance of model j of an arm.

    They are those ``away`` steps after the arm's last pull. First the arm may change its model. ``merge`` is the
    probability that it did, the mean and the variance of the arm's mixture, and 1/v. The weight that a model then
    receives from the ``pooled`` ones comes with that mean and variance, and with the velocity's prior; both parts are
    merged by their moments.

    Then the mean moves for n steps. With x = 2 d n, D = 1 + x + x^2/2 (for e^x) and A = n (1 + x/2)/D, it moves by A b,
    and b becomes b/D. The covariance P becomes F P F' + Q, F = ((1, A), (0, 1/D)). Q has kappa n + d^2 n^2 x
    (1 + 5x/4 + x^2/2)/D^2 for the mean, 2 d^3 A^2 off the diagonal, and d^2 (1 - 1/D^2) for the velocity.
    """
    changed, center, spread, precision = merge
    mean, variance, velocity, rate = row.level[j], row.variance[j], row.slope[j], shared.rate[j]
    x = away * shared.fading[j]
    h = 0.5 * x * x
    grown = 1.0 + x + h
    own, received = (1.0 - changed) * row.weight[j], changed * shared.pooled[j]
    whole = own + received
    both = 1.0 / (whole * grown)  # one division in place of two
    share, stays, kept = received * grown * both, own * grown * both, whole * both
    offset = center - mean
    wide = variance + share * (spread - variance + stays * offset * offset * precision)
    slope, across = stays * velocity, stays * row.covariance[j]
    steep = stays * row.slope_variance[j] + share * (rate + slope * velocity * precision)
    reach = away * (1.0 + 0.5 * x) * kept
    wander = shared.walk[j] * away + rate * (away * kept) * (away * kept) * x * (1.0 + 1.25 * x + h)
    return (
        whole,
        mean + share * offset + reach * slope,
        wide + reach * (2.0 * across + reach * steep) + wander,
        kept * slope,
        kept * (across + reach * steep) + rate * reach * reach * shared.fading[j],
        kept * kept * (steep + rate * (x + h) * (2.0 + x + h)),
    )
