"""SW-UCB#: UCB over a window that grows with time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftbandits._common.checks import FOREVER, check_between, check_drift, check_factor, check_horizon
from driftbandits._common.rewards import Rewards
from driftbandits.errors import InputError
from driftbandits.policies._parts.ucb import highest_index
from driftbandits.policies._parts.window import WindowState, holds, make_room, slide, start_window
from driftbandits.policies.base import Policy

ROUNDING = 1e-9


@dataclass(frozen=True)
class SWUCBSharp(Policy):
    """SW-UCB# (Wei and Srivastava): at time t pull the arm with the largest mean + sqrt((1 + alpha) ln t / n).

    Mean and count n are taken over the last tau(t-1) steps, tau(t) = min(ceil(lam t^alpha), t); an arm not pulled there
    goes first; ties go to the lowest arm. Tuning for slow drift delta = T^(-kappa): alpha = min(1, 3 kappa / 4),
    lam = 4.3. For abrupt changes, about T^nu of them: alpha = (1 - nu)/2, lam = 12.3; give ``nu`` instead of ``drift``.
    It must know T and delta (or nu), or be given alpha and lam. A step costs O(K), whatever the window.

    Compared with a public implementation, not with the paper's text: tau(t) and both tunings of alpha are what
    SMPyBandits says of the paper (Policies/SWHash_UCB.py). Its lam is 1.

    Citation: L. Wei, V. Srivastava, "On Abruptly-Changing and Slowly-Varying Multiarmed Bandit Problems", ACC 2018.

    >>> chosen = SWUCBSharp(horizon=162_755, drift=1 / 4_800).parameters(2)
    >>> round(chosen["alpha"], 5), chosen["window_at_end"]
    (0.52977, 2480)
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED
    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    horizon: int | None = None
    drift: float | None = None
    nu: float | None = None
    alpha: float | None = None
    lam: float | None = None

    def __post_init__(self) -> None:
        check_between("nu", self.nu, 0.0, 1.0, optional=True)
        check_between("alpha", self.alpha, 0.0, 1.0, optional=True)
        if self.lam is not None:
            check_factor("lam", self.lam, 1e6)
        if self.horizon is not None:
            check_horizon(self.horizon)
        if self.drift is not None and self.nu is not None:
            raise InputError("SWUCBSharp takes drift (slow) or nu (abrupt), not both")
        if self.alpha is None and self.nu is None:
            if self.horizon is None or self.drift is None:
                raise InputError("SWUCBSharp needs horizon and drift (or nu) to choose alpha, or alpha=... itself")
            check_drift(self.drift)
            if self.drift == 0:
                raise InputError(
                    "SWUCBSharp's kappa is -ln(drift)/ln(T), infinite for drift=0: give alpha=... (1 keeps all)"
                )
            if self.horizon < 2:
                raise InputError("SWUCBSharp's kappa is -ln(drift)/ln(T), undefined for horizon=1: give alpha=...")

    def parameters(self, n_arms: int) -> dict[str, float]:
        """alpha, lam and, where the horizon is known, the window at its end."""
        alpha, lam = self.alpha, self.lam
        if alpha is None and self.nu is not None:
            alpha = (1 - self.nu) / 2
        elif alpha is None:
            assert self.horizon is not None
            assert self.drift is not None
            alpha = min(1.0, 0.75 * -math.log(self.drift) / math.log(self.horizon))
        if lam is None:
            lam = 4.3 if self.nu is None else 12.3
        chosen = {"alpha": alpha, "lam": lam}
        return chosen if self.horizon is None else {**chosen, "window_at_end": _window(lam, alpha, self.horizon)}

    def init(self, n_arms: int) -> WindowState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        state = start_window(n_arms, alpha="f8", lam="f8", look_at="i8")
        state.run.alpha, state.run.lam, state.run.look_at = chosen["alpha"], chosen["lam"], 1
        return state

    def reserve(self, state: WindowState, steps: int) -> WindowState:
        """Room for the window as it will be ``steps`` later."""
        return make_room(state, _window_after(state, steps))

    def has_room(self, state: WindowState, steps: int) -> bool:
        return holds(state, _window_after(state, steps))

    def select(self, state: WindowState, rng: np.random.Generator) -> int:
        run = state.run[0]
        return highest_index(state.arms, (1.0 + run.alpha) * math.log(run.t + 1))

    def update(self, state: WindowState, arm: int, reward: float) -> None:
        run = state.run[0]
        t, window = run.t + 1, run.window
        if t >= run.look_at:
            window = _window(run.lam, run.alpha, t)
            run.look_at = t + 1
            if window < t:
                run.look_at += _steps_without_growth(run.lam, run.alpha, t)
        slide(state, arm, reward, window)


def _window_after(state: WindowState, steps: int) -> int:
    """The window as it will be ``steps`` later."""
    run = state.run[0]
    return _window(float(run.lam), float(run.alpha), int(run.t) + steps)


def _window(lam: float, alpha: float, t: int) -> int:
    """tau(t) = min(ceil(lam t^alpha), t)."""
    return min(math.ceil(lam * float(t) ** alpha), t)  # type: ignore[no-any-return]


def _steps_without_growth(lam: float, alpha: float, t: int) -> int:
    """How many steps the window surely keeps its length after step t; lam t^alpha is concave, so a tangent tells."""
    if alpha == 0.0:
        return FOREVER
    length = lam * float(t) ** alpha
    return int(min((math.ceil(length) / length - 1.0) * t / alpha * (1.0 - ROUNDING), float(FOREVER)))
