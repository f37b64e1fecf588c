"""The paper's figures: instances, regret in two forms, and regret against confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common import plotting as figures
from driftbandits._common.intervals import mean_interval
from driftbandits.instances.base import Instance
from driftbandits.research.paper.experiments import DEFECTIVE, FORMS, RIVALS
from driftbandits.simulation.result import Simulation

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


WIDTH = 5.0
"""Inches. On a phone's screen, some 340 points wide, lettering is then about as large as it is drawn."""
POINTS = 100
"""Points of a curve of regret: the page holds some sixty of them."""
CURVES = (*FORMS.values(), *RIVALS, DEFECTIVE)
"""A policy keeps its colour and its dashes in every figure."""

SHOWN = {
    "ours": "curves: mean dynamic pseudo-regret of {runs} runs; bands: its 95 % interval",
    "paper": "curves: mean realised regret of {runs} runs; bands: mean ± sd/2",
}
"""The two forms of a figure of regret: ours, and the one the authors plotted."""


def plot_instances(instances: Mapping[str, Instance]) -> Figure:
    """The means of both arms, of one instance or of several that differ in their drift."""
    figure: Figure
    with figures.canvas(size=(WIDTH, 3.3)) as (figure, axes):
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
        figure.legend(ncols=2, loc="outside lower center", fontsize=9)
    return figure


def plot_policies(simulation: Simulation, form: str) -> Figure:
    """The regret of all policies of a comparison; the legend says where each curve ends."""
    figure: Figure
    with figures.canvas(size=(WIDTH, 4.8)) as (figure, axes):
        for name in (name for name in CURVES if name in simulation.regret):
            _curve(axes, simulation, name, name, CURVES.index(name), form)
        axes.set(xlabel="step t", xlim=(0, simulation.instance.horizon))
        axes.set_ylabel("pseudo-regret (log scale)" if form == "ours" else "realised regret")
        figures.thousands(axes.xaxis)
        figures.thousands(axes.yaxis)
        if form == "ours":
            _log_scale(axes)
        note = f"numbers: regret at T\n{SHOWN[form].format(runs=simulation.runs)}"
        figure.legend(ncols=2, loc="outside lower center", title=note, title_fontsize=8, fontsize=8.5)
    return figure


def plot_drifts(simulations: Mapping[str, Simulation], form: str) -> Figure:
    """The regret of SnoozeIt on instances of several drifts, one panel for each of its forms."""
    figure: Figure
    with figures.canvas(len(FORMS), 1, size=(WIDTH, 8.0), sharex=True) as (figure, panels):
        for panel, (short, name) in zip(panels, FORMS.items(), strict=True):
            for index, (label, simulation) in enumerate(simulations.items()):
                _curve(panel, simulation, name, label, index, form)
            panel.set(title=f"SnoozeIt {short}", xlim=(0, simulation.instance.horizon), ylim=(0, None))
            panel.set_ylabel("pseudo-regret" if form == "ours" else "realised regret")
            figures.thousands(panel.xaxis)
            figures.thousands(panel.yaxis)
            panel.legend(fontsize=8, loc="upper left")
        panels[-1].set_xlabel("step t")
        note = f"numbers: regret at T; each panel has its own scale\n{SHOWN[form].format(runs=simulation.runs)}"
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
        _band(axes, simulation.times[at], low[at], high[at], index)


def _band(axes: Any, x: Any, low: Any, high: Any, index: int) -> None:
    """The band around a curve, where its interval is positive: a logarithmic axis would draw the rest as a cliff."""
    positive = np.asarray(low) > 0
    figures.shade(axes, np.asarray(x), np.where(positive, low, np.nan), np.where(positive, high, np.nan), index)


def plot_confidence(
    regret: Mapping[str, pl.DataFrame], lines: Mapping[str, float], good_event: pl.DataFrame, title: str
) -> Figure:
    """Regret against confidence above; below, how often what the proof needs fails at that confidence.

    ``regret`` maps a label to the table of ``confidence.curve``; ``lines`` are the rivals' regrets, which do not depend
    on it.
    """
    figure: Figure
    with figures.canvas(2, 1, size=(WIDTH, 6.0), sharex=True, height_ratios=(3, 2)) as (figure, (above, below)):
        for index, (label, table) in enumerate(regret.items()):
            style = figures.line_style(index)
            above.plot(table["confidence"], table["regret"], marker="o", markersize=4, label=label, **style)
            _band(above, table["confidence"], table["low"], table["high"], index)
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
        note = "bands: 95 % interval of the mean"
        handles = below.get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", title=note, title_fontsize=8, fontsize=8)
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
