"""What BreakEven expects of arms some steps on, and which arm overtakes the best one; read by users, not played."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.policies._parts.belief import Crossing
from driftbandits.policies._parts.filters import known_precision
from driftbandits.policies._parts.learnt_noise import arm_noise, switched_share
from driftbandits.policies._parts.models import MODELS, predicted
from driftbandits.policies._parts.posteriors import beta_moments


class Mixture(NamedTuple):
    """One row per model, one column per arm."""

    weight: Array
    mean: Array
    variance: Array
    slope: Array


def mixture(state: Any, switching: float, arms: Array, further: int) -> Mixture:
    """Return what is known of these arms ``further`` steps after the next one."""
    run, found = state.run[0], np.empty((6, MODELS, len(arms)))
    for column, arm in enumerate(arms):
        mine, row = state.arms[arm], state.bank[arm]
        away = int(run.t) + 1 + further - int(mine.last)
        merge = switched_share(switching, away), mine.center, mine.spread, known_precision(run, mine, mine.center)
        found[:, :, column] = predicted(row, state.shared[0], np.s_[:], float(away), merge)
    weight, mean, c, slope, _, _ = found
    if run.coin:
        p, variance = beta_moments(np.clip((mean - run.low) / (run.high - run.low), 0.0, 1.0), c)
        return Mixture(weight, run.low + (run.high - run.low) * p, (run.high - run.low) ** 2 * variance, slope)
    these: Any = state.arms[arms]
    noise = arm_noise(run, these) + (mean - run.center) ** 2 / (1.0 + these.pulls)
    return Mixture(weight, mean, c * noise, slope)


def crossing(state: Any, switching: float, mean: Array) -> Crossing | None:
    """Return the first arm expected to overtake the best one, if that is within as many steps as there were so far."""
    if not np.isfinite(mean).all():
        return None
    best = int(np.argmax(mean))

    def ahead(further: int) -> Array:
        parts = mixture(state, switching, np.arange(len(mean)), further)
        found: Array = (parts.weight * parts.mean).sum(axis=0)
        return found

    before, limit = 0, int(state.run[0].t)
    while before < limit:
        after = min(limit, before + 1 + before // 8)
        if ahead(after).argmax() != best:
            while after - before > 1:
                middle = (before + after) // 2
                before, after = (middle, after) if ahead(middle).argmax() == best else (before, middle)
            return Crossing(int(ahead(after).argmax()), best, after)
        before = after
    return None
