"""Exp3.S: Exp3 whose weights never vanish, because each receives a small share of their sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_between, check_drift, check_horizon
from driftbandits._common.rewards import Rewards
from driftbandits.errors import InputError
from driftbandits.policies._parts.exponential import draw_arm, mix
from driftbandits.policies.base import Policy, Records, records

TINY = 1e-300
"""No weight is let down to zero, from where no factor could bring it back; mixing usually keeps them far above."""


class Exp3SState(NamedTuple):
    run: Records
    arms: Records


@dataclass(frozen=True)
class Exp3S(Policy):
    """Exp3.S (Auer et al.) as Besbes, Gur and Zeevi tune it for a total drift of V = delta T.

    p_k = (1 - gamma) w_k / W + gamma / K; after reward X of arm k, every
    w_j <- w_j exp(gamma Xhat_j / K) + (e alpha / K) W, with Xhat_k = X / p_k, Xhat_j = 0 for the others, and W the sum
    before. Tuning: alpha = 1/T, gamma = min(1, (4 V K ln(K T) / ((e - 1)^2 T))^(1/3)). It must know V and T, or be
    given both. Rewards beyond [0, 1] are learnt as they are. A step costs O(K).

    The code released with the paper on SnoozeIt divides by 3 where a cube root is meant; ``gamma=...`` reproduces its
    figure.

    Compared with public implementations, not with the papers' texts: the rule with
    EmilieKaufmann/PiecewiseStationaryBandits and YRussac/LB-SDA. They tune it for B changes, with alpha = 1/T and
    gamma = min(1, sqrt(K (B ln(K T) + e) / ((e - 1) T))), which Besson's thesis (2019) says is Corollary 8.3 of Auer
    et al. The tuning by drift was in none of them.

    Citation: P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire, "The Nonstochastic Multiarmed Bandit Problem", SIAM J.
    Comput. 2002; tuning: O. Besbes, Y. Gur, A. Zeevi, "Optimal Exploration-Exploitation in a Multi-armed Bandit Problem
    with Non-stationary Rewards", Stochastic Systems 2019.

    >>> round(Exp3S(horizon=162_755, drift=1 / 4_800).parameters(2)["gamma"], 4)
    0.1928
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int | None = None
    drift: float | None = None
    alpha: float | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        if self.alpha is None or self.gamma is None:
            if self.horizon is None:
                raise InputError("Exp3S needs horizon, or both alpha=... and gamma=...")
            check_horizon(self.horizon)
        if self.gamma is None:
            if self.drift is None:
                raise InputError("Exp3S needs drift to choose gamma, or gamma=... itself")
            check_drift(self.drift)
            if self.drift == 0:
                raise InputError(
                    "Exp3S's gamma grows with V = drift * T, and drift=0 would stop exploring: give gamma=..."
                )
        check_between("alpha", self.alpha, 1e-15, 1.0, optional=True)
        check_between("gamma", self.gamma, 1e-12, 1.0, optional=True)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """alpha, the share of all weights that each takes, and gamma."""
        alpha, gamma = self.alpha, self.gamma
        if alpha is None:
            assert self.horizon is not None
            alpha = 1 / self.horizon
        if gamma is None:
            assert self.horizon is not None
            assert self.drift is not None
            cubed = 4 * self.drift * n_arms * math.log(n_arms * self.horizon) / (math.e - 1) ** 2
            gamma = min(1.0, cubed ** (1 / 3))
        return {"alpha": alpha, "gamma": gamma}

    def init(self, n_arms: int) -> Exp3SState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        state = Exp3SState(records(1, alpha="f8", gamma="f8"), records(n_arms, weight="f8", probability="f8"))
        state.run.alpha, state.run.gamma = chosen["alpha"], chosen["gamma"]
        state.arms.weight = 1 / n_arms
        mix(state.arms, 1.0, state.run[0].gamma)
        return state

    def select(self, state: Exp3SState, rng: np.random.Generator) -> int:
        return draw_arm(state.arms, rng)

    def probabilities(self, state: Exp3SState) -> Array:
        return np.asarray(state.arms.probability)

    def update(self, state: Exp3SState, arm: int, reward: float) -> None:
        run, arms = state.run[0], state.arms
        exponent = run.gamma * reward / (arms[arm].probability * len(arms))
        # Only ratios matter: a positive exponent shrinks all the others instead, so that nothing overflows.
        shrink = math.exp(-abs(exponent))
        own, others = (1.0, shrink) if exponent > 0.0 else (shrink, 1.0)
        share = others * math.e * run.alpha / len(arms)  # the weights sum to one before the update
        total = 0.0
        for index in range(len(arms)):
            factor = own if index == arm else others
            arms[index].weight = arms[index].weight * factor + share
            total += arms[index].weight
        scale = 1.0 / total
        for index in range(len(arms)):
            arms[index].weight = max(arms[index].weight * scale, TINY)
        mix(arms, 1.0, run.gamma)
