"""How SnoozeIt's regret depends on its confidence, what fails as it falls, and what it makes of each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from driftbandits._common.intervals import share_interval
from driftbandits.research.paper.claims import beats, final, regret_interval, rises
from driftbandits.research.paper.evidence import Evidence
from driftbandits.research.paper.experiments import CONFIDENCES
from driftbandits.research.studies.good_event import failed_snoozes
from driftbandits.simulation.result import Simulation

if TYPE_CHECKING:
    import polars as pl


def curve(simulation: Simulation) -> pl.DataFrame:
    """Regret and the share of snoozes that break Lemma 2 (snooze safety), at every confidence: one row each."""
    import polars as pl

    rows = []
    for value in CONFIDENCES:
        regret = regret_interval(final(simulation, f"{value:g}"))
        snoozes, failures = failed_snoozes(simulation, f"{value:g}")
        rows.append(
            {
                "confidence": value,
                "regret": regret.mean,
                "low": regret.low,
                "high": regret.high,
                "snoozes": snoozes / simulation.runs,
                "unsafe": failures / snoozes if snoozes else None,
                "unsafe low": share_interval(failures, snoozes)[0] if snoozes else None,
                "unsafe high": share_interval(failures, snoozes)[1] if snoozes else None,
            }
        )
    shares = dict.fromkeys(("unsafe", "unsafe low", "unsafe high"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=shares)


def claim_at(experiment: str, value: float, curves: Sequence[Simulation], rivals: Mapping[str, Any]) -> Evidence:
    """For and against the experiment's claim, SnoozeIt at this confidence; ``rivals`` are the regrets it must beat.

    Experiment 3 is judged by the weaker of its readings, for which the paper's four drifts are enough: regret does not
    rise at every step.
    """
    regrets = [final(simulation, f"{value:g}") for simulation in curves]
    if rivals:
        return beats(regrets[0], rivals)
    return rises(regrets) if experiment == "equal-drift" else rises(regrets).opposite
