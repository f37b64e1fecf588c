"""RAW-UCB: for every arm the least upper confidence bound over all windows of its last pulls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import check_between
from driftbandits._common.rewards import Rewards, rewards_for
from driftbandits.policies._parts.hulls import NONE, has_room, new_pool, new_vertices, push_vertex, with_room
from driftbandits.policies._parts.largest import keep_largest
from driftbandits.policies.base import Policy, Records, records


class RAWUCBState(NamedTuple):
    """``arms.hull`` is the upper hull of an arm's sums before each of its pulls."""

    run: Records
    arms: Records
    pool: Records
    vertices: Records


@dataclass(frozen=True)
class RAWUCB(Policy):
    """RAW-UCB (Seznec, Menard, Lazaric, Valko): UCB over the window, of each arm's last pulls, that says the least.

    In plain words: means that only fall are no more than their average over any number of the last pulls. So every such
    average gives an upper bound, and the lowest one counts: a long window while the mean stays, a short one after it
    fell. After t steps the arm is pulled with the largest

        min over h = 1..N of (mean of its last h rewards) + sigma sqrt(2 alpha ln(t) / h),

    N being how often it was pulled. Arms without pulls go first, ties go to the lowest arm. Made for *rotting* arms,
    whose means never rise; one that rises is found only as fast as the bound of its last pulls, which grows with ln t,
    overtakes the others. sigma bounds the standard deviation of the rewards: 1/2 fits everything in [0, 1]. It must
    know sigma. The authors' experiments have alpha = 1.4, their theorem 4.

    All windows count, exactly: the bound lies below a level u where S_n - S_k + r sqrt(n - k) - u (n - k) < 0, which is
    concave in the point (k, S_k) and falls in S_k, so the least bound is taken at a vertex of the upper convex hull of
    running sums. There are about ln N vertices for random rewards, and a step costs O(K log N); rewards that fall at
    every pull without noise are all vertices, and cost O(N). (The authors' code offers windows of 1, 2, 4, ... pulls
    against that.)

    Checked against the first author's code, in SMPyBandits (Policies/RAWUCB.py, Experiment/Seznec19a_Fig1). The paper's
    text could not be had.

    Citation: J. Seznec, P. Menard, A. Lazaric, M. Valko, "A single algorithm for both restless and rested rotting
    bandits", AISTATS 2020.

    >>> round(RAWUCB().parameters(2)["width"], 4)
    0.8367
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    alpha: float = 1.4
    sigma: float = 0.5

    def __post_init__(self) -> None:
        check_between("alpha", self.alpha, 0.0, 1e6)
        check_between("sigma", self.sigma, 1e-9, 1e9)

    @property
    def rewards(self) -> Rewards:
        """Any whose noise sigma bounds."""
        return rewards_for(self.sigma)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The bound of h pulls is ``width`` sqrt(ln(t) / h) above their mean."""
        return {"width": self.sigma * math.sqrt(2 * self.alpha)}

    def init(self, n_arms: int) -> RAWUCBState:
        self.check_arms(n_arms)
        state = RAWUCBState(
            records(1, t="i8", width="f8"),
            records(n_arms, count="i8", total="f8", hull="i8", off="i8"),
            new_pool(),
            new_vertices(1),
        )
        state.run.width = self.parameters(n_arms)["width"]
        state.arms.hull = NONE
        return state

    def reserve(self, state: RAWUCBState, steps: int) -> RAWUCBState:
        """Room for the worst case, in which every point stays on its hull."""
        return state._replace(vertices=with_room(state.pool, state.vertices, steps))

    def has_room(self, state: RAWUCBState, steps: int) -> bool:
        return has_room(state.pool, state.vertices, steps)

    def select(self, state: RAWUCBState, rng: np.random.Generator) -> int:
        radius = state.run[0].width * math.sqrt(math.log(max(state.run[0].t, 1)))
        best, best_index = 0, -np.inf
        for arm in range(len(state.arms)):
            if state.arms[arm].off:
                continue
            if state.arms[arm].count == 0:
                return arm
            index = _least_bound(state, arm, radius, best_index)
            best, best_index = keep_largest(best, best_index, arm, index)
        return best

    def update(self, state: RAWUCBState, arm: int, reward: float) -> None:
        pulled = state.arms[arm]
        state.run[0].t += 1
        pulled.hull = push_vertex(state.pool[0], state.vertices, pulled.hull, -1.0, pulled.count, pulled.total)
        pulled.count += 1
        pulled.total += reward


def _least_bound(state: RAWUCBState, arm: int, radius: float, enough: float) -> float:
    """The least upper bound of any window of the arm's last pulls, or one that is at most ``enough``."""
    count, total, point = state.arms[arm].count, state.arms[arm].total, state.arms[arm].hull
    least = np.inf
    while point >= 0 and least > enough:
        vertex = state.vertices[point]
        share = 1.0 / (count - vertex.count)
        least = min(least, (total - vertex.total) * share + radius * math.sqrt(share))
        point = vertex.below
    return least
