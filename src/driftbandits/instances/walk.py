"""Arms that wander."""

from __future__ import annotations

import numpy as np

from driftbandits._common.checks import check_between, check_drift, check_whole
from driftbandits.instances.base import HORIZON, Instance, check_shape, family
from driftbandits.instances.paths import follow


@family
def walk(
    horizon: int = HORIZON, drift: float = 1 / 48_000, n_arms: int = 2, reverse: float = 1 / 1_000, seed: int = 0
) -> Instance:
    """K = ``n_arms`` independent random walks that keep their direction for a while, reflected at 0 and 1.

    Every mean moves by +delta or -delta in every step (delta = ``drift``), and turns round with probability ``reverse``
    before each step, so after 1/reverse steps on average. It starts anywhere in [0, 1], either way. With reverse = 1/2
    this is the simple random walk; a small value drifts much further at the same delta.

    >>> instance = walk(horizon=2_000, drift=0.001, seed=7)
    >>> round(instance.drift_limit, 9)
    0.001
    """
    T, K = check_shape(horizon, n_arms)
    drift, seed = check_drift(drift), check_whole("seed", seed, 0)
    check_between("reverse", reverse, 0.0, 1.0)
    rng = np.random.default_rng(seed)
    means = np.empty((T, K))
    for arm in range(K):
        start, first = rng.random(), rng.integers(2)
        turns = np.cumsum(rng.random(T - 1) < reverse)
        means[:, arm] = follow(start, drift, 1 - 2 * ((first + turns) % 2))
    return Instance(means, name="random walk")
