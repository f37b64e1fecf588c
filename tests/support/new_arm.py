"""A new arm: is it found as fast as by a fresh policy that is told of the change?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.checks import check_between, check_horizon, check_whole
from driftbandits._common.intervals import mean_interval
from driftbandits.instances.base import Instance
from driftbandits.instances.noise import Noise
from driftbandits.instances.walk import walk
from driftbandits.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl

DRIFT = 1e-5
OLD_ARMS = 3


def new_arm_comes(horizon: int, lead: float = 0.2, seed: int = 0) -> Instance:
    """Three arms that wander between 0.3 and 0.5, and after half of T a fourth, at 0.5 + ``lead``.

    >>> instance = new_arm_comes(1_000)
    >>> instance.arm_changes.tolist(), set(instance.best_arm[500:].tolist())
    ([500], {3})
    """
    T = check_horizon(horizon, 2)
    check_between("lead", lead, 0.0, 0.5)
    old = 0.3 + 0.2 * walk(T, DRIFT / 0.2, OLD_ARMS, seed=seed).means
    available = np.ones((T, OLD_ARMS + 1), np.bool_)
    available[: T // 2, OLD_ARMS] = False
    means = np.column_stack([old, np.full(T, 0.5 + lead)])
    return Instance(means, name="a new arm", drift=DRIFT, available=available)


def new_arm_regret(
    policies: Mapping[str, Any],
    noise: Noise | None = None,
    *,
    horizon: int = 20_000,
    lead: float = 0.2,
    runs: int = 200,
    seed: int = 0,
) -> pl.DataFrame:
    """What each policy pays after the new arm of ``new_arm_comes`` came, and what it pays if it begins there anew.

    The fresh policy meets the second half alone, with all four arms from the start: it is told of the change, and
    forgets all else. One row a policy: ``arms_change``; the mean regret of the second half ``after`` the change, and of
    the ``fresh`` one, each with its 95 % interval over runs; the ``ratio`` of the two.

    >>> from driftbandits import policies
    >>> new_arm_regret({"turns": policies.RoundRobin()}, horizon=1_000, runs=2)["ratio"].round(2).to_list()
    [1.0]
    """
    import polars as pl

    runs, whole = check_whole("runs", runs, 2), new_arm_comes(horizon, lead, seed)
    half = whole.horizon // 2
    alone = Instance(whole.means[half:], name="the new arm from the start", drift=DRIFT)
    options: dict[str, Any] = {"runs": runs, "seed": seed, "progress": False}
    played = simulate(policies, whole, noise, checkpoints=2, **options)
    fresh = simulate(policies, alone, noise, checkpoints=1, **options)
    rows = []
    for name, policy in policies.items():
        row: dict[str, Any] = {"policy": name, "arms_change": getattr(policy, "arms_change", "anew")}
        regret = played.regret[name]
        for which, paid in (("after", regret[:, 1] - regret[:, 0]), ("fresh", fresh.regret[name][:, -1])):
            names = (which, f"{which}_low", f"{which}_high")
            row |= dict(zip(names, map(float, mean_interval(paid)), strict=True))
        rows.append({**row, "ratio": row["after"] / row["fresh"]})
    return pl.DataFrame(rows)
