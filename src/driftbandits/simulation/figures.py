"""Regret against time: a figure for paper, and one to point at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common import plotting as figures
from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_choice
from driftbandits._common.extras import needs
from driftbandits._common.intervals import mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from driftbandits.simulation.result import Simulation

MEASURES = {"regret": "cumulative pseudo-regret", "realised": "cumulative realised regret"}


def regret_interval(values: Array, measure: str = "regret") -> tuple[Any, Any, Any]:
    """The mean over runs and its 95 % interval; no pseudo-regret is negative, so no interval of it reaches below 0."""
    mean, low, high = mean_interval(values)
    return mean, np.maximum(low, 0.0) if measure == "regret" else low, high


def plot_regret(
    result: Simulation,
    measure: str,
    ax: Axes | None,
    figsize: tuple[float, float] | None,
    log: bool | str,
    policies: Sequence[str] | str | None,
    title: str | None,
) -> Figure:
    """``Simulation.plot``."""
    names, values = _asked(result, measure, policies)
    size = (8.4, max(4.4, 0.23 * len(names))) if len(names) > figures.MOST_INSIDE else (6.4, 4.0)
    figure: Figure
    with figures.panel(ax, figsize, size, result.instance.name if title is None else title) as (figure, axes):
        x_log, y_log = figures.logarithmic(axes, log)
        places = list(values)
        least = []
        for name in names:
            mean, low, high = regret_interval(values[name], measure)
            index = places.index(name)  # a policy keeps its colour whichever others are shown
            label = f"{name}: {figures.value_text(mean[-1])}"
            axes.plot(result.times, mean, label=label, **figures.line_style(index))
            least.extend(mean[mean > 0][:1])
            if result.runs > 1:
                figures.shade(axes, result.times, low, high, index)
        label = MEASURES[measure].removeprefix("cumulative ") if figures.is_narrow(axes) else MEASURES[measure]
        axes.set(xlabel="step t", ylabel=label, xlim=(result.times[0] if x_log else 0, result.instance.horizon))
        if y_log and least:
            axes.set_ylim(bottom=min(least) / 2)
        if not x_log:
            figures.thousands(axes.xaxis, figures.ticks_across(axes))
        if not y_log:
            figures.thousands(axes.yaxis, figures.ticks_up(axes))
        bands = "; bands: 95 % interval of the mean" if result.runs > 1 else ""
        note = f"mean of {result.runs:,} run{'s' * (result.runs > 1)}{bands}"
        figures.place_legend(figure, axes, ours=ax is None, note=note)
    return figure


def plotly_regret(result: Simulation, measure: str, policies: Sequence[str] | str | None) -> Any:
    """``Simulation.plot_interactive``."""
    with needs("notebook", "an interactive figure"):
        import plotly.graph_objects as plotly

    names, values = _asked(result, measure, policies)
    figure = plotly.Figure()
    for name in names:
        mean, low, high = (np.asarray(part) for part in regret_interval(values[name], measure))
        colour = figures.line_style(list(values).index(name))["color"]
        common = {"legendgroup": name, "line": {"color": colour}}
        interval = "<br>95 % interval: %{customdata[0]:,.1f} to %{customdata[1]:,.1f}" if result.runs > 1 else ""
        told = "%{y:,.1f} at step %{x:,}" + interval
        ends = np.column_stack([low, high])
        figure.add_scatter(x=result.times, y=mean, name=name, customdata=ends, hovertemplate=told, **common)
        if result.runs > 1:
            around = {"x": np.append(result.times, result.times[::-1]), "y": np.append(low, high[::-1])}
            band = {"fill": "toself", "fillcolor": colour, "opacity": 0.18, "mode": "none", "hoverinfo": "skip"}
            figure.add_scatter(**around, **band, legendgroup=name, showlegend=False)
    figure.update_layout(
        title=result.instance.name, template="plotly_white", xaxis_title="step t", yaxis_title=MEASURES[measure]
    )
    return figure


def _asked(
    result: Simulation, measure: str, policies: Sequence[str] | str | None
) -> tuple[list[str], dict[str, Array]]:
    check_choice("measure", measure, MEASURES)
    values: dict[str, Array] = getattr(result, measure)
    return figures.chosen(values, policies), values
