"""The exponent 1/3 where it is SnoozeIt's own: at each drift, the gap that costs SnoozeIt most.

On arms a constant gap Delta apart SnoozeIt's test passes after about 64 L/Delta^2 steps and the snooze that follows
ends Delta/(4 delta) steps after the episode's start. So it snoozes if Delta exceeds the critical gap
(256 delta L)^(1/3), and then pays 128 delta L/Delta^2 per step: at a fixed gap regret grows as delta, not as its cube
root. Below the critical gap it is round robin and pays Delta/2. The worst gap is the critical one, and regret there is
3.17 (delta L)^(1/3) per step, against 4.76 in the proof of Theorem 2. Round robin's worst gap is the largest, at any
drift: its exponent is 0. So here, unlike on the instances of the lower bound, an exponent of 1/3 says that SnoozeIt
snoozes, and when.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import ALGORITHM_1, PRINTED, ROUND_ROBIN, algorithms
from reproduction.statistics import Mean, PowerLaw, fit_power_law, summarised
from reproduction.studies.sharp_bounds import round_robin_regret, together

DRIFTS = tuple(float(f"{drift:.12g}") for drift in np.geomspace(1e-6, 6e-5, 8))  # the last bits are the processor's
RELATIVE = (0.5, 0.7, 0.85, 1.0, 1.1, 1.2, 1.35, 1.6, 2.0)
"""Gaps as multiples of the critical one."""
LARGEST = 0.9
"""The largest gap, tried at every drift."""
RUNS = 5


@dataclass(frozen=True)
class GapRow:
    """One policy at one drift and gap; ``snoozed``: the share of steps in which one arm was snoozed."""

    drift: float
    gap: float
    critical: float
    policy: str
    regret: Mean
    snoozed: float


@dataclass(frozen=True)
class WorstGap:
    """All rows, the worst of each policy and drift, and the power laws through those."""

    rows: tuple[GapRow, ...]
    worst: tuple[GapRow, ...]
    mine: PowerLaw
    modified: PowerLaw
    turns: PowerLaw

    def of(self, policy: str) -> list[GapRow]:
        """The worst rows of a policy, by drift."""
        return [row for row in self.worst if row.policy == policy]

    def snoozed_at_largest(self) -> list[float]:
        """The share of time in which Algorithm 1 snoozes at the largest gap, at each drift."""
        return [row.snoozed for row in self.rows if row.policy == ALGORITHM_1 and row.gap == LARGEST]


def critical_gap(horizon: int, drift: float) -> float:
    """(256 delta L)^(1/3): above it SnoozeIt as printed snoozes on arms a constant gap apart, below it does not.

    >>> round(critical_gap(162_755, 1 / 48_000), 3)
    0.4
    """
    return math.cbrt(256 * drift * math.log(horizon))


def worst_gap(context: Context) -> WorstGap:
    """Regret at each drift and gap, arms drifting side by side, and each policy's worst gap."""
    rows = gap_rows(context.settings.horizon, **context.settings.few(RUNS))
    worst: dict[tuple[str, float], GapRow] = {}
    for row in rows:
        known = worst.setdefault((row.policy, row.drift), row)
        if row.regret.value > known.regret.value:
            worst[row.policy, row.drift] = row
    laws = []
    for name in (ALGORITHM_1, PRINTED, ROUND_ROBIN):
        mine = [row for row in worst.values() if row.policy == name]
        laws.append(fit_power_law([row.drift for row in mine], [row.regret.value for row in mine]))
    return WorstGap(tuple(rows), tuple(worst[key] for key in sorted(worst)), *laws)


def gap_rows(horizon: int, drifts: Sequence[float] = DRIFTS, **options: Any) -> list[GapRow]:
    """A row per drift, gap and policy; round robin is among the policies."""
    rows = []
    for drift in drifts:
        critical = critical_gap(horizon, drift)
        for gap in sorted(gap for gap in {*(critical * factor for factor in RELATIVE), LARGEST} if gap <= LARGEST):
            instance = together(horizon, drift, gap)
            played = db.simulate(algorithms(horizon, drift), instance, checkpoints=1, progress=False, **options)
            for name, regret in played.regret.items():
                snoozed = 1 - 2 * float(played.pulls[name][:, 1].mean()) / horizon  # arm 1 is worse throughout
                mean = summarised(regret[:, -1])
                rows.append(GapRow(float(drift), gap, critical, name, mean, max(0.0, snoozed)))
            turns = summarised(np.full(options["runs"], round_robin_regret(instance)))
            rows.append(GapRow(float(drift), gap, critical, ROUND_ROBIN, turns, 0.0))
    return rows
