"""Experiments 3 and 4 at many drifts: does regret go with delta, and do the parts that make it up?

The paper has four drifts in each, and four points show a correlation only if it is nearly perfect. Beside regret stand
the parts of the paper's explanations: the gaps that tests detect, how long snoozes last, how many episodes there are,
and for what share of the time an arm is snoozed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import SLOW, equally_far, snoozeit
from reproduction.statistics import Mean, summarised

COUNT = 21
RUNS = 5
FAMILIES: dict[str, tuple[Callable[[int, float], db.Instance], tuple[float, float]]] = {
    "common-periods": (lambda horizon, drift: db.instances.common_periods(1, horizon, drift), (0.33, 1.33)),
    "equal-drift": (equally_far, (1.0, 4.0)),
}
"""The families of Experiments 3 and 4, and the paper's range of drifts, in units of 1/48,000."""


@dataclass(frozen=True)
class Parts:
    """What an explanation of regret can point at; a mean over nothing is None.

    ``detected``: lambda_hat of tests that passed; ``snooze``: steps that a snooze lasts; ``snoozes`` and ``episodes``
    per run; ``snoozed``: the share of steps with an arm snoozed; ``gap``: the mean gap while both arms were active.
    """

    detected: float | None
    snooze: float | None
    snoozes: float
    episodes: float
    snoozed: float
    gap: float | None


@dataclass(frozen=True)
class DriftRow:
    """One form of SnoozeIt at one drift."""

    family: str
    drift: float
    policy: str
    regret: Mean
    parts: Parts


@dataclass(frozen=True)
class ManyDrifts:
    """A row per family, drift and form of SnoozeIt."""

    rows: tuple[DriftRow, ...]

    def of(self, family: str, policy: str) -> list[DriftRow]:
        """The rows of a family and a form, by drift."""
        return [row for row in self.rows if row.family == family and row.policy == policy]


def drifts_of(family: str, count: int = COUNT) -> list[float]:
    """So many drifts, evenly spaced over the paper's range.

    >>> [round(drift * 48_000, 2) for drift in drifts_of("equal-drift", 4)]
    [1.0, 2.0, 3.0, 4.0]
    """
    first, last = FAMILIES[family][1]
    return [float(drift) for drift in np.linspace(first, last, count) * SLOW]


def many_drifts(context: Context) -> ManyDrifts:
    """Play SnoozeIt in its three forms at many drifts."""
    T, rows = context.settings.horizon, []
    for family, (build, _) in FAMILIES.items():
        for drift in drifts_of(family):
            played = db.simulate(
                snoozeit(T, drift), build(T, drift), checkpoints=1, events=True, progress=False,
                workers=context.workers, **context.settings.few(RUNS),
            )  # fmt: skip
            for name, regret in played.regret.items():
                rows.append(DriftRow(family, drift, name, summarised(regret[:, -1]), parts_of_regret(played, name)))
    return ManyDrifts(tuple(rows))


def many_drifts_of(context: Context) -> ManyDrifts:
    """The kept result of this study, for others that build on it."""
    return context.result("many-drifts", ManyDrifts, many_drifts)


def parts_of_regret(result: db.Simulation, name: str) -> Parts:
    """Means over all runs."""
    events, T = result.events[name], result.instance.horizon
    some = events.filter(snoozed=1)
    passed, until = some["passed"].to_numpy(), np.minimum(np.ceil(some["until"].to_numpy()), T).astype(np.int64)
    lengths, steps = until - passed, T * result.runs
    sums = np.concatenate([[0.0], np.cumsum(result.instance.gap)])
    active = steps - float(lengths.sum())
    quiet = float((sums[until] - sums[passed]).sum())
    return Parts(
        detected=float(events["gap"].to_numpy().mean()) if len(events) else None,
        snooze=float(lengths.mean()) if len(some) else None,
        snoozes=len(some) / result.runs,
        episodes=len(events) / result.runs + 1,  # the last episode has no event
        snoozed=float(lengths.sum()) / steps,
        gap=(float(sums[-1]) * result.runs - quiet) / active if active > 0 else None,
    )
