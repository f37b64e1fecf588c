"""SW-LB-SDA: duels on equal terms between the leader and every other arm, within a window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.checks import FOREVER, check_tuning_drift, check_whole
from driftbandits._common.rewards import Rewards
from driftbandits.policies._parts.detection import check_changes
from driftbandits.policies._parts.window import drift_window
from driftbandits.policies.base import Policy, Records, records

FIRST_ROOM = 64
NOBODY = -1


class SWLBSDAState(NamedTuple):
    """``ring`` holds the window: step s at s modulo its length, a power of two. ``sums[n, a]`` is the sum of arm a's
    rewards up to its pull n (modulo the same length), counted from some pull before the window."""

    run: Records
    arms: Records
    ring: Records
    sums: np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class SWLBSDA(Policy):
    """SW-LB-SDA (Baudry, Russac, Cappe): arms challenge the leader, mean against mean of equally many last pulls.

    Everything is taken over the last w (``window``) pulls: N_k counts those of arm k. Time goes in rounds r = 1, 2, ...
    after each arm was pulled once; a round pulls one arm or more, in random order. At its start the *leader* is chosen:

    - if the last leader has N < min(r, w)/(2K), of all arms, else of itself and of those that won a duel in the last
      round and have N >= min(r, w)/K: the one with the largest N; of equals that with the largest sum of rewards; of
      these the last leader, or one at random.

    The round pulls each arm k that

    - has N_k < ln(w)^0.333, the leader too, or
    - wins its duel: its mean is at least that of the leader's last min(N_k, N) pulls, or
    - has N_k <= ln(w)^2 and was last pulled at least D = floor((K-1) ln(w)^2) rounds ago, as the leader was, who became
      the leader at least as long ago;

    and the leader if there is none. No index, no bonus and no draw from a posterior: it asks nothing of the noise.

    Tuning: w = 2 sqrt(T ln(T)/B) for B changes (``changes``) and rewards in [0, 1], as in the authors' experiments. For
    slow drift they give none; told ``drift``, it takes SWTS's ceil(delta^(-2/3)), which is our choice. It must know
    delta, or T and B, or be given ``window``. A step costs O(K), whatever the window; memory is O(K w).

    Checked against the authors' code (github.com/YRussac/LB-SDA, ``LB_SDA`` in MAB.py), from which all the constants
    are. The paper's text could not be had.

    Citation: D. Baudry, Y. Russac, O. Cappe, "On Limited-Memory Subsampling Strategies for Bandits", ICML 2021.

    >>> SWLBSDA(horizon=10_000, changes=4).parameters(2)["window"]
    303
    """

    horizon: int | None = None
    changes: int | None = None
    drift: float | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        check_changes(self)
        if self.window is not None:
            check_whole("window", self.window, 2, FOREVER)
        elif self.changes is None:
            check_tuning_drift("SWLBSDA", "window", self.drift)

    @property
    def rewards(self) -> Rewards:
        """Any, unless the window is tuned to the drift of means in [0, 1]."""
        return Rewards.SCALED if self.window is None and self.changes is None else Rewards.REAL

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The window, the count below which an arm is pulled in any case, and D, the patience of the third rule."""
        window = self.window
        if window is None and self.changes is not None:
            assert self.horizon is not None
            length = 2 * math.sqrt(self.horizon * math.log(self.horizon) / self.changes)
            window = max(n_arms, min(int(length), FOREVER))
        elif window is None:
            assert self.drift is not None
            window = drift_window(self.drift ** (-2 / 3), n_arms)
        log_w = math.log(window)
        return {"window": int(window), "fewest": log_w**0.333, "patience": int((n_arms - 1) * log_w**2)}

    def init(self, n_arms: int) -> SWLBSDAState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        run = records(
            1,
            window="i8",
            fewest="f8",
            patience="i8",
            few="f8",
            t="i8",
            number="i8",
            waiting="i8",
            leader="i8",
            since="i8",
            refresh_at="i8",
        )
        state = SWLBSDAState(
            run,
            records(n_arms, count="i8", pulls="i8", due="i8", won="i8", pulled_in="i8"),
            records(FIRST_ROOM, arm="i8", reward="f8"),
            np.zeros((FIRST_ROOM, n_arms)),
        )
        for name in ("window", "fewest", "patience"):
            run[name] = chosen[name]
        run.few = math.log(chosen["window"]) ** 2
        run.refresh_at, run.waiting, run.leader = 1, n_arms, NOBODY
        state.arms.due = state.arms.won = state.arms.pulled_in = 1
        return state

    def reserve(self, state: SWLBSDAState, steps: int) -> SWLBSDAState:
        """Room for the window as it will be ``steps`` later, and the pull that leaves it."""
        if self.has_room(state, steps):
            return state
        run, old = state.run[0], len(state.ring)
        length = 1 << _longest(state, steps).bit_length()
        ring, sums = records(length, arm="i8", reward="f8"), np.zeros((length, len(state.arms)))
        for step in range(int(max(0, run.t - run.window)) + 1, int(run.t) + 1):
            ring[step % length] = state.ring[step % old]
        for arm, kept in enumerate(state.arms):
            for pull in range(int(kept.pulls - kept["count"]), int(kept.pulls) + 1):
                sums[pull % length, arm] = state.sums[pull % old, arm]
        return state._replace(ring=ring, sums=sums)

    def has_room(self, state: SWLBSDAState, steps: int) -> bool:
        return _longest(state, steps) < len(state.ring)

    def select(self, state: SWLBSDAState, rng: np.random.Generator) -> int:
        run, arms = state.run[0], state.arms
        left = int(rng.random() * run.waiting) if run.number > 0 and run.waiting > 1 else 0
        for arm in range(len(arms)):
            if arms[arm].due:
                if left == 0:
                    return arm
                left -= 1
        return 0

    def update(self, state: SWLBSDAState, arm: int, reward: float, rng: np.random.Generator) -> None:  # type: ignore[override]
        run, pulled = state.run[0], state.arms[arm]
        _slide(state, arm, reward)
        if pulled.due:
            pulled.due = 0
            run.waiting -= 1
        pulled.pulled_in = max(run.number, 1)
        if run.waiting == 0:
            run.number += 1
            _choose_leader(state, rng)
            _duel(state)


