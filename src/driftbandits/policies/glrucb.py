"""GLR-klUCB: kl-UCB, restarted by a generalised likelihood ratio test that looks at every split of an arm's rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftbandits._common.checks import check_between, check_choice, check_horizon
from driftbandits._common.rewards import Rewards
from driftbandits.errors import InputError
from driftbandits.policies._parts.divergence import bernoulli_divergence, bernoulli_upper
from driftbandits.policies._parts.hulls import NONE, drop_hull, has_room, new_pool, new_vertices, push_vertex, with_room
from driftbandits.policies._parts.kl_bounds import KL_BOUNDS, OPEN, bound_index, forget_bounds, surely_largest
from driftbandits.policies._parts.splits import fit, look, may_pass
from driftbandits.policies.base import Policy, Records, records

TESTS = ("bernoulli", "gaussian")
RESTARTS = ("local", "global")
TIE = 1e-12
NEVER = 1 << 60


class GLRUCBState(NamedTuple):
    run: Records
    arms: Records
    pool: Records
    vertices: Records
    event: Records


@dataclass(frozen=True)
class GLRUCB(Policy):
    """GLR-klUCB (Besson, Kaufmann, Maillard, Seznec): kl-UCB that forgets when a likelihood ratio test sees a change.

    In the k-th episode alpha_k = min(1, exploration sqrt(k)); at steps t with t mod floor(K/alpha_k) in 1..K that arm
    is pulled. Otherwise the arm with the largest q such that n kl(mean, q) <= ln(steps since its restart); an arm that
    has no reward since its restart goes first, ties go to the lowest. After each pull the arm's n rewards since its
    restart are split in two at every s: a change is seen when for some s

        s kl(mean_(1..s), mean) + (n - s) kl(mean_(s+1..n), mean) >= ln(n^(3/2) / risk).

    Then that arm is restarted (``local``, the authors' recommendation) or all are (``global``), and k grows by one.

    ``test`` is the kl of both: ``bernoulli`` for rewards in [0, 1], or ``gaussian``, kl(x, y) = 2 (x - y)^2, for
    rewards of variance 1/4 at most. Tuning:
    exploration = sqrt(K ln T / T), risk = 1/sqrt(T). It must know T. The threshold is the one the authors use in
    their experiments, as is ln t in the index; their proofs have larger ones.

    Every split is tested after every pull, exactly: the statistic is convex in the point (s, sum of the first s
    rewards), so its maximum lies on the convex hull of these points, which has about ln n vertices. They are visited
    every 20 pulls or so: see ``policies/_parts/splits.py``. A step costs O(K), plus amortised O(log n) for random
    rewards.

    Checked against an author's code, that of the experiments (EmilieKaufmann/PiecewiseStationaryBandits): index,
    threshold, alpha_k, risk and both kl agree. It looks at a part of the splits after every tenth step, here all are
    looked at after every step. It breaks ties at random, and explores one step later. An earlier form is in Besson's
    thesis (2019, chapter 6): it explores at the steps that we do, with an alpha that does not grow, and has
    ln(3 n^(3/2) / risk) as threshold and ln t + 3 ln ln t in the index. The text of 2022 could not be had.

    Citation: L. Besson, E. Kaufmann, O.-A. Maillard, J. Seznec, "Efficient Change-Point Detection for Tackling
    Piecewise-Stationary Bandits", JMLR 2022.

    >>> chosen = GLRUCB(horizon=10_000).parameters(2)
    >>> round(chosen["exploration"], 4), round(chosen["risk"], 4)
    (0.0429, 0.01)
    """

    horizon: int | None = None
    test: str = "bernoulli"
    restart: str = "local"
    exploration: float | None = None
    risk: float | None = None

    def __post_init__(self) -> None:
        check_choice("test", self.test, TESTS)
        check_choice("restart", self.restart, RESTARTS)
        if self.horizon is not None:
            check_horizon(self.horizon)
        elif self.exploration is None or self.risk is None:
            raise InputError("GLRUCB needs horizon, or both exploration=... and risk=...")
        check_between("exploration", self.exploration, 0.0, 1.0, optional=True)
        check_between("risk", self.risk, 1e-300, 1.0, optional=True)

    @property
    def rewards(self) -> Rewards:
        """Those in [0, 1], where the divergence is Bernoulli's."""
        return Rewards.UNIT if self.test == "bernoulli" else Rewards.SCALED

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The share of forced exploration in the first episode, and the risk of a false alarm the test is set to."""
        exploration, risk = self.exploration, self.risk
        if exploration is None:
            assert self.horizon is not None
            exploration = min(1.0, math.sqrt(n_arms * math.log(self.horizon) / self.horizon))
        if risk is None:
            assert self.horizon is not None
            risk = 1 / math.sqrt(self.horizon)
        return {"exploration": exploration, "risk": risk}

    def init(self, n_arms: int) -> GLRUCBState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        state = GLRUCBState(
            records(
                1,
                exploration="f8",
                first_level="f8",
                gaussian="i8",
                local_restart="i8",
                t="i8",
                episode="i8",
                period="i8",
            ),
            records(
                n_arms,
                count="i8",
                total="f8",
                since="i8",
                lower="i8",
                upper="i8",
                looked="i8",
                looked_total="f8",
                looked_fit="f8",
                largest="f8",
                alone="f8",
                level="f8",
                **KL_BOUNDS,
            ),
            new_pool(),
            new_vertices(4),
            records(1, count="i8", step="i8", arm="i8", statistic="f8", threshold="f8"),
        )
        run = state.run
        run.exploration, run.first_level = chosen["exploration"], -math.log(chosen["risk"])
        run.gaussian, run.local_restart = self.test == "gaussian", self.restart == "local"
        state.arms.lower = state.arms.upper = NONE
        _begin_episode(state)
        for arm in range(n_arms):
            _forget(state, arm)
        return state

    def reserve(self, state: GLRUCBState, steps: int) -> GLRUCBState:
        """Room for the worst case, in which every point stays on both hulls."""
        return state._replace(vertices=with_room(state.pool, state.vertices, 2 * steps))

    def has_room(self, state: GLRUCBState, steps: int) -> bool:
        return has_room(state.pool, state.vertices, 2 * steps)

    def select(self, state: GLRUCBState, rng: np.random.Generator) -> int:
        place = (state.run[0].t + 1) % state.run[0].period
        if 1 <= place <= len(state.arms):
            return place - 1  # type: ignore[no-any-return]
        best = OPEN if state.run[0].gaussian else surely_largest(state.arms, float(state.run[0].t))
        return best if best != OPEN else _largest_index(state)

    def update(self, state: GLRUCBState, arm: int, reward: float) -> None:
        run, pulled = state.run[0], state.arms[arm]
        run.t += 1
        pulled.count += 1
        pulled.total += reward
        pulled.alone += fit(run.gaussian, 1, reward)
        if may_pass(run.gaussian, pulled):
            statistic = look(run, pulled, state.vertices)
            if statistic >= pulled.level:
                _restart(state, arm, statistic)
                return
        if not run.gaussian:
            elapsed = run.t - pulled.since
            mean = min(pulled.total / pulled.count, 1.0)
            bound_index(pulled, mean, math.log(elapsed), float(run.t), 1.0 / elapsed)
        pulled.lower = push_vertex(state.pool[0], state.vertices, pulled.lower, 1.0, pulled.count, pulled.total)
        pulled.upper = push_vertex(state.pool[0], state.vertices, pulled.upper, -1.0, pulled.count, pulled.total)


def _largest_index(state: GLRUCBState) -> int:
    """The arm with the largest index, solved for. Most arms are ruled out without."""
    run, arms = state.run[0], state.arms
    best, best_index = 0, -np.inf
    since, width = -1, 0.0
    for arm in range(len(arms)):
        here = arms[arm]
        if here.count == 0:
            return arm
        if here.since != since:
            since = here.since
            width = math.log(run.t - since)
        mean, level = here.total / here.count, width / here.count
        index = mean + math.sqrt(level / 2.0)  # by Pinsker's inequality no smaller than Bernoulli's
        if not run.gaussian and index > best_index:
            mean = min(mean, 1.0)
            if mean < best_index < 1.0 and bernoulli_divergence(mean, best_index) >= level:
                continue
            index = bernoulli_upper(mean, level)
        if index > best_index + TIE:
            best, best_index = arm, index
    return best


def _restart(state: GLRUCBState, arm: int, statistic: float) -> None:
    """A change was seen: write the event, forget the arm or all of them, and begin the next episode."""
    run, event = state.run[0], state.event[0]
    event.count += 1
    event.step = run.t
    event.arm = arm if run.local_restart else -1
    event.statistic = statistic
    event.threshold = state.arms[arm].level
    if run.local_restart:
        _forget(state, arm)
    else:
        for other in range(len(state.arms)):
            _forget(state, other)
    _begin_episode(state)


def _begin_episode(state: GLRUCBState) -> None:
    run = state.run[0]
    run.episode += 1
    share = min(1.0, run.exploration * math.sqrt(run.episode))
    run.period = int(len(state.arms) / share) if share > len(state.arms) / NEVER else NEVER


def _forget(state: GLRUCBState, arm: int) -> None:
    forgotten = state.arms[arm]
    drop_hull(state.pool[0], state.vertices, forgotten.lower)
    drop_hull(state.pool[0], state.vertices, forgotten.upper)
    forgotten.lower = NONE
    forgotten.upper = NONE
    forgotten.count = 0
    forgotten.total = 0.0
    forgotten.since = state.run[0].t
    forgotten.looked = 0
    forgotten.looked_total = 0.0
    forgotten.looked_fit = 0.0
    forgotten.largest = 0.0
    forgotten.alone = 0.0
    forgotten.level = state.run[0].first_level
    forget_bounds(forgotten)
