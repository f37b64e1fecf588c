"""Rexp3: Exp3, restarted every batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import FOREVER, check_between, check_drift, check_horizon, check_whole
from driftbandits._common.rewards import Rewards
from driftbandits.errors import InputError
from driftbandits.policies._parts.exponential import draw_arm, mix
from driftbandits.policies.base import Policy, Records, records

FAR = 30.0
"""Weights are rescaled when the largest leaves [e^-30, e^30]; they are kept in logarithms, so nothing is lost."""


class Rexp3State(NamedTuple):
    run: Records
    arms: Records


@dataclass(frozen=True)
class Rexp3(Policy):
    """Exp3 restarted every ``batch`` steps (Besbes, Gur and Zeevi), for a total drift of V = delta T.

    p_k = (1 - gamma) w_k / W + gamma / K; after reward X of arm k, w_k <- w_k exp(gamma X / (p_k K)). Tuning:
    batch = ceil((K ln K)^(1/3) (T/V)^(2/3)), gamma = min(1, sqrt(K ln K / ((e - 1) batch))). It must know V and T, or
    be given ``batch``. Rewards beyond [0, 1] are learnt as they are. A step costs O(K).

    Compared with a public implementation, not with the paper's text: rule, gamma and batch agree with YRussac/LB-SDA,
    which rounds the batch down and adds 1.

    Citation: O. Besbes, Y. Gur, A. Zeevi, "Stochastic Multi-Armed-Bandit Problem with Non-stationary Rewards",
    NeurIPS 2014.

    >>> Rexp3(horizon=162_755, drift=1 / 4_800).parameters(2)["batch"]
    318
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int | None = None
    drift: float | None = None
    batch: int | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        if self.batch is None:
            if self.horizon is None or self.drift is None:
                raise InputError("Rexp3 needs horizon and drift to choose its batch, or batch=... itself")
            check_horizon(self.horizon)
            check_drift(self.drift)
            if self.drift == 0:
                raise InputError(
                    "Rexp3's batch is (T/V)^(2/3) with V = drift * T, undefined for drift=0: give batch=..."
                )
        else:
            check_whole("batch", self.batch, 1, FOREVER)
        check_between("gamma", self.gamma, 1e-12, 1.0, optional=True)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The batch length and gamma."""
        spread = n_arms * math.log(n_arms)
        batch = self.batch
        if batch is None:
            assert self.drift is not None
            batch = math.ceil(min(spread ** (1 / 3) * (1 / self.drift) ** (2 / 3), FOREVER))
        gamma = min(1.0, math.sqrt(spread / ((math.e - 1) * batch))) if self.gamma is None else self.gamma
        return {"batch": int(batch), "gamma": gamma}

    def init(self, n_arms: int) -> Rexp3State:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        state = Rexp3State(
            records(1, batch="i8", gamma="f8", played="i8", largest="f8"),
            records(n_arms, log_weight="f8", weight="f8", probability="f8"),
        )
        state.run.batch, state.run.gamma = chosen["batch"], chosen["gamma"]
        _restart(state)
        return state

    def select(self, state: Rexp3State, rng: np.random.Generator) -> int:
        return draw_arm(state.arms, rng)

    def probabilities(self, state: Rexp3State) -> Array:
        return np.asarray(state.arms.probability)

    def update(self, state: Rexp3State, arm: int, reward: float) -> None:
        run, arms = state.run[0], state.arms
        run.played += 1
        if run.played == run.batch:
            _restart(state)
            return
        pulled = arms[arm]
        pulled.log_weight += run.gamma * reward / (pulled.probability * len(arms))
        if abs(pulled.log_weight - run.largest) > FAR:
            _rescale(state)
        else:
            pulled.weight = math.exp(pulled.log_weight - run.largest)
        total = 0.0
        for index in range(len(arms)):
            total += arms[index].weight
        mix(arms, total, run.gamma)


def _restart(state: Rexp3State) -> None:
    state.run[0].played = 0
    state.run[0].largest = 0.0
    for arm in range(len(state.arms)):
        state.arms[arm].log_weight = 0.0
        state.arms[arm].weight = 1.0
    mix(state.arms, len(state.arms), state.run[0].gamma)


def _rescale(state: Rexp3State) -> None:
    """Measure every weight against the largest."""
    largest = state.arms[0].log_weight
    for arm in range(len(state.arms)):
        largest = max(largest, state.arms[arm].log_weight)
    state.run[0].largest = largest
    for arm in range(len(state.arms)):
        state.arms[arm].weight = math.exp(state.arms[arm].log_weight - largest)
