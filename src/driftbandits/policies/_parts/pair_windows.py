"""SnoozeItK's test: every window of every pair of active arms, exactly, without looking at every window.

SnoozeItK compares every two active arms over every stretch of recent time (a window): has one arm earned so much more
than the other that chance cannot explain it? There are far too many windows to add up each of them at every step. But
each window's difference is the current running total minus an older one. So it is enough to remember the older totals
that are extreme, and these are the vertices of a convex hull. The test then costs little and misses no window.

In detail: active arms are pulled in turn, so while two are active their pulls alternate. Consider times at which x was
pulled after y. A window of w pairs that ends there begins with a pull p of x and the pull q of y before it. In it x
leads if V - v(p, q) > C sqrt(w), where V = total_x - total_y now, and v(p, q) = before_p - before_q is the same
difference just before these pulls. As in ``snooze_windows``, a convex hull of the points (number of p, v) decides: the
lower hull if x leads, the upper one if y does. An ordered pair x, y with a direction is called a "side".

All recent pulls are stored in one ring, ``pulls``. The pull of step t is at t modulo its length, a power of two, and
each pull is linked to the next one of its arm. So memory is O(T), not O(K T). The State of a policy that uses it has
``run`` (with the time ``t``), ``rule`` (with C in ``threshold``), ``arms``, ``pairs``, ``sides``, ``pulls``, ``pool``
and ``vertices``. Pair x, y is number K x + y; p and q are times, and 0 where there is none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftbandits.policies._parts.hulls import NONE, drop_hull, push_vertex
from driftbandits.policies._parts.snooze_windows import GUARD, NO_WINDOW_YET
from driftbandits.policies.base import Records, records

ROOM = 4096


def new_arms(n_arms: int, **columns: str) -> Records:
    """For each arm, since it last woke: pulls, their rewards and times summed up, rewards ``before`` the last one."""
    return records(n_arms, last="i8", count="i8", total="f8", before="f8", times="i8", **columns)


def new_pulls(length: int) -> Records:
    """A ring of pulls: how many the arm had before each, their rewards and times summed up; steps to the ``next``."""
    return records(length, count="i4", next="i4", before="f8", times="i8")


def new_pairs(n_arms: int) -> Records:
    """For each ordered pair, when it began, and the first window's first pulls p and q."""
    return records(n_arms * n_arms, start="i8", p="i8", q="i8")


def new_sides(n_arms: int) -> Records:
    """For each ordered pair and direction, its hull, the last point in it, and a level: see ``some_window_is_near``."""
    made = records(2 * n_arms * n_arms, level="f8", top="i8", p="i8", q="i8")
    made.level, made.top = NO_WINDOW_YET, NONE
    return made


def with_room(state: Any, steps: int) -> Records:
    """The ring, with room for ``steps`` more pulls and for those that windows still need; not far too much of it."""
    now, oldest = int(state.run[0].t), _oldest(state)
    wanted = max(ROOM, 1 << (now - oldest + 1 + steps).bit_length())
    ring: Records = state.pulls
    if wanted <= len(ring) <= 4 * wanted:
        return ring
    made, kept = new_pulls(wanted), np.arange(oldest, now + 1)
    made[kept % wanted] = ring[kept % len(ring)]
    return made


def holds(state: Any, steps: int) -> bool:
    """Whether the ring has room for ``steps`` more pulls and for those that windows still need."""
    return int(state.run[0].t) - _oldest(state) + 1 + steps <= len(state.pulls)


def _oldest(state: Any) -> int:
    """The first pull that some window may begin with; the next one where there is none."""
    begun = state.pairs.q[state.pairs.q > 0]
    return int(begun.min()) if len(begun) else int(state.run[0].t) + 1


