"""Parts of the lower bounds: the divergence of two Bernoulli laws, and instances that are hard to tell apart."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_drift, check_whole
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance


def bernoulli_kl(p: Any, q: Any) -> Any:
    """kl(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q)), the divergence of Ber(q) from Ber(p); 0 ln 0 = 0. Vectorised.

    It is infinite where Ber(q) excludes what Ber(p) allows: q = 0 < p and q = 1 > p. Written as the sum of
    q - p + p ln(p/q) and the same for 1-p and 1-q, neither of which is negative, so that p close to q loses no digits.

    >>> float(bernoulli_kl(0.5, 0.25).round(6)), float(bernoulli_kl(0, 0.5).round(6))
    (0.143841, 0.693147)
    >>> bernoulli_kl([0, 1, 0.5, 0, 1], [0, 1, 1, 1, 0]).tolist()
    [0.0, 0.0, inf, inf, inf]
    """
    p, q = np.broadcast_arrays(np.asarray(p, np.float64), np.asarray(q, np.float64))
    if not (((p >= 0) & (p <= 1)).all() and ((q >= 0) & (q <= 1)).all()):
        raise InputError("p and q must be probabilities, numbers in [0, 1]")
    return _half(p, q, q - p) + _half(1 - p, 1 - q, p - q)


def _half(p: Array, q: Array, difference: Array) -> Array:
    """q - p + p ln(p/q), given q - p as exactly as floats can have it."""
    with np.errstate(all="ignore"):  # every branch is worked out everywhere, and only the right one is used
        u = difference / p
        series = p * u**2 * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u / 6))))
        near = difference - p * np.log1p(u)
        far = difference + p * (np.log(p) - np.log(q))
    close = np.where(np.abs(u) < 1e-3, series, np.where(np.abs(u) < 0.5, near, far))
    return np.where(p == 0, difference, close)


def block_length(drift: float) -> int:
    """m = ceil((2 delta)^(-2/3)), the shortest block whose bump of height eps = 1/(2 sqrt(m)) keeps eps/m <= delta.

    >>> block_length(1 / 48_000)
    833
    """
    drift = check_drift(drift)
    if drift == 0:
        raise InputError("drift=0 makes the blocks of the lower bound endless: take drift > 0")
    m: int = math.ceil((2 * drift) ** (-2 / 3))
    return m


def block_pair(drift: float, arm: int = 0) -> tuple[Instance, Instance]:
    """nu and nu' of Theorem 3 on one block of m = ``block_length(drift)`` steps, for Bernoulli rewards.

    In nu both means are 1/2 throughout. In nu' the mean of ``arm`` at step t is 1/2 + (eps/m) min(t - 1, m - t), with
    eps = 1/(2 sqrt(m)); the other arm is as in nu. The theorem lets the arm that is pulled less in nu carry the bump.

    >>> nu, nu_prime = block_pair(1e-3)
    >>> nu_prime
    <Instance nu': T=63, K=2, drift_limit=0.001>
    """
    m, arm = block_length(drift), check_whole("arm", arm, 0, 1)
    step = np.arange(m)
    means = np.full((m, 2), 0.5)
    nu = Instance(means, name="nu")
    means[:, arm] += np.minimum(step, m - 1 - step) / (2 * m**1.5)
    return nu, Instance(means, name="nu'", drift=drift)


def bump_regret(steps: int) -> float:
    """(sqrt(m) - 8/sqrt(m))/128: what a block of m steps with a triangular bump costs any policy, at least.

    The bump is on one of two arms, drawn by a fair coin. It has height 1/(2 sqrt(m)), as in ``block_pair``.

    >>> round(bump_regret(833), 4)
    0.2233
    """
    return (math.sqrt(steps) - 8 / math.sqrt(steps)) / 128


class HiddenArm(NamedTuple):
    """One of K arms, drawn at random, is better than the others by ``gap`` throughout; that costs ``regret``."""

    gap: float
    regret: float


def hidden_arm(steps: int, n_arms: int = 2) -> HiddenArm:
    """The regret of any policy in m steps in which one arm, drawn at random, is better by a gap that is hard to see.

    The other K - 1 arms are Ber(1/2), and gap = (1 - 1/K)/2 sqrt(K/m). Lemma 9 (change of measure) and Pinsker give a
    regret of at least gap m (1 - 1/K - sqrt(m kl/(2K))), kl = kl(1/2, 1/2 + gap). For K = 2 that is at least
    sqrt(m)/14. If m is so small that the mean would exceed 1, the bound is 0.

    >>> hidden_arm(10_000).gap, round(hidden_arm(10_000).regret, 3)
    (0.0035355339059327377, 8.839)
    """
    other = 1 - 1 / n_arms
    gap = other / 2 * math.sqrt(n_arms / steps)
    if gap >= 0.5:
        return HiddenArm(gap, 0.0)
    shift = math.sqrt(steps * float(bernoulli_kl(0.5, 0.5 + gap)) / (2 * n_arms))
    return HiddenArm(gap, max(0.0, gap * steps * (other - shift)))
