"""Regret against the drift limit: is it T delta^(1/3) where it must be?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import ALGORITHM_1, FORMS, RIVALS, algorithm_1, rivals, snoozeit
from reproduction.statistics import Mean, PowerLaw, fit_power_law, power_law_meets, summarised, t_quantile
from reproduction.studies.sharp_bounds import round_robin_regret

Family = Callable[[int, float, int], db.Instance]
DRIFTS = tuple(float(f"{drift:.12g}") for drift in np.geomspace(1e-7, 1e-2, 11))  # the last bits are the processor's
RUNS = 10
"""Instances at each drift, at most: every run draws its own."""
HARD = "lower bound"


FAMILIES: dict[str, Family] = {
    HARD: lambda horizon, drift, seed: db.instances.lower_bound(horizon, drift, seed),
    "toggling": lambda horizon, drift, seed: db.instances.toggling(horizon, drift, max(1, round(5 / (6 * drift)))),
    "walk": lambda horizon, drift, seed: db.instances.walk(horizon, drift, reverse=min(1.0, 2 * drift), seed=seed),
}
"""Instances of any drift: Theorem 3's; Experiment 2's arms, at rest and crossing for 5/(6 delta) steps in turn, so that
they cover 5/6 of [0, 1] at any speed; and random walks that turn after 1/(2 delta) steps on average."""


@dataclass(frozen=True)
class DriftRow:
    """One policy at one drift, beside round robin on the same instances and the bounds of Theorems 2 and 3.

    ``lower`` is that of the worst instance for each policy; of these instances only part of it is certain on average.
    """

    family: str
    drift: float
    policy: str
    regret: Mean
    turns: float
    upper: float
    lower: float


@dataclass(frozen=True)
class Exponent:
    """The fitted exponent of one policy in one family; ``turns``: that of round robin on the same instances."""

    family: str
    policy: str
    law: PowerLaw


@dataclass(frozen=True)
class RegretAgainstDrift:
    """A row per family, drift and policy, and the exponents; ``apart``: how far Algorithm 1 is from round robin."""

    runs: int
    rows: tuple[DriftRow, ...]
    exponents: tuple[Exponent, ...]
    hard_turns: PowerLaw
    apart: float

    def of(self, family: str, policy: str) -> list[DriftRow]:
        """The rows of a policy in a family, by drift."""
        return [row for row in self.rows if row.family == family and row.policy == policy]

    def exponent(self, family: str, policy: str) -> PowerLaw:
        """The power law of a policy in a family."""
        return next(one.law for one in self.exponents if (one.family, one.policy) == (family, policy))


def regret_against_drift(context: Context) -> RegretAgainstDrift:
    """SnoozeIt in every family; the other policies where Theorem 3, which is about every policy, draws instances."""
    T, options = context.settings.horizon, context.settings.few(RUNS)
    drifts = [drift for drift in DRIFTS if db.bounds.minimax_lower(T, drift).block_length <= T]
    rows: list[DriftRow] = []
    for family in FAMILIES:
        rows += drift_rows(family, T, drifts, lambda drift, family=family: _policies(family, T, drift), **options)  # type: ignore[misc]
    laws = {
        (family, policy): fit([row for row in rows if (row.family, row.policy) == (family, policy)])
        for family, policy in dict.fromkeys((row.family, row.policy) for row in rows)
    }
    mine = [row for row in rows if (row.family, row.policy) == (HARD, ALGORITHM_1)]
    turns = fit([replace(row, regret=replace(row.regret, value=row.turns)) for row in mine])
    apart = max(abs(row.regret.value / row.turns - 1) for row in mine)
    exponents = tuple(Exponent(*key, law) for key, law in laws.items())
    return RegretAgainstDrift(options["runs"], tuple(rows), exponents, turns, apart)


def _policies(family: str, horizon: int, drift: float) -> dict[str, Any]:
    made = snoozeit(horizon, drift) | rivals(horizon, drift) | algorithm_1(horizon, drift)
    wanted = (*FORMS.values(), *(RIVALS if family == HARD else ()), ALGORITHM_1)
    return {name: made[name] for name in wanted}


def drift_rows(
    family: str,
    horizon: int,
    drifts: Sequence[float],
    policies: Callable[[float], Mapping[str, Any]],
    *,
    runs: int,
    seed: int,
) -> list[DriftRow]:
    """A row per drift and policy; every run draws its own instance."""
    rows = []
    for drift in drifts:
        made = policies(drift)
        regrets: dict[str, list[float]] = {name: [] for name in made}
        turns = 0.0
        for run in range(seed, seed + runs):
            instance = FAMILIES[family](horizon, drift, run)
            turns += round_robin_regret(instance) / runs
            played = db.simulate(made, instance, runs=1, seed=run, checkpoints=1, progress=False)
            for name, found in regrets.items():
                found.append(float(played.regret[name][0, -1]))
        # The instances are those of the first construction of Theorem 3, so its bound is the one to compare with.
        upper, lower = db.bounds.minimax_upper(horizon, drift).total, db.bounds.minimax_lower(horizon, drift).bumps
        for name, values in regrets.items():
            rows.append(DriftRow(family, float(drift), name, summarised(values), turns, upper, lower))
    return rows


def fit(rows: Sequence[DriftRow]) -> PowerLaw:
    """The exponent of regret in delta, and whether the intervals of all means contradict every power law."""
    drifts, means = [row.drift for row in rows], [row.regret for row in rows]
    values = np.array([mean.value for mean in means])
    law = fit_power_law(drifts, values)
    runs = means[0].runs
    if runs < 2:
        return law
    reach = np.array([mean.error for mean in means]) / values * t_quantile(runs - 1, together=len(means))
    factor = np.exp(np.minimum(reach, 700.0))  # as positive_interval, for all means together
    return replace(law, misses=not power_law_meets(drifts, values / factor, values * factor))
