"""SnoozeItTight: SnoozeIt with the narrowest radius its proof allows, and the latest moment to wake up."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftbandits._common.checks import LARGEST_CONFIDENCE, check_drift, check_factor, check_horizon
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
from driftbandits.theory.constants import PASS, RHO
from driftbandits.theory.feasibility import why_never_tight


@dataclass(frozen=True)
class SnoozeItTight(Policy):
    """SnoozeIt for two arms whose means move by at most ``drift`` a step, with tighter constants.

    As in SnoozeIt, an episode pulls the arms in turn (active phase) until a test passes, and then perhaps one of them
    only (passive phase). With L = ln T and r(w) = confidence * sqrt(3 L/w), let D(w) be the difference of the means of
    the arms' last w pulls in the episode. The test passes at time g when |D(w)| > 1.5 r(w) for some w. Then the arm
    ahead has at g, with high probability, a lead of at least

        lead = max over w of |D(w)| - r(w) - (2w - 1) delta,

    and since leads shrink by at most 2 delta a step, the other arm is snoozed for floor(lead/(2 delta)) steps. If that
    is none, a new episode begins at once. With ``confidence`` = 1 and probability 1 - 1/T or more, a snoozed arm is
    never the better one; the proof is in ``docs/beyond-the-paper.md``. Less makes the test more eager, and unproved.
    Expected regret is at most ``bounds.snoozeit_tight(T, delta)``, about 2.86 (delta L)^(1/3) T, where the paper's
    theorem for SnoozeIt has 4.76; see ``docs/proofs-beyond.md``.

    It must know T and delta, and rewards should be 1/2-sub-Gaussian. With delta = 0 a snooze never ends. A step costs
    O(1) amortised, as in SnoozeIt.

    Citation: this package; after R. Krishnamurthy, A. Gopalan, "On Slowly-varying Non-stationary Bandits", 2021.
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int
    drift: float
    confidence: float = 1.0

    arms: ClassVar[tuple[int, float]] = (2, 2)
    snoozes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_drift(self.drift)
        check_factor("confidence", self.confidence, LARGEST_CONFIDENCE)
        if (why := self.why_never()) is not None:
            warnings.warn(why, FeasibilityWarning, stacklevel=3)

    def why_never(self, instance: Instance | None = None) -> str | None:
        """Why no arm is ever snoozed, if so."""
        known = None if instance is None or instance.available is not None else instance
        return why_never_tight("SnoozeItTight", self.horizon, self.drift, self.confidence, known)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """r(1), and C of the threshold C sqrt(w) on sums of differences."""
        radius = self.confidence * math.sqrt(RHO * math.log(self.horizon))
        return {"radius": radius, "threshold": PASS * radius}

    def init(self, n_arms: int) -> SnoozeState:
        self.check_arms(n_arms)
        rule = records(1, shortest_window="i8", threshold="f8", slack="f8", first_threshold="f8", radius="f8")
        for name, value in self.parameters(n_arms).items():
            rule[name] = value
        rule.shortest_window = 1
        rule.first_threshold = threshold_at(rule[0], 1)
        return start_windows(rule, lead="f8")

    def reserve(self, state: SnoozeState, steps: int) -> SnoozeState:
        """Room for the current active phase and ``steps`` more; gives back what an ended phase left behind."""
        return with_room(state, steps)

    def has_room(self, state: SnoozeState, steps: int) -> bool:
        return has_room(state, steps)

    def belief(self, state: SnoozeState) -> Belief:
        return windows_belief(state, float(state.event[0].lead))

    def select(self, state: SnoozeState, rng: np.random.Generator) -> int:
        return state.run[0].next  # type: ignore[no-any-return]

    def update(self, state: SnoozeState, arm: int, reward: float) -> None:
        run = state.run[0]
        run.t += 1
        if run.snoozed >= 0:
            if run.t >= run.wake:
                run.next = 1 - arm
                begin_episode(state)
            return
        m = run.t - run.start
        state.sums[m] = state.sums[m - 1] + (reward if arm == 0 else -reward)
        run.next = 1 - arm
        if m >= 2 and some_window_is_near(state, m) and _note_passing(state, m, self.drift):
            _conclude(state, self.drift)


def _note_passing(state: SnoozeState, m: int, drift: float) -> bool:
    """Whether some window passes; if so, the window that promises the largest lead is in the event."""
    rule, sums, event = state.rule[0], state.sums, state.event[0]
    passes, best, largest = False, 0, -np.inf
    for window in range(1, m // 2 + 1):
        difference = abs(sums[m] - sums[m - 2 * window])
        passes = passes or difference > threshold_at(rule, window)
        lead = difference / window - rule.radius / math.sqrt(window) - (2 * window - 1) * drift
        if lead > largest:
            best, largest = window, lead
    if passes:
        event.window = best
        event.lead = largest
        event.arm = 0 if sums[m] >= sums[m - 2 * best] else 1
    return passes


def _conclude(state: SnoozeState, drift: float) -> None:
    """The test passed: write the event, and snooze the arm behind or end the episode."""
    run, event = state.run[0], state.event[0]
    steps = 0.0
    if event.lead > 0.0:
        steps = np.floor(event.lead / (2.0 * drift)) if drift > 0.0 else np.inf
    event.count += 1
    event.start = run.start
    event.passed = run.t
    event.snoozed = 1 if steps >= 1.0 else 0
    event.until = run.t + steps
    if event.snoozed:
        run.snoozed = 1 - event.arm
        run.wake = event.until
        run.next = event.arm
    else:
        begin_episode(state)
