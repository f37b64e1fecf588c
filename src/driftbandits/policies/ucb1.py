"""UCB1: the mean, and a bonus that shrinks with every pull."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.rewards import Rewards
from driftbandits.policies._parts.ucb import highest_index
from driftbandits.policies.base import Policy, Records, records


class UCB1State(NamedTuple):
    run: Records
    arms: Records


@dataclass(frozen=True)
class UCB1(Policy):
    """UCB1 (Auer, Cesa-Bianchi, Fischer): pull the arm with the largest mean + sqrt(2 ln t / n).

    Mean and count n are taken over all the arm's pulls, t is the number of pulls of all arms so far. Every arm is
    pulled once first; ties go to the lowest arm. It is made for rewards in [0, 1] whose means do not move, and forgets
    nothing. It must know nothing, and has no tuning. A step costs O(K).

    Citation: P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem", Machine
    Learning 2002.
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED
    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    def init(self, n_arms: int) -> UCB1State:
        self.check_arms(n_arms)
        return UCB1State(records(1, t="i8"), records(n_arms, count="i8", total="f8", off="i8"))

    def select(self, state: UCB1State, rng: np.random.Generator) -> int:
        return highest_index(state.arms, 2.0 * math.log(max(state.run[0].t, 1)))

    def update(self, state: UCB1State, arm: int, reward: float) -> None:
        state.run[0].t += 1
        state.arms[arm].count += 1
        state.arms[arm].total += reward
