"""DriftUCB: an upper confidence bound that allows for what the drift may have done since each pull."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_choice, check_drift, check_factor, check_horizon
from driftbandits._common.rewards import Rewards
from driftbandits.policies.base import Policy, Records, records
from driftbandits.policies.klucb import DIVERGENCES

STRETCH = 1.0 / (12.0 * math.sqrt(2.0) - 16.0)
"""What it takes, 1.03, that a bound holds for all windows of w to 2w pulls with one start, and not for one of them."""


class DriftUCBState(NamedTuple):
    """``blocks[a, i]`` is the one or two newest blocks of 2^i pulls of arm a: their mean rewards and mean times.

    ``radius[i]``, divided by sqrt(w), is the radius of a window of w pulls that ends with such a block."""

    run: Records
    arms: Records
    radius: np.ndarray[Any, np.dtype[np.float64]]
    blocks: Array


@dataclass(frozen=True)
class DriftUCB(Policy):
    """Pull the arm with the largest index, min over w of mean(w) + r(w) + delta age(w).

    mean(w) is that of the arm's last w pulls and age(w) how long ago they were, on average. A mean moves by at most
    delta = ``drift`` a step, so each w gives an upper bound of the mean now, and so does the least of them. At first
    every arm is pulled once; ties go to the lowest arm.

    Not every w is looked at, but at least one in [m/2, m] for every m. An arm's pulls are kept in blocks of 1, 2, 4,
    ... pulls, one or two of each size; a third makes the two older ones a block of the next size. The windows are the
    newest blocks, any number of them. Since age(w) grows by one a step for all arms alike, indices are compared at time
    0: mean(w) + r(w) - delta * (mean time of the pulls), which changes with the arm's own pulls only.

    There are few long windows that don't overlap, and an error of a short one does more harm. So with m the size of the
    window's oldest block, w0 = delta^(-2/3) (at most T), and R = ``risk``,

        r(w) = sqrt(x/(2 w)), x = 1.03 max(1, ln((K T/(R m)) max(1, w0/m))).

    With ``kl="bernoulli"``, for rewards in [0, 1], a window's bound is narrower where its mean
    M is near 0 or 1: instead of M + r(w), the least of 1 and (1 - e^(-b M - x/w))/(1 - e^(-b)), x as above without the
    factor 1.03, over three tilts b: the largest power of 2 up to sqrt(2 (x/w)/(M (1 - M) + x/w)), and 2 and 4 times it.

    The regret is O(T (K delta ln T)^(1/3) + R T delta^(1/3)), proved in ``docs/beyond-the-paper.md``. With R = 10^(-9)
    all indices are upper bounds at all times, except with probability about R ln T; the default wins more in
    simulations.

    It must know T and delta, and rewards should be 1/2-sub-Gaussian, as all in [0, 1] are. A step costs O(K + log T).

    Citation: this package; after P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time Analysis of the Multiarmed Bandit
    Problem", Machine Learning 2002.
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    horizon: int
    drift: float
    risk: float = 1e4
    kl: str = "gaussian"

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_drift(self.drift)
        check_factor("risk", self.risk, 1e100)
        check_choice("kl", self.kl, DIVERGENCES)

    @property
    def rewards(self) -> Rewards:
        """Those in [0, 1], where the divergence is Bernoulli's."""
        return Rewards.UNIT if self.kl == "bernoulli" else Rewards.SCALED

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The radius of a single pull, that of w0 pulls, and w0, the window of least error."""
        radii, window = self._radii(n_arms), self._window()
        at_window = radii[int(math.log2((window + 1) / 2))] / math.sqrt(window)
        return {"radius": float(radii[0]), "radius_of_window": float(at_window), "window": window}

    def _sizes(self) -> int:
        return int(self.horizon).bit_length()

    def _window(self) -> float:
        return float(min(self.horizon, self.drift ** (-2 / 3))) if self.drift > 0 else float(self.horizon)

    def _radii(self, n_arms: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        m = np.power(2.0, np.arange(self._sizes()))
        chances = n_arms * self.horizon / (self.risk * m) * np.maximum(1.0, self._window() / m)
        return np.sqrt(0.5 * STRETCH * np.maximum(1.0, np.log(chances)))

    def init(self, n_arms: int) -> DriftUCBState:
        self.check_arms(n_arms)
        columns = {"filled": "i8", "reward": "f8", "time": "f8", "older_reward": "f8", "older_time": "f8"}
        blocks = records(n_arms * self._sizes(), **columns).reshape(n_arms, -1)
        arms = records(n_arms, index="f8", off="i8")
        state = DriftUCBState(records(1, t="i8", coin="i8"), arms, self._radii(n_arms), blocks)
        state.run.coin = self.kl == "bernoulli"
        state.arms.index = np.inf
        return state

    def select(self, state: DriftUCBState, rng: np.random.Generator) -> int:
        best = -1
        for arm in range(len(state.arms)):
            if state.arms[arm].off == 0 and (best < 0 or state.arms[arm].index > state.arms[best].index):
                best = arm
        return best

    def update(self, state: DriftUCBState, arm: int, reward: float) -> None:
        run, blocks = state.run[0], state.blocks[arm]
        run.t += 1
        _add(blocks, reward, float(run.t))
        state.arms[arm].index = _index(blocks, state.radius, self.drift, run.coin)


def _add(blocks: Any, reward: float, time: float) -> None:
    """A block of one pull; where a size has two blocks already, these become one of the next size."""
    for size in range(len(blocks)):
        block = blocks[size]
        full = block.filled == 2
        carried_reward = 0.5 * (block.reward + block.older_reward)
        carried_time = 0.5 * (block.time + block.older_time)
        block.older_reward, block.older_time = block.reward, block.time
        block.reward, block.time = reward, time
        if not full:
            block.filled += 1
            return
        block.filled = 1
        reward, time = carried_reward, carried_time


def _index(blocks: Any, radius: Any, drift: float, coin: int) -> float:
    """The least bound over all windows, as it was at time 0."""
    least, window, total_reward, total_time, pulls = np.inf, 0.0, 0.0, 0.0, 1.0
    for size in range(len(blocks)):
        block = blocks[size]
        if block.filled == 0:
            break
        for older in range(block.filled):
            window += pulls
            total_reward += pulls * (block.older_reward if older else block.reward)
            total_time += pulls * (block.older_time if older else block.time)
            share = 1.0 / window
            mean, time = total_reward * share, total_time * share
            if not coin:
                least = min(least, mean + radius[size] * math.sqrt(share) - drift * time)
            elif mean - drift * time < least:  # else no bound on the mean can be the least
                level = share * radius[size] * radius[size] / (0.5 * STRETCH)
                least = min(least, _coin_bound(mean, level) - drift * time)
        pulls *= 2.0
    return least


def _coin_bound(mean: float, level: float) -> float:
    """An upper bound of a coin's mean, nearly that of Bernoulli's kl(mean, bound) = level."""
    _, exponent = math.frexp(2.0 * level / (mean * (1.0 - mean) + level))
    tilt = math.ldexp(1.0, (exponent - 1) >> 1)
    failing, failed, surely = math.exp(-tilt * mean), math.exp(-tilt), math.exp(-level)
    bound = 1.0
    for _ in range(3):
        bound = min(bound, (1.0 - failing * surely) / (1.0 - failed))
        failing *= failing
        failed *= failed
    return bound
