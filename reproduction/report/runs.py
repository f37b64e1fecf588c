"""Figures of single runs of SnoozeIt: one episode, and whole trajectories."""

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from reproduction.context import Context
from reproduction.experiments import C1
from reproduction.report.style import ACTIVE, COLOURS, DASHES, PASSIVE, canvas, legend_below, line, thin, thousands
from reproduction.studies.trajectories import Run, empirical_means, episode_starts, play

BEYOND = 0.3
"""How much of the next episode is drawn, as a share of the first."""
POINTS = 1500


def plot_episode(context: Context, results: Any, name: str) -> Figure:
    """One episode: the true means, which arm is pulled, and the test, all on one axis of steps."""
    run = play("episode", context.settings.horizon, context.settings.seed)
    row, T = run.story.first_snooze(), run.instance.horizon
    start, passed, until, arm = (row.start, row.passed, min(int(row.until), T), row.arm) if row else (0, T, T, 0)
    end = min(T, round(until + BEYOND * (until - start)))
    with canvas(3, 1, height=5.4, sharex=True, height_ratios=(3, 2, 3)) as (figure, panels):
        for panel in panels:
            for low, high, colour in ((start, passed, ACTIVE), (passed, until, PASSIVE), (until, end, ACTIVE)):
                panel.axvspan(low, high, color=colour, alpha=0.25, linewidth=0)
            panel.grid(visible=False)
        means, pulls, test = panels
        for each in (0, 1):
            means.plot([start + 1, end], run.instance.means[[start, end - 1], each], label=f"arm {each}", **line(each))
        means.set(ylabel="true mean", ylim=(0.1, 1.02), xlim=(start, end))
        for said, at in (
            ("1 alternate", (start, passed)),
            ("3 snooze", (passed, until)),
            ("1 alternate", (until, end)),
        ):
            means.text(sum(at) / 2, 0.95, said, ha="center", va="center", fontsize=9)
        for said, step in (("2 test passes", passed), ("4 wake", until)):
            means.axvline(step, color="0.2", linewidth=1.0)
            means.text(step, 1.03, said, ha="center", va="bottom", fontsize=9, clip_on=False)
        _pulls(pulls, run.played.arms[start:end], start)
        pulls.text((passed + until) / 2, arm + 0.4, "asleep", ha="center", va="center", fontsize=9)
        _test(test, run, start, passed, row.window if row else None)
        test.set(xlabel="step t")
        thousands(test.xaxis)
        legend_below(figure, [means, test], size=9)
    return figure  # type: ignore[no-any-return]


def _pulls(panel: Any, arms: Any, start: int) -> None:
    """A row per arm: half high where it is pulled in every second step, full where in every step."""
    width = 100
    for arm in (0, 1):
        pulled = [float(np.mean(arms[at : at + width] == arm)) for at in range(0, len(arms), width)]
        edges = start + width * np.arange(len(pulled) + 1)
        panel.stairs(0.8 * np.array(pulled) + 1 - arm, edges, baseline=1 - arm, fill=True, color=COLOURS[arm])
    panel.set(ylim=(-0.1, 2.0), yticks=[0.4, 1.4], yticklabels=["arm 1", "arm 0"], ylabel="pulled")
    panel.tick_params(axis="y", length=0)


def _test(panel: Any, run: Run, start: int, passed: int, window: int | None) -> None:
    """The difference of the arms' averages in the episode's longest window, beside what the test asks for."""
    steps = np.arange(start, passed)
    sign = np.where(run.played.arms[steps] == 0, 1.0, -1.0)
    w = (np.arange(len(steps)) + 1) // 2
    difference = np.cumsum(sign * run.played.rewards[steps]) / np.maximum(w, 1)
    log_t = math.log(run.instance.horizon)
    asked = 4 * np.sqrt(2 * log_t / np.maximum(w, 1)) - run.drift
    known = w >= math.ceil(C1 * log_t)
    at = np.flatnonzero(w > 50)[:: max(1, len(steps) // 400)]
    panel.plot(steps[at] + 1, np.abs(difference[at]), color="0.1", linewidth=1.4, label="|average 0 − average 1|")
    red = {"color": COLOURS[3]}
    panel.plot(steps[known] + 1, asked[known], linestyle=DASHES[2], label="asked for: 4r − δ", **red)
    panel.plot(steps[~known] + 1, asked[~known], linestyle=DASHES[4], linewidth=1.0, **red)
    if window is not None:
        asked_at = 4 * math.sqrt(2 * log_t / window) - run.drift
        panel.plot([passed], [asked_at], "o", color="0.0", markersize=7, label="the test passes")
    panel.set(ylabel="difference", ylim=(0, 1.1))


def plot_trajectory(context: Context, results: Any, name: str) -> Figure:
    """True and empirical means with active and passive phases above; below, lambda_hat where each test passed."""
    run = play(name, context.settings.horizon, context.settings.seed)
    T, starts = run.instance.horizon, episode_starts(run)
    means = empirical_means(run.played, starts)
    at = np.unique(np.concatenate([thin(T, POINTS), starts[1:] - 1, starts]))
    shown = means[at].copy()
    shown[np.isin(at, starts)] = np.nan  # the line breaks where an episode forgets the one before
    with canvas(2, 1, height=6.4, sharex=True, height_ratios=(3, 2)) as (figure, (above, below)):
        for panel in (above, below):
            _phases(panel, run, starts)
        for arm in (0, 1):
            style = line(arm) | {"linestyle": "-"}
            above.plot(at + 1, run.instance.means[at, arm], label=f"true mean, arm {arm}", **style)
            dim = style | {"linewidth": 1.0, "linestyle": "--"}
            above.plot(at + 1, shown[:, arm], label=f"empirical mean, arm {arm}", **dim)
        above.set(ylabel="mean reward", ylim=(-0.1, 1.1), xlim=(0, T))
        below.plot(at + 1, run.instance.gap[at], color="0.2", linewidth=1.2, label="true gap |μ₁ − μ₂|")
        for snoozed, face, label in ((True, "0.0", "λ̂, then a snooze"), (False, "1.0", "λ̂, no snooze")):
            some = [(row.passed, row.gap) for row in run.story.episodes if row.snoozed is snoozed]
            if some:
                dots = {"color": "0.0", "markerfacecolor": face, "markersize": 6, "label": label}
                below.plot(*zip(*some, strict=True), "o", **dots)
        below.set(xlabel="step t", ylabel="gap", ylim=(0, 1.1))
        thousands(below.xaxis)
        legend_below(figure, [above, below], size=8)
    return figure  # type: ignore[no-any-return]


def _phases(panel: Any, run: Run, starts: Any) -> None:
    """Shade every active and every passive phase."""
    T = run.instance.horizon
    passed = [*(row.passed for row in run.story.episodes), T][: len(starts)]
    for index, (start, test, end) in enumerate(zip(starts, passed, [*starts[1:], T], strict=True)):
        names = ("active phase", "passive phase") if index == 0 else (None, None)
        panel.axvspan(start, test, color=ACTIVE, alpha=0.22, linewidth=0, label=names[0])
        if test < end:
            panel.axvspan(test, end, color=PASSIVE, alpha=0.28, linewidth=0, label=names[1])
        panel.axvline(start, color="0.6", linewidth=0.6)