def most_points(state: Any, steps: int) -> int:
    """How many points may still become vertices within ``steps`` updates.

    A pull is a point of two hulls for each other arm. Past points that no test has needed yet count as well: they are
    all added to their hull at the next test.
    """
    n_arms = len(state.arms)
    pairs = np.flatnonzero(state.pairs.p > 0)
    waiting = 0
    for direction in range(2):
        side = state.sides[2 * pairs + direction]
        begun = side.top >= 0
        last = np.where(begun, side.p, state.pairs.p[pairs])
        before = state.pulls["count"][last & (len(state.pulls) - 1)]
        waiting += int((state.arms["count"][pairs // n_arms] - before - begun).sum())
    return waiting + 2 * (n_arms - 1) * steps


def push_waiting(state: Any) -> None:
    """Add to the hulls all points that no test has needed yet, so that no room has to be reserved for them."""
    n_arms = len(state.arms)
    for x in range(n_arms):
        for y in range(n_arms):
            if x != y and has_window(state, x, y):
                for direction in range(2):
                    _push_new(state, n_arms * x + y, direction)


def pull_at(state: Any, time: int) -> Any:
    """The pull of that step."""
    return state.pulls[time & (len(state.pulls) - 1)]


def note_pull(state: Any, arm: int, reward: float) -> None:
    """Write the pull of step t down, with a link from the arm's last one."""
    now, mine, pull = state.run[0].t, state.arms[arm], pull_at(state, state.run[0].t)
    pull.count = mine.count
    pull.before = mine.total
    pull.times = mine.times
    pull.next = 0
    if mine.count > 0:
        pull_at(state, mine.last).next = now - mine.last
    mine.last = now
    mine.count += 1
    mine.before = mine.total
    mine.total += reward
    mine.times += now


def forget_pulls(state: Any, arm: int) -> None:
    """The arm wakes up: pulls before this are no longer compared with anything."""
    mine = state.arms[arm]
    mine.count = 0
    mine.total = 0.0
    mine.times = 0
    for other in range(len(state.arms)):
        if other != arm:
            forget_pair(state, arm, other)


def join_others(state: Any, x: int) -> None:
    """Arm x was just pulled: with each other active arm, that is perhaps the first pull of a first window."""
    n_arms, now = len(state.arms), state.run[0].t
    for y in range(n_arms):
        if y != x and state.arms[y].active:
            pair, reverse = state.pairs[n_arms * x + y], state.pairs[n_arms * y + x]
            if reverse.q == 0:
                reverse.q = now
            if pair.p == 0 and pair.q > 0:
                pair.p = now


def has_window(state: Any, x: int, y: int) -> bool:
    """Whether there are windows of x and y after which x was pulled last."""
    return state.pairs[len(state.arms) * x + y].p > 0  # type: ignore[no-any-return]


def forget_pair(state: Any, x: int, y: int) -> None:
    """No windows: the pair starts again with the next pulls."""
    n_arms = len(state.arms)
    for order in range(2):
        index = n_arms * x + y if order == 0 else n_arms * y + x
        state.pairs[index].start = state.run[0].t
        state.pairs[index].p = 0
        state.pairs[index].q = 0
        for direction in range(2):
            side = state.sides[2 * index + direction]
            drop_hull(state.pool[0], state.vertices, side.top)
            side.level = NO_WINDOW_YET
            side.top = NONE


def some_window_is_near(state: Any, x: int, y: int) -> bool:
    """Whether some window of x and y that ends now passes, or is within rounding of it. False is certain."""
    arms = state.arms
    value = arms[x].total - arms[y].total
    newest = arms[x].before - arms[y].before
    guard = GUARD * (1.0 + abs(arms[x].total) + abs(arms[y].total))
    near = False
    for direction in range(2):
        sign = 1.0 - 2.0 * direction
        side = state.sides[2 * (len(arms) * x + y) + direction]
        # Between two tests a point's margin shrinks by no more than sign * value grows, since thresholds don't fall.
        # So while that stays below the level set at the last test, no window of this side can pass.
        side.level = min(side.level, state.rule[0].threshold + sign * newest)
        if sign * value > side.level - guard:
            margin = _least_margin(state, x, y, direction)
            side.level = margin + sign * value
            near = near or margin < guard
    return near


def _least_margin(state: Any, x: int, y: int, direction: int) -> float:
    """How far the closest window of a side is from passing: a vertex of its hull, to which new points are added now."""
    arms, vertices, index = state.arms, state.vertices, len(state.arms) * x + y
    side, sign = state.sides[2 * index + direction], 1.0 - 2.0 * direction
    value = arms[x].total - arms[y].total
    _push_new(state, index, direction)
    least = np.inf
    point = side.top
    while point >= 0:
        threshold = state.rule[0].threshold * math.sqrt(arms[x].count - vertices[point].count)
        least = min(least, threshold - sign * (value - vertices[point].total))
        point = vertices[point].below
    return least


def _push_new(state: Any, index: int, direction: int) -> None:
    """Add all points of a side that are not in its hull yet, left to right."""
    side, sign = state.sides[2 * index + direction], 1.0 - 2.0 * direction
    if side.top < 0:
        side.p, side.q = state.pairs[index].p, state.pairs[index].q
        _push(state, side, sign)
    while pull_at(state, side.p).next > 0:
        side.p += pull_at(state, side.p).next
        side.q += pull_at(state, side.q).next
        _push(state, side, sign)


def _push(state: Any, side: Any, sign: float) -> None:
    p, q = pull_at(state, side.p), pull_at(state, side.q)
    side.top = push_vertex(state.pool[0], state.vertices, side.top, sign, p.count, p.before - q.before)


def best_lead(state: Any, x: int, y: int, drift: float) -> tuple[bool, int, float, int]:
    """Of all windows after which x was pulled last: whether one passes, which has the largest lead, and who leads.

    The lead is the one now, so what the drift allows for is the time since each pull, also since the last ones.
    """
    arms, rule, now = state.arms, state.rule[0], state.run[0].t
    pair = state.pairs[len(arms) * x + y]
    p, q = pair.p, pair.q
    value = arms[x].total - arms[y].total
    passes, best, largest, ahead = False, 0, -np.inf, x
    while p > 0:
        first, second = pull_at(state, p), pull_at(state, q)
        window = arms[x].count - first.count
        difference = value - (first.before - second.before)
        passes = passes or abs(difference) > rule.threshold * math.sqrt(window)
        ages = 2 * window * now - (arms[x].times - first.times) - (arms[y].times - second.times)
        lead = abs(difference) / window - rule.radius / math.sqrt(window) - ages / window * drift
        if lead >= largest:  # of equals the shortest window, and windows come longest first
            best, largest = window, lead
            ahead = x if difference >= 0.0 else y
        p = p + first.next if first.next > 0 else 0
        q += second.next
    return passes, best, largest, ahead
