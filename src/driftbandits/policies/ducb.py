"""D-UCB: UCB with discounted means and counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftbandits._common.checks import check_between, check_tuning_drift
from driftbandits._common.rewards import Rewards
from driftbandits.policies._parts.detection import check_changes
from driftbandits.policies._parts.discount import SMALLEST_DISCOUNT, DiscountState, discount_and_add, start_discount
from driftbandits.policies._parts.ucb import highest_index
from driftbandits.policies.base import Policy


@dataclass(frozen=True)
class DUCB(Policy):
    """D-UCB (Garivier and Moulines): pull the arm with the largest X/N + 2 sqrt(xi ln n / N).

    X is the arm's discounted sum of rewards and N its discounted count, in which a pull s steps ago weighs discount^s;
    n is the sum of all N. Every arm is pulled once first; ties go to the lowest arm. For rewards in [0, 1]. Their
    theorem asks for xi > 1/2, and xi = 2/3 is what others take. Tuning: discount = 1 - sqrt(B/T)/4 for B changes
    (``changes``), and for a total drift of V = delta T (Wei and Srivastava) 1 - discount = K^(-1/3) (T/V)^(-2/3) =
    K^(-1/3) delta^(2/3). It must know delta, or T and B, or be given ``discount``, which drift=0 would leave at 1. A
    step costs O(K).

    Compared with public implementations, not with the papers' texts: index and xi with qh1874/nonmab, the discount for
    B changes with it, with SMPyBandits, YRussac/LB-SDA and EmilieKaufmann/PiecewiseStationaryBandits. The paper of
    M-UCB and Besson's thesis (2019) attribute that discount to Garivier and Moulines too; the former takes xi = 1/2
    with it. The tuning by drift is from memory of the paper.

    Citation: A. Garivier, E. Moulines, "On Upper-Confidence Bound Policies for Switching Bandit Problems", ALT 2011;
    tuning: L. Wei, V. Srivastava, "Nonstationary Stochastic Multiarmed Bandits: UCB Policies and Minimax Regret", 2021.

    >>> round(DUCB(drift=1 / 4_800).parameters(2)["discount"], 6)
    0.997211
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED
    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    drift: float | None = None
    discount: float | None = None
    xi: float = 2 / 3
    horizon: int | None = None
    changes: int | None = None

    def __post_init__(self) -> None:
        check_between("discount", self.discount, SMALLEST_DISCOUNT, 1.0, optional=True)
        check_between("xi", self.xi, 0.0, 1e6)
        check_changes(self)
        if self.discount is None and self.changes is None:
            check_tuning_drift("DUCB", "discount", self.drift)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The discount and xi."""
        discount = self.discount
        if discount is None and self.changes is not None:
            assert self.horizon is not None
            discount = max(1 - math.sqrt(self.changes / self.horizon) / 4, SMALLEST_DISCOUNT)
        elif discount is None:
            assert self.drift is not None
            discount = max(1 - n_arms ** (-1 / 3) * self.drift ** (2 / 3), SMALLEST_DISCOUNT)
        return {"discount": discount, "xi": self.xi}

    def init(self, n_arms: int) -> DiscountState:
        self.check_arms(n_arms)
        return start_discount(n_arms, self.parameters(n_arms)["discount"], pulls="f8")

    def select(self, state: DiscountState, rng: np.random.Generator) -> int:
        run = state.run[0]
        return highest_index(state.arms, 4.0 * self.xi * math.log(max(run.pulls, 1.0)) * run.weight)

    def update(self, state: DiscountState, arm: int, reward: float) -> None:
        run = state.run[0]
        run.pulls = run.pulls / run.growth + 1.0
        discount_and_add(state, arm, reward)
