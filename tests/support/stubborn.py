"""A policy that is no Policy."""

from __future__ import annotations

import numpy as np


class Stubborn:
    """A plain object, with no knowledge of numba."""

    def init(self, n_arms: int) -> list[int]:
        return [0] * n_arms

    def select(self, state: list[int], rng: np.random.Generator) -> int:
        return int(np.argmin(state))

    def update(self, state: list[int], arm: int, reward: float) -> None:
        state[arm] += 1
