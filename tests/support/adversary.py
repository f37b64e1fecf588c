"""Rewards that are as misleading as the good event allows: no noise, but other means shown than the true ones.

SnoozeIt is played on the means that are *shown*; its regret is counted with the *true* means. As long as every average
that the test can use is within its radius r(w) of the truth, every inequality of the proofs must hold; and with rewards
like these most of them are nearly equalities.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

import driftbandits as db
from driftbandits._common.arrays import Array


def two_arms(differences: Array) -> Array:
    """A table of means around 1/2 with these differences."""
    return np.stack([0.5 + differences / 2, 0.5 - differences / 2], axis=1)


def quiet(horizon: int, drift: float, variant: str = "original") -> db.SnoozeIt:
    with warnings.catch_warnings():  # that it cannot snooze is sometimes the point
        warnings.simplefilter("ignore")
        return db.SnoozeIt(horizon, drift, variant=variant)


def arms_played(policy: db.SnoozeIt, shown: Array) -> Array:
    return db.trajectory(policy, db.Instance(shown), db.Gaussian(0.0)).arms


def regrets(arms: Array, true: Array) -> Array:
    """Regret of every step."""
    cost: Array = true.max(axis=1) - true[np.arange(len(arms)), arms]
    return cost


def events(policy: db.SnoozeIt, shown: Array) -> list[dict[str, float]]:
    result = db.simulate({"it": policy}, db.Instance(shown), db.Gaussian(0.0), runs=1, events=True, checkpoints=1)
    rows: list[dict[str, float]] = result.events["it"].to_dicts() if "it" in result.events else []
    return rows


def worst_deviation(shown: Array, true: Array, horizon: int) -> float:
    """The largest |average shown - average true| / r(w) over arms, parities and windows w <= t/2: at most 1 if good."""
    worst = 0.0
    for arm in (0, 1):
        for parity in (0, 1):
            sums = np.append(0.0, np.cumsum((shown - true)[parity::2, arm]))
            for w in range(1, len(shown) // 2 + 1):
                off = np.abs(sums[w:] - sums[:-w]).max() / w
                worst = max(worst, off / math.sqrt(2 * math.log(horizon) / w))
    return worst
