"""Experiment 1 of the paper: two arms far apart."""

from __future__ import annotations

import numpy as np

from driftbandits._common.checks import check_drift
from driftbandits.instances.base import HORIZON, Instance, check_shape, family
from driftbandits.instances.paths import DOWN, FLAT, UP, checkpoints

PLAN = ((0.1, FLAT), (0.2, DOWN), (0.3, FLAT), (0.42, UP), (0.8, FLAT), (0.9, DOWN), (1.0, UP))


@family
def separated(horizon: int = HORIZON, drift: float = 1 / 48_000) -> Instance:
    """Well separated arms (Experiment 1): arm 0 starts at 0.9 and drifts, arm 1 stays at 0.2.

    With delta = ``drift`` and T = ``horizon``, mu_(0,t+1) - mu_(0,t) is delta times a direction that depends on t/T:
    flat until 0.1, down until 0.2, flat until 0.3, up until 0.42, flat until 0.8, down until 0.9, up until 1. A mean
    that reaches 0 or 1 is reflected there, which the default delta never brings about.

    >>> instance = separated()
    >>> instance
    <Instance separated: T=162,755, K=2, drift_limit=2.08e-05>
    >>> set(instance.best_arm.tolist()), round(float(instance.gap.min()), 3)
    ({0}, 0.361)
    """
    T, _ = check_shape(horizon)
    drift = check_drift(drift)
    means = np.column_stack([checkpoints(T, drift, 0.9, PLAN), np.full(T, 0.2)])
    return Instance(means, name="separated")
