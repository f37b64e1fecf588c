"""Experiment 2 of the paper: two arms that take turns at being the better one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftbandits._common.checks import FOREVER, check_drift, check_means, check_whole
from driftbandits.instances.base import HORIZON, Instance, check_shape, family
from driftbandits.instances.paths import DOWN, UP, flips


@family
def toggling(
    horizon: int = HORIZON, drift: float = 1 / 4_800, flat: int = 4_000, start: Sequence[float] = (0.9, 0.1)
) -> Instance:
    """Toggling arms (Experiment 2): the two means stand still, cross, stand still, and cross back.

    Both means are flat for F = ``flat`` steps, then arm 0 falls and arm 1 rises by delta = ``drift`` a step for F
    steps, then both are flat for F steps, then arm 0 rises and arm 1 falls, and so on from ``start``. A mean that
    reaches 0 or 1 is reflected there, which the defaults never bring about.

    >>> instance = toggling()
    >>> instance.means[[0, 4_000, 8_000, 16_000]].round(4).tolist()
    [[0.9, 0.1], [0.8998, 0.1002], [0.0667, 0.9333], [0.9, 0.1]]
    """
    T, _ = check_shape(horizon)
    drift, flat = check_drift(drift), check_whole("flat (the steps between two turns)", flat, 1, FOREVER)
    start = check_means("start", start, 2)
    means = np.column_stack([flips(T, drift, start[0], flat, DOWN), flips(T, drift, start[1], flat, UP)])
    return Instance(means, name="toggling")
