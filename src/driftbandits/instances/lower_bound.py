"""The instances behind the paper's minimax lower bound."""

from __future__ import annotations

import math

import numpy as np

from driftbandits._common.checks import check_drift, check_whole
from driftbandits.errors import InputError
from driftbandits.instances.base import HORIZON, Instance, check_shape, family


@family
def lower_bound(horizon: int = HORIZON, drift: float = 1 / 48_000, seed: int = 0) -> Instance:
    """Bumps too small to be found in time: no policy escapes regret of order T delta^(1/3) (Theorem 3).

    Time is cut into blocks of m = ceil((2 delta)^(-2/3)) steps, and eps = 1/(2 sqrt(m)). In each block ``seed`` draws
    one of three cases with equal chances: arm 0 carries the bump, arm 1 does, or neither. At step j = 1..m of its block
    an arm's mean is 1/2, plus (eps/m) min(j - 1, m - j) if it carries the bump. Slopes are eps/m = 1/(2 m^(3/2)), at
    most delta = ``drift``. What is left after the last whole block stays at 1/2.

    The theorem shows for each block and each policy that some case is bad; drawing the cases at random makes instances
    that are bad for every policy, on average over seeds. It needs m <= T.

    >>> instance = lower_bound(horizon=5_000, drift=1e-3)
    >>> instance
    <Instance lower bound: T=5,000, K=2, drift_limit=0.001>
    >>> lower_bound(horizon=50, drift=1e-3)
    Traceback (most recent call last):
    driftbandits.errors.InputError: a block of m = 63 steps does not fit into horizon=50: take horizon >= 63 or a ...
    """
    T, _ = check_shape(horizon)
    drift, seed = check_drift(drift), check_whole("seed", seed, 0)
    if drift == 0:
        raise InputError(
            "drift=0 makes the blocks of the lower bound endless: take drift > 0, or the family stationary"
        )
    m = math.ceil((2 * drift) ** (-2 / 3))
    if m > T:
        raise InputError(
            f"a block of m = {m:,} steps does not fit into horizon={T:,}: take horizon >= {m:,} or a "
            f"drift of at least {0.5 * T**-1.5:.2g}"
        )
    blocks = T // m
    case = np.random.default_rng(seed).integers(3, size=blocks)
    step = np.arange(m)
    bump = np.minimum(step, m - 1 - step) / (2 * m**1.5)
    means = np.full((T, 2), 0.5)
    for arm in (0, 1):
        means[: blocks * m, arm] += np.outer(case == arm, bump).ravel()
    return Instance(means, name="lower bound")
