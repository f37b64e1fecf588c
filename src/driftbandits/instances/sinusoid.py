"""Arms whose means are sine waves."""

from __future__ import annotations

import math

import numpy as np

from driftbandits._common.checks import check_between, check_drift
from driftbandits.instances.base import HORIZON, Instance, check_shape, family


@family
def sinusoid(horizon: int = HORIZON, drift: float = 1 / 48_000, n_arms: int = 2, amplitude: float = 0.4) -> Instance:
    """K = ``n_arms`` sinusoids of one period, evenly shifted against each other.

    mu_(a,t) = 1/2 + A sin(omega t + 2 pi a/K) with A = ``amplitude`` and omega = delta/A, the fastest swing whose
    steepest step stays within delta = ``drift``. One period takes 2 pi A/delta steps.

    >>> instance = sinusoid(horizon=10_000, drift=1e-3)
    >>> instance.drift_limit <= 1e-3, float(instance.means.max().round(3)), float(instance.means.min().round(3))
    (True, 0.9, 0.1)
    """
    T, K = check_shape(horizon, n_arms)
    drift = check_drift(drift)
    check_between("amplitude", amplitude, 1e-6, 0.5)
    angle = drift / amplitude * np.arange(1, T + 1)[:, np.newaxis] + 2 * math.pi / K * np.arange(K)
    means = 0.5 + amplitude * np.sin(angle)
    return Instance(means, name="sinusoid")
