"""Experiments 3 and 4 at many drifts: does regret go with delta, and do the parts that make it up?

The paper has four drifts in each. Four points show a correlation only if it is nearly perfect; here are as many as one
likes in the same range. Beside regret stand the parts of the explanations that the paper offers: the gaps that
SnoozeIt's tests detect, how long it snoozes, how many episodes there are, and for what share of the time an arm is
snoozed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.errors import InputError
from driftbandits.instances import Instance, common_periods
from driftbandits.instances.equal_drift import plan
from driftbandits.instances.paths import checkpoints
from driftbandits.research.studies.tables import summarised
from driftbandits.simulation.result import Simulation
from driftbandits.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl

UNIT = 1 / 48_000
COUNT = 21
LEAST_POINTS = 5


def equally_far(horizon: int, drift: float) -> Instance:
    """Experiment 4 at any drift, not only at whole multiples k of 1/48,000: k times as fast for 1/k of the time."""
    k: Any = drift / UNIT
    arms = [checkpoints(horizon, drift, 0.5, plan(k), mirrored=mirrored) for mirrored in (False, True)]
    return Instance(np.column_stack(arms), name=f"equal drift, k = {k:.3g}")


FAMILIES: dict[str, tuple[Callable[[int, float], Instance], tuple[float, float]]] = {
    "common-periods": (lambda horizon, drift: common_periods(1, horizon, drift), (0.33, 1.33)),
    "equal-drift": (equally_far, (1.0, 4.0)),
}
"""The families of Experiments 3 and 4, and the paper's range of drifts, in units of 1/48,000."""


def drifts_of(family: str, count: int = COUNT) -> list[float]:
    """So many drifts, evenly spaced over the paper's range.

    >>> [round(drift * 48_000, 2) for drift in drifts_of("equal-drift", 4)]
    [1.0, 2.0, 3.0, 4.0]
    """
    first, last = FAMILIES[family][1]
    return [float(drift) for drift in np.linspace(first, last, count) * UNIT]


def many_drifts(
    family: str,
    horizon: int,
    policies: Callable[[int, float], Mapping[str, Any]],
    count: int = COUNT,
    *,
    runs: int = 5,
    seed: int = 0,
) -> pl.DataFrame:
    """One row for each drift and policy, all of them forms of SnoozeIt.

    Columns: drift, policy, regret with its interval and error, and means over all runs of: ``detected`` (lambda_hat of
    tests that passed), ``snooze`` (steps a snooze lasts), ``snoozes`` and ``episodes`` (a run), ``snoozed`` (the share
    of steps with an arm snoozed) and ``gap`` (the mean gap while both arms were active).
    """
    import polars as pl

    build = FAMILIES[family][0]
    rows = []
    for drift in drifts_of(family, count):
        instance = build(horizon, drift)
        made = policies(horizon, drift)
        result = simulate(made, instance, runs=runs, seed=seed, checkpoints=1, events=True, progress=False)
        for name in made:
            found = summarised(result.regret[name][:, -1])
            rows.append({"drift": drift, "policy": name, **found, **parts_of_regret(result, name)})
    return pl.DataFrame(rows)


def parts_of_regret(result: Simulation, name: str) -> dict[str, float | None]:
    """What an explanation of regret can point at; a mean over nothing is null."""
    events, T = result.events[name], result.instance.horizon
    passed = events["passed"].to_numpy()
    some = events.filter(snoozed=1)
    lengths = np.minimum(np.ceil(some["until"].to_numpy()), T) - some["passed"].to_numpy()
    steps = T * result.runs
    sums = np.concatenate([[0.0], np.cumsum(result.instance.gap)])
    quiet = sums[np.minimum(np.ceil(some["until"].to_numpy()), T).astype(np.int64)] - sums[some["passed"].to_numpy()]
    active = steps - float(lengths.sum())
    # The last episode has no event unless its test passed and nothing came after.
    return {
        "detected": float(events["gap"].to_numpy().mean()) if len(passed) else None,
        "snooze": float(lengths.mean()) if len(some) else None,
        "snoozes": len(some) / result.runs,
        "episodes": len(events) / result.runs + 1,
        "snoozed": float(lengths.sum()) / steps,
        "gap": (float(sums[-1]) * result.runs - float(quiet.sum())) / active if active > 0 else None,
    }


class Correlation(NamedTuple):
    """Pearson's r over the drifts, with Fisher's interval at 95 %."""

    value: float
    low: float
    high: float
    points: int

    def __str__(self) -> str:
        return f"{self.value:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


def correlation(x: Any, y: Any) -> Correlation:
    """How x and y go together over the points of a study; where y does not change at all, r is 0.

    Fisher's interval takes the points for a sample of all drifts. They are not one, they are a grid; so it says how
    far the grid could mislead, not how the noise of the runs could, which is much less.

    >>> print(correlation(range(8), [1, 2, 4, 3, 5, 7, 6, 8]))
    +0.95 (+0.75 to +0.99)
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) < LEAST_POINTS:
        raise InputError(f"a correlation with an interval needs at least {LEAST_POINTS} points; got {len(x)}")
    r = float(np.corrcoef(x, y)[0, 1]) if _varies(x) and _varies(y) else 0.0
    reach = 1.959964 / math.sqrt(len(x) - 3)
    centre = math.atanh(min(max(r, -1 + 1e-12), 1 - 1e-12))
    return Correlation(r, math.tanh(centre - reach), math.tanh(centre + reach), len(x))


def _varies(values: Array) -> bool:
    return float(np.ptp(values)) > 1e-9 * float(np.abs(values).max())
