"""DriftUCB: an upper confidence bound that says what the drift may have done since each pull."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftbandits.checks import check_drift, check_horizon
from driftbandits.errors import InputError
from driftbandits.kernels import kernel
from driftbandits.policies.base import Policy, Records, records


class DriftUCBState(NamedTuple):
    """``blocks[a, i]`` is the one or two newest blocks of 2^i pulls of arm a: their mean rewards and mean times."""

    run: Records
    arms: Records
    blocks: np.ndarray[Any, np.dtype[np.record]]


@dataclass(frozen=True)
class DriftUCB(Policy):
    """Pull the arm with the largest index, min over w of mean(w) + sqrt(rho L/w) + delta age(w); L = ln T.

    mean(w) is that of the arm's last w pulls and age(w) how long ago they were, on average. A mean moves by at most
    delta = ``drift`` a step, so each w gives an upper bound of the mean now, and so does the least of them. At first
    every arm is pulled once; ties go to the lowest arm.

    Not every w is looked at, but at least one in [m/2, m] for every m. An arm's pulls are kept in blocks of 1, 2, 4,
    ... pulls, one or two of each size; a third makes the two older ones a block of the next size. The windows are the
    newest blocks, as many as one likes. Since age(w) grows by one a step for all arms alike, indices are compared at
    time 0: mean(w) + sqrt(rho L/w) - delta * (mean time of the pulls), which changes with the arm's own pulls only.

    For rho >= 1 the regret is O(T (K delta L)^(1/3)), proved in ``docs/beyond-the-paper.md``; rho = 1/2 has the
    constant of UCB on arms that don't drift, for rewards of deviation 1/2, and less regret in simulations.

    It must know T and delta, and rewards should be 1/2-sub-Gaussian. A step costs O(K + log T).

    Citation: this package; after P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time Analysis of the Multiarmed Bandit
    Problem", Machine Learning 2002.
    """

    any_order: ClassVar[bool] = True

    horizon: int
    drift: float
    rho: float = 0.5

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_drift(self.drift)
        if not 0 < self.rho < math.inf:
            raise InputError(f"rho must be positive and finite; got {self.rho!r}")

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The radius of a single pull, sqrt(rho L), and the number of block sizes."""
        return {"radius": math.sqrt(self.rho * math.log(self.horizon)), "sizes": int(self.horizon).bit_length()}

    def init(self, n_arms: int) -> DriftUCBState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        columns = {"filled": "i8", "reward": "f8", "time": "f8", "older_reward": "f8", "older_time": "f8"}
        blocks = records(n_arms * int(chosen["sizes"]), **columns).reshape(n_arms, -1)
        state = DriftUCBState(records(1, t="i8", radius="f8"), records(n_arms, index="f8"), blocks)
        state.run.radius = chosen["radius"]
        state.arms.index = np.inf
        return state

    def select(self, state: DriftUCBState, rng: np.random.Generator) -> int:
        best = 0
        for arm in range(1, len(state.arms)):
            if state.arms[arm].index > state.arms[best].index:
                best = arm
        return best

    def update(self, state: DriftUCBState, arm: int, reward: float) -> None:
        run, blocks = state.run[0], state.blocks[arm]
        run.t += 1
        _add(blocks, reward, float(run.t))
        state.arms[arm].index = _index(blocks, run.radius, self.drift)


@kernel
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


@kernel
def _index(blocks: Any, radius: float, drift: float) -> float:
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
            least = min(least, (total_reward - drift * total_time) * share + radius * math.sqrt(share))
        pulls *= 2.0
    return least
