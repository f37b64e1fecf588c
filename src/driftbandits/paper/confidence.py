"""How SnoozeIt's regret depends on its confidence, what fails as it falls, and what it makes of each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits.paper.claims import beats, final, interval, monotone
from driftbandits.paper.content import Verdict
from driftbandits.paper.experiments import CONFIDENCES
from driftbandits.simulation import Simulation
from driftbandits.studies.good_event import share_interval

if TYPE_CHECKING:
    import polars as pl


def curve(simulation: Simulation) -> pl.DataFrame:
    """Regret and the share of snoozes that break Lemma 1, at every confidence: one row each."""
    import polars as pl

    rows = []
    for value in CONFIDENCES:
        regret = interval(final(simulation, f"{value:g}"))
        snoozes, failures = failed_snoozes(simulation, f"{value:g}")
        rows.append(
            {
                "confidence": value,
                "regret": regret.mean,
                "low": regret.low,
                "high": regret.high,
                "snoozes": snoozes / simulation.runs,
                "lemma1": failures / snoozes if snoozes else None,
                "lemma1 low": share_interval(failures, snoozes)[0] if snoozes else None,
                "lemma1 high": share_interval(failures, snoozes)[1] if snoozes else None,
            }
        )
    shares = dict.fromkeys(("lemma1", "lemma1 low", "lemma1 high"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=shares)


def failed_snoozes(simulation: Simulation, name: str) -> tuple[int, int]:
    """How many snoozes there were in all runs, and in how many the snoozed arm became the better one."""
    means, T = simulation.instance.means, simulation.instance.horizon
    some = simulation.events[name].filter(snoozed=1)
    # worse[a, t]: in how many of the first t steps arm a was strictly the worse one.
    worse = np.zeros((2, T + 1), np.int64)
    worse[:, 1:] = np.cumsum(means.T[::-1] > means.T, axis=1)
    arm, first = some["arm"].to_numpy(), some["passed"].to_numpy()
    last = np.minimum(np.ceil(some["until"].to_numpy()), T).astype(np.int64)
    return len(some), int((worse[arm, last] > worse[arm, first]).sum())


def claim_at(experiment: str, value: float, curves: Sequence[Simulation], rivals: Mapping[str, Any]) -> Verdict:
    """The experiment's claim for SnoozeIt at this confidence; ``rivals`` are the regrets it must beat."""
    regrets = [final(simulation, f"{value:g}") for simulation in curves]
    if rivals:
        return beats(regrets[0], rivals)
    return monotone(regrets, claimed=experiment == "equal-drift")
