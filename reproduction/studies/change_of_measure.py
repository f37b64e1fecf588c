"""Lemma 9 (change of measure) on simulated runs: to behave differently on two instances costs telling them apart."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import kl_div

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import CALIBRATED, FAST, rivals
from reproduction.statistics import Interval

Statistic = Callable[[Any, Any], float]
MEASURE_RUNS = 5
"""Runs for every run asked for: the instances are single blocks."""
BLOCK = "block of the lower bound"
ONE_PULL, TEN_PULLS = "one pull", "ten pulls"


@dataclass(frozen=True)
class Measured:
    """Both sides of the lemma for one policy; the intervals hold together at 95 %."""

    policy: str
    instances: str
    paid: Interval
    told_apart: Interval

    @property
    def refuted(self) -> bool:
        """Whether the intervals exclude paid >= told apart."""
        return self.paid.high < self.told_apart.low

    @property
    def could_fail(self) -> bool:
        """Whether the policy surely behaves differently in the two instances: else the right side may be 0."""
        return self.told_apart.low > 0


@dataclass(frozen=True)
class ChangeOfMeasure:
    """A row per policy and pair of instances."""

    rows: tuple[Measured, ...]


def change_of_measure(context: Context) -> ChangeOfMeasure:
    """Measure both sides on one block of the lower bound, and where they are equal and large enough to fail.

    After one pull with the reward itself as Z both sides are kl(0.3, 0.6): a left side that lost a fifth would be seen.
    """
    runs, seed = MEASURE_RUNS * max(context.settings.runs, 2), context.settings.seed
    nu, nu_prime = block_pair(FAST)
    policies = {"round robin": db.RoundRobin(), **rivals(nu.horizon, FAST)}
    policies["SnoozeIt, confidence 0.05"] = db.SnoozeIt(nu.horizon, FAST, confidence=CALIBRATED / 2)
    rows = [measure(name, BLOCK, policy, nu, nu_prime, first_share, runs, seed) for name, policy in policies.items()]
    for name, steps in ((ONE_PULL, 1), (TEN_PULLS, 10)):
        low, high = (db.Instance([[mean, 0.5]] * steps) for mean in (0.3, 0.6))
        rows.append(measure("first arm", name, db.Oracle(np.zeros(steps, int)), low, high, mean_reward, runs, seed))
    return ChangeOfMeasure(tuple(rows))


def block_pair(drift: float) -> tuple[db.Instance, db.Instance]:
    """nu and nu' of Theorem 3 on one block: both means 1/2, and a triangular bump on the first arm."""
    m = math.ceil((2 * drift) ** (-2 / 3))
    step, means = np.arange(m), np.full((m, 2), 0.5)
    nu = db.Instance(means, name="nu")
    means[:, 0] += np.minimum(step, m - 1 - step) / (2 * m**1.5)
    return nu, db.Instance(means, name="nu'", drift=drift)


def first_share(arms: Any, rewards: Any) -> float:
    """Z = N_1/m, the share of pulls that the first arm got: the statistic in the proof of Theorem 3."""
    return float(np.mean(arms == 0))


def mean_reward(arms: Any, rewards: Any) -> float:
    """Z = the mean of all rewards, which are 0 or 1."""
    return float(np.mean(rewards))


def bernoulli_kl(p: Any, q: Any) -> Any:
    """kl(p, q), as a sum of two terms that are never negative, so that p close to q loses few digits."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    return kl_div(p, q) + kl_div(1 - p, 1 - q)


def measure(
    name: str, where: str, policy: Any, nu: db.Instance, nu_prime: db.Instance, z: Statistic, runs: int, seed: int,
    level: float = 0.95,
) -> Measured:  # fmt: skip
    """Measure both sides of the inequality for Bernoulli rewards.

    Notes
    -----
    sum_i sum_t KL(nu_it, nu'_it) P_nu(A(t) = i) >= kl(E_nu Z, E_nu' Z), Z in [0, 1] any function of a whole run. The
    left side is the mean over runs in nu of the sum over t of KL(nu_(A(t),t), nu'_(A(t),t)). The intervals hold
    together for every policy and every Z: each of the three means is one of bounded terms and gets a third of the doubt
    (empirical Bernstein). The right side ranges over kl on the rectangle of the two intervals of Z.
    """
    divergence, steps, noise = bernoulli_kl(nu.means, nu_prime.means), np.arange(nu.horizon), db.Bernoulli()
    paid, values, values_prime = np.empty(runs), np.empty(runs), np.empty(runs)
    for run in range(runs):
        played = db.trajectory(policy, nu, noise, seed, run)
        paid[run] = divergence[steps, played.arms].sum()
        values[run] = z(*played)
        # Run numbers go on, so that the two instances meet independent noise.
        values_prime[run] = z(*db.trajectory(policy, nu_prime, noise, seed, runs + run))
    doubt = (1 - level) / 3
    mean, mean_prime = bounded_mean(values, 1.0, doubt), bounded_mean(values_prime, 1.0, doubt)
    left = bounded_mean(paid, float(divergence.max(axis=1).sum()), doubt)
    return Measured(name, where, left, _kl_range(mean, mean_prime))


def bounded_mean(values: Any, most: float, doubt: float) -> Interval:
    """The mean of independent values in [0, most], with an interval that fails with probability ``doubt`` at most.

    Maurer and Pontil, "Empirical Bernstein Bounds and Sample Variance Penalization", COLT 2009, Theorem 4, both sides.
    """
    count, value, log = len(values), float(values.mean()), math.log(4 / doubt)
    reach = math.sqrt(2 * float(values.var(ddof=1)) * log / count) + 7 * most * log / (3 * (count - 1))
    return Interval(value, max(value - reach, 0.0), min(value + reach, most))


def _kl_range(mean: Interval, mean_prime: Interval) -> Interval:
    """kl of two estimates: 0 at least where the intervals meet; it is convex, so it is largest at a corner."""
    corners = bernoulli_kl([[mean.low], [mean.high]], [mean_prime.low, mean_prime.high])
    apart = mean.high < mean_prime.low or mean_prime.high < mean.low
    value = float(bernoulli_kl(mean.value, mean_prime.value))
    return Interval(value, float(corners.min()) if apart else 0.0, float(corners.max()))
