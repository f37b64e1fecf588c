"""Successive elimination: pull the arms in turn, and drop those that cannot be the best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import check_horizon
from driftbandits._common.rewards import Rewards
from driftbandits.policies.base import Policy, Records, records


class SuccessiveEliminationState(NamedTuple):
    run: Records
    arms: Records


@dataclass(frozen=True)
class SuccessiveElimination(Policy):
    """Pull every active arm once; then drop each whose upper bound is below another's lower bound; and so on.

    The bounds are mean +- sqrt(2 ln T / n) over all n pulls of an arm, for rewards in [0, 1] whose means do not move.
    It must know T. An arm that was dropped never comes back: SnoozeIt is what that becomes when means drift. A step
    costs O(1) on average, O(K) when a round ends.

    Citation: E. Even-Dar, S. Mannor, Y. Mansour, "Action Elimination and Stopping Conditions for the Multi-Armed Bandit
    and Reinforcement Learning Problems", JMLR 2006; for regret and with these bounds: A. Slivkins, "Introduction to
    Multi-Armed Bandits", 2019, section 1.3.

    >>> round(SuccessiveElimination(horizon=10_000).parameters(2)["radius_after_one_pull"], 4)
    4.2919
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int

    def __post_init__(self) -> None:
        check_horizon(self.horizon)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """sqrt(2 ln T), the radius after one pull; after n pulls it is 1/sqrt(n) of that."""
        return {"radius_after_one_pull": math.sqrt(2 * math.log(self.horizon))}

    def init(self, n_arms: int) -> SuccessiveEliminationState:
        self.check_arms(n_arms)
        state = SuccessiveEliminationState(
            records(1, radius="f8", next="i8", rounds="i8"), records(n_arms, total="f8", active="i8")
        )
        state.run.radius = self.parameters(n_arms)["radius_after_one_pull"]
        state.arms.active = 1
        return state

    def select(self, state: SuccessiveEliminationState, rng: np.random.Generator) -> int:
        return state.run[0].next  # type: ignore[no-any-return]

    def update(self, state: SuccessiveEliminationState, arm: int, reward: float) -> None:
        run, arms = state.run[0], state.arms
        arms[arm].total += reward
        run.next = _active_from(arms, arm + 1)
        if run.next == len(arms):
            run.rounds += 1
            _eliminate(arms, run.rounds, run.radius)
            run.next = _active_from(arms, 0)


def _active_from(arms: Records, first: int) -> int:
    """The lowest active arm from ``first`` on; K when there is none."""
    arm = first
    while arm < len(arms) and not arms[arm].active:
        arm += 1
    return arm


def _eliminate(arms: Records, rounds: int, radius: float) -> None:
    """All active arms have had ``rounds`` pulls; drop those more than two radii behind the leader."""
    leader = -np.inf
    for arm in range(len(arms)):
        if arms[arm].active:
            leader = max(leader, arms[arm].total)
    for arm in range(len(arms)):
        if arms[arm].total / rounds + radius / math.sqrt(rounds) < leader / rounds - radius / math.sqrt(rounds):
            arms[arm].active = 0
