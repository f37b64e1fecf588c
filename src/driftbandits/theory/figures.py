"""The figures of the theory: a gap profile at four zoom levels, and the bounds on an episode's regret."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common import plotting as figures
from driftbandits._common.arrays import Array
from driftbandits.errors import InputError
from driftbandits.theory import bounds
from driftbandits.theory.constants import C0, C1
from driftbandits.theory.gaps import GapProfile, gap_profile, two_arms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = 4
CLOSEST = 60
"""Steps in the last panel: few enough to see that each window belongs to one value."""
TOP = 1.05
"""No mean and no gap exceeds 1, but the detectable gap of the first steps does, and is cut off here."""


def plot_gap_profile(instance: Any) -> Figure:
    """The means, the gap |mu_1 - mu_2| and the detectable gap of an instance of two arms, at four zoom levels.

    Each panel's box is the next panel. The detectable gap follows the gap late, since it looks back, and jumps where a
    shorter window takes over. Close up it moves within stairs, for windows are whole numbers: the values that a window
    w stands for reach from sqrt(c0 L / w) to sqrt(c0 L / (w-1)), the grey band of the last panel.

    >>> from driftbandits import instances
    >>> [panel.get_title() for panel in plot_gap_profile(instances.toggling()).axes]
    ['162,755 steps', '11,670 steps', '837 steps', '60 steps']
    """
    pair = two_arms(instance)
    profile = gap_profile(pair)
    views = _views(profile)
    styles = [figures.line_style(index) | {"linewidth": 1.4} for index in range(3)]
    curves = {
        "mean of arm 0": (pair.means[:, 0], styles[0]),
        "mean of arm 1": (pair.means[:, 1], styles[1]),
        "gap": (pair.gap, styles[2]),
        "detectable gap": (profile.gap, {"color": "black", "linewidth": 1.8}),
    }
    figure: Figure
    with figures.canvas(2, PANELS // 2, size=(5.0, 5.6)) as (figure, grid):
        axes = grid.ravel()
        for panel, (first, last, low, high) in zip(axes, views, strict=True):
            at = first + figures.thin(last - first + 1)
            marker = "." if len(at) <= CLOSEST else None
            for label, (values, style) in curves.items():
                panel.plot(at + 1, values[at], label=label, marker=marker, markersize=4, **style)
            panel.set(xlim=(first + 0.5, last + 1.5), ylim=(low, high))
            panel.set_title(f"{last - first + 1:,} step{'s' * (last > first)}")
            figures.thousands(panel.xaxis)
            panel.xaxis.get_major_locator().set_params(nbins=2)
            panel.tick_params(labelsize=8)
        _stairs(axes[-1], profile.window, *views[-1][:2])
        for panel, (first, last, low, high) in zip(axes, views[1:], strict=False):
            left, right = first + 0.5, last + 1.5
            panel.plot([left, right, right, left, left], [low, low, high, high, low], color="0.35", linewidth=1.2)
        for row in grid:
            row[0].set_ylabel("mean reward, gap")
        for panel in grid[-1]:
            panel.set_xlabel("step t")
        handles, labels = axes[-1].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=2, loc="outside lower center", fontsize=9)
    return figure


def _stairs(panel: Any, window: Array, first: int, last: int) -> None:
    """The band of values that each step's window stands for."""
    at = first + np.flatnonzero(window[first : last + 1] > 1)
    c = C0 * math.log(len(window))
    low, high = np.sqrt(c / window[at]), np.sqrt(c / (window[at] - 1))
    panel.fill_between(at + 1, low, high, step="mid", color="0.75", linewidth=0, label="range of its window")


