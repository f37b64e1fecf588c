"""How SnoozeIt's regret depends on its confidence, what fails as it falls, and what it makes of each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from driftbandits._common.intervals import share_interval
from driftbandits.research.paper.claims import beats, final, interval, monotone
from driftbandits.research.paper.experiments import CONFIDENCES
from driftbandits.research.report.content import Verdict
from driftbandits.research.studies.good_event import failed_snoozes
from driftbandits.simulation.simulate import Simulation

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


def claim_at(experiment: str, value: float, curves: Sequence[Simulation], rivals: Mapping[str, Any]) -> Verdict:
    """The experiment's claim for SnoozeIt at this confidence; ``rivals`` are the regrets it must beat."""
    regrets = [final(simulation, f"{value:g}") for simulation in curves]
    if rivals:
        return beats(regrets[0], rivals)
    return monotone(regrets, claimed=experiment == "equal-drift")
