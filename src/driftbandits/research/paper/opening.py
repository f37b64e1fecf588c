"""What a reader must know first: what SnoozeIt does, in words and by one episode of a real run; forms and constants."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common import plotting as figures
from driftbandits._common.arrays import Array
from driftbandits.instances.base import HORIZON, Instance
from driftbandits.research.paper.experiments import ALGORITHM_1, CALIBRATED, DEFECTIVE, FORMS, ROUND_ROBIN
from driftbandits.research.paper.sections import Material
from driftbandits.research.paper.trajectories import ACTIVE, PASSIVE, Run, play
from driftbandits.research.report.content import Section
from driftbandits.research.report.drawings import save_drawing
from driftbandits.theory.constants import C0, C1, C3, C6, C7, C8

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRIFT = 1 / 48_000
START = 0.62
"""The gap at first: large enough to show after some two thousand steps."""
BEYOND = 0.3
"""How much of the next episode is drawn, as a share of the first."""


def opening_section(material: Material) -> Section:
    """SnoozeIt in words, one episode, its forms, and every constant that the report names."""
    run = play(closing_arms(), DRIFT, material.settings.seed)
    drawing = save_drawing(
        material.out,
        "episode",
        "One episode of SnoozeIt",
        describe_episode(run),
        {"ours": partial(plot_episode, run)},
    )
    tables = {"The names used in this report": _names(), "The constants, all of them the paper's": _constants()}
    return Section("snoozeit", "What SnoozeIt does", _words(), [drawing], tables)


def closing_arms() -> Instance:
    """Two means that approach, cross and part again, always at the full pace of ``DRIFT``."""
    moved = DRIFT * np.arange(HORIZON)
    half = np.abs(moved % (2 * START) - START) - START / 2
    return Instance(np.column_stack([0.5 + half, 0.5 - half]), name="closing arms")


def _words() -> list[str]:
    return [
        "There are two arms. Each pull pays a random reward, and the arms' mean rewards drift: each moves by at most δ "
        "in one step. A policy is told δ and the number of steps $T$, and pays regret in every step in which it pulls "
        "the arm with the lower mean: the difference of the two means. SnoozeIt, the paper's policy, plays in episodes "
        "of four moves.",
        "1. Alternate. Both arms are pulled in turn. This is the active phase; it costs half the gap a step.",
        "2. Test. After every step, and for every window $w$, it compares the averages of the last $w$ pulls of each "
        "arm. The test passes when they differ by more than $4 r(w) − δ$, where $r(w)$ is the radius within which, by "
        "the proof, an average of $w$ rewards stays:",
        "$r(w) = √((2 L)/w),   L = ln T$",
        "3. Snooze. The arm behind is left alone, and only the better one is pulled: the passive phase, which costs "
        "nothing. A window that passed shows a gap of about λ̂. Since means drift by at most δ a step, a gap cannot "
        "vanish at once. So the arm may sleep until a buffer of $λ̂/(6 δ)$ steps, counted from the window's start, is "
        "used up:",
        "$λ̂ = √((c1 L)/w),   c1 = 72$",
        "4. Wake. Then all averages are forgotten and the next episode begins. If the buffer is no longer than the "
        "window itself, there is no snooze, and the next episode begins at once.",
        "So where the gap is large or δ small, snoozes are long and regret is low. Where no window can pass, or no "
        "buffer outlasts its window, SnoozeIt pulls the arms in turn throughout: then it is round robin.",
    ]


def _names() -> list[dict[str, Any]]:
    printed, released, calibrated = FORMS.values()
    names = {
        printed: "The paper's Algorithm 2, its misprints repaired. The paper's experiments are about it.",
        released: "What the code does that the authors released. It differs from the paper in eight points, listed "
        "under “What the paper leaves open”.",
        calibrated: f"The printed form with a radius {CALIBRATED:g} times as wide (`confidence={CALIBRATED:g}`). It is "
        "not in the paper, and its proof does not cover it.",
        ALGORITHM_1: "The paper's Algorithm 1. It differs from the printed form in the buffer alone, which counts from "
        "the episode's start. The theorems are about it.",
        ROUND_ROBIN: "Both arms in turn, always.",
        "SW-UCB#, Rexp3, Exp3.S": "The policies that the paper compares with, tuned as their own authors say.",
        DEFECTIVE: "Exp3.S with a mistake of the released code, which takes a third of a number for its parameter γ "
        "where the cube root is meant.",
    }
    return [{"name": name, "what it is": meaning} for name, meaning in names.items()]


def _constants() -> list[dict[str, Any]]:
    return [
        {"constant": "$c0$", "value": f"{C0:g}", "where": "A gap λ shows in a window of $⌈c0 L/λ^2⌉$ steps."},
        {"constant": "$c1$", "value": f"{C1:g}", "where": "$w$ pulls of each arm show a gap of $√(c1 L/w)$."},
        {
            "constant": "$c3$",
            "value": f"{C3:.3f}",
            "where": "No episode but the last is shorter than $c3 δ^(−2/3) L^(1/3)$ steps.",
        },
        {
            "constant": "$c6, c7$",
            "value": f"{C6:g}, {C7:g}",
            "where": "Theorem 1: a block of the instance whose smallest detectable gap is λ_min costs at most "
            "$c6 L/λ_min + c7$.",
        },
        {
            "constant": "$c8$",
            "value": f"{C8:g}",
            "where": "Theorem 1: what is added once, for runs in which some average leaves its radius.",
        },
    ]


def first_snooze(run: Run) -> dict[str, Any] | None:
    """The event of the first episode that led to a snooze."""
    some = run.episodes.filter(snoozed=1)
    return None if some.is_empty() else some.row(0, named=True)


def describe_episode(run: Run) -> str:
    """The episode in words, for a caption."""
    event = first_snooze(run)
    begun = (
        f"A real run of the printed form: T = {run.instance.horizon:,}, δ = 1/{round(1 / run.drift):,}, two means that "
        "approach each other at the full pace of δ, Gaussian rewards. "
    )
    if event is None:
        return begun + "In this run no test led to a snooze."
    asleep = int(event["until"]) - event["passed"]
    before, after = (run.instance.gap[min(int(event[key]), run.instance.horizon) - 1] for key in ("passed", "until"))
    return begun + (
        f"The test passed after {event['passed'] - event['start']:,} steps, with a window of {event['window']:,} pulls "
        f"of each arm, which shows λ̂ = {event['gap']:.2f}. Arm {1 - event['arm']} then slept for {asleep:,} steps. "
        f"Meanwhile the true gap went from {before:.2f} to {after:.2f}: the arm woke before it could lead."
    )


def plot_episode(run: Run) -> Figure:
    """One episode: the true means, which arm is pulled, and the test, all on one axis of steps."""
    event = first_snooze(run) or {"start": 0, "passed": run.instance.horizon, "until": run.instance.horizon, "arm": 0}
    start, passed, until = event["start"], event["passed"], min(int(event["until"]), run.instance.horizon)
    end = min(run.instance.horizon, round(until + BEYOND * (until - start)))
    figure: Figure
    with figures.canvas(3, 1, size=(5.0, 5.4), sharex=True, height_ratios=(3, 2, 3)) as (figure, panels):
        for panel in panels:
            panel.axvspan(start, passed, color=ACTIVE, alpha=0.22, linewidth=0)
            panel.axvspan(passed, until, color=PASSIVE, alpha=0.28, linewidth=0)
            panel.axvspan(until, end, color=ACTIVE, alpha=0.22, linewidth=0)
            panel.grid(visible=False)
        means, pulls, test = panels
        for arm in (0, 1):
            style = figures.line_style(arm)
            means.plot([start + 1, end], run.instance.means[[start, end - 1], arm], label=f"arm {arm}", **style)
        means.set(ylabel="true mean", ylim=(0.1, 1.02), xlim=(start, end))
        _moves(means, start, passed, until, end)
        _pulls(pulls, run.played.arms[start:end], start, event["arm"], passed, until)
        _test(test, run, start, passed, event.get("window"))
        test.set(xlabel="step t")
        figures.thousands(test.xaxis)
        handles = [pair for panel in (means, test) for pair in zip(*panel.get_legend_handles_labels(), strict=True)]
        figure.legend(*zip(*handles, strict=True), ncols=2, loc="outside lower center", fontsize=9)
    return figure


def _moves(panel: Any, start: int, passed: int, until: int, end: int) -> None:
    """The names of the four moves, above the means."""
    middle = {"1 alternate": (start + passed) / 2, "3 snooze": (passed + until) / 2, "1 alternate ": (until + end) / 2}
    for name, at in middle.items():
        panel.text(at, 0.95, name.strip(), ha="center", va="center", fontsize=9)
    for name, at in (("2 test passes", passed), ("4 wake", until)):
        panel.axvline(at, color="0.2", linewidth=1.0)
        panel.text(at, 1.03, name, ha="center", va="bottom", fontsize=9, clip_on=False)


def _pulls(panel: Any, arms: Array, start: int, better: int, passed: int, until: int) -> None:
    """For each arm a row: half high where it is pulled in every second step, full where in every step."""
    width = 100
    for arm in (0, 1):
        pulled = [float(np.mean(arms[at : at + width] == arm)) for at in range(0, len(arms), width)]
        edges = start + width * np.arange(len(pulled) + 1)
        panel.stairs(0.8 * np.array(pulled) + 1 - arm, edges, baseline=1 - arm, fill=True, color=figures.COLOURS[arm])
    panel.text((passed + until) / 2, better + 0.4, "asleep", ha="center", va="center", fontsize=9)
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
    panel.plot(
        steps[known] + 1, asked[known], color=figures.COLOURS[3], linestyle=figures.DASHES[2], label="asked for: 4r − δ"
    )
    panel.plot(steps[~known] + 1, asked[~known], color=figures.COLOURS[3], linestyle=figures.DASHES[4], linewidth=1.0)
    if window is not None:
        r = math.sqrt(2 * log_t / window)
        panel.plot([passed], [4 * r - run.drift], "o", color="0.0", markersize=7, label="the test passes")
    panel.set(ylabel="difference", ylim=(0, 1.1))
