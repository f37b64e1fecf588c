"""Theorems 1 and 2 where they could fail: instances on which their bounds are below what round robin pays.

A test of a bound says little where no policy could break it. Round robin is what SnoozeIt does while it knows nothing,
so a test can fail, and counts, where round robin breaks the bound. With a constant gap Delta and blocks of tau steps
Theorem 1 allows about c6 L/(Delta tau) per step and round robin pays Delta/2: the test counts if
delta < 2 Delta^3/(288^(3/2) L), 7e-6 at Delta = 0.6 and T = 162,755, whatever the horizon.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import Policies, algorithms
from reproduction.statistics import Mean, summarised

GAPS = (0.3, 0.45, 0.6, 0.9)
DRIFTS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5)
RUNS = 5


@dataclass(frozen=True)
class SharpRow:
    """One policy on one instance, beside both bounds and round robin's regret."""

    shape: str
    horizon: int
    drift: float
    gap: float
    policy: str
    regret: Mean
    turns: float
    theorem1: float
    theorem2: float


@dataclass(frozen=True)
class SharpBounds:
    """A row per instance and policy, and at how many gaps without drift the detectable gap is never below the gap."""

    rows: tuple[SharpRow, ...]
    gaps: int
    never_below: int


def together(horizon: int, drift: float, gap: float) -> db.Instance:
    """Arms a constant gap apart that drift up and down side by side, by delta per step."""
    middle = 0.5 + _swings(horizon, drift, 0.49 * (1.0 - gap))  # not all the room, so that no mean is rounded below 0
    return db.Instance(np.column_stack([middle + gap / 2, middle - gap / 2]), name=f"together, gap {gap:g}")


def closing(horizon: int, drift: float, gap: float) -> db.Instance:
    """Arms that drift towards each other until half of the gap is left, and away from each other again."""
    half = 3 * gap / 8 + _swings(horizon, drift, gap / 8, start=gap / 8)
    return db.Instance(np.column_stack([0.5 + half, 0.5 - half]), name=f"closing, gap {gap:g}")


SHAPES: dict[str, Callable[[int, float, float], db.Instance]] = {"together": together, "closing": closing}


def round_robin_regret(instance: db.Instance) -> float:
    """What round robin pays, exactly: it pulls the first arm in odd steps and the second in even ones."""
    means = instance.means
    return float((means.max(axis=1) - means[np.arange(len(means)), np.arange(len(means)) % 2]).sum())


def sharp_bounds(context: Context) -> SharpBounds:
    """SnoozeIt's regret beside the bounds and round robin's regret, over gaps, drifts and horizons."""
    T = context.settings.horizon
    rows = sharp_rows([max(T // part, 2) for part in (16, 4, 1)], **context.settings.few(RUNS))
    least = {gap: db.detectable_gap(db.instances.stationary(T, (0.5 + gap / 2, 0.5 - gap / 2))).min() for gap in GAPS}
    below = sum(bool(found >= gap * (1 - 1e-12)) for gap, found in least.items())
    return SharpBounds(tuple(rows), len(GAPS), below)


def sharp_rows(
    horizons: Sequence[int],
    gaps: Sequence[float] = GAPS,
    drifts: Sequence[float] = DRIFTS,
    policies: Callable[[int, float], Policies] = algorithms,
    **options: Any,
) -> list[SharpRow]:
    """A row per shape, horizon, drift, gap and policy. Without drift both shapes are the same, named ``together``."""
    rows = []
    for horizon in horizons:
        for drift in drifts:
            for shape, build in SHAPES.items():
                for gap in gaps if drift > 0.0 or shape == "together" else ():
                    instance = build(horizon, drift, gap)
                    made = policies(horizon, drift)
                    played = db.simulate(made, instance, checkpoints=1, progress=False, **options)
                    bounds = (
                        round_robin_regret(instance),
                        db.bounds.instance_dependent(instance, drift).total,
                        db.bounds.minimax_upper(horizon, drift).total,
                    )
                    rows += [
                        SharpRow(shape, horizon, drift, gap, name, summarised(regret[:, -1]), *bounds)
                        for name, regret in played.regret.items()
                    ]
    return rows


def _swings(horizon: int, drift: float, reach: float, start: float = 0.0) -> Any:
    """A path from ``start`` that goes up to ``reach``, down to -reach and up again, by ``drift`` per step."""
    if reach == 0.0:
        return np.zeros(horizon)
    # A straight line, folded into the range: every step is delta, or less where it turns.
    return reach - np.abs((start + reach + drift * np.arange(horizon)) % (4 * reach) - 2 * reach)
