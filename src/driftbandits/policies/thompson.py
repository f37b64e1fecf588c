"""Thompson sampling: pull each arm as often as it seems likely to be the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.rewards import Rewards
from driftbandits.policies._parts.posteriors import check_posterior, highest_beta, highest_gaussian
from driftbandits.policies.base import Policy, Records, records


class ThompsonSamplingState(NamedTuple):
    run: Records
    arms: Records


@dataclass(frozen=True)
class ThompsonSampling(Policy):
    """Draw a mean for every arm from its posterior, and pull the arm with the largest (Agrawal and Goyal).

    With n pulls of an arm and S the sum of their rewards:

    - ``posterior="gaussian"``: N(S/(n + 1), sigma^2/(n + 1)), from the prior N(0, sigma^2). The authors take sigma = 1
      for rewards in [0, 1].
    - ``posterior="beta"``: Beta(1 + S, 1 + n - S), from the uniform prior, for rewards of 0 and 1. A reward between is
      added as the fraction it is, where the authors would toss a coin of that probability.

    Made for means that do not move; it forgets nothing. It must know nothing, or sigma. A step costs O(K).

    Citation: W. Thompson, Biometrika 1933; S. Agrawal, N. Goyal, "Further Optimal Regret Bounds for Thompson Sampling",
    AISTATS 2013.
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    posterior: str = "gaussian"
    sigma: float = 1.0

    def __post_init__(self) -> None:
        check_posterior(self.posterior, self.sigma)

    @property
    def rewards(self) -> Rewards:
        """Those in [0, 1] for Beta posteriors; the prior of Gaussian ones has means near 0."""
        return Rewards.UNIT if self.posterior == "beta" else Rewards.SCALED

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The pulls that the prior is worth and, where it is used, sigma."""
        return {"prior_pulls": 1, "sigma": self.sigma} if self.posterior == "gaussian" else {"prior_pulls": 2}

    def init(self, n_arms: int) -> ThompsonSamplingState:
        self.check_arms(n_arms)
        state = ThompsonSamplingState(records(1, beta="i8"), records(n_arms, count="i8", total="f8", off="i8"))
        state.run.beta = self.posterior == "beta"
        return state

    def select(self, state: ThompsonSamplingState, rng: np.random.Generator) -> int:
        if state.run[0].beta:
            return highest_beta(state.arms, 1.0, rng)
        return highest_gaussian(state.arms, 1.0, 1.0, self.sigma, rng)

    def update(self, state: ThompsonSamplingState, arm: int, reward: float) -> None:
        state.arms[arm].count += 1
        state.arms[arm].total += reward
