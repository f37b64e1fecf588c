"""BOB: SW-UCB in short blocks, with Exp3 choosing each block's window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import FOREVER, check_between, check_horizon, check_whole
from driftbandits._common.rewards import Rewards
from driftbandits.policies._parts.exponential import mix
from driftbandits.policies.base import Policy, Records, records


class BOBState(NamedTuple):
    """``pulls[i]`` is the i-th pull of the current block."""

    run: Records
    arms: Records
    windows: Records
    pulls: Records
    event: Records


@dataclass(frozen=True)
class BOB(Policy):
    """Bandit over bandit (Cheung, Simchi-Levi, Zhu): each block of H steps is a new SW-UCB with its own window.

    Within a block: the arm with the largest mean + sigma sqrt(2 ln(2 K T^2) / N) over the block's last w steps; an arm
    not pulled there goes first, ties go to the lowest. The windows are floor(H^(j/D)), j = 0..D, D = ceil(ln H), and
    Exp3 draws one for every block: p_j = (1 - gamma) s_j / sum s + gamma / (D+1), where after a block with rewards that
    sum to R, s_j <- s_j exp(gamma / ((D+1) p_j) (1/2 + R/Q)), Q = 2H + 4 sigma sqrt(H ln(T / sqrt(H))), and gamma =
    min(1, sqrt((D+1) ln(D+1) / ((e-1) ceil(T/H)))).

    Tuning: H = floor(sqrt(K T)), the authors' d sqrt(T) with the sqrt(K) that takes the place of the dimension d for K
    arms. It must know T and the noise (rewards are sigma-sub-Gaussian), not the drift. Its events are its blocks. A
    step costs O(K), whatever the window.

    Checked against the paper's text of 2019, for linear bandits of dimension d: the windows, Exp3's rule, gamma and Q
    agree, its (22) to (25). It has H = floor(d^(2/3) sqrt(T)). The index for K arms is of the later work, and agrees
    with a public restatement of that, which has H = floor(K sqrt(T)). sqrt(K T) is our choice, and ``block`` sets any
    other.

    Citation: W. C. Cheung, D. Simchi-Levi, R. Zhu, "Learning to Optimize under Non-Stationarity", AISTATS 2019, and
    "Hedging the Drift: Learning to Optimize Under Nonstationarity", Management Science 2022.

    >>> BOB(horizon=162_755).parameters(2)["block"]
    570
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int
    sigma: float = 0.5
    block: int | None = None

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_between("sigma", self.sigma, 0.0, 1e12)
        if self.block is not None:
            check_whole("block", self.block, 1, FOREVER)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The block's length, the number of windows, gamma, the scale Q of rewards, and the index's width at N = 1."""
        T = int(self.horizon)
        block = math.isqrt(n_arms * T) if self.block is None else int(self.block)
        windows = len(_windows(block))
        spread = windows * math.log(windows)
        deviation = math.sqrt(block * max(0.0, math.log(T / math.sqrt(block))))
        return {
            "block": block,
            "windows": windows,
            "gamma": min(1.0, math.sqrt(spread / ((math.e - 1) * math.ceil(T / block)))),
            "scale": 2 * block + 4 * self.sigma * deviation,
            "width": self.sigma * math.sqrt(2 * math.log(2 * n_arms * T**2)),
        }

    def init(self, n_arms: int) -> BOBState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        lengths = _windows(int(chosen["block"]))
        state = BOBState(
            records(
                1,
                block="i8",
                gamma="f8",
                scale="f8",
                width="f8",
                t="i8",
                played="i8",
                chosen="i8",
                window="i8",
                received="f8",
            ),
            records(n_arms, count="i8", total="f8"),
            records(len(lengths), steps="i8", log_weight="f8", weight="f8", probability="f8"),
            records(1, arm="i8", reward="f8"),
            records(1, count="i8", step="i8", arm="i8", window="i8"),
        )
        for name in ("block", "gamma", "scale", "width"):
            state.run[name] = chosen[name]
        state.windows.steps = lengths
        return state

    def reserve(self, state: BOBState, steps: int) -> BOBState:
        """Room for the block, as far as ``steps`` reach into it."""
        if self.has_room(state, steps):
            return state
        needed = int(min(state.run[0].block, state.run[0].played + steps))
        pulls = records(min(int(state.run[0].block), 2 * needed), arm="i8", reward="f8")
        pulls[: len(state.pulls)] = state.pulls
        return state._replace(pulls=pulls)

    def has_room(self, state: BOBState, steps: int) -> bool:
        return int(min(state.run[0].block, state.run[0].played + steps)) <= len(state.pulls)

    def select(self, state: BOBState, rng: np.random.Generator) -> int:
        arms = state.arms
        best, best_index = 0, -np.inf
        for arm in range(len(arms)):
            if arms[arm].count == 0:
                return arm
            share = 1.0 / arms[arm].count
            index = arms[arm].total * share + state.run[0].width * math.sqrt(share)
            if index > best_index:
                best, best_index = arm, index
        return best

    def update(self, state: BOBState, arm: int, reward: float, rng: np.random.Generator) -> None:  # type: ignore[override]
        run, arms, pulls = state.run[0], state.arms, state.pulls
        run.t += 1
        if run.played == 0:  # the first pull of a block is the same for every window, so the draw can wait
            _begin_block(state, rng)
        pulls[run.played].arm = arm
        pulls[run.played].reward = reward
        run.played += 1
        run.received += reward
        arms[arm].count += 1
        arms[arm].total += reward
        if run.played > run.window:
            leaving = pulls[run.played - 1 - run.window]
            arms[leaving.arm].count -= 1
            arms[leaving.arm].total -= leaving.reward
            if run.played % run.window == 0:
                _refresh(state)
        if run.played == run.block:
            _end_block(state)


def _windows(block: int) -> list[int]:
    """floor(H^(j/D)) for j = 0..D, D = ceil(ln H); H = 1 leaves one window."""
    last = math.ceil(math.log(block))
    return [block if j == last else math.floor(block ** (j / last)) for j in range(last + 1)]


def _begin_block(state: BOBState, rng: np.random.Generator) -> None:
    run, windows, event = state.run[0], state.windows, state.event[0]
    largest = windows[0].log_weight
    for index in range(len(windows)):
        largest = max(largest, windows[index].log_weight)
    total = 0.0
    for index in range(len(windows)):
        windows[index].weight = math.exp(windows[index].log_weight - largest)
        total += windows[index].weight
    mix(windows, total, run.gamma)
    left = rng.random()
    run.chosen = 0
    while run.chosen < len(windows) - 1 and left >= windows[run.chosen].probability:
        left -= windows[run.chosen].probability
        run.chosen += 1
    run.window = windows[run.chosen].steps
    run.received = 0.0
    event.count += 1
    event.step = run.t
    event.arm = -1
    event.window = run.window


def _end_block(state: BOBState) -> None:
    """Exp3 learns from the block's rewards, and all arms are forgotten."""
    run, window = state.run[0], state.windows[state.run[0].chosen]
    gain = 0.5 + run.received / run.scale
    window.log_weight += run.gamma / (len(state.windows) * window.probability) * gain
    run.played = 0
    for arm in range(len(state.arms)):
        state.arms[arm].count = 0
        state.arms[arm].total = 0.0


def _refresh(state: BOBState) -> None:
    """Add the window up again, once in each window's length, so that rounding never accumulates."""
    run, arms = state.run[0], state.arms
    for arm in range(len(arms)):
        arms[arm].total = 0.0
    for step in range(run.played - run.window, run.played):
        arms[state.pulls[step].arm].total += state.pulls[step].reward
