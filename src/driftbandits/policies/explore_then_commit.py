"""Explore-then-commit: every arm equally often, then the best of them forever."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftbandits._common.checks import FOREVER, check_horizon, check_whole
from driftbandits.errors import InputError
from driftbandits.policies.base import Policy, Records, records


class ExploreThenCommitState(NamedTuple):
    run: Records
    arms: Records


@dataclass(frozen=True)
class ExploreThenCommit(Policy):
    """Pull the arms in turn, each ``pulls`` times; from then on pull the one with the largest mean (lowest of equals).

    Tuning, for rewards in [0, 1] whose means do not move: pulls = ceil((T/K)^(2/3) (ln T)^(1/3)), for a regret of
    O(T^(2/3) (K ln T)^(1/3)). It must know T, or be given ``pulls``. It never explores again, so under drift its regret
    is linear: the baseline for what forgetting is worth. A step costs O(1).

    Citation: A. Slivkins, "Introduction to Multi-Armed Bandits", Foundations and Trends in Machine Learning 2019,
    section 1.2 ("explore-first").

    >>> ExploreThenCommit(horizon=162_755).parameters(2)
    {'pulls': 4300}
    """

    horizon: int | None = None
    pulls: int | None = None

    def __post_init__(self) -> None:
        if self.pulls is not None:
            check_whole("pulls", self.pulls, 1, FOREVER)
        elif self.horizon is None:
            raise InputError("ExploreThenCommit needs horizon to choose its pulls, or pulls=... itself")
        else:
            check_horizon(self.horizon)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """How often every arm is pulled before it commits."""
        if self.pulls is not None:
            return {"pulls": int(self.pulls)}
        assert self.horizon is not None
        share = self.horizon / n_arms
        return {"pulls": max(1, math.ceil(share ** (2 / 3) * math.log(self.horizon) ** (1 / 3)))}

    def init(self, n_arms: int) -> ExploreThenCommitState:
        self.check_arms(n_arms)
        state = ExploreThenCommitState(records(1, next="i8", rounds_left="i8"), records(n_arms, total="f8"))
        state.run.rounds_left = self.parameters(n_arms)["pulls"]
        return state

    def select(self, state: ExploreThenCommitState, rng: np.random.Generator) -> int:
        return state.run[0].next  # type: ignore[no-any-return]

    def update(self, state: ExploreThenCommitState, arm: int, reward: float) -> None:
        run, arms = state.run[0], state.arms
        if run.rounds_left == 0:
            return
        arms[arm].total += reward
        run.next = arm + 1
        if run.next == len(arms):
            run.next = 0
            run.rounds_left -= 1
            if run.rounds_left == 0:
                for index in range(1, len(arms)):
                    if arms[index].total > arms[run.next].total:
                        run.next = index
