"""How bad a bad run is: median and 95th percentile of the regret over many runs, since a mean hides rare disasters."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.intervals import LEVEL
from driftbandits.errors import FeasibilityWarning
from driftbandits.research.league.matches import Match, matches
from driftbandits.research.league.report.parts import Part, Settings
from driftbandits.research.league.report.progress import progress
from driftbandits.simulation.result import Simulation
from driftbandits.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl

WHO = ("BreakEven", "AutoTS")
MANY_RUNS = 200
SECONDS_PER_RUN = 0.03
"""About what these policies take for a run on two arms; only the time left depends on it."""
RATIO = ("ratio", "low", "high")
HIGH = 0.95
RESAMPLES = 2_000
LEAST_RUNS = 40
"""With fewer, fewer than two of them lie above the 95th percentile, and an interval would say little."""


def play_quantiles(settings: Settings, out: Path, workers: int | None = None, again: bool = False) -> pl.DataFrame:
    """One row a match, with each policy's median and 95th percentile of the regret over ``settings.runs`` runs.

    ``ratio`` is the first policy's 95th percentile over the second's, and ``low`` and ``high`` are its interval. The
    seed is the league's, and so are its first runs. A call that was stopped goes on from its files.
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


def worse(table: pl.DataFrame) -> pl.DataFrame:
    """The rows in which the first policy's 95th percentile is above the second's; none if either did not play.

    Column ``clear`` tells whether the whole interval of their ratio is above 1.
    """
    import polars as pl

    if "ratio" not in table.columns:
        return pl.DataFrame(schema={"instance": pl.String, "clear": pl.Boolean})
    above = table.filter(pl.col("ratio").fill_nan(0.0) > 1)  # for polars what is no number is larger than any
    return above.with_columns(clear=pl.col("low").fill_nan(0.0) > 1)


def bad_runs(table: pl.DataFrame, runs: int) -> list[str]:
    """A sentence on each instance where the first policy's 95th percentile is above the second's."""
    first, second = WHO
    said = []
    for row in worse(table).iter_rows(named=True):
        known = "" if math.isnan(row["low"]) else f", {row['low']:.2f} to {row['high']:.2f}"
        doubt = "" if row["clear"] else f", which {runs:,} runs can't tell from 1"
        said.append(f"{first}'s 95th percentile is {row['ratio']:.2f} of {second}'s on {row['instance']}{known}{doubt}")
    return said


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
        median, high = np.quantile(regret[:, -1], (0.5, HIGH))
        found |= {f"{policy} p50": float(median), f"{policy} p95": float(high)}
    if set(WHO) <= set(result.regret):
        found |= zip(RATIO, ratio_interval(*(result.regret[name][:, -1] for name in WHO)), strict=True)
    return found


def ratio_interval(first: Array, second: Array) -> tuple[float, float, float]:
    """The ratio of two policies' 95th percentiles and its 95 % interval: a bootstrap over runs.

    Runs are drawn in pairs, since both policies met the same noise in them. With fewer than 40 runs the ends are not a
    number.

    >>> runs = np.arange(1.0, 201.0)
    >>> [round(number, 2) for number in ratio_interval(2 * runs, runs)]
    [2.0, 2.0, 2.0]
    """
    count = len(first)
    drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES if count >= LEAST_RUNS else 0, count))
    with np.errstate(divide="ignore", invalid="ignore"):  # a regret of 0
        ratio = float(np.quantile(first, HIGH) / np.quantile(second, HIGH))
        ratios = np.quantile(first[drawn], HIGH, axis=1) / np.quantile(second[drawn], HIGH, axis=1)
        low, high = np.quantile(ratios, ((1 - LEVEL) / 2, (1 + LEVEL) / 2)) if len(ratios) else (math.nan, math.nan)
    return ratio, float(low), float(high)
