"""SW-UCB: UCB over a window of fixed length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftbandits._common.checks import FOREVER, check_between, check_horizon, check_tuning_drift, check_whole
from driftbandits._common.rewards import Rewards, rewards_for
from driftbandits.errors import InputError
from driftbandits.policies._parts.ucb import highest_index
from driftbandits.policies._parts.window import WindowState, drift_window, holds, make_room, slide, start_window
from driftbandits.policies.base import Policy


@dataclass(frozen=True)
class SWUCB(Policy):
    """SW-UCB (Cheung, Simchi-Levi, Zhu): pull the arm with the largest mean + sigma sqrt(2 ln(2 K T^2) / n).

    Mean and count n are taken over the last ``window`` steps; an arm not pulled there goes first; ties go to the lowest
    arm. Rewards should be sigma-sub-Gaussian; 1/2 fits everything in [0, 1]. Tuning for a total drift of V = delta T:
    window = ceil(K^(1/3) (T/V)^(2/3)) = ceil(K^(1/3) delta^(-2/3)), but at least K, for there must be room for all.

    With ``xi`` it is the form of Garivier and Moulines, mean + sqrt(xi ln(min(t, window)) / n) at step t, for rewards
    in [0, 1]; their theorem asks for xi > 1/2.

    It must know delta, or be given ``window``, and T unless ``xi`` is given. A step costs O(K), whatever the window.

    Compared with public implementations, not with the papers' texts: the form with ``xi`` is that of SMPyBandits, which
    counts one step less in the logarithm. EmilieKaufmann/PiecewiseStationaryBandits and the paper of M-UCB take windows
    of 2 sqrt(T ln(T)/B) steps for B changes. Of Cheung et al. a first text (AISTATS 2019) was read: it is about linear
    bandits of dimension d, whose width has a root of d times a logarithm, and whose window is of order (d T/V)^(2/3).
    Bonus and window for arms are of the later text.

    Citation: W. Cheung, D. Simchi-Levi, R. Zhu, "Hedging the Drift: Learning to Optimize Under Nonstationarity",
    Management Science 2022; A. Garivier, E. Moulines, "On Upper-Confidence Bound Policies for Switching Bandit
    Problems", ALT 2011.

    >>> SWUCB(horizon=162_755, drift=1 / 4_800).parameters(2)["window"]
    359
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    horizon: int | None = None
    drift: float | None = None
    window: int | None = None
    sigma: float = 0.5
    xi: float | None = None

    def __post_init__(self) -> None:
        check_between("xi", self.xi, 1e-9, 1e6, optional=True)
        check_between("sigma", self.sigma, 1e-9, 1e9)
        if self.xi is None:
            if self.horizon is None:
                raise InputError("SWUCB needs horizon for its bonus, or xi=... for Garivier and Moulines' form")
            check_horizon(self.horizon)
        if self.window is None:
            check_tuning_drift("SWUCB", "window", self.drift)
        else:
            check_whole("window", self.window, 1, FOREVER)

    @property
    def rewards(self) -> Rewards:
        """Any whose noise sigma bounds, unless ``xi`` or a window tuned to the drift is of the scale of [0, 1]."""
        return rewards_for(self.sigma) if self.xi is None and self.window is not None else Rewards.SCALED

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The window, and the bonus after one pull (Cheung et al.) or xi."""
        window = self.window
        if window is None:
            assert self.drift is not None
            window = drift_window(n_arms ** (1 / 3) * self.drift ** (-2 / 3), n_arms)
        if self.xi is not None:
            return {"window": int(window), "xi": self.xi}
        assert self.horizon is not None
        bonus = self.sigma * math.sqrt(2 * math.log(2 * n_arms * self.horizon**2))
        return {"window": int(window), "bonus_after_one_pull": bonus}

    def init(self, n_arms: int) -> WindowState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        state = start_window(n_arms, longest="i8", fixed_width="f8", xi="f8")
        state.run.longest = chosen["window"]
        state.run.fixed_width, state.run.xi = chosen.get("bonus_after_one_pull", 0.0) ** 2, chosen.get("xi", 0.0)
        return state

    def reserve(self, state: WindowState, steps: int) -> WindowState:
        """Room for the window as it will be ``steps`` later."""
        return make_room(state, min(int(state.run[0].longest), int(state.run[0].t) + steps))

    def has_room(self, state: WindowState, steps: int) -> bool:
        return holds(state, min(int(state.run[0].longest), int(state.run[0].t) + steps))

    def select(self, state: WindowState, rng: np.random.Generator) -> int:
        run = state.run[0]
        width = run.fixed_width
        if run.xi > 0.0:
            width = run.xi * math.log(min(run.t + 1, run.longest))
        return highest_index(state.arms, width)

    def update(self, state: WindowState, arm: int, reward: float) -> None:
        slide(state, arm, reward, min(state.run[0].t + 1, state.run[0].longest))
