"""What Thompson sampling in its three forms shares: drawing a mean from every arm's posterior."""

from __future__ import annotations

import math

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_between, check_choice
from driftbandits._numba.loops import is_on
from driftbandits.policies._parts.largest import keep_largest
from driftbandits.policies.base import Records

POSTERIORS = ("gaussian", "beta")


def check_posterior(posterior: str, sigma: float) -> None:
    check_between("sigma", sigma, 1e-9, 1e9)
    check_choice("posterior", posterior, POSTERIORS)


def highest_beta(arms: Records, scale: float, rng: np.random.Generator) -> int:
    """The arm with the largest draw from Beta(1 + successes, 1 + failures); ``scale`` turns the sums into those."""
    best, best_draw = 0, -1.0
    for arm in range(len(arms)):
        if is_on(arms, arm):
            successes = scale * arms[arm].total
            drawn = draw_beta(successes, scale * arms[arm].count - successes, rng)
            best, best_draw = keep_largest(best, best_draw, arm, drawn)
    return best


def beta_moments(mean: Array, spread: Array) -> tuple[Array, Array]:
    """Mean and variance of Beta(1 + n mean, 1 + n (1 - mean)), n = 1/spread.

    >>> beta_moments(np.array([0.5]), np.array([0.5]))  # Beta(2, 2)
    (array([0.5]), array([0.05]))
    """
    middle = (mean + spread) / (1.0 + 2.0 * spread)
    return middle, middle * (1.0 - middle) * spread / (1.0 + 3.0 * spread)


def draw_beta(successes: float, failures: float, rng: np.random.Generator) -> float:
    """A Beta(1 + successes, 1 + failures) variable: one Gamma variable's share of two."""
    won = _draw_gamma(1.0 + successes, rng)
    return won / (won + _draw_gamma(1.0 + failures, rng))


def _draw_gamma(shape: float, rng: np.random.Generator) -> float:
    """A Gamma variable of shape 1 or more, by the method of Marsaglia and Tsang (2000).

    ``rng.standard_gamma`` changes its method at exactly 1, so that the last bit of a sum would decide how many numbers
    are drawn; ``rng.beta`` is not the same compiled and interpreted.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = rng.standard_normal()
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        v, u, square = root * root * root, 1.0 - rng.random(), x * x
        # The first test is their squeeze: where it passes so does the second, and two logarithms are spared. What is
        # refused is written out, not what is accepted: a shape that is no number passes, and is not drawn for ever.
        if u >= 1.0 - 0.0331 * square * square and math.log(u) >= 0.5 * square + d * (1.0 - v + math.log(v)):
            continue
        return d * v


def highest_gaussian(arms: Records, scale: float, prior_pulls: float, sigma: float, rng: np.random.Generator) -> int:
    """The arm with the largest draw from N(total/n, sigma^2/n), n = count + prior_pulls; an arm with n = 0 first.

    ``scale`` turns the sums into total and count.
    """
    best, best_draw = 0, -np.inf
    for arm in range(len(arms)):
        if is_on(arms, arm):
            n = scale * arms[arm].count + prior_pulls
            if n == 0.0:
                return arm
            drawn = scale * arms[arm].total / n + sigma / math.sqrt(n) * rng.standard_normal()
            best, best_draw = keep_largest(best, best_draw, arm, drawn)
    return best