def _longest(state: SWLBSDAState, steps: int) -> int:
    """How long the window will have been ``steps`` later."""
    return min(int(state.run[0].window), int(state.run[0].t) + steps)


def _slide(state: SWLBSDAState, arm: int, reward: float) -> None:
    """Take in a pull, and let the one leave that is no longer in the window."""
    run, arms, last = state.run[0], state.arms, len(state.ring) - 1
    run.t += 1
    state.ring[run.t & last].arm = arm
    state.ring[run.t & last].reward = reward
    pulled = arms[arm]
    pulled.count += 1
    pulled.pulls += 1
    state.sums[pulled.pulls & last, arm] = state.sums[(pulled.pulls - 1) & last, arm] + reward
    if run.t > run.window:
        arms[state.ring[(run.t - run.window) & last].arm].count -= 1
    if run.t >= run.refresh_at:
        _refresh(state)


def _refresh(state: SWLBSDAState) -> None:
    """Add the window up again, once in each window's length, so that rounding never accumulates."""
    run, arms, last = state.run[0], state.arms, len(state.ring) - 1
    for arm in range(len(arms)):
        arms[arm].pulls -= arms[arm].count
        state.sums[arms[arm].pulls & last, arm] = 0.0
    for step in range(max(0, run.t - run.window) + 1, run.t + 1):
        arm = state.ring[step & last].arm
        arms[arm].pulls += 1
        pulls = arms[arm].pulls
        state.sums[pulls & last, arm] = state.sums[(pulls - 1) & last, arm] + state.ring[step & last].reward
    run.refresh_at = run.t + min(run.t, run.window)


def _last_sum(state: SWLBSDAState, arm: int, pulls: int) -> float:
    """The sum of an arm's last ``pulls`` rewards, all within the window."""
    last, newest = len(state.ring) - 1, state.arms[arm].pulls
    return state.sums[newest & last, arm] - state.sums[(newest - pulls) & last, arm]  # type: ignore[no-any-return]


def _choose_leader(state: SWLBSDAState, rng: np.random.Generator) -> None:
    run, arms, before = state.run[0], state.arms, state.run[0].leader
    share = min(run.number, run.window) / len(arms)
    anyone = before == NOBODY or arms[before].count < share / 2.0
    most, largest, equals, stays = 0, 0.0, 0, False
    for arm in range(len(arms)):
        count = arms[arm].count
        if anyone or arm == before or (arms[arm].won and count >= share):
            total = _last_sum(state, arm, count)
            if count > most or (count == most and total > largest):
                most, largest, equals, stays = count, total, 0, False
            if count == most and total == largest:
                equals += 1
                stays = stays or arm == before
    if stays:
        return
    place = int(rng.random() * equals) if equals > 1 else 0
    for arm in range(len(arms)):
        eligible = anyone or (arms[arm].won and arms[arm].count >= share)
        if eligible and arms[arm].count == most and _last_sum(state, arm, most) == largest:
            if place == 0:
                run.leader = arm
                run.since = run.number
                return
            place -= 1


def _duel(state: SWLBSDAState) -> None:
    """Which arms the new round pulls."""
    run, arms, leader = state.run[0], state.arms, state.run[0].leader
    alone = run.number - run.since >= run.patience and run.number - arms[leader].pulled_in >= run.patience
    for arm in range(len(arms)):
        here, won = arms[arm], arms[arm].count < run.fewest
        if arm != leader and not won:
            duel = min(here.count, arms[leader].count)
            own = _last_sum(state, arm, here.count)
            # Of equally many pulls sums are compared, for which ties of coins are exact.
            theirs = _last_sum(state, leader, duel)
            won = own >= theirs if duel == here.count else own / here.count >= theirs / duel
            if alone and run.number - here.pulled_in >= run.patience and here.count <= run.few:
                won = True
        here.won = won
        here.due = won
        run.waiting += won
    if run.waiting == 0:
        arms[leader].due = 1
        run.waiting = 1
