"""CUSUM-UCB: UCB that forgets an arm when a two-sided CUSUM says that its mean has moved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import FOREVER, check_between, check_whole
from driftbandits._common.rewards import Rewards
from driftbandits.policies._parts.detection import check_detection
from driftbandits.policies._parts.ucb import highest_index
from driftbandits.policies.base import Policy, Records, records


class CUSUMUCBState(NamedTuple):
    run: Records
    arms: Records
    event: Records


@dataclass(frozen=True)
class CUSUMUCB(Policy):
    """CUSUM-UCB (Liu, Lee, Shroff): with probability ``exploration`` any arm, else that with the largest index.

    The index is mean + sqrt(xi ln n / N), over the N rewards of the arm since its last restart, n being the sum of all
    N; an arm without any goes first, ties go to the lowest. The first ``warmup`` = M rewards after a restart give a
    reference u. Each later reward X moves two walks, g_up <- max(0, g_up + X - u - epsilon) and
    g_down <- max(0, g_down + u - X - epsilon), and when one of them reaches ``threshold`` = h, the arm is restarted.

    Tuning for gamma changes in T steps: h = ln(T/gamma), exploration = sqrt((gamma/T) ln(T/gamma)), xi = 1; the paper's
    further constants depend on the unknown rewards, and are left out as Besson et al. (2022) do. It must know T, gamma
    (``changes``), and an epsilon below the smallest change; M = 100 and epsilon = 0.1 are
    our choice among what others take. Told ``drift``
    instead of ``changes`` it takes gamma = delta T / epsilon, how often a mean may have moved by epsilon: this tuning
    for slow drift is ours. A step costs O(K).

    Compared with three public implementations, not with the paper's text: h, the exploration and the walks g agree.
    They differ in M and epsilon: SMPyBandits has 100 and 0.01, EmilieKaufmann/PiecewiseStationaryBandits 200 or 400 and
    0.1, YRussac/LB-SDA 50 and 0.05. The last takes xi = 1/2 and pulls an arm M times first of all after its restart;
    the others do not. Besson's thesis (2019, chapter 6) gives h, the exploration and ln n in the index as the
    paper's. The tuning by drift is ours.

    Citation: F. Liu, J. Lee, N. Shroff, "A Change-Detection based Framework for Piecewise-stationary Multi-Armed Bandit
    Problem", AAAI 2018.

    >>> chosen = CUSUMUCB(horizon=100_000, changes=5).parameters(2)
    >>> round(chosen["threshold"], 3), round(chosen["exploration"], 4)
    (9.903, 0.0223)
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int | None = None
    changes: int | None = None
    drift: float | None = None
    epsilon: float = 0.1
    warmup: int = 100
    threshold: float | None = None
    exploration: float | None = None
    xi: float = 1.0

    def __post_init__(self) -> None:
        check_detection(self)
        check_between("epsilon", self.epsilon, 1e-12, 1e12)
        check_whole("warmup", self.warmup, 1, FOREVER)
        check_between("xi", self.xi, 0.0, 1e12)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The threshold h and the share of exploration."""
        threshold, exploration = self.threshold, self.exploration
        if self.horizon is not None:
            changes = 1.0 if self.changes is None else float(self.changes)
            if self.drift is not None:
                changes = self.drift * self.horizon / self.epsilon
            changes = min(max(changes, 1.0), float(self.horizon))
            log_ratio = math.log(self.horizon / changes)
            threshold = log_ratio if threshold is None else threshold
            if exploration is None:
                exploration = min(1.0, math.sqrt(changes / self.horizon * log_ratio))
        assert threshold is not None
        assert exploration is not None
        return {"threshold": threshold, "exploration": exploration}

    def init(self, n_arms: int) -> CUSUMUCBState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        state = CUSUMUCBState(
            records(1, h="f8", alpha="f8", t="i8", valid="i8"),
            records(n_arms, count="i8", total="f8", reference="f8", rise="f8", fall="f8"),
            records(1, count="i8", step="i8", arm="i8", statistic="f8", threshold="f8"),
        )
        state.run.h, state.run.alpha = chosen["threshold"], chosen["exploration"]
        return state

    def select(self, state: CUSUMUCBState, rng: np.random.Generator) -> int:
        arms = state.arms
        if rng.random() < state.run[0].alpha:
            return int(rng.random() * len(arms))
        return highest_index(arms, self.xi * math.log(max(state.run[0].valid, 1)))

    def probabilities(self, state: CUSUMUCBState) -> Array:
        n_arms, alpha = len(state.arms), float(state.run[0].alpha)
        found = np.full(n_arms, alpha / n_arms)
        found[highest_index(state.arms, self.xi * math.log(max(state.run[0].valid, 1)))] += 1.0 - alpha
        return found

    def update(self, state: CUSUMUCBState, arm: int, reward: float) -> None:
        run, pulled = state.run[0], state.arms[arm]
        run.t += 1
        run.valid += 1
        pulled.count += 1
        pulled.total += reward
        if pulled.count <= self.warmup:
            pulled.reference = pulled.total / pulled.count
            return
        lead = reward - pulled.reference
        pulled.rise = max(0.0, pulled.rise + lead - self.epsilon)
        pulled.fall = max(0.0, pulled.fall - lead - self.epsilon)
        statistic = max(pulled.rise, pulled.fall)
        if statistic >= run.h:
            event = state.event[0]
            event.count += 1
            event.step = run.t
            event.arm = arm
            event.statistic = statistic
            event.threshold = run.h
            run.valid -= pulled.count
            pulled.count = 0
            pulled.total = 0.0
            pulled.rise = 0.0
            pulled.fall = 0.0
