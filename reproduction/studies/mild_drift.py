"""Regret under drift as mild as the paper's discussion asks: ln T, and not T."""

import math
from dataclasses import dataclass

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.statistics import Mean, PowerLaw, fit_power_law, summarised
from reproduction.studies.sharp_bounds import round_robin_regret

GAP = 0.5
RUNS = 20
"""Runs at each horizon, at most: the longest horizon is 16 times the paper's."""


@dataclass(frozen=True)
class MildRow:
    """One horizon; ``per_log`` is regret/ln T, ``bound`` that of Theorem 1, ``turns`` round robin's regret."""

    horizon: int
    drift: float
    regret: Mean
    per_log: float
    bound: float
    turns: float


@dataclass(frozen=True)
class MildDrift:
    """A row per horizon, and the power of T that is left of regret/ln T."""

    rows: tuple[MildRow, ...]
    exponent: PowerLaw


def mild_drift(context: Context) -> MildDrift:
    """SnoozeIt as printed at delta = sqrt(L)/T^(3/2) and five horizons.

    The means start 0.5 apart and close in on each other by delta each in every step, the most they can do; over all T
    steps each moves by sqrt(L/T) only. Theorem 1 then has a single block, and regret is O(L/gap), not O(T).
    """
    horizons = [context.settings.horizon * 4**power // 16 for power in range(5)]
    rows = tuple(mild_row(max(T, 2), **context.settings.few(RUNS)) for T in horizons)
    return MildDrift(rows, fit_power_law([row.horizon for row in rows], [row.per_log for row in rows]))


def mild_row(horizon: int, *, runs: int, seed: int) -> MildRow:
    """One horizon."""
    T = horizon
    drift = math.sqrt(math.log(T)) / T**1.5
    moved = drift * np.arange(T)
    instance = db.Instance(np.column_stack([0.5 + GAP / 2 - moved, 0.5 - GAP / 2 + moved]), name="mild drift")
    policies = {"it": db.SnoozeIt(T, drift)}
    played = db.simulate(policies, instance, runs=runs, seed=seed, checkpoints=1, progress=False)
    mean = summarised(played.regret["it"][:, -1])
    bound = float(db.bounds.instance_dependent(instance, drift).total)
    return MildRow(T, drift, mean, mean.value / math.log(T), bound, round_robin_regret(instance))
