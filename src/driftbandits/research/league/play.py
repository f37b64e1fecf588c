"""Play the league: every policy on every world, from files where they were played before."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftbandits.errors import FeasibilityWarning
from driftbandits.research.league.worlds import ABRUPT, World, told, worlds
from driftbandits.research.report.parts import Part, Settings
from driftbandits.research.report.progress import progress
from driftbandits.simulation.simulate import Simulation, simulate

if TYPE_CHECKING:
    import polars as pl

SECONDS_PER_RUN = 0.15
"""About what all policies together take for a run on a world of two arms; only the time left depends on it."""


def play(settings: Settings, out: Path, workers: int | None = None, again: bool = False) -> dict[str, Simulation]:
    """A Simulation for every world; stopped at any moment, the same call goes on where it was."""
    parts = {world.name: _part(world, settings.runs) for world in worlds(settings.horizon)}
    played = {}
    with warnings.catch_warnings(), progress(list(parts.values())) as shown:
        warnings.simplefilter("ignore", FeasibilityWarning)  # that a policy cannot do its work is a result here
        for name, part in parts.items():
            path = out / "runs" / f"{part.name}.parquet"
            if again:
                path.unlink(missing_ok=True)
            with shown.part(part):
                played[name] = part.result(settings, workers, path, shown.say)
    return played


def _part(world: World, runs: int) -> Part:
    def work(settings: Settings, workers: int | None, path: Path) -> Any:
        options: dict[str, Any] = {"runs": settings.runs, "seed": settings.seed, "workers": workers}
        options |= {"checkpoints": 1, "events": world.kind == ABRUPT, "keep": path, "progress": False}
        return simulate(world.entrants(), world.instance, world.noise, **options)

    weight = SECONDS_PER_RUN * runs * world.instance.n_arms / 2
    return Part(re.sub(r"[^a-z0-9]+", "-", world.name), world.kind, weight, work)


def run_table(played: dict[str, Simulation], horizon: int) -> pl.DataFrame:
    """One row for each world, policy and run: its regret, and the cost of a step."""
    import polars as pl

    rows: list[dict[str, Any]] = []
    for world in worlds(horizon):
        result = played[world.name]
        labels = {"family": world.family, "world": world.name, "kind": world.kind, "arms": world.instance.n_arms}
        labels["noise"] = type(world.noise).__name__
        for policy, regret in result.regret.items():
            cost = result.seconds[policy] / horizon * 1e9
            rows += [
                {**labels, "policy": policy, "told": told(policy), "run": run}
                | {"regret": float(regret[run, -1]), "ns_per_step": float(cost[run])}
                for run in range(result.runs)
            ]
    return pl.DataFrame(rows)
