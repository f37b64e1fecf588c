"""What SnoozeIt and SnoozeItTight share: a State, and a test of every window at every step by a convex hull.

A window of w pairs that ends now, after m steps of the episode, starts at j = m - 2w; arm 0 passes when
sums[m] - sums[j] > C sqrt(w) - slack w, arm 1 when the negative does. Points j of m's parity and a direction make a
"side": four in all, index 2 * parity + (0 for arm 0, 1 for arm 1). See ``docs/snoozeit.md``.

A policy's ``rule`` has the columns threshold, which is C, slack, shortest_window and first_threshold, the threshold of
that window.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from driftbandits.policies._parts.belief import Belief, Snooze
from driftbandits.policies.base import Records, records

GUARD = 1e-9
"""Relative slack of the shortcuts below, far above rounding: they may look once too often, never once too rarely."""
ROOM = 1024
NO_WINDOW_YET = 1e300


class SnoozeState(NamedTuple):
    """``sums[m]`` is arm 0's rewards less arm 1's over the first m steps of the episode."""

    rule: Records
    run: Records
    sides: Records
    sums: np.ndarray[Any, np.dtype[np.float64]]
    links: np.ndarray[Any, np.dtype[np.int32]]
    event: Records


def start_windows(rule: Records, **columns: str) -> SnoozeState:
    """The first episode, before its first step; ``columns`` are the policy's own in ``event``."""
    found = {"count": "i8", "start": "i8", "passed": "i8", "arm": "i8", "window": "i8"}
    state = SnoozeState(
        rule,
        records(1, t="i8", start="i8", next="i8", snoozed="i8", wake="f8"),
        records(4, level="f8", top="i8", pending="i8"),
        np.zeros(1),
        np.zeros((1, 2), np.int32),
        records(1, **found, **columns, snoozed="i8", until="f8"),
    )
    begin_episode(state)
    return state


def _phase(state: SnoozeState) -> int:
    """Steps of the active phase so far; none while an arm is snoozed, since the next phase starts from nothing."""
    run = state.run[0]
    return 0 if run.snoozed >= 0 else int(run.t - run.start)


def has_room(state: SnoozeState, steps: int) -> bool:
    """Whether ``sums`` and ``links`` can take in the whole phase and ``steps`` more."""
    return _phase(state) + steps + 1 <= len(state.sums)


def with_room(state: SnoozeState, steps: int) -> SnoozeState:
    """Room for the phase and ``steps`` more; the same State if it has it, and not far too much of it."""
    sums, links, used = state.sums, state.links, _phase(state)
    needed = used + steps + 1
    if has_room(state, steps) and len(sums) <= 4 * (needed + ROOM):
        return state
    new_sums, new_links = np.zeros(needed + used + ROOM), np.zeros((needed + used + ROOM, 2), np.int32)
    new_sums[: used + 1] = sums[: used + 1]
    new_links[: used + 1] = links[: used + 1]
    return state._replace(sums=new_sums, links=new_links)


def windows_belief(state: SnoozeState, gap: float, every: int = 1) -> Belief:
    """Which arm is snoozed, ``gap`` being the lead that was found; or else the window nearest to passing.

    The policy looks after ``every`` so many steps of an episode, and the windows are those of its last look.
    """
    rule, run, event = state.rule[0], state.run[0], state.event[0]
    if run.snoozed >= 0:
        since, until = int(event.passed), float(event.until)
        return Belief(snoozed=(Snooze(int(run.snoozed), int(event.arm), gap, int(event.window), since, until),))
    m = int(run.t - run.start)
    m -= m % every
    windows = np.arange(rule.shortest_window, m // 2 + 1)
    if len(windows) == 0:
        return Belief()
    gaps = np.abs(state.sums[m] - state.sums[m - 2 * windows]) / windows
    thresholds = rule.threshold / np.sqrt(windows) - rule.slack
    nearest = int(np.argmax(gaps - thresholds))
    return Belief(gap=float(gaps[nearest]), threshold=float(thresholds[nearest]), window=int(windows[nearest]))


def begin_episode(state: SnoozeState) -> None:
    """An episode begins with both arms active, no sums and no points."""
    run = state.run[0]
    run.start = run.t
    run.snoozed = -1
    state.sums[0] = 0.0
    for index in range(4):
        side = state.sides[index]
        side.level = NO_WINDOW_YET
        side.top = -1
        side.pending = index // 2


def threshold_at(rule: Any, window: int) -> float:
    """What the difference of the two arms' sums over a window must exceed."""
    return rule.threshold * math.sqrt(window) - rule.slack * window  # type: ignore[no-any-return]


def some_window_is_near(state: SnoozeState, m: int) -> bool:
    """Whether some window passes after m steps, or is within rounding of it. False is certain: then none passes."""
    rule = state.rule[0]
    newest = state.sums[m - 2 * rule.shortest_window]
    rise = rule.slack * (m // 2)
    guard = GUARD * (1.0 + abs(state.sums[m]))
    near = False
    for direction in range(2):
        sign = 1.0 - 2.0 * direction
        side = state.sides[2 * (m % 2) + direction]
        # Between two looks a point's margin shrinks by no more than `height` grows: its threshold falls by at most
        # slack a pair. So while height stays below the level set at the last look, no window of this side can pass.
        height = sign * state.sums[m] + rise
        side.level = min(side.level, rule.first_threshold + sign * newest + rise)
        if height > side.level - guard:
            margin = _least_margin(state, m, direction)
            side.level = margin + height
            near = near or margin < guard
    return near


def _least_margin(state: SnoozeState, m: int, direction: int) -> float:
    """How far the closest window of a side is from passing.

    ``sign * (sums[m] - sums[j]) - threshold`` is convex in the point (j, sign * sums[j]) and falls in its second
    coordinate, so its maximum lies at a vertex of the lower convex hull of those points. The hull is a stack, linked
    through ``links``; points enter it, left to right, when they are needed.
    """
    side, rule = state.sides[2 * (m % 2) + direction], state.rule[0]
    sums, links = state.sums, state.links
    sign = 1.0 - 2.0 * direction
    while side.pending <= m - 2 * rule.shortest_window:
        point, middle = side.pending, side.top
        while middle >= 0 and links[middle, direction] >= 0:
            left = links[middle, direction]
            chord = sign * (sums[point] - sums[left]) * (middle - left)
            if sign * (sums[middle] - sums[left]) * (point - left) < chord:
                break
            middle = left
        links[point, direction] = middle
        side.top = point
        side.pending += 2
    least = np.inf
    point = side.top
    while point >= 0:
        least = min(least, threshold_at(rule, (m - point) // 2) - sign * (sums[m] - sums[point]))
        point = links[point, direction]
    return least
