"""META's test: which arms another arm has led by too much, over some steps up to now. State is that of META."""

from __future__ import annotations

import math
from typing import Any

from driftbandits._compile.kernels import kernel
from driftbandits.policies._parts.hulls import push_vertex


@kernel
def _lead(state: Any, n_arms: int, place: int, better: int, arm: int) -> float:
    """The estimate of ``better``'s lead over ``arm`` made at a recent step."""
    step = state.recent[place]
    if better == arm or not state.played[place * n_arms + arm].candidate:
        return 0.0
    if step.arm == better:
        return step.value  # type: ignore[no-any-return]
    return -step.value if step.arm == arm else 0.0


@kernel
def remember(state: Any, n_arms: int, arm: int, value: float) -> None:
    """The step of K steps ago becomes points of the hulls, and this one takes its place."""
    run, place = state.run[0], state.run[0].t % n_arms
    before = run.t - n_arms
    for pair in range(2 * n_arms):
        _grow(state, n_arms, place, before, pair)
    state.recent[place].arm = arm
    state.recent[place].value = value
    for other in range(n_arms):
        state.played[place * n_arms + other].candidate = 1 - state.sets[run.top * n_arms + other].evicted
    for other in range(n_arms):
        if other != arm:
            state.pairs[arm * n_arms + other].total += value * state.played[place * n_arms + other].candidate
            state.pairs[other * n_arms + arm].total -= value


@kernel
def _grow(state: Any, n_arms: int, place: int, step: int, which: int) -> None:
    """Where a step changed a pair's sum, the sum before it is a point of the hulls of all levels begun by then.

    These are the pairs of the arm pulled: as the better one with each other arm, then as the other way round.
    """
    better, arm = state.recent[place].arm, which % n_arms
    if which >= n_arms:
        better, arm = arm, better
    lead = _lead(state, n_arms, place, better, arm)
    if lead != 0.0:
        pair = better * n_arms + arm
        earlier = state.pairs[pair].earlier
        for level in range(state.run[0].top + 1):
            if step >= state.levels[level].start:
                hull = state.hulls[level * n_arms * n_arms + pair]
                hull.top = push_vertex(state.pool[0], state.vertices, hull.top, 1.0, step, earlier)
        state.pairs[pair].earlier = earlier + lead


@kernel
def evict(state: Any, n_arms: int, arm: int, reward: float) -> None:
    """Only pairs whose lead has just grown can newly pass: thresholds never fall as s2 grows."""
    for other in range(n_arms):
        _test(state, n_arms, arm if reward > 0.0 else other, other if reward > 0.0 else arm)


@kernel
def _test(state: Any, n_arms: int, better: int, arm: int) -> None:
    """Evict ``arm`` at every level where ``better`` leads by more than the threshold over steps up to now."""
    run, vertices = state.run[0], state.vertices
    if _lead(state, n_arms, run.t % n_arms, better, arm) <= 0.0:
        return
    short, since, lead = run.threshold * math.sqrt(n_arms), run.t + 1, 0.0
    while lead <= short and since > run.t + 1 - n_arms:
        since -= 1
        lead += _lead(state, n_arms, since % n_arms, better, arm)
    pair = better * n_arms + arm
    for level in range(run.top + 1):
        if state.sets[level * n_arms + arm].evicted:
            continue
        statistic, limit = lead, short
        passed = lead > short and since >= state.levels[level].start
        point = state.hulls[level * n_arms * n_arms + pair].top
        while point >= 0 and not passed:
            statistic = state.pairs[pair].total - vertices[point].total
            limit = run.threshold * math.sqrt(run.t - vertices[point].count)
            passed = statistic > limit
            point = vertices[point].below
        if passed:
            state.sets[level * n_arms + arm].evicted = 1
            if level == 0:
                run.statistic = statistic
                run.limit = limit
