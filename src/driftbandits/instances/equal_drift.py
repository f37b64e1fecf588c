"""Experiment 4 of the paper: instances that drift equally far in total, at different speeds."""

from __future__ import annotations

import numpy as np

from driftbandits._common.checks import check_drift, check_whole
from driftbandits.instances.base import HORIZON, Instance, check_shape, family
from driftbandits.instances.paths import DOWN, FLAT, UP, Plan, checkpoints


def plan(k: int) -> Plan:
    """Until when to go which way."""
    # 0.4 - lag is written as the single quotient (4k - 1)/(10k), since 0.4 - 0.1 is not the float 0.3.
    tenths = 10 * k
    return (
        (0.1, FLAT),
        ((k + 1) / tenths, UP),
        ((4 * k - 1) / tenths, FLAT),
        ((4 * k + 1) / tenths, DOWN),
        ((7 * k - 1) / tenths, FLAT),
        ((7 * k + 1) / tenths, UP),
        ((10 * k - 1) / tenths, FLAT),
        (1.0, DOWN),
    )


@family
def equal_drift(k: int = 1, horizon: int = HORIZON, drift: float | None = None) -> Instance:
    """Equal total drift (Experiment 4): k times the drift for 1/k of the time.

    Both arms start at 1/2. With lag = 0.1/k, arm 0 is flat until t/T = 0.1, rises until 0.1 + lag, is flat until
    0.4 - lag, falls until 0.4 + lag, is flat until 0.7 - lag, rises until 0.7 + lag, is flat until 1 - lag and falls
    until 1; arm 1 is its mirror image. delta = k/48,000 unless ``drift`` gives another one. The experiment has k = 1,
    2, 3, 4; k = 1 drifts at the same times as the family of common periods.

    >>> [round(float(equal_drift(k).gap.max()), 3) for k in (1, 2, 3, 4)]
    [0.678, 0.678, 0.678, 0.678]
    """
    T, _ = check_shape(horizon)
    k = check_whole("k", k, 1, 48_000)
    delta = k / 48_000 if drift is None else check_drift(drift)
    means = np.column_stack([checkpoints(T, delta, 0.5, plan(k)), checkpoints(T, delta, 0.5, plan(k), mirrored=True)])
    return Instance(means, name=f"equal drift, k = {k}")
