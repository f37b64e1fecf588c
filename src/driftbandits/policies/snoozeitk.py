"""SnoozeItK: SnoozeItTight for any number of arms."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import LARGEST_CONFIDENCE, check_drift, check_factor, check_horizon
from driftbandits._common.rewards import Rewards
from driftbandits.errors import FeasibilityWarning
from driftbandits.instances.base import Instance
from driftbandits.policies._parts.belief import Belief, Snooze
from driftbandits.policies._parts.hulls import has_room, new_pool, new_vertices
from driftbandits.policies._parts.hulls import with_room as with_vertices
from driftbandits.policies._parts.pair_windows import (
    best_lead,
    forget_pair,
    forget_pulls,
    has_window,
    holds,
    join_others,
    most_points,
    new_arms,
    new_pairs,
    new_pulls,
    new_sides,
    note_pull,
    push_waiting,
    some_window_is_near,
    with_room,
)
from driftbandits.policies.base import Policy, Records, records
from driftbandits.theory.constants import PASS, RHO
from driftbandits.theory.feasibility import why_never_tight


class SnoozeItKState(NamedTuple):
    """``pulls`` is a list of the recent pulls of all arms; ``arms`` sums them up since each arm last woke."""

    rule: Records
    run: Records
    arms: Records
    pairs: Records
    sides: Records
    pulls: Records
    pool: Records
    vertices: Records
    event: Records


@dataclass(frozen=True)
class SnoozeItK(Policy):
    """SnoozeIt for K arms whose means move by at most ``drift`` a step: pull in turn all arms that are not snoozed.

    The turn is always that of the active arm not pulled for longest, so any two active arms alternate. Let D(w) be the
    difference of the means of two arms' last w pulls, taken in pairs since both are active, L = ln T, and r(w) =
    confidence * sqrt(3 L/w). The test of a pair passes at time g when |D(w)| > 1.5 r(w) for some w. Then one arm has at
    g, with high probability, a lead over the other of at least

        lead = max over w of |D(w)| - r(w) - delta (a(w) + b(w)),

    a(w) and b(w) being the mean ages of the two arms' last w pulls, in steps. The arm behind is snoozed for
    floor(lead/(2 delta)) steps, by whichever active arm has the largest such lead over it; if that is none, the pair
    starts again. A step ends with one snooze at most. An arm that wakes up forgets all it was compared with.

    With ``confidence`` = 1, with probability 1 - (K - 1)/(2T) or more, a snoozed arm is never better than all active
    ones: the best arm is always active. Proved in ``docs/beyond-the-paper.md``. With two arms it is SnoozeItTight.
    Expected regret is at most ``bounds.snoozeit_k(T, delta, K)``, which is O(T (K delta L)^(1/3)) with a constant that
    is not sharp; see ``docs/proofs-beyond.md``.

    Arms may come and go. An arm that is off is snoozed without end; arms that were snoozed because of it wake up at
    once. So the snoozes of arms that are there lead, from each arm to the one it was snoozed for, to an active one, and
    the guarantee holds as it stands: a snoozed arm is never better than all active ones, K being all arms that ever
    were. An arm that comes back, or is new, is active and forgets all it was compared with.

    It must know T and delta, and rewards should be 1/2-sub-Gaussian. With delta = 0 a snooze never ends. A step costs
    O(K) amortised, by convex hulls; memory is O(T).

    Citation: this package; after R. Krishnamurthy, A. Gopalan, "On Slowly-varying Non-stationary Bandits", 2021.
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED
    arms_change: ClassVar[str] = "snoozed"
    snoozes: ClassVar[bool] = True

    horizon: int
    drift: float
    confidence: float = 1.0

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_drift(self.drift)
        check_factor("confidence", self.confidence, LARGEST_CONFIDENCE)
        if (why := self.why_never()) is not None:
            warnings.warn(why, FeasibilityWarning, stacklevel=3)

    def why_never(self, instance: Instance | None = None) -> str | None:
        """Why no arm is ever snoozed, if so."""
        known = None if instance is None or instance.available is not None else instance
        return why_never_tight("SnoozeItK", self.horizon, self.drift, self.confidence, known)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """r(1), and C of the threshold C sqrt(w) on sums of differences."""
        radius = self.confidence * math.sqrt(RHO * math.log(self.horizon))
        return {"radius": radius, "threshold": PASS * radius}

    def init(self, n_arms: int) -> SnoozeItKState:
        self.check_arms(n_arms)
        rule = records(1, threshold="f8", radius="f8")
        for name, value in self.parameters(n_arms).items():
            rule[name] = value
        arms = new_arms(n_arms, active="i8", wake="f8", since="i8", better="i8", window="i8", lead="f8", off="i8")
        arms.active = 1
        event = {"count": "i8", "start": "i8", "passed": "i8", "arm": "i8", "behind": "i8", "window": "i8"}
        state = SnoozeItKState(
            rule,
            records(1, t="i8", next="i8", wake="f8"),
            arms,
            new_pairs(n_arms),
            new_sides(n_arms),
            new_pulls(1),
            new_pool(),
            new_vertices(1),
            records(1, **event, lead="f8", snoozed="i8", until="f8"),
        )
        state.run.wake = np.inf
        return state

    def add_arm(self, state: SnoozeItKState) -> SnoozeItKState:
        """A new arm is active, and compared with others from its first pull on."""
        old, new = state, self.init(len(state.arms) + 1)
        K = len(old.arms)
        new.arms[:K] = old.arms
        new.pairs.start = old.run[0].t
        new.pairs.reshape(K + 1, K + 1)[:K, :K] = old.pairs.reshape(K, K)
        new.sides.reshape(K + 1, K + 1, 2)[:K, :K] = old.sides.reshape(K, K, 2)
        kept = {name: getattr(old, name).copy() for name in ("rule", "run", "pulls", "pool", "vertices", "event")}
        new = new._replace(**kept)
        new.run[0].next = _least_recently_pulled(new.arms)
        return new

    def set_arm(self, state: SnoozeItKState, arm: int, on: bool) -> None:
        """Snooze an arm from outside, or wake it; what was snoozed because of it is awake again."""
        run, arms = state.run[0], state.arms
        arms[arm].off, arms[arm].active, arms[arm].wake, arms[arm].since = not on, on, np.inf, run.t
        forget_pulls(state, arm)
        if not on:
            for other in range(len(arms)):
                if not (arms[other].active or arms[other].off) and arms[other].better == arm:
                    arms[other].wake = run.t
        _wake(state)
        run.next = _least_recently_pulled(arms)

    def reserve(self, state: SnoozeItKState, steps: int) -> SnoozeItKState:
        """Room for ``steps`` more pulls, and for the vertices if every point were on its hulls."""
        vertices = with_vertices(state.pool, state.vertices, most_points(state, steps))
        return state._replace(pulls=with_room(state, steps), vertices=vertices)

    def has_room(self, state: SnoozeItKState, steps: int) -> bool:
        return holds(state, steps) and has_room(state.pool, state.vertices, most_points(state, steps))

    def settle(self, state: SnoozeItKState) -> None:
        push_waiting(state)

    def belief(self, state: SnoozeItKState) -> Belief:
        asleep = [(index, arm) for index, arm in enumerate(state.arms) if not (arm.active or arm.off)]
        return Belief(
            snoozed=tuple(
                Snooze(index, int(arm.better), float(arm.lead), int(arm.window), int(arm.since), float(arm.wake))
                for index, arm in asleep
            )
        )

    def select(self, state: SnoozeItKState, rng: np.random.Generator) -> int:
        return state.run[0].next  # type: ignore[no-any-return]

    def update(self, state: SnoozeItKState, arm: int, reward: float) -> None:
        run = state.run[0]
        run.t += 1
        note_pull(state, arm, reward)
        join_others(state, arm)
        passed = False
        for other in range(len(state.arms)):
            if has_window(state, arm, other):
                near = some_window_is_near(state, arm, other)
                if near and not passed:
                    passed = _conclude(state, arm, other, self.drift)
        if run.t >= run.wake:
            _wake(state)
        run.next = _least_recently_pulled(state.arms)


