"""Uniform: every arm with the same probability, always."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.policies.base import Policy, Records, records


class UniformState(NamedTuple):
    run: Records


@dataclass(frozen=True)
class Uniform(Policy):
    """Each arm with probability 1/K, whatever the rewards are. It must know nothing.

    Citation: none; the plainest random baseline there is.
    """

    any_order: ClassVar[bool] = True

    def init(self, n_arms: int) -> UniformState:
        self.check_arms(n_arms)
        state = UniformState(records(1, n_arms="i8"))
        state.run.n_arms = n_arms
        return state

    def select(self, state: UniformState, rng: np.random.Generator) -> int:
        return int(rng.random() * state.run[0].n_arms)

    def probabilities(self, state: UniformState) -> Array:
        n_arms = int(state.run[0].n_arms)
        return np.full(n_arms, 1.0 / n_arms)

    def update(self, state: UniformState, arm: int, reward: float) -> None:
        pass
