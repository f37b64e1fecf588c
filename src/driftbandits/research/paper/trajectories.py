"""Two runs of SnoozeIt, step by step: how its episodes go when the gap grows, and when the arms swing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common import plotting as figures
from driftbandits._common.arrays import Array
from driftbandits.instances import sinusoid
from driftbandits.instances.base import Instance
from driftbandits.policies import SnoozeIt
from driftbandits.simulation.simulate import simulate
from driftbandits.simulation.trajectory import Trajectory, trajectory

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


ACTIVE, PASSIVE = "#E69F00", "#56B4E9"
POINTS = 1500


@dataclass(frozen=True)
class Run:
    """One run of SnoozeIt: the instance, every step, and every episode in which a test passed."""

    instance: Instance
    drift: float
    played: Trajectory
    episodes: pl.DataFrame


def growing_gap(horizon: int) -> tuple[Instance, float]:
    """Arms that part from a gap of 0.3 to one of 0.96 at an even pace; SnoozeIt is told 2.5 times their drift."""
    half = np.linspace(0.15, 0.48, horizon)
    instance = Instance(np.column_stack([0.5 + half, 0.5 - half]), name="a gap that grows")
    return instance, 2.5 * instance.drift_limit


def swinging_arms(horizon: int) -> tuple[Instance, float]:
    """Two sinusoids in opposition that cross three times."""
    drift = 0.4 * 3 * np.pi / horizon
    return sinusoid(horizon, drift), drift


def play(instance: Instance, drift: float, seed: int) -> Run:
    """Run 0 of the printed SnoozeIt (Algorithm 2)."""
    policy = SnoozeIt(instance.horizon, drift)
    result = simulate(
        {"it": policy}, instance, runs=1, seed=seed, workers=1, checkpoints=1, events=True, progress=False
    )
    return Run(instance, drift, trajectory(policy, instance, seed=seed), result.events["it"])


def empirical_means(played: Trajectory, starts: Array) -> Array:
    """Each arm's mean since its episode's start, shape (T, 2); not a number before its first pull there."""
    T = len(played.arms)
    means = np.full((T, 2), np.nan)
    for start, end in zip(starts, [*starts[1:], T], strict=True):
        for arm in (0, 1):
            pulled = played.arms[start:end] == arm
            count = np.cumsum(pulled)
            total = np.cumsum(np.where(pulled, played.rewards[start:end], 0.0))
            means[start:end, arm] = np.divide(total, count, out=np.full(end - start, np.nan), where=count > 0)
    return means


def episode_starts(run: Run) -> Array:
    """The steps t_i after which episodes start, the last and unfinished one included."""
    ends = np.ceil(run.episodes["until"].to_numpy()).astype(np.int64)
    return np.concatenate([[0], ends[ends < run.instance.horizon]])


def describe(run: Run) -> str:
    """The run in words, for a caption."""
    count = len(run.episodes)
    without = [str(number) for number, snoozed in enumerate(run.episodes["snoozed"], start=1) if not snoozed]
    passive = (
        f"Episodes {', '.join(without)} have no passive phase." if without else "Every one of them led to a snooze."
    )
    return (
        f"T = {run.instance.horizon:,}, δ = {run.drift:.2g}, Gaussian rewards. {_told(run)} In this run the test "
        f"passed {count} times. {passive} {larger_gaps(run)} Shaded: active (yellow) and passive (blue) phases."
    )


def _told(run: Run) -> str:
    times = run.drift / run.instance.drift_limit
    if times < 1.01:
        return "δ is the true drift limit."
    return f"SnoozeIt is told {times:.1f} times the true drift limit, so its snoozes are as much shorter."


def larger_gaps(run: Run) -> str:
    """Whether, as the paper says, larger gaps make active phases shorter and passive ones longer: by rank."""
    some = run.episodes.filter(snoozed=1)
    if len(some) < 3:
        return "Too few snoozes to compare phases."
    gaps = _ranks(some["gap"].to_numpy())
    active = _ranks((some["passed"] - some["start"]).to_numpy())
    passive = _ranks((some["until"] - some["passed"]).to_numpy())
    both = [float(np.corrcoef(gaps, other)[0, 1]) for other in (active, passive)]
    return (
        f"Rank correlation of λ̂ with the length of the active phase {both[0]:+.2f}, with that of the passive phase "
        f"{both[1]:+.2f}."
    )


def _ranks(values: Array) -> Array:
    """The rank of each value, those of equal ones averaged."""
    return np.array([(np.sum(values < one) + np.sum(values <= one)) / 2 for one in values])


def plot_run(run: Run) -> Figure:
    """True and empirical means with active and passive phases above; below, lambda_hat where each test passed."""
    T = run.instance.horizon
    starts = episode_starts(run)
    means = empirical_means(run.played, starts)
    at = np.unique(np.concatenate([figures.thin(T, POINTS), starts[1:] - 1, starts]))
    shown = means[at].copy()
    shown[np.isin(at, starts)] = np.nan  # the line breaks where an episode forgets the one before
    figure: Figure
    with figures.canvas(2, 1, size=(5.0, 6.4), sharex=True, height_ratios=(3, 2)) as (figure, (above, below)):
        for panel in (above, below):
            _phases(panel, run, starts)
        for arm in (0, 1):
            style = figures.line_style(arm) | {"linestyle": "-"}
            above.plot(at + 1, run.instance.means[at, arm], label=f"true mean, arm {arm}", **style)
            dim = style | {"linewidth": 1.0, "linestyle": "--"}
            above.plot(at + 1, shown[:, arm], label=f"empirical mean, arm {arm}", **dim)
        above.set(ylabel="mean reward", ylim=(-0.1, 1.1), xlim=(0, T))
        below.plot(at + 1, run.instance.gap[at], color="0.2", linewidth=1.2, label="true gap |μ₁ − μ₂|")
        for snoozed, face, label in (
            (1, "0.0", "test passed: λ̂, then a snooze"),
            (0, "1.0", "test passed: λ̂, no snooze"),
        ):
            some = run.episodes.filter(snoozed=snoozed)
            if some.is_empty():
                continue
            below.plot(some["passed"], some["gap"], "o", color="0.0", markerfacecolor=face, markersize=6, label=label)
        below.set(xlabel="step t", ylabel="gap", ylim=(0, 1.1))
        figures.thousands(below.xaxis)
        handles = [pair for panel in (above, below) for pair in zip(*panel.get_legend_handles_labels(), strict=True)]
        unique = {label: handle for handle, label in handles}
        figure.legend(unique.values(), unique.keys(), ncols=2, loc="outside lower center", fontsize=8)
    return figure


def _phases(panel: Any, run: Run, starts: Array) -> None:
    """Shade every active and every passive phase, and number the episodes."""
    T = run.instance.horizon
    passed = [*run.episodes["passed"].to_list(), T][: len(starts)]
    ends = [*starts[1:], T]
    for index, (start, test, end) in enumerate(zip(starts, passed, ends, strict=True)):
        first = index == 0
        panel.axvspan(start, test, color=ACTIVE, alpha=0.22, linewidth=0, label="active phase" if first else None)
        if test < end:
            panel.axvspan(test, end, color=PASSIVE, alpha=0.28, linewidth=0)
        panel.axvline(start, color="0.6", linewidth=0.6)
    panel.fill_between([], [], [], color=PASSIVE, alpha=0.28, label="passive phase")
