"""Arms that do not drift at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftbandits._common.checks import check_means
from driftbandits.instances.base import HORIZON, Instance, check_shape, family


@family
def stationary(horizon: int = HORIZON, means: Sequence[float] = (0.6, 0.4)) -> Instance:
    """The classic stochastic bandit, delta = 0: mu_(a,t) = means[a] at every step.

    >>> instance = stationary(horizon=100, means=(0.2, 0.5, 0.7))
    >>> instance.n_arms, instance.drift_limit, set(instance.best_arm.tolist())
    (3, 0.0, {2})
    """
    means = check_means("means", means)
    T, K = check_shape(horizon, len(means))
    return Instance(np.broadcast_to(np.asarray(means), (T, K)), name="stationary")
