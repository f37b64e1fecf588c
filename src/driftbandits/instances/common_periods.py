"""Experiment 3 of the paper: four instances that drift at the same times, at four speeds."""

from __future__ import annotations

import numpy as np

from driftbandits._common.checks import check_drift, check_whole
from driftbandits.instances.base import HORIZON, Instance, check_shape, family
from driftbandits.instances.paths import DOWN, FLAT, UP, checkpoints

DRIFTS = (0.33 / 48_000, 0.66 / 48_000, 1 / 48_000, 1.33 / 48_000)
PLAN = ((0.1, FLAT), (0.2, UP), (0.3, FLAT), (0.5, DOWN), (0.6, FLAT), (0.8, UP), (0.9, FLAT), (1.0, DOWN))


@family
def common_periods(k: int = 1, horizon: int = HORIZON, drift: float | None = None) -> Instance:
    """Common periods of drift (Experiment 3): the faster the drift, the wider the gap it opens.

    Both arms start at 1/2. Arm 0 is flat until t/T = 0.1, rises until 0.2, is flat until 0.3, falls until 0.5, is flat
    until 0.6, rises until 0.8, is flat until 0.9 and falls until 1; arm 1 is its mirror image. ``k`` = 1, 2, 3, 4 takes
    delta = 0.33, 0.66, 1, 1.33 times 1/48,000, and ``drift`` another one.

    >>> [round(float(common_periods(k).gap.max()), 3) for k in (1, 2, 3, 4)]
    [0.224, 0.448, 0.678, 0.902]
    """
    T, _ = check_shape(horizon)
    k = check_whole("k", k, 1, 4)
    delta = DRIFTS[k - 1] if drift is None else check_drift(drift)
    means = np.column_stack([checkpoints(T, delta, 0.5, PLAN), checkpoints(T, delta, 0.5, PLAN, mirrored=True)])
    return Instance(means, name=f"common periods, k = {k}")