def _views(profile: GapProfile) -> list[tuple[int, int, float, float]]:
    """(first, last, low, high) of each panel: steps, counted from 0, and heights, each inside the one before."""
    T = len(profile.gap)
    closest = min(CLOSEST, T)
    focus = _focus(profile, closest)
    found = [(0, T - 1, -0.02, TOP)]
    for level in range(1, PANELS):
        steps = round(T * (closest / T) ** (level / (PANELS - 1)))
        before, after, floor, ceiling = found[-1]
        first = min(max(focus - steps // 2, before), after + 1 - steps)
        seen = np.minimum(profile.gap[first : first + steps], 1.0)
        margin = max(0.15 * float(np.ptp(seen)), 0.01 * (ceiling - floor))
        low, high = max(floor, float(seen.min()) - margin), min(ceiling, float(seen.max()) + margin)
        found.append((first, first + steps - 1, low, high))
    return found


def _focus(profile: GapProfile, steps: int) -> int:
    """Where to look closely: around it the window moves by about a sixth of the steps, so stairs can be seen."""
    known = profile.window > 0
    moves = np.where(known[1:] & known[:-1], np.abs(np.diff(profile.window)), len(known))
    travelled = np.concatenate([[0], np.cumsum(moves)])
    score = np.abs(travelled[steps:] - travelled[:-steps] - steps // 6)
    best = np.flatnonzero(score == score.min(initial=len(known) ** 2))
    return int(best[len(best) // 2]) + steps // 2 if len(best) else len(known) // 2


def plot_episode_bounds(horizon: int, drift: float) -> Figure:
    """Appendix B: the regret bound a step of one episode, by its active phase tau and by its whole duration.

    (1) marks episodes with a snooze, (2) those without. The curves reach from where the test can first pass, after
    2 ceil(c1 L) steps, to the horizon. Both are worst at the shortest episode, the dotted line. Where the test can
    pass only in phases longer than that, no snooze follows, and (2) is all there is.

    >>> [panel.get_xlabel() for panel in plot_episode_bounds(162_755, 1 / 48_000).axes]
    ['active phase, steps', 'duration of the episode, steps']
    """
    x = bounds.shortest_episode(horizon, drift)
    if not 1 <= x < math.inf:
        raise InputError(
            f"episodes have no shortest length at horizon={horizon}, drift={drift}: take T >= 2, drift > 0"
        )
    first = 2 * math.ceil(C1 * math.log(horizon))
    shortest = max(x, first)
    without = np.geomspace(shortest, max(horizon, 2 * shortest), 100)
    active = {"(2) without a snooze": (without, without)}
    if first < x:
        with_snooze = np.geomspace(first, x, 100, endpoint=False)
        lasting = 2 / drift * np.sqrt(math.log(horizon) / with_snooze)
        active = {"(1) with a snooze": (with_snooze, lasting), **active}
    figure: Figure
    with figures.canvas(2, 1, size=(5.0, 6.2)) as (figure, axes):
        for name, (phase, duration) in active.items():
            style = figures.line_style(int(name.startswith("(2)")))
            rate = bounds.regret_per_step_by_active_length(phase, horizon, drift)
            axes[0].plot(phase, rate, label=name, **style)
            axes[1].plot(duration, rate, **style)
        for panel, of in zip(axes, ("active phase", "duration of the episode"), strict=True):
            panel.axvline(shortest, color="0.4", linewidth=1.0, linestyle=":")
            panel.set(xscale="log", yscale="log", xlabel=f"{of}, steps", ylabel="regret bound a step")
            _plain_numbers(panel)
        axes[0].axvline(first, color="0.4", linewidth=1.0, linestyle="--")
        # Beside the lines and never across one: where the two are close, a label to their left has room.
        for panel, at, said in (
            (axes[0], first, f"{first:,}: the first test"),
            (axes[1], shortest, f"{shortest:,.0f}: the shortest"),
        ):
            panel.text(at, 1.02, said, transform=_above(panel), fontsize=8, color="0.25", ha="left")
        figure.suptitle(f"T = {horizon:,}, drift = {drift:.3g}", fontsize=10)
        figure.legend(*axes[0].get_legend_handles_labels(), ncols=2, loc="outside lower center", fontsize=9)
    return figure


def _above(panel: Any) -> Any:
    """Places by step, and by the share of the panel's height."""
    return panel.get_xaxis_transform()


def _plain_numbers(panel: Any) -> None:
    """A few ticks between the powers of ten, written as numbers: these scales span little more than one."""
    from matplotlib.ticker import LogLocator, NullLocator

    for axis, written, subs in ((panel.xaxis, "{x:,.0f}", (1.0, 3.0)), (panel.yaxis, "{x:g}", (1.0, 2.0, 5.0))):
        axis.set_major_locator(LogLocator(subs=subs, numticks=20))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(written)
