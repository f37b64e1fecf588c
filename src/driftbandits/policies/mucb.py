"""M-UCB: UCB1 that restarts when the halves of some arm's last rewards differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import check_whole, shown
from driftbandits._common.rewards import Rewards
from driftbandits.errors import InputError
from driftbandits.policies._parts.detection import check_detection
from driftbandits.policies._parts.ucb import highest_index
from driftbandits.policies.base import Policy, Records, records

NEVER = 1 << 60
TUNINGS = ("authors", "besson")
LONGEST_WINDOW = 1_000_000
"""Of every arm so many rewards are kept, from the start."""


class MUCBState(NamedTuple):
    """``recent[a, i]`` holds arm a's rewards since the restart number i, i + w, ...: the last w of them."""

    run: Records
    arms: Records
    recent: np.ndarray[Any, np.dtype[np.float64]]
    event: Records


@dataclass(frozen=True)
class MUCB(Policy):
    """M-UCB (Cao, Wen, Kveton, Xie): at every step the arm just pulled is monitored, and a change restarts all arms.

    With tau the last restart and place = (t - tau) mod floor(K/exploration), a place in 1..K pulls that arm. Otherwise
    the arm with the largest mean + sqrt(2 ln(t - tau) / N), over its N rewards since tau; an arm without any goes
    first, ties go to the lowest. A change is seen when an arm's last w (``window``) rewards since tau are complete and
    the sums of their older and newer halves differ by more than ``threshold`` = b.

    Tuning for S changes in T steps: b = sqrt((w/2) ln(2 K T^2)), exploration = sqrt(S K (2b + 3 sqrt(w)) / (2T)), as in
    the authors' experiments; with ``tuning="besson"`` exploration = sqrt(S K ln(T) / T), which explores less and is
    what others found to work better. It must know T, S (``changes``), and a window: changes as small as 2b/w can be
    seen. w = 800 is the authors' in their experiments. Told ``drift`` instead of ``changes`` it takes S = delta
    T / (2b/w), how often a mean may have moved by so much: this tuning for slow drift is ours. A step costs O(K),
    whatever the window.

    Checked against the paper's text: Algorithms 1 and 2, b, and w and the exploration of its section 6 agree. Its
    Corollary 1 has min(w/2, ceil(b/d) + 3 sqrt(w)), d being the smallest change, in the place of 2b + 3 sqrt(w). The
    second tuning is that of YRussac/LB-SDA and EmilieKaufmann/PiecewiseStationaryBandits. The tuning by drift is ours.

    Citation: Y. Cao, Z. Wen, B. Kveton, Y. Xie, "Nearly Optimal Adaptive Procedure with Change Detection for
    Piecewise-Stationary Bandit", AISTATS 2019.

    >>> chosen = MUCB(horizon=100_000, changes=5, window=200).parameters(2)
    >>> round(chosen["threshold"], 2), round(chosen["exploration"], 4)
    (49.41, 0.084)
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int | None = None
    changes: int | None = None
    drift: float | None = None
    window: int = 800
    threshold: float | None = None
    exploration: float | None = None
    tuning: str = "authors"

    def __post_init__(self) -> None:
        check_detection(self)
        if self.tuning not in TUNINGS:
            raise InputError(f"unknown tuning {shown(self.tuning)}; choose one of {', '.join(TUNINGS)}")
        if check_whole("window", self.window, 2, LONGEST_WINDOW) % 2:
            raise InputError(f"window must be even, for its halves are compared; got {shown(self.window)}")

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The threshold b and the share of exploration."""
        threshold, exploration, w = self.threshold, self.exploration, self.window
        if self.horizon is not None:
            if threshold is None:
                threshold = math.sqrt(w / 2 * math.log(2 * n_arms * self.horizon**2))
            changes = 1.0 if self.changes is None else float(self.changes)
            if self.drift is not None:
                changes = max(1.0, self.drift * self.horizon * w / (2 * threshold))
            if exploration is None:
                share = changes * n_arms * math.log(self.horizon) / self.horizon
                if self.tuning == "authors":
                    share = changes * n_arms * (2 * threshold + 3 * math.sqrt(w)) / (2 * self.horizon)
                exploration = min(1.0, math.sqrt(share))
        assert threshold is not None
        assert exploration is not None
        return {"threshold": threshold, "exploration": exploration}

    def init(self, n_arms: int) -> MUCBState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        state = MUCBState(
            records(1, b="f8", period="i8", t="i8", start="i8"),
            records(n_arms, count="i8", total="f8", older="f8", newer="f8"),
            np.zeros((n_arms, int(self.window))),
            records(1, count="i8", step="i8", arm="i8", statistic="f8", threshold="f8"),
        )
        state.run.b = chosen["threshold"]
        state.run.period = int(min(n_arms / chosen["exploration"], NEVER)) if chosen["exploration"] > 0 else NEVER
        return state

    def select(self, state: MUCBState, rng: np.random.Generator) -> int:
        run, arms = state.run[0], state.arms
        elapsed = run.t - run.start
        place = (elapsed + 1) % run.period
        if 1 <= place <= len(arms):
            return place - 1  # type: ignore[no-any-return]
        return highest_index(arms, 2.0 * math.log(elapsed + 1))

    def update(self, state: MUCBState, arm: int, reward: float) -> None:
        run, pulled, recent = state.run[0], state.arms[arm], state.recent
        run.t += 1
        w = recent.shape[1]
        half = w // 2
        if pulled.count >= w:
            pulled.older -= recent[arm, pulled.count % w]
        if pulled.count >= half:
            middle = recent[arm, (pulled.count - half) % w]
            pulled.newer -= middle
            pulled.older += middle
        recent[arm, pulled.count % w] = reward
        pulled.newer += reward
        pulled.count += 1
        pulled.total += reward
        if pulled.count % w == 0:
            _refresh(state, arm)
        statistic = abs(pulled.newer - pulled.older)
        if pulled.count >= w and statistic > run.b:
            _restart(state, statistic)


def _refresh(state: MUCBState, arm: int) -> None:
    """Add the halves up again, once in each window's length, so that rounding never accumulates."""
    pulled, w = state.arms[arm], state.recent.shape[1]
    pulled.older = 0.0
    pulled.newer = 0.0
    for place in range(w // 2):
        pulled.older += state.recent[arm, place]
        pulled.newer += state.recent[arm, w // 2 + place]


def _restart(state: MUCBState, statistic: float) -> None:
    """A change was seen: write the event and forget all arms."""
    run, event = state.run[0], state.event[0]
    event.count += 1
    event.step = run.t
    event.arm = -1
    event.statistic = statistic
    event.threshold = run.b
    run.start = run.t
    for arm in range(len(state.arms)):
        state.arms[arm].count = 0
        state.arms[arm].total = 0.0
        state.arms[arm].older = 0.0
        state.arms[arm].newer = 0.0
