"""AdSwitch: arms are evicted for being worse, sampled again now and then, and all restarted when any has changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import check_between, check_horizon
from driftbandits._common.rewards import Rewards
from driftbandits.policies._parts.hulls import NONE, drop_hull, has_room, new_pool, new_vertices, push_vertex, with_room
from driftbandits.policies.base import Policy, Records, records

FAR = 1e300
ROOM = 1024


class AdSwitchState(NamedTuple):
    """``sums[n, a]`` is the sum of arm a's first n rewards of the episode, kept while the arm is good."""

    run: Records
    arms: Records
    pool: Records
    vertices: Records
    sums: np.ndarray[Any, np.dtype[np.float64]]
    event: Records


@dataclass(frozen=True)
class AdSwitch(Policy):
    """AdSwitch (Auer, Gajane, Ortner), which knows neither how many changes there are nor how large.

    L = ln T; mean_[s,t] and n_[s,t] are of an arm's rewards at steps s..t of the episode. All arms of a new episode are
    good. Each step pulls, of the good arms and the bad ones with an obligation, the one pulled least recently. Then:

    - a new episode begins when for a good arm two windows contradict each other,
      |mean_[s1,s2] - mean_[s,t]| > sqrt(2L/n_[s1,s2]) + sqrt(2L/n_[s,t]),
      or when a bad arm has moved, |mean_[s,t] - m| > g/4 + sqrt(2L/n_[s,t]);
    - a good arm turns bad when mean_[s,t] of the best good arm leads its own by more than
      sqrt(c1 L / (n_[s,t] - 1)); that mean of its own and that lead are its m and g;
    - for each bad arm and each i >= 1 with 2^-i >= g/16, with probability 2^-i sqrt(l / (K T L)) in the l-th episode,
      the arm is obliged to be pulled ceil(2^(2i+1) L) times.

    It must know T. The paper asks for a c1 that is large enough, and names none: its inequality (5) holds for windows
    of two pulls from 16 on, and for all windows from 32 on. The default is our choice; a lead of 0.3 then shows after
    2,000 pulls of each arm. Less is more eager; Besson et al. (2022) take 1.

    All windows of the tests for change are tested, exactly: windows contradict each other when the largest of all their
    lower confidence bounds exceeds the least of the upper ones, and the extreme bounds of windows that end now are
    taken at vertices of the convex hull of running sums. For eviction we look at windows with 2, 4, 8, ... pulls of the
    arm just pulled, the shortest first; the paper has all windows, of which each contains such a one at least half its
    length. A step costs O(K log n). Memory grows with the episode.

    Checked against the paper's text (Algorithm 1, conditions (1) to (4)), which this follows but for the windows of
    evictions. Two public implementations, AdSwitchNew of SMPyBandits and EmilieKaufmann/PiecewiseStationaryBandits,
    round obligations down and test a part of the windows only.

    Citation: P. Auer, P. Gajane, R. Ortner, "Adaptively Tracking the Best Bandit Arm with an Unknown Number of
    Distribution Changes", COLT 2019.
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int
    c1: float = 16.1

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_between("c1", self.c1, 1e-12, 1e12)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The radii of the tests' confidence bounds and of eviction at n = 1, and the first rate of checks."""
        log_t = math.log(self.horizon)
        rate = math.sqrt(1 / (n_arms * self.horizon * log_t)) if log_t > 0 else 1.0
        return {"radius": math.sqrt(2 * log_t), "lead": math.sqrt(self.c1 * log_t), "check_rate": rate}

    def init(self, n_arms: int) -> AdSwitchState:
        self.check_arms(n_arms)
        state = AdSwitchState(
            records(1, radius="f8", lead="f8", check_rate="f8", t="i8", episode="i8"),
            records(
                n_arms,
                bad="i8",
                pulled_at="i8",
                count="i8",
                total="f8",
                owed_until="i8",
                old_mean="f8",
                old_gap="f8",
                lower="i8",
                upper="i8",
                highest_low="f8",
                lowest_high="f8",
            ),
            new_pool(),
            new_vertices(4 * n_arms),
            np.zeros((1, n_arms)),
            records(1, count="i8", step="i8", arm="i8", changed="i8", statistic="f8"),
        )
        for name, value in self.parameters(n_arms).items():
            state.run[name] = value
        state.arms.lower = state.arms.upper = NONE
        _begin_episode(state)
        return state

    def reserve(self, state: AdSwitchState, steps: int) -> AdSwitchState:
        """Room for the current episode and ``steps`` more; gives back what an ended one left behind."""
        state = state._replace(vertices=with_room(state.pool, state.vertices, _points(state, steps)))
        used, room = int(state.arms["count"].max()), len(state.sums)
        needed = used + steps + 1
        if needed <= room <= 4 * (needed + ROOM):
            return state
        sums = np.zeros((1 << (needed + ROOM).bit_length(), len(state.arms)))
        sums[: used + 1] = state.sums[: used + 1]
        return state._replace(sums=sums)

    def has_room(self, state: AdSwitchState, steps: int) -> bool:
        vertices = has_room(state.pool, state.vertices, _points(state, steps))
        return vertices and int(state.arms["count"].max()) + steps < len(state.sums)

    def select(self, state: AdSwitchState, rng: np.random.Generator) -> int:
        arms = state.arms
        chosen, least = 0, state.run[0].t + 1
        for arm in range(len(arms)):
            candidate = not arms[arm].bad or arms[arm].count < arms[arm].owed_until
            if candidate and arms[arm].pulled_at < least:
                chosen, least = arm, arms[arm].pulled_at
        return chosen

    def update(self, state: AdSwitchState, arm: int, reward: float, rng: np.random.Generator) -> None:  # type: ignore[override]
        run, pulled = state.run[0], state.arms[arm]
        run.t += 1
        pulled.pulled_at = run.t
        pulled.count += 1
        pulled.total += reward
        excess = _excess(state, pulled)
        if excess > 0.0:
            event = state.event[0]
            event.count += 1
            event.step = run.t
            event.arm = -1
            event.changed = arm
            event.statistic = excess
            _begin_episode(state)
            return
        _push_sum(state, pulled)
        if not pulled.bad:
            state.sums[pulled.count, arm] = pulled.total
            _evict(state, pulled.count, arm)
        _oblige(state, rng)


