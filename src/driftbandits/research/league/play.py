"""Play the league: every policy in every match, from files where they were played before."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftbandits._common.files import check_writable, remove_leftovers
from driftbandits.errors import FeasibilityWarning
from driftbandits.research.league.matches import ABRUPT, Match, matches, told
from driftbandits.research.league.report.parts import Part, Settings
from driftbandits.research.league.report.progress import progress
from driftbandits.simulation.result import Simulation
from driftbandits.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl

SECONDS_PER_RUN = 0.15
"""About what all policies together take for a run on an instance of two arms; only the time left depends on it."""


def play(settings: Settings, out: Path, workers: int | None = None, again: bool = False) -> dict[str, Simulation]:
    """A Simulation for every match; stopped at any moment, the same call goes on where it was."""
    parts = {match.name: _part(match, settings.runs) for match in matches(settings.horizon)}
    played = {}
    check_writable(out / "league.parquet")  # before the work, not after it
    remove_leftovers(out, out / "runs", out / "figures")
    with warnings.catch_warnings(), progress(list(parts.values())) as shown:
        warnings.simplefilter("ignore", FeasibilityWarning)  # that a policy cannot do its work is a result here
        for name, part in parts.items():
            path = out / "runs" / f"{part.name}.parquet"
            if again:
                path.unlink(missing_ok=True)
            with shown.part(part):
                played[name] = part.result(settings, workers, path, shown.say)
    return played


def _part(match: Match, runs: int) -> Part:
    def work(settings: Settings, workers: int | None, path: Path) -> Any:
        options: dict[str, Any] = {"runs": settings.runs, "seed": settings.seed, "workers": workers}
        options |= {"checkpoints": 1, "events": match.kind == ABRUPT, "keep": path, "progress": False}
        return simulate(match.entrants(), match.instance, match.noise, **options)

    weight = SECONDS_PER_RUN * runs * match.instance.n_arms / 2
    return Part(re.sub(r"[^a-z0-9]+", "-", match.name), match.kind, weight, work)


def run_table(played: dict[str, Simulation], horizon: int) -> pl.DataFrame:
    """One row for each match, policy and run: its regret, and the cost of a step."""
    import polars as pl

    rows: list[dict[str, Any]] = []
    for match in matches(horizon):
        result = played[match.name]
        labels = {"family": match.family, "instance": match.name, "kind": match.kind, "arms": match.instance.n_arms}
        labels["noise"] = type(match.noise).__name__
        for policy, regret in result.regret.items():
            cost = result.seconds[policy] / horizon * 1e9
            rows += [
                {**labels, "policy": policy, "told": told(policy), "run": run}
                | {"regret": float(regret[run, -1]), "ns_per_step": float(cost[run])}
                for run in range(result.runs)
            ]
    return pl.DataFrame(rows)
