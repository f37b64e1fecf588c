"""META's test: which arms another arm has led by too much, over some steps up to now. State is that of META."""

from __future__ import annotations

import math
from typing import Any

from driftbandits.policies._parts.hulls import NONE, drop_hull, push_vertex

FAR = 1e300
GUARD = 1e-9
"""Relative slack of the shortcuts below, far above rounding: they may look once too often, never once too rarely."""


def _lead(state: Any, n_arms: int, place: int, better: int, arm: int) -> float:
    """The estimate of ``better``'s lead over ``arm`` made at a recent step."""
    step = state.recent[place]
    if better == arm or not state.played[place * n_arms + arm].candidate:
        return 0.0
    if step.arm == better:
        return step.value  # type: ignore[no-any-return]
    return -step.value if step.arm == arm else 0.0


def remember(state: Any, n_arms: int, arm: int, value: float) -> None:
    """The step of K steps ago becomes points of the hulls, and this one takes its place."""
    run, place = state.run[0], state.run[0].t % n_arms
    first = place * n_arms
    before, gone = state.recent[place].arm, state.recent[place].value
    if gone != 0.0:
        for other in range(n_arms):
            if other != before:
                if state.played[first + other].candidate:
                    _grow(state, n_arms, before * n_arms + other, gone)
                if state.played[first + before].candidate:
                    _grow(state, n_arms, other * n_arms + before, -gone)
    state.recent[place].arm = arm
    state.recent[place].value = value
    for other in range(n_arms):
        state.played[first + other].candidate = 1 - state.sets[run.top * n_arms + other].evicted
    for other in range(n_arms):
        if other != arm:
            state.pairs[arm * n_arms + other].total += value * state.played[first + other].candidate
            state.pairs[other * n_arms + arm].total -= value


def _grow(state: Any, n_arms: int, pair: int, lead: float) -> None:
    """Where a step changed a pair's sum, the sum before it is a point of the hulls of all levels begun by then."""
    step, earlier = state.run[0].t - n_arms, state.pairs[pair].earlier
    for level in range(state.run[0].top + 1):
        if step >= state.levels[level].start:
            hull = state.hulls[level * n_arms * n_arms + pair]
            hull.top = push_vertex(state.pool[0], state.vertices, hull.top, 1.0, step, earlier)
            hull.lowest = min(hull.lowest, earlier)
    state.pairs[pair].earlier = earlier + lead


def evict(state: Any, n_arms: int, arm: int, reward: float) -> None:
    """Only pairs whose lead has just grown can newly pass: thresholds never fall as s2 grows."""
    for place in range(n_arms):
        state.gains[place].recent = 0.0
    for place in range(n_arms):
        state.gains[state.recent[place].arm].recent += abs(state.recent[place].value)
    for other in range(n_arms):
        _test(state, n_arms, arm if reward > 0.0 else other, other if reward > 0.0 else arm)


def _test(state: Any, n_arms: int, better: int, arm: int) -> None:
    """Evict ``arm`` at every level where ``better`` leads by more than the threshold over steps up to now."""
    run = state.run[0]
    if _lead(state, n_arms, run.t % n_arms, better, arm) <= 0.0:
        return
    short, since, lead = run.threshold * math.sqrt(n_arms), run.t + 1, 0.0
    if (state.gains[better].recent + state.gains[arm].recent) * (1.0 + GUARD) > short:
        while lead <= short and since > run.t + 1 - n_arms:
            since -= 1
            lead += _lead(state, n_arms, since % n_arms, better, arm)
    pair = better * n_arms + arm
    for level in range(run.top + 1):
        if state.sets[level * n_arms + arm].evicted:
            continue
        hull = state.hulls[level * n_arms * n_arms + pair]
        if lead > short and since >= state.levels[level].start:
            _evict_at(state, n_arms, level, arm, lead, short)
        elif _may_pass(hull, state.pairs[pair].total, short):
            point = _look(state, hull, state.pairs[pair].total)
            if point >= 0:
                statistic = state.pairs[pair].total - state.vertices[point].total
                limit = run.threshold * math.sqrt(run.t - state.vertices[point].count)
                _evict_at(state, n_arms, level, arm, statistic, limit)


def _evict_at(state: Any, n_arms: int, level: int, arm: int, statistic: float, limit: float) -> None:
    state.sets[level * n_arms + arm].evicted = 1
    if level == 0:
        state.run[0].statistic = statistic
        state.run[0].limit = limit


def _may_pass(hull: Any, total: float, short: float) -> bool:
    """Whether the lead since some point of the hull may be too large now, judged in O(1) from the last look.

    All leads have grown alike since then, by total - at, while thresholds did not fall. No lead since a point that came
    later is larger than total - lowest, and no threshold smaller than ``short``.
    """
    slack = GUARD * (1.0 + abs(total))
    old = total - hull.at >= hull.room - slack - GUARD * abs(hull.at)
    return old or total - hull.lowest >= short - slack - GUARD * abs(hull.lowest)  # type: ignore[no-any-return]


def _look(state: Any, hull: Any, total: float) -> int:
    """The latest vertex since which the lead is too large, or NONE; then it is remembered how far all were from it."""
    run, vertices, point = state.run[0], state.vertices, hull.top
    hull.room = FAR
    while point >= 0:
        lead, limit = total - vertices[point].total, run.threshold * math.sqrt(run.t - vertices[point].count)
        if lead > limit:
            return point  # type: ignore[no-any-return]
        hull.room = min(hull.room, limit - lead)
        point = vertices[point].below
    hull.at = total
    hull.lowest = FAR
    return NONE


def empty_hull(state: Any, hull: Any) -> None:
    """Give a hull's vertices back."""
    drop_hull(state.pool[0], state.vertices, hull.top)
    hull.top = NONE
    hull.at = 0.0
    hull.room = FAR
    hull.lowest = FAR
