"""The exponent 1/3 where it is SnoozeIt's own: at each drift, the gap that costs SnoozeIt most.

On arms a constant gap Delta apart SnoozeIt's test passes after about 64 L/Delta^2 steps and the snooze that follows
ends Delta/(4 delta) steps after the episode's start. So it snoozes if Delta exceeds the critical gap
(256 delta L)^(1/3), and then pays 128 delta L/Delta^2 a step: at a fixed gap regret grows as delta, not as its cube
root. Below the critical gap it is round robin and pays Delta/2. The worst gap is the critical one, and regret there is
3.17 (delta L)^(1/3) a step, against 4.76 in the proof of Theorem 2. Round robin's worst gap is the largest, at any
drift: its exponent is 0. So here, unlike on the instances of the lower bound, an exponent of 1/3 says that SnoozeIt
snoozes, and when.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.fits import fit_curvature, fit_power_law
from driftbandits.research.studies.sharp_bounds import algorithms, round_robin_regret, together
from driftbandits.research.studies.tables import summarised
from driftbandits.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

DRIFTS = tuple(float(f"{drift:.12g}") for drift in np.geomspace(1e-6, 6e-5, 8))  # the last bits are the processor's
RELATIVE = (0.5, 0.7, 0.85, 1.0, 1.1, 1.2, 1.35, 1.6, 2.0)
"""Gaps as multiples of the critical one."""
LARGEST = 0.9
"""The largest gap, tried at every drift."""
ROUND_ROBIN = "round robin"


def critical_gap(horizon: int, drift: float) -> float:
    """(256 delta L)^(1/3): above it SnoozeIt as printed snoozes on arms a constant gap apart, below it does not.

    >>> round(critical_gap(162_755, 1 / 48_000), 3)
    0.4
    """
    return math.cbrt(256 * drift * math.log(horizon))


def worst_gap(
    horizon: int,
    drifts: Sequence[float] = DRIFTS,
    policies: Callable[[int, float], Mapping[str, Any]] = algorithms,
    *,
    runs: int = 5,
    seed: int = 0,
) -> pl.DataFrame:
    """Regret at each drift and gap, arms drifting side by side. Columns: drift, gap, policy, regret with its interval,
    and ``snoozed``, the share of steps in which one arm was snoozed. Round robin is among the policies.
    """
    import polars as pl

    rows = []
    for drift in drifts:
        gaps = {*(critical_gap(horizon, drift) * factor for factor in RELATIVE), LARGEST}
        for gap in sorted(gap for gap in gaps if gap <= LARGEST):
            instance = together(horizon, drift, gap)
            made = policies(horizon, drift)
            result = simulate(made, instance, runs=runs, seed=seed, checkpoints=1, progress=False)
            where = {"drift": float(drift), "gap": gap}
            for name in made:
                snoozed = 1 - 2 * float(result.pulls[name][:, 1].mean()) / horizon  # arm 1 is the worse one throughout
                found = summarised(result.regret[name][:, -1])
                rows.append({**where, "policy": name, **found, "snoozed": max(0.0, snoozed)})
            turns = summarised(np.full(runs, round_robin_regret(instance)))
            rows.append({**where, "policy": ROUND_ROBIN, **turns, "snoozed": 0.0})
    return pl.DataFrame(rows)


def envelope(table: pl.DataFrame) -> pl.DataFrame:
    """The worst gap of each policy at each drift: the row of ``worst_gap`` with the largest regret."""
    return table.sort("regret", descending=True).unique(["policy", "drift"], keep="first").sort("policy", "drift")


def fit_envelope(table: pl.DataFrame) -> pl.DataFrame:
    """For each policy: the exponent of its worst regret in delta, and whether the curve bends, so that it is none."""
    import polars as pl

    rows = []
    for (name,), part in envelope(table).group_by("policy", maintain_order=True):
        law, bend = fit_power_law(part["drift"], part["regret"]), fit_curvature(part["drift"], part["regret"])
        rows.append({"policy": name, **law._asdict(), "bends": bend.bends, "first": bend.first_slope})
        rows[-1]["last"] = bend.last_slope
    return pl.DataFrame(rows)


def plot_worst_gap(table: pl.DataFrame) -> Figure:
    """Above: regret against the gap, a curve for each drift. Below: the largest of each curve, against the drift."""
    from driftbandits._common import plotting as figures

    name = "SnoozeIt, Algorithm 1"
    drifts = sorted(set(table["drift"].to_list()))
    figure: Figure
    with figures.canvas(2, 1, size=(5.0, 7.0)) as (figure, (above, below)):
        for index, drift in enumerate(drifts[:: max(1, (len(drifts) - 1) // 3)]):
            part = table.filter(drift=drift, policy=name).sort("gap")
            above.plot(part["gap"], part["regret"], marker="o", markersize=3, label=f"δ = {drift:.1e}")
            above.lines[-1].set(**figures.line_style(index))
        turns = table.filter(policy=ROUND_ROBIN).sort("gap")
        above.plot(turns["gap"], turns["regret"], color="0.5", linewidth=1.0, label=ROUND_ROBIN)
        above.set(xlabel="gap between the arms", ylabel="regret at T", xscale="log", yscale="log")
        for index, row in enumerate(fit_envelope(table).iter_rows(named=True)):
            part = envelope(table).filter(policy=row["policy"]).sort("drift")
            label = f"{row['policy']}: exponent {round(row['exponent'], 2) + 0.0:.2f}"
            below.plot(part["drift"], part["regret"], marker="o", markersize=4, label=label)
            below.lines[-1].set(**figures.line_style(index))
        below.set(xlabel="drift limit δ (per step)", ylabel="regret at the worst gap", xscale="log", yscale="log")
        for panel in (above, below):
            panel.legend(fontsize=8)
    return figure
