"""How bad a bad run is: median and 95th percentile of the regret over many runs, since a mean hides rare disasters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits.errors import FeasibilityWarning
from driftbandits.research.league.matches import Match, matches
from driftbandits.research.report.parts import Part, Settings
from driftbandits.research.report.progress import progress
from driftbandits.simulation.result import Simulation
from driftbandits.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl

WHO = ("AutoUCB", "AutoTS")
MANY_RUNS = 200
SECONDS_PER_RUN = 0.03
"""About what these policies take for a run on two arms; only the time left depends on it."""


def play_quantiles(settings: Settings, out: Path, workers: int | None = None, again: bool = False) -> pl.DataFrame:
    """One row a match, with each policy's median and 95th percentile of the regret over ``settings.runs`` runs.

    The seed is the league's, and so are its first runs. A call that was stopped goes on from its files.
    """
    import polars as pl

    played = {match: _part(match, settings) for match in matches(settings.horizon)}
    rows = []
    with warnings.catch_warnings(), progress(list(played.values())) as shown:
        warnings.simplefilter("ignore", FeasibilityWarning)
        for match, part in played.items():
            path = out / "runs" / f"{part.name}.parquet"
            if again:
                path.unlink(missing_ok=True)
            with shown.part(part):
                result = part.result(settings, workers, path, shown.say)
            rows.append({"kind": match.kind, "instance": match.name, **_numbers(result)})
    return pl.DataFrame(rows)


def worse(table: pl.DataFrame) -> list[str]:
    """The instances on which the first policy's 95th percentile is above the second's; none if either did not play."""
    import polars as pl

    first, second = (f"{name} p95" for name in WHO)
    if not {first, second} <= set(table.columns):
        return []
    return table.filter(pl.col(first) > pl.col(second))["instance"].to_list()


def _part(match: Match, settings: Settings) -> Part:
    weight = SECONDS_PER_RUN * settings.runs * match.instance.n_arms / 2
    return Part("many-" + re.sub(r"[^a-z0-9]+", "-", match.name), match.kind, weight, _work(match))


def _work(match: Match) -> Callable[[Settings, int | None, Path], Simulation]:
    def work(settings: Settings, workers: int | None, path: Path) -> Simulation:
        entrants = match.entrants()
        policies = {name: entrants[name] for name in WHO if name in entrants}
        options: dict[str, Any] = {"runs": settings.runs, "seed": settings.seed, "workers": workers}
        return simulate(policies, match.instance, match.noise, checkpoints=1, keep=path, progress=False, **options)

    return work


def _numbers(result: Simulation) -> dict[str, float]:
    found: dict[str, float] = {}
    for policy, regret in result.regret.items():
        median, high = np.quantile(regret[:, -1], (0.5, 0.95))
        found |= {f"{policy} p50": float(median), f"{policy} p95": float(high)}
    return found