def _points(state: AdSwitchState, steps: int) -> int:
    """Each pull is a point of two hulls, and each arm has one at the start of an episode."""
    return 2 * (steps + len(state.arms))


def _begin_episode(state: AdSwitchState) -> None:
    state.run[0].episode += 1
    for arm in range(len(state.arms)):
        fresh = state.arms[arm]
        drop_hull(state.pool[0], state.vertices, fresh.lower)
        drop_hull(state.pool[0], state.vertices, fresh.upper)
        fresh.lower = NONE
        fresh.upper = NONE
        fresh.bad = 0
        fresh.count = 0
        fresh.total = 0.0
        fresh.owed_until = 0
        fresh.highest_low = -FAR
        fresh.lowest_high = FAR
        state.sums[0, arm] = 0.0
        _push_sum(state, fresh)


def _push_sum(state: AdSwitchState, arm: Any) -> None:
    arm.lower = push_vertex(state.pool[0], state.vertices, arm.lower, 1.0, arm.count, arm.total)
    arm.upper = push_vertex(state.pool[0], state.vertices, arm.upper, -1.0, arm.count, arm.total)


def _excess(state: AdSwitchState, pulled: Any) -> float:
    """By how much confidence bounds of the arm just pulled contradict each other; a change was seen when positive.

    The lower bound of window (k, n] is (S_n - S_k)/(n-k) - r/sqrt(n-k). It exceeds a level h exactly when
    S_n - S_k - r sqrt(n-k) - h (n-k) > 0, which is convex in the point (k, S_k) and falls in S_k. So for h the largest
    bound of all, a maximum of zero is taken at a vertex of the lower hull. Upper bounds likewise at the upper hull.
    """
    low = _extreme(state, pulled, pulled.lower, 1.0)
    high = -_extreme(state, pulled, pulled.upper, -1.0)
    if pulled.bad:
        return max(low - pulled.old_mean, pulled.old_mean - high) - pulled.old_gap / 4.0  # type: ignore[no-any-return]
    pulled.highest_low = max(pulled.highest_low, low)
    pulled.lowest_high = min(pulled.lowest_high, high)
    return pulled.highest_low - pulled.lowest_high  # type: ignore[no-any-return]


def _extreme(state: AdSwitchState, pulled: Any, top: int, sign: float) -> float:
    """The largest of sign * mean - radius over all windows that end now."""
    vertices, radius, largest = state.vertices, state.run[0].radius, -FAR
    while top >= 0:
        share = 1.0 / (pulled.count - vertices[top].count)
        largest = max(largest, sign * (pulled.total - vertices[top].total) * share - radius * math.sqrt(share))
        top = vertices[top].below
    return largest


def _evict(state: AdSwitchState, count: int, arm: int) -> None:
    """Good arms far behind the best turn bad. Each has one pull between two of the arm just pulled, so n or n - 1."""
    run, arms, sums = state.run[0], state.arms, state.sums
    pulls = 2
    while pulls <= count:
        best = -FAR
        for other in range(len(arms)):
            if not arms[other].bad:
                best = max(best, _window_mean(arms, sums, other, pulls if other == arm else pulls - 1))
        for other in range(len(arms)):
            own_pulls = pulls if other == arm else pulls - 1
            if not arms[other].bad and own_pulls >= 2:
                mean = _window_mean(arms, sums, other, own_pulls)
                if best - mean > run.lead / math.sqrt(own_pulls - 1):
                    arms[other].bad = 1
                    arms[other].old_mean = mean
                    arms[other].old_gap = best - mean
        pulls *= 2


def _window_mean(arms: Records, sums: Any, arm: int, pulls: int) -> float:
    count = arms[arm].count
    return (sums[count, arm] - sums[count - pulls, arm]) / pulls  # type: ignore[no-any-return]


def _oblige(state: AdSwitchState, rng: np.random.Generator) -> None:
    """Draw the checks of bad arms before the next step. Of several drawn at once only the longest matters."""
    run, arms = state.run[0], state.arms
    rate = min(1.0, run.check_rate * math.sqrt(run.episode))
    for arm in range(len(arms)):
        if arms[arm].bad:
            left = rng.random()
            if left < rate:  # the probabilities of all i sum to less
                size = 0.5
                while size / 2.0 >= arms[arm].old_gap / 16.0:
                    size /= 2.0
                while arms[arm].old_gap / 16.0 <= size < 1.0:
                    probability = rate * size
                    if left < probability:
                        owed = math.ceil(run.radius / size * run.radius / size)
                        arms[arm].owed_until = max(arms[arm].owed_until, arms[arm].count + owed)
                        break
                    left = (left - probability) / (1.0 - probability)
                    size *= 2.0
