"""Round robin: every arm in turn. What SnoozeIt is while its test has not passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftbandits.policies.base import Policy, Records, records


class RoundRobinState(NamedTuple):
    run: Records


@dataclass(frozen=True)
class RoundRobin(Policy):
    """Arm 0, 1, ..., K-1, 0, ... whatever the rewards are. It must know nothing.

    Citation: none; the plainest baseline there is.
    """

    def init(self, n_arms: int) -> RoundRobinState:
        self.check_arms(n_arms)
        state = RoundRobinState(records(1, next="i8", n_arms="i8"))
        state.run.n_arms = n_arms
        return state

    def select(self, state: RoundRobinState, rng: np.random.Generator) -> int:
        return state.run[0].next  # type: ignore[no-any-return]

    def update(self, state: RoundRobinState, arm: int, reward: float) -> None:
        run = state.run[0]
        run.next = arm + 1 if arm + 1 < run.n_arms else 0