def _conclude(state: SnoozeItKState, x: int, y: int, drift: float) -> bool:
    """If the test of x and y passes, write the event, and snooze the arm behind or start the pair again."""
    passes, window, lead, ahead = best_lead(state, x, y, drift)
    if not passes:
        return False
    run, arms, event = state.run[0], state.arms, state.event[0]
    behind = x + y - ahead
    event.start = state.pairs[len(arms) * x + y].start
    if _snooze_steps(lead, drift) >= 1.0:
        for other in range(len(arms)):
            if arms[other].active and other != x and other != y:
                later, earlier = (other, behind) if arms[other].last > arms[behind].last else (behind, other)
                _, its_window, its_lead, leader = best_lead(state, later, earlier, drift)
                if its_lead > lead and leader == other:
                    window, lead, ahead = its_window, its_lead, other
                    event.start = state.pairs[len(arms) * later + earlier].start
    steps = _snooze_steps(lead, drift)
    event.count += 1
    event.passed = run.t
    event.arm = ahead
    event.behind = behind
    event.window = window
    event.lead = lead
    event.snoozed = 1 if steps >= 1.0 else 0
    event.until = run.t + steps
    if event.snoozed:
        arms[behind].active = 0
        arms[behind].wake = event.until
        arms[behind].since = run.t
        arms[behind].better = ahead
        arms[behind].window = window
        arms[behind].lead = lead
        run.wake = min(run.wake, event.until)
        forget_pulls(state, behind)
    else:
        forget_pair(state, x, y)
    return True


def _snooze_steps(lead: float, drift: float) -> float:
    """For so many steps a lead is sure not to be lost."""
    if lead <= 0.0:
        return 0.0
    return np.floor(lead / (2.0 * drift)) if drift > 0.0 else np.inf


def _wake(state: SnoozeItKState) -> None:
    """Arms whose snooze is over are active again."""
    run, arms = state.run[0], state.arms
    run.wake = np.inf
    for arm in range(len(arms)):
        if arms[arm].active == 0 and arms[arm].off == 0:
            if run.t >= arms[arm].wake:
                arms[arm].active = 1
                forget_pulls(state, arm)
            else:
                run.wake = min(run.wake, arms[arm].wake)


def _least_recently_pulled(arms: Records) -> int:
    best = -1
    for arm in range(len(arms)):
        if arms[arm].active and (best < 0 or arms[arm].last < arms[best].last):
            best = arm
    return best
