"""The paper's figures: instances, regret in two forms, and regret against confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common import plotting as figures
from driftbandits._common.intervals import mean_interval
from driftbandits.instances.base import Instance
from driftbandits.research.paper.experiments import DEFECTIVE, FORMS, RIVALS
from driftbandits.simulation.simulate import Simulation

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


POINTS = 100
"""Points of a curve of regret: the page holds some sixty of them."""
CURVES = (*FORMS.values(), *RIVALS, DEFECTIVE)
"""A policy keeps its colour and its dashes in every figure."""

SHOWN = {
    "ours": "mean dynamic pseudo-regret of {runs} runs; bands: 95 % interval of the mean",
    "paper": "mean realised regret of {runs} runs; bands: mean ± sd/2, half a standard deviation each way",
}
"""The two forms of a figure of regret: ours, and the one the authors plotted."""


def plot_instances(instances: Mapping[str, Instance]) -> Figure:
    """The means of both arms, of one instance or of several that differ in their drift."""
    figure: Figure
    with figures.canvas(size=(7.0, 3.6)) as (figure, axes):
        several = len(instances) > 1
        for index, (label, instance) in enumerate(instances.items()):
            at = figures.thin(instance.horizon, 1000)
            for arm in (0, 1):
                style = figures.line_style(index if several else arm)
                named = (f"{label}, arm 0" if arm == 0 else None) if several else f"arm {arm}"
                dashes = (0, (2, 1.5)) if several and arm else "-" if several else style["linestyle"]
                axes.plot(at + 1, instance.means[at, arm], label=named, **(style | {"linestyle": dashes}))
        if several:
            axes.plot([], [], color="0.3", linestyle=(0, (2, 1.5)), label="broken: arm 1 of each")
        axes.set(xlabel="step t", ylabel="mean reward", ylim=(-0.02, 1.02), xlim=(0, instance.horizon))
        figures.thousands(axes.xaxis)
        figure.legend(ncols=3 if several else 2, loc="outside lower center")
    return figure


def plot_policies(simulation: Simulation, form: str) -> Figure:
    """The regret of all policies of a comparison; the legend says where each curve ends."""
    figure: Figure
    with figures.canvas(size=(7.6, 4.6)) as (figure, axes):
        for name in (name for name in CURVES if name in simulation.regret):
            _curve(axes, simulation, name, name, CURVES.index(name), form)
        axes.set(xlabel="step t", xlim=(0, simulation.instance.horizon))
        axes.set_ylabel("pseudo-regret (log scale)" if form == "ours" else "realised regret")
        figures.thousands(axes.xaxis)
        figures.thousands(axes.yaxis)
        if form == "ours":
            _log_scale(axes)
        note = f"numbers: regret at T. Curves: {SHOWN[form].format(runs=simulation.runs)}"
        figure.legend(ncols=3, loc="outside lower center", title=note, title_fontsize=8, fontsize=9)
    return figure


def plot_drifts(simulations: Mapping[str, Simulation], form: str) -> Figure:
    """The regret of SnoozeIt on instances of several drifts, one panel for each of its forms."""
    from matplotlib.ticker import MaxNLocator

    figure: Figure
    with figures.canvas(1, len(FORMS), size=(10.5, 4.2)) as (figure, panels):
        for panel, (short, name) in zip(panels, FORMS.items(), strict=True):
            for index, (label, simulation) in enumerate(simulations.items()):
                _curve(panel, simulation, name, label, index, form)
            panel.set(
                xlabel="step t", title=f"SnoozeIt, {short}", xlim=(0, simulation.instance.horizon), ylim=(0, None)
            )
            figures.thousands(panel.xaxis)
            figures.thousands(panel.yaxis)
            panel.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
            panel.legend(fontsize=8, loc="upper left")
        panels[0].set_ylabel("pseudo-regret" if form == "ours" else "realised regret")
        note = f"{SHOWN[form].format(runs=simulation.runs)}. Each panel has its own scale; numbers: regret at T"
        figure.supxlabel(note, fontsize=8, color="0.35")
    return figure


def _curve(axes: Any, simulation: Simulation, name: str, label: str, index: int, form: str) -> None:
    if form == "ours":
        mean, low, high = mean_interval(simulation.regret[name])
    else:
        values = simulation.realised[name]
        mean = values.mean(axis=0)
        half = values.std(axis=0, ddof=1) / 2 if simulation.runs > 1 else np.full_like(mean, np.nan)
        low, high = mean - half, mean + half
    at = figures.thin(len(simulation.times), POINTS)
    axes.plot(simulation.times[at], mean[at], label=f"{label}: {mean[-1]:,.0f}", **figures.line_style(index))
    if simulation.runs > 1:
        figures.shade(axes, simulation.times[at], low[at], high[at], index)


def plot_confidence(
    regret: Mapping[str, pl.DataFrame], lines: Mapping[str, float], good_event: pl.DataFrame, title: str
) -> Figure:
    """Regret against confidence above; below, how often what the proof needs fails at that confidence.

    ``regret`` maps a label to the table of ``confidence.curve``; ``lines`` are the rivals' regrets, which do not depend
    on it.
    """
    figure: Figure
    with figures.canvas(2, 1, size=(7.4, 6.2), sharex=True, height_ratios=(3, 2)) as (figure, (above, below)):
        for index, (label, table) in enumerate(regret.items()):
            style = figures.line_style(index)
            above.plot(table["confidence"], table["regret"], marker="o", markersize=4, label=label, **style)
            figures.shade(above, table["confidence"], table["low"], table["high"], index)
            below.plot(table["confidence"], table["unsafe"], marker="o", markersize=3, **style)
        for index, (name, value) in enumerate(lines.items()):
            grey = {"color": "0.25", "linewidth": 1.0, "linestyle": figures.DASHES[index + 1]}
            above.axhline(value, label=f"{name}: {value:,.0f}", **grey)
        below.plot([], [], color="0.3", marker="o", markersize=3, label="snoozes of an arm that becomes the better one")
        below.plot(
            good_event["confidence"], good_event["failed"], color="0.0", linewidth=1.4, label="runs without good event"
        )
        above.set(xscale="log", ylabel="regret at T (log scale)", title=title)
        _log_scale(above)
        below.set(xlabel="confidence (1 = the paper's radius)", ylabel="share", ylim=(-0.03, 1.05))
        _plain_ticks(below, [0.05, 0.1, 0.2, 0.5, 1.0])
        above.legend(fontsize=8)
        below.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 0.92))
        figure.supxlabel("bands: 95 % interval of the mean", fontsize=8, color="0.35")
    return figure


def _log_scale(axes: Any) -> None:
    """A logarithmic scale with ticks at 1 and 3 times the powers of ten, written as numbers."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=30))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:,.0f}")


def _plain_ticks(axes: Any, ticks: Sequence[float]) -> None:
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
