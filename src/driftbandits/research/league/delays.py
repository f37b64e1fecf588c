"""Late rewards and bundles: what it costs a policy to learn of its choices only after it has made others.

A policy that always chooses the best index gives a whole bundle to one arm; one that draws spreads it.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from driftbandits._common import plotting as figures
from driftbandits._common.versions import versions
from driftbandits.errors import FeasibilityWarning
from driftbandits.instances.describe import describe
from driftbandits.research.league.matches import DRIFTING, Match, matches
from driftbandits.research.league.report.parts import Part, Settings, read_table, write_table
from driftbandits.research.league.report.progress import progress
from driftbandits.research.league.standings import LEAST
from driftbandits.simulation.late import late_regret

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

WHO = (
    "BreakEven",
    "AutoTS",
    "KalmanTS",
    "DriftUCB",
    "DiscountedTS",
    "DSTS",
    "SWUCBSharp",
    "ThompsonSampling",
    "UCB1",
    "GLRUCB",
)
"""Policies that draw, policies that choose the best index, and one that must learn in turn (GLRUCB)."""
WHERE = (
    "toggling",
    "sinusoid 1e-4",
    "walk 1e-4",
    "wave 1e-4, 5 arms",
    "fading links, draw 1",
    "stationary, close",
    "abrupt, draw 1",
    "clicks",
    "ad prices, cpc",
)
REFERENCE = "AutoTS"
SECONDS_PER_RUN = 0.7
"""About what all policies take for a run with every setting; only the time left depends on it."""


class Setting(NamedTuple):
    """How late each reward comes, in steps, and how many choices are made at a time."""

    delay: int
    bundle: int

    @property
    def words(self) -> str:
        """Its name in tables."""
        return f"by {self.bundle}" if self.bundle > 1 else f"late {self.delay}" if self.delay else "at once"


DELAYS = tuple(Setting(delay, 1) for delay in (0, 10, 100, 1_000))
BUNDLES = tuple(Setting(0, bundle) for bundle in (1, 10, 100))
SETTINGS = (*DELAYS, *BUNDLES[1:])
AT_ONCE = SETTINGS[0]


def play_delays(settings: Settings, out: Path, workers: int | None = None, again: bool = False) -> pl.DataFrame:
    """One row for each match, setting, policy and run: its regret. What was played before is read from its files."""
    import polars as pl

    parts = list(_parts(settings))
    tables: list[pl.DataFrame] = []
    with warnings.catch_warnings(), progress(parts) as shown:
        warnings.simplefilter("ignore", FeasibilityWarning)
        for part in parts:
            path = out / "runs" / f"{part.name}.parquet"
            if again:
                path.unlink(missing_ok=True)
            with shown.part(part):
                tables.append(part.result(settings, workers, path, shown.say))
    return pl.concat(tables)


def _parts(settings: Settings) -> Iterator[Part]:
    for match in matches(settings.horizon):
        if match.name in WHERE:
            name = "late-" + re.sub(r"[^a-z0-9]+", "-", match.name)
            weight = SECONDS_PER_RUN * settings.runs * settings.horizon / 162_755
            yield Part(name, "late rewards", weight, _work(match, name))


def _work(match: Match, name: str) -> Any:
    def work(settings: Settings, workers: int | None, path: Path) -> pl.DataFrame:
        entrants = match.entrants()
        policies = {name: entrants[name] for name in WHO if name in entrants}
        told = [describe(policy) for policy in policies.values()]
        recipe = {"table": name, "policies": told, "settings": SETTINGS, **asdict(settings), "versions": versions()}
        recipe = json.loads(json.dumps(recipe))
        if path.exists():
            return read_table(path, recipe)
        table = _measure(match, policies, settings, workers)
        write_table(table, path, recipe)
        return table

    return work


def _measure(match: Match, policies: dict[str, Any], settings: Settings, workers: int | None) -> pl.DataFrame:
    import polars as pl

    options: dict[str, Any] = {"runs": settings.runs, "seed": settings.seed, "workers": workers}
    rows = []
    for setting in SETTINGS:
        found = late_regret(policies, match.instance, match.noise, **setting._asdict(), **options)
        labels = {"family": match.family, "instance": match.name, "kind": match.kind, "setting": setting.words}
        for policy, regret in found.items():
            rows += [{**labels, "policy": policy, "run": run, "regret": float(x)} for run, x in enumerate(regret)]
    return pl.DataFrame(rows)


def delay_standings(runs: pl.DataFrame, kinds: tuple[str, ...] = (DRIFTING,)) -> pl.DataFrame:
    """One row a policy, one column a setting: regret over AutoTS's when that is told every reward at once.

    Geometric means over the instances of these kinds. The reference is the same for a whole instance, so that numbers
    can be compared along rows (what being late costs) and along columns (which policy is best).
    """
    import polars as pl

    keys = ["instance", "setting", "policy"]
    chosen = runs.filter(pl.col("kind").is_in(kinds))
    means = chosen.group_by(keys, maintain_order=True).agg(pl.col("regret").mean().clip(lower_bound=LEAST))
    at_once = means.filter(policy=REFERENCE, setting=AT_ONCE.words).select("instance", reference="regret")
    ratios = means.join(at_once, on="instance", maintain_order="left")
    ratio = (pl.col("regret") / pl.col("reference")).log().mean().exp()
    found = ratios.group_by("policy", "setting", maintain_order=True).agg(ratio=ratio)
    return found.pivot(on="setting", index="policy", values="ratio").sort(AT_ONCE.words)


def plot_delays(table: pl.DataFrame) -> Figure:
    """Regret against the delay and against the size of bundles, a line for each policy."""
    from matplotlib.ticker import LogLocator, NullFormatter

    figure: Figure
    with figures.canvas(1, 2, size=(7.2, 3.6), sharey=True) as (figure, both):
        titles = ("rewards come late by so many steps", "so many choices at a time")
        for axes, settings, title in zip(both, (DELAYS, BUNDLES), titles, strict=True):
            for index, row in enumerate(table.iter_rows(named=True)):
                ratios, style = [row[setting.words] for setting in settings], figures.line_style(index)
                axes.plot(range(len(ratios)), ratios, marker="o", markersize=3, label=row["policy"], **style)
            numbers = [setting.delay if settings is DELAYS else setting.bundle for setting in settings]
            axes.set_xticks(range(len(numbers)), [f"{number:,}" for number in numbers])
            axes.set(xlabel=title, yscale="log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
        both[0].set_ylabel(f"regret over {REFERENCE}'s at once")
        figure.legend(*both[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return figure
