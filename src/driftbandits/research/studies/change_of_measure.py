"""Lemma 9 (change of measure) on simulated runs: to behave differently on two instances costs telling them apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_between, check_whole
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance, check_always_there
from driftbandits.instances.noise import Bernoulli
from driftbandits.simulation.trajectory import trajectory
from driftbandits.theory.lower import bernoulli_kl

Statistic = Callable[[Array, Array], float]


class Estimate(NamedTuple):
    """A number measured from runs, with the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ChangeOfMeasure:
    """Both sides of Lemma 9 (change of measure), with E_nu Z and E_nu' Z. All four intervals hold together."""

    left: Estimate
    right: Estimate
    mean: Estimate
    mean_prime: Estimate
    runs: int

    @property
    def refuted(self) -> bool:
        """Whether the intervals exclude left >= right, which the lemma forbids."""
        return self.left.high < self.right.low


def first_share(arms: Array, rewards: Array) -> float:
    """Z = N_1/m, the share of pulls that the first arm got: the statistic in the proof of Theorem 3."""
    return float(np.mean(arms == 0))


def change_of_measure(
    policy: Any,
    nu: Instance,
    nu_prime: Instance,
    statistic: Statistic = first_share,
    *,
    runs: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> ChangeOfMeasure:
    """Measure both sides of the change-of-measure inequality for Bernoulli rewards:

        sum_i sum_t KL(nu_it, nu'_it) P_nu(A(t) = i)  >=  kl(E_nu Z, E_nu' Z),

    Z = ``statistic(arms, rewards)`` in [0, 1], any function of a whole run. The left side is the mean, over runs in nu,
    of the sum over t of KL(nu_(A(t),t), nu'_(A(t),t)).

    The intervals hold together with probability ``level`` at least, for every policy and every Z, however skewed: each
    of the three means is one of bounded terms and gets a third of the doubt (empirical Bernstein). The right side
    ranges over kl on the rectangle of the two intervals of Z.

    >>> from driftbandits import policies
    >>> from driftbandits.theory.lower import block_pair
    >>> found = change_of_measure(policies.RoundRobin(), *block_pair(1e-3), runs=10)
    >>> round(found.left.value, 4), found.right.value, found.refuted
    (0.0199, 0.0, False)
    """
    runs = check_whole("runs", runs, 2)
    check_between("level", level, 0.0, 1.0 - 1e-15)
    for one in (nu, nu_prime):
        check_always_there(one, "the change of measure")
    if nu.means.shape != nu_prime.means.shape:
        raise InputError(
            f"nu and nu' must have the same horizon and arms; they have {nu.means.shape} and {nu_prime.means.shape}"
        )
    divergence, steps = bernoulli_kl(nu.means, nu_prime.means), np.arange(nu.horizon)
    paid, values, values_prime = np.empty(runs), np.empty(runs), np.empty(runs)
    for run in range(runs):
        played = trajectory(policy, nu, Bernoulli(), seed, run)
        paid[run] = divergence[steps, played.arms].sum()
        values[run] = _checked(statistic(*played))
        # Run numbers go on, so that the two instances meet independent noise.
        values_prime[run] = _checked(statistic(*trajectory(policy, nu_prime, Bernoulli(), seed, runs + run)))
    doubt = (1 - level) / 3
    mean, mean_prime = _bounded_mean(values, 1.0, doubt), _bounded_mean(values_prime, 1.0, doubt)
    left = _bounded_mean(paid, float(divergence.max(axis=1).sum()), doubt)
    return ChangeOfMeasure(left, _kl_range(mean, mean_prime), mean, mean_prime, runs)


def _checked(value: Any) -> float:
    if not 0 <= value <= 1:
        raise InputError(f"the statistic must lie in [0, 1], or the lemma says nothing of it; got {value!r}")
    return float(value)


def _bounded_mean(values: Array, most: float, doubt: float) -> Estimate:
    """The mean of independent values in [0, most], with an interval that fails with probability ``doubt`` at most.

    Maurer and Pontil, "Empirical Bernstein Bounds and Sample Variance Penalization", COLT 2009, Theorem 4, both sides.
    """
    count, value = len(values), float(values.mean())
    if most == math.inf:  # one run that shows it proves that the mean is infinite; none that it is finite
        return Estimate(value, value if value == math.inf else 0.0, math.inf)
    log = math.log(4 / doubt)
    reach = math.sqrt(2 * float(values.var(ddof=1)) * log / count) + 7 * most * log / (3 * (count - 1))
    return Estimate(value, max(value - reach, 0.0), min(value + reach, most))


def _kl_range(mean: Estimate, mean_prime: Estimate) -> Estimate:
    """kl of two estimates: 0 at least where the intervals meet; it is convex, so it is largest at a corner."""
    corners = bernoulli_kl([[mean.low], [mean.high]], [mean_prime.low, mean_prime.high])
    apart = mean.high < mean_prime.low or mean_prime.high < mean.low
    value = float(bernoulli_kl(mean.value, mean_prime.value))
    return Estimate(value, float(corners.min()) if apart else 0.0, float(corners.max()))
