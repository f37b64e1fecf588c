"""SW-TS: Thompson sampling that remembers a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftbandits._common.checks import FOREVER, check_tuning_drift, check_whole
from driftbandits._common.rewards import Rewards, rewards_for
from driftbandits.policies._parts.posteriors import check_posterior, highest_beta, highest_gaussian
from driftbandits.policies._parts.window import WindowState, drift_window, holds, make_room, slide, start_window
from driftbandits.policies.base import Policy


@dataclass(frozen=True)
class SWTS(Policy):
    """Sliding-window Thompson sampling: draw a mean for every arm from its posterior, and pull the largest.

    With n pulls of an arm in the last ``window`` steps and S the sum of their rewards:

    - ``posterior="gaussian"`` (Qi, Guo, Zhu): N(S/n, sigma^2/n), from a flat prior, so an arm not pulled in the window
      goes first. sigma bounds the standard deviation of the rewards: 1/2 fits everything in [0, 1].
    - ``posterior="beta"`` (Trovo et al.): Beta(1 + S, 1 + n - S), for rewards of 0 and 1; a reward between is added as
      the fraction it is.

    Tuning: window = ceil(delta^(-2/3)), at which the drift over a window equals the noise of its mean; at least K, so
    that there is room for every arm. It must know delta, or be given ``window``. A step costs O(K), whatever the
    window.

    Citation: F. Trovo, S. Paladino, M. Restelli, N. Gatti, "Sliding-Window Thompson Sampling for Non-Stationary
    Settings", JAIR 2020; H. Qi, F. Guo, L. Zhu, "Thompson Sampling for Non-Stationary Bandit Problems", Entropy 2025.

    >>> SWTS(drift=1 / 4_800).parameters(2)
    {'window': 285, 'sigma': 0.5}
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    drift: float | None = None
    window: int | None = None
    posterior: str = "gaussian"
    sigma: float = 0.5

    def __post_init__(self) -> None:
        check_posterior(self.posterior, self.sigma)
        if self.window is None:
            check_tuning_drift("SWTS", "window", self.drift)
        else:
            check_whole("window", self.window, 1, FOREVER)

    @property
    def rewards(self) -> Rewards:
        """Those in [0, 1] for Beta posteriors; near them, where the window is tuned to the drift there."""
        if self.posterior == "beta":
            return Rewards.UNIT
        return Rewards.SCALED if self.window is None else rewards_for(self.sigma)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The window and, where it is used, sigma."""
        window = self.window
        if window is None:
            assert self.drift is not None
            window = drift_window(self.drift ** (-2 / 3), n_arms)
        chosen = {"window": int(window)}
        return {**chosen, "sigma": self.sigma} if self.posterior == "gaussian" else {**chosen}

    def init(self, n_arms: int) -> WindowState:
        self.check_arms(n_arms)
        state = start_window(n_arms, longest="i8", beta="i8")
        state.run.longest, state.run.beta = self.parameters(n_arms)["window"], self.posterior == "beta"
        return state

    def reserve(self, state: WindowState, steps: int) -> WindowState:
        """Room for the window as it will be ``steps`` later."""
        return make_room(state, min(int(state.run[0].longest), int(state.run[0].t) + steps))

    def has_room(self, state: WindowState, steps: int) -> bool:
        return holds(state, min(int(state.run[0].longest), int(state.run[0].t) + steps))

    def select(self, state: WindowState, rng: np.random.Generator) -> int:
        if state.run[0].beta:
            return highest_beta(state.arms, 1.0, rng)
        return highest_gaussian(state.arms, 1.0, 0.0, self.sigma, rng)

    def update(self, state: WindowState, arm: int, reward: float) -> None:
        run = state.run[0]
        slide(state, arm, reward, min(run.t + 1, run.longest))
