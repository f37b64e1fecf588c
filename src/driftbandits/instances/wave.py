"""Many arms, and a crest that travels over them."""

from __future__ import annotations

import numpy as np

from driftbandits._common.checks import check_drift
from driftbandits.instances.base import HORIZON, Instance, check_shape, family


@family
def wave(horizon: int = HORIZON, drift: float = 1 / 48_000, n_arms: int = 5) -> Instance:
    """The travelling wave: the best arm moves from the first arm to the last and back, through all between.

    mu_i(t) = (K-1)/K - |w(t) - i|/K for arms i = 1..K (``n_arms``), with the crest at
    w(t) = 1 + (K-1)(1 + sin(sigma t))/2. A step moves w by at most (K-1) sigma/2, and every mean by at most
    (K-1) sigma/(2K). So sigma = 2 K delta/(K-1) is the fastest wave that keeps to delta = ``drift``.

    >>> instance = wave(horizon=20_000, drift=1e-3, n_arms=4)
    >>> instance.drift_limit <= 1e-3, sorted(set(instance.best_arm.tolist()))
    (True, [0, 1, 2, 3])
    """
    T, K = check_shape(horizon, n_arms)
    sigma = 2 * K * check_drift(drift) / (K - 1)
    crest = 1 + (K - 1) * (1 + np.sin(sigma * np.arange(1, T + 1))) / 2
    means = (K - 1) / K - np.abs(crest[:, np.newaxis] - np.arange(1, K + 1)) / K
    return Instance(means, name="travelling wave")
