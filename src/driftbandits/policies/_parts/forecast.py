"""What AutoUCB's filters say of arms some steps on, and which arm overtakes the best one; read, not played."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.policies._parts.bank import FADING, FILTERS, MEAN, POOL, SLOPE, SLOPES, SPREAD, WEIGHT, look_ahead
from driftbandits.policies._parts.belief import Crossing
from driftbandits.policies._parts.learnt_noise import arm_noise, switched_share
from driftbandits.policies._parts.posteriors import beta_moments


class Mixture(NamedTuple):
    """A row for each filter, of ``slope`` for each slope; a column for each arm."""

    weight: Array
    mean: Array
    variance: Array
    slope: Array


def mixture(state: Any, arms: Array, further: int) -> Mixture:
    """Weights, means and variances of these arms' filters at the next step and ``further`` steps on; slopes' slopes.

    A column for each arm: the kernels look at all of them at once.
    """
    run, rows, shared = state.run[0], state.bank[arms].T, state.shared[:, None]
    mine: Any = state.arms[arms]
    away = run.t + 1.0 + further - mine.last
    switched: Any = switched_share(run.switching, away)
    weight = switched * shared[POOL : POOL + FILTERS] + (1.0 - switched) * rows[WEIGHT : WEIGHT + FILTERS]
    ahead = np.empty((2 * FILTERS, len(arms)))
    look_ahead(rows, shared, away, ahead)
    mean, spread = ahead[MEAN : MEAN + FILTERS], ahead[SPREAD : SPREAD + FILTERS]
    x = away * shared[FADING : FADING + SLOPES]
    slope = rows[SLOPE : SLOPE + SLOPES] / (1.0 + x + 0.5 * x * x)
    if run.coin:
        p, variance = beta_moments(np.clip((mean - run.low) / (run.high - run.low), 0.0, 1.0), spread)
        return Mixture(weight, run.low + (run.high - run.low) * p, (run.high - run.low) ** 2 * variance, slope)
    return Mixture(weight, mean, spread * (arm_noise(run, mine) + (mean - run.center) ** 2 / (1.0 + mine.pulls)), slope)


def crossing(state: Any, mean: Array) -> Crossing | None:
    """The first arm to overtake the best, if one is expected to within as many steps as there were so far."""
    if not np.isfinite(mean).all():
        return None
    best = int(np.argmax(mean))

    def ahead(further: int) -> Array:
        parts = mixture(state, np.arange(len(mean)), further)
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
