"""Discounted Thompson sampling: posteriors that widen again as their pulls grow old."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftbandits._common.checks import check_between, check_tuning_drift
from driftbandits._common.rewards import Rewards, rewards_for
from driftbandits.policies._parts.discount import SMALLEST_DISCOUNT, DiscountState, discount_and_add, start_discount
from driftbandits.policies._parts.posteriors import check_posterior, highest_beta, highest_gaussian
from driftbandits.policies.base import Policy


@dataclass(frozen=True)
class DiscountedTS(Policy):
    """Discounted Thompson sampling: draw a mean for every arm from its posterior, and pull the largest.

    A pull s steps ago weighs discount^s. With X an arm's sum of rewards and N its count, so weighted:

    - ``posterior="gaussian"``: N(X/N, sigma^2/N), from a flat prior, so an arm never pulled goes first. sigma bounds
      the standard deviation of the rewards: 1/2 fits everything in [0, 1].
    - ``posterior="beta"`` (Raj and Kalyani): Beta(1 + X, 1 + N - X), for rewards of 0 and 1; a reward between is added
      as the fraction it is.

    Tuning: discount = 1 - delta^(2/3), so that pulls are remembered for as long as in SWTS's window. It must know
    delta, or be given ``discount``, which drift=0 would leave at 1. A step costs O(K).

    The Beta form is published. The Gaussian form and the tuning to delta are this package's: the DS-TS of Qi, Wang and
    Zhu draws otherwise and is ``DSTS`` here.

    Citation: V. Raj, S. Kalyani, "Taming Non-stationary Bandits: A Bayesian Approach", arXiv 1707.09727, for the Beta
    form; this package for the Gaussian one.

    >>> round(DiscountedTS(drift=1 / 4_800).parameters(2)["discount"], 6)
    0.996486
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    drift: float | None = None
    discount: float | None = None
    posterior: str = "gaussian"
    sigma: float = 0.5

    def __post_init__(self) -> None:
        check_posterior(self.posterior, self.sigma)
        check_between("discount", self.discount, SMALLEST_DISCOUNT, 1.0, optional=True)
        if self.discount is None:
            check_tuning_drift("DiscountedTS", "discount", self.drift)

    @property
    def rewards(self) -> Rewards:
        """Those in [0, 1] for Beta posteriors; near them, where the discount is tuned to the drift there."""
        if self.posterior == "beta":
            return Rewards.UNIT
        return Rewards.SCALED if self.discount is None else rewards_for(self.sigma)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The discount and, where it is used, sigma."""
        discount = self.discount
        if discount is None:
            assert self.drift is not None
            discount = max(1 - self.drift ** (2 / 3), SMALLEST_DISCOUNT)
        chosen = {"discount": discount}
        return {**chosen, "sigma": self.sigma} if self.posterior == "gaussian" else chosen

    def init(self, n_arms: int) -> DiscountState:
        self.check_arms(n_arms)
        state = start_discount(n_arms, self.parameters(n_arms)["discount"], beta="i8")
        state.run.beta = self.posterior == "beta"
        return state

    def select(self, state: DiscountState, rng: np.random.Generator) -> int:
        run = state.run[0]
        if run.beta:
            return highest_beta(state.arms, 1.0 / run.weight, rng)
        return highest_gaussian(state.arms, 1.0 / run.weight, 0.0, self.sigma, rng)

    def update(self, state: DiscountState, arm: int, reward: float) -> None:
        discount_and_add(state, arm, reward)
