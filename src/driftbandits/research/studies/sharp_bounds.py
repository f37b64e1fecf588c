"""Theorems 1 and 2 where they could fail: instances on which their bounds are below what round robin pays.

A test of a bound says little where no policy could break it. Round robin is what SnoozeIt does while it knows nothing,
so a test can fail, and counts, where round robin breaks the bound. With a constant gap Delta and blocks of tau steps
Theorem 1 allows about c6 L/(Delta tau) a step and round robin pays Delta/2: the test counts if
delta < 2 Delta^3/(288^(3/2) L), 7e-6 at Delta = 0.6 and T = 162,755, whatever the horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_between, check_horizon
from driftbandits.instances import Instance
from driftbandits.policies import SnoozeIt
from driftbandits.research.studies.tables import summarised
from driftbandits.simulation.simulate import simulate
from driftbandits.theory.bounds import instance_dependent, minimax_upper

if TYPE_CHECKING:
    import polars as pl

GAPS = (0.3, 0.45, 0.6, 0.9)
DRIFTS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5)


def together(horizon: int, drift: float, gap: float) -> Instance:
    """Arms a constant gap apart that drift up and down side by side, by delta a step."""
    check_between("gap", gap, 0.0, 1.0)
    room = 0.49 * (1.0 - gap)  # not quite all of it, so that no mean is rounded to below 0
    middle = 0.5 + _swings(check_horizon(horizon), drift, room)
    return Instance(np.column_stack([middle + gap / 2, middle - gap / 2]), name=f"together, gap {gap:g}")


def closing(horizon: int, drift: float, gap: float) -> Instance:
    """Arms that drift towards each other until half of the gap is left, and away from each other again."""
    check_between("gap", gap, 0.0, 1.0)
    eighth = gap / 8
    half = 3 * eighth + _swings(check_horizon(horizon), drift, eighth, start=eighth)
    return Instance(np.column_stack([0.5 + half, 0.5 - half]), name=f"closing, gap {gap:g}")


SHAPES: dict[str, Callable[[int, float, float], Instance]] = {"together": together, "closing": closing}


def round_robin_regret(instance: Instance) -> float:
    """What round robin pays, exactly: it pulls the first arm in odd steps and the second in even ones."""
    means = instance.means
    return float((means.max(axis=1) - means[np.arange(len(means)), np.arange(len(means)) % 2]).sum())


def algorithms(horizon: int, drift: float) -> dict[str, Any]:
    """The two printed forms of SnoozeIt, which the theorems are about."""
    return {
        "SnoozeIt, Algorithm 1": SnoozeIt(horizon, drift, variant="original"),
        "SnoozeIt printed": SnoozeIt(horizon, drift),
    }


def sharp_bounds(
    horizons: Sequence[int],
    gaps: Sequence[float] = GAPS,
    drifts: Sequence[float] = DRIFTS,
    policies: Callable[[int, float], Mapping[str, Any]] = algorithms,
    *,
    runs: int = 5,
    seed: int = 0,
) -> pl.DataFrame:
    """SnoozeIt's regret beside the bounds of Theorems 1 and 2 and beside round robin's, over gaps, drifts, horizons.

    One row for each shape (arms ``together`` or ``closing``), horizon, drift, gap and policy. Columns: regret with its
    95 % interval low .. high and standard error, runs, turns (round robin's regret), theorem1 and theorem2. Without
    drift both shapes are the same instance, which stands once, as ``together``.

    >>> table = sharp_bounds([50_000], [0.6], [1e-7], runs=2).filter(shape="together")
    >>> [round(table[name][0]) for name in ("theorem1", "theorem2", "turns")], table["regret"][0] < 1_000
    ([2601, 6861, 15000], True)
    """
    import polars as pl

    rows = []
    for horizon in horizons:
        for drift in drifts:
            for shape, build in SHAPES.items():
                if drift == 0.0 and shape != "together":
                    continue
                for gap in gaps:
                    instance = build(horizon, drift, gap)
                    made = policies(horizon, drift)
                    result = simulate(made, instance, runs=runs, seed=seed, checkpoints=1, progress=False)
                    fixed = {
                        "turns": round_robin_regret(instance),
                        "theorem1": instance_dependent(instance, drift).total,
                        "theorem2": minimax_upper(horizon, drift).total,
                    }
                    where = {"shape": shape, "horizon": horizon, "drift": drift, "gap": gap}
                    for name in made:
                        found = summarised(result.regret[name][:, -1])
                        rows.append({**where, "policy": name, **found, **fixed})
    return pl.DataFrame(rows)


def _swings(horizon: int, drift: float, reach: float, start: float = 0.0) -> Array:
    """A path from ``start`` that goes up to ``reach``, down to -reach and up again, by ``drift`` a step."""
    if reach == 0.0:
        return np.zeros(horizon)
    # A straight line, folded into the range: every step is delta, or less where it turns.
    folded: Array = reach - np.abs((start + reach + drift * np.arange(horizon)) % (4 * reach) - 2 * reach)
    return folded
