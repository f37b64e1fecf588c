"""SnoozeIt: pull both arms in turn until one is clearly better, then snooze the other while that stays safe."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftbandits._common.checks import check_choice
from driftbandits._common.rewards import Rewards
from driftbandits.errors import FeasibilityWarning
from driftbandits.instances.base import Instance
from driftbandits.policies._parts.belief import Belief
from driftbandits.policies._parts.snooze_windows import (
    SnoozeState,
    begin_episode,
    has_room,
    some_window_is_near,
    start_windows,
    threshold_at,
    windows_belief,
    with_room,
)
from driftbandits.policies.base import Policy, records
from driftbandits.theory.constants import C1
from driftbandits.theory.feasibility import explain_feasibility

PICKS = ("largest", "smallest")


@dataclass(frozen=True)
class SnoozeIt(Policy):
    """SnoozeIt for two arms whose means move by at most ``drift`` a step (Krishnamurthy and Gopalan).

    With L = ln T and r(w) = confidence * sqrt(2 L / w), an episode that starts after time t_i pulls the arms in turn
    (active phase). After every step t it asks whether for some w in [w_min, (t - t_i)/2] the means of the two arms'
    last w pulls differ by more than 4 r(w) - delta, w_min = ceil(confidence^2 c1 L), c1 = 72. If so, at t = g, the
    arm behind is snoozed (passive phase) when the buffer is long enough; then a new episode begins:

    - ``modified`` (Algorithm 2): buf = lambda(w)/(6 delta), lambda(w) = confidence * sqrt(c1 L / w); snooze if
      buf > 2w, until floor(g - 2w + buf).
    - ``original`` (Algorithm 1): the same with tau = g - t_i in place of 2w, so buf = (2/delta) sqrt(L/tau).
    - ``released`` (the authors' experiment code): tests only after an even number of steps, without "- delta" and
      without w_min, takes the smallest window, lambda(w) = sqrt(36 L / w), buf = lambda/(3 delta), no floor, and pulls
      the better arm first after a snooze. Its buffer is longer than the paper's proof allows.

    ``confidence`` = 1 is the paper; less makes the test more eager. ``pick`` says which passing window counts: the
    ``largest`` (the paper's) or the ``smallest``; None takes the variant's own.

    It must know the horizon T and the drift limit delta, and rewards should be 1/2-sub-Gaussian. With delta = 0 a
    snooze never ends. A step costs O(1) amortised, whatever the length of the active phase: every window is tested at
    every step, but by a convex hull (see ``docs/snoozeit.md``).

    Citation: R. Krishnamurthy, A. Gopalan, "On Slowly-varying Non-stationary Bandits", 2021.

    >>> SnoozeIt(horizon=162_755, drift=1 / 48_000).parameters(2)["shortest_window"]
    865
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int
    drift: float
    variant: str = "modified"
    confidence: float = 1.0
    pick: str | None = None

    arms: ClassVar[tuple[int, float]] = (2, 2)
    snoozes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.pick is not None:
            check_choice("pick", self.pick, PICKS)
        if (why := self.why_never()) is not None:
            warnings.warn(why, FeasibilityWarning, stacklevel=3)

    def why_never(self, instance: Instance | None = None) -> str | None:
        """Why no arm is ever snoozed, if so."""
        known = None if instance is None or instance.available is not None or instance.n_arms != 2 else instance
        found = explain_feasibility(self.horizon, self.drift, self.variant, self.confidence, instance=known)
        return None if found.can_snooze else str(found)

    def _shortest_window(self) -> int:
        if self.variant == "released":
            return 1
        return max(1, math.ceil(self.confidence**2 * C1 * math.log(self.horizon)))

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The shortest window; C and delta' of the threshold C sqrt(w) - delta' w on sums; lambda(1) and buf(1)."""
        log_t = math.log(self.horizon)
        released = self.variant == "released"
        gap = self.confidence * math.sqrt((C1 / 2 if released else C1) * log_t)
        return {
            "shortest_window": self._shortest_window(),
            "threshold": 4 * self.confidence * math.sqrt(2 * log_t),
            "slack": 0.0 if released else self.drift,
            "gap": gap,
            "buffer": gap / ((3 if released else 6) * self.drift) if self.drift > 0 else math.inf,
        }

    def init(self, n_arms: int) -> SnoozeState:
        self.check_arms(n_arms)
        rule = records(
            1,
            shortest_window="i8",
            threshold="f8",
            slack="f8",
            gap="f8",
            buffer="f8",
            first_threshold="f8",
            whole_phase="i8",
            released="i8",
            smallest="i8",
        )
        for name, value in self.parameters(n_arms).items():
            rule[name] = value
        rule.first_threshold = threshold_at(rule[0], int(rule[0].shortest_window))
        rule.whole_phase = self.variant == "original"
        rule.released = self.variant == "released"
        rule.smallest = (self.pick or ("smallest" if rule[0].released else "largest")) == "smallest"
        return start_windows(rule, gap="f8", buffer="f8")

    def reserve(self, state: SnoozeState, steps: int) -> SnoozeState:
        """Room for the current active phase and ``steps`` more; gives back what an ended phase left behind."""
        return with_room(state, steps)

    def has_room(self, state: SnoozeState, steps: int) -> bool:
        return has_room(state, steps)

    def belief(self, state: SnoozeState) -> Belief:
        return windows_belief(state, float(state.event[0].gap), every=2 if self.variant == "released" else 1)

    def select(self, state: SnoozeState, rng: np.random.Generator) -> int:
        return state.run[0].next  # type: ignore[no-any-return]

    def update(self, state: SnoozeState, arm: int, reward: float) -> None:
        run = state.run[0]
        run.t += 1
        if run.snoozed >= 0:
            if run.t >= run.wake:
                _respawn(state, arm)
            return
        m = run.t - run.start
        state.sums[m] = state.sums[m - 1] + (reward if arm == 0 else -reward)
        run.next = 1 - arm
        if m // 2 >= state.rule[0].shortest_window and not (state.rule[0].released and m % 2 == 1):
            window = _passing_window(state, m) if some_window_is_near(state, m) else 0
            if window > 0:
                _conclude(state, m, window, arm)


def _respawn(state: SnoozeState, arm: int) -> None:
    """The snoozed arm is active again. The least recently pulled arm goes first; if released, the better one."""
    run = state.run[0]
    run.next = 1 - run.snoozed if state.rule[0].released else 1 - arm
    begin_episode(state)


def _conclude(state: SnoozeState, m: int, window: int, arm: int) -> None:
    """The test passed with this window: write the event, and snooze the arm behind or end the episode."""
    run, rule, event = state.run[0], state.rule[0], state.event[0]
    lead = state.sums[m] - state.sums[m - 2 * window]
    span = m if rule.whole_phase else 2 * window
    event.count += 1
    event.start = run.start
    event.passed = run.t
    event.arm = 0 if lead >= 0 else 1
    event.window = window
    event.gap = rule.gap / math.sqrt(window)
    event.buffer = rule.buffer / math.sqrt(span / 2)
    event.snoozed = 1 if event.buffer > span else 0
    event.until = run.t
    if event.snoozed:
        event.until = run.t - span + event.buffer
        if not rule.released:
            event.until = np.floor(event.until)
        run.snoozed = 1 - event.arm
        run.wake = event.until
        run.next = event.arm
        if run.t >= run.wake:
            _respawn(state, arm)
    else:
        begin_episode(state)


def _passing_window(state: SnoozeState, m: int) -> int:
    """Look at the windows one by one: done once an episode, so a step still costs O(1) amortised."""
    rule, sums = state.rule[0], state.sums
    shortest, longest = rule.shortest_window, m // 2
    for step in range(longest - shortest + 1):
        window = shortest + step if rule.smallest else longest - step
        if abs(sums[m] - sums[m - 2 * window]) > threshold_at(rule, window):
            return window
    return 0
