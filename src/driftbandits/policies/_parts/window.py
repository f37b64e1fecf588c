"""What windowed policies share: counts and sums over the last pulls, in constant time a step; rounding does not add up.

A State has ``run`` with the columns of ``WINDOW``, ``arms`` with ``count`` and ``total``, and ``ring``, which holds the
last pulls: step s is at s modulo its length, a power of two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from driftbandits._common.checks import FOREVER
from driftbandits.policies.base import Records, records

FIRST_ROOM = 64
WINDOW = {"t": "i8", "window": "i8", "refresh_at": "i8"}


class WindowState(NamedTuple):
    """The last ``run.window`` pulls."""

    run: Records
    arms: Records
    ring: Records


def start_window(n_arms: int, **columns: str) -> WindowState:
    """An empty window; ``columns`` are the policy's own in ``run``."""
    arms = records(n_arms, count="i8", total="f8", off="i8")
    state = WindowState(records(1, **WINDOW, **columns), arms, _ring(FIRST_ROOM))
    state.run.refresh_at = 1
    return state


def drift_window(length: float, n_arms: int) -> int:
    """A tuned length as a whole number; never so short that arms beyond it would never be pulled."""
    return max(n_arms, min(math.ceil(length), FOREVER))


def make_room(state: WindowState, window: int) -> WindowState:
    """The same State with room for a window of that length and the pull that leaves it."""
    if holds(state, window):
        return state
    run = state.run[0]
    ring = _ring(1 << window.bit_length())
    for step in range(int(run.t - run.window) + 1, int(run.t) + 1):
        ring[step % len(ring)] = state.ring[step % len(state.ring)]
    return state._replace(ring=ring)


def holds(state: WindowState, window: int) -> bool:
    """Whether there is room for a window of that length and the pull that leaves it."""
    return window < len(state.ring)


def _ring(length: int) -> Records:
    return records(length, arm="i8", reward="f8")


def slide(state: WindowState, arm: int, reward: float, window: int) -> None:
    """Take in a pull. The window now has length ``window``: as long as before, or one step longer."""
    run, arms, ring = state.run[0], state.arms, state.ring
    last = len(ring) - 1
    run.t += 1
    ring[run.t & last].arm = arm
    ring[run.t & last].reward = reward
    arms[arm].count += 1
    arms[arm].total += reward
    if window == run.window:
        leaving = ring[(run.t - window) & last]
        arms[leaving.arm].count -= 1
        arms[leaving.arm].total -= leaving.reward
    run.window = window
    if run.t >= run.refresh_at:
        _refresh(state)


def _refresh(state: WindowState) -> None:
    """Add the window up again, once in each window's length, so that rounding never accumulates."""
    run, arms, ring = state.run[0], state.arms, state.ring
    for arm in range(len(arms)):
        arms[arm].total = 0.0
    for step in range(run.t - run.window + 1, run.t + 1):
        pull = ring[step & (len(ring) - 1)]
        arms[pull.arm].total += pull.reward
    run.refresh_at = run.t + run.window
