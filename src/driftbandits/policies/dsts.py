"""DS-TS: discounted Thompson sampling with Gaussian draws whose deviation is capped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftbandits._common.checks import FOREVER, check_between, check_horizon, check_whole
from driftbandits._common.rewards import Rewards
from driftbandits.errors import InputError
from driftbandits.policies._parts.discount import SMALLEST_DISCOUNT, DiscountState, discount_and_add, start_discount
from driftbandits.policies._parts.largest import keep_largest
from driftbandits.policies.base import Policy

FORGOTTEN = 1e-8
"""An arm with a smaller discounted count is drawn as if it had never been pulled, as in the authors' code."""


@dataclass(frozen=True)
class DSTS(Policy):
    """DS-TS (Qi, Wang, Zhu): draw a mean for every arm from N(X/N, min(1/N, cap^2)), and pull the largest.

    A pull s steps ago weighs discount^s; X is an arm's sum of rewards and N its count, so weighted. The deviation is
    never more than ``cap``, the authors' tau_max, for which they take a fifth of the largest mean that is possible. An
    arm with N below 1e-8, so also one never pulled, is drawn from N(X, cap^2), where X is next to 0: it is tried soon
    only if the means of the others are small or the cap is large. For rewards in [0, 1]; the noise's deviation has no
    part in the draws.

    Tuning: discount = 1 - sqrt(B/T) for B changes (``changes``), and 1 - 10/sqrt(T) where means move smoothly. It must
    know T, and B if means jump, or be given ``discount``. A step costs O(K).

    Checked against the authors' code (github.com/qh1874/nonmab), which settles all but one thing: for jumps its
    settings have 1 - 10 sqrt(B/T), while the discount that is quoted from the paper, and used here, lacks the 10.
    ``DiscountedTS`` is another policy: its draws have the noise's deviation and no cap, and its discount is tuned to
    delta.

    Citation: H. Qi, Y. Wang, L. Zhu, "Discounted Thompson Sampling for Non-Stationary Bandit Problems", arXiv
    2305.10718.

    >>> DSTS(horizon=10_000).parameters(2)
    {'discount': 0.9, 'cap': 0.2}
    >>> DSTS(horizon=10_000, changes=4).parameters(2)["discount"]
    0.98
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED
    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    horizon: int | None = None
    changes: int | None = None
    discount: float | None = None
    cap: float = 0.2

    def __post_init__(self) -> None:
        check_between("cap", self.cap, 1e-9, 1e9)
        check_between("discount", self.discount, SMALLEST_DISCOUNT, 1.0, optional=True)
        if self.changes is not None:
            check_whole("changes", self.changes, 1, FOREVER)
        if self.horizon is not None:
            check_horizon(self.horizon)
        elif self.discount is None:
            raise InputError("DSTS needs horizon to choose its discount, or discount=... itself")

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The discount and the cap."""
        discount = self.discount
        if discount is None:
            assert self.horizon is not None
            forgotten = 10 / math.sqrt(self.horizon) if self.changes is None else math.sqrt(self.changes / self.horizon)
            discount = max(1 - forgotten, SMALLEST_DISCOUNT)
        return {"discount": discount, "cap": self.cap}

    def init(self, n_arms: int) -> DiscountState:
        self.check_arms(n_arms)
        return start_discount(n_arms, self.parameters(n_arms)["discount"])

    def select(self, state: DiscountState, rng: np.random.Generator) -> int:
        scale = 1.0 / state.run[0].weight
        best, best_draw = 0, -np.inf
        for arm in range(len(state.arms)):
            if state.arms[arm].off:
                continue
            count, mean, deviation = scale * state.arms[arm].count, scale * state.arms[arm].total, self.cap
            if count >= FORGOTTEN:
                mean /= count
                deviation = min(1.0 / math.sqrt(count), self.cap)
            drawn = mean + deviation * rng.standard_normal()
            best, best_draw = keep_largest(best, best_draw, arm, drawn)
        return best

    def update(self, state: DiscountState, arm: int, reward: float) -> None:
        discount_and_add(state, arm, reward)
