"""META: randomised elimination with replays of all lengths; it starts again when no arm is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import check_between, check_horizon
from driftbandits._common.rewards import Rewards
from driftbandits.policies._parts.hulls import NONE, has_room, new_pool, new_vertices, with_room
from driftbandits.policies._parts.leads import FAR, empty_hull, evict, remember
from driftbandits.policies.base import Policy, Records, records


class METAState(NamedTuple):
    """Level 0 is the episode, the others replays, the last one running; ``sets[l * K + a]`` is arm a at level l.

    ``pairs[b * K + a]`` sums the estimates of b's lead over a in the episode: all of them, and those before the last K
    steps; ``hulls[(l * K + b) * K + a]`` is the hull of the latter's values at level l. ``recent`` holds the last K
    steps, ``played`` which arms were candidates in them, and ``gains`` what each arm's values add up to there, without
    their signs.
    """

    run: Records
    levels: Records
    sets: Records
    pairs: Records
    hulls: Records
    recent: Records
    played: Records
    gains: Records
    pool: Records
    vertices: Records
    event: Records


@dataclass(frozen=True)
class META(Policy):
    """META (Suk and Kpotufe), which adapts to how often the best arm changes significantly, knowing nothing of it.

    In plain words: META keeps a list of candidates, which are the arms that may still be the best, and pulls one of
    them at random. An arm that is clearly worse than another over some stretch of time is evicted from the list. Now
    and then META opens a *replay*: for a while all arms are candidates again, so that an evicted arm that has become
    good is found. Replays have many lengths, and short ones are frequent. When every arm has been evicted, the best arm
    must have changed, and META starts a new *episode* with all arms.

    In detail: each step pulls an arm drawn uniformly from the candidates A_t. After reward Y of arm p, the lead of b
    over a is estimated by |A_t| Y (1{p=b} - 1{p=a}) 1{a in A_t}, and arm a is evicted when for some b and s1 <= s2
    these sum to more than

        ln(T) sqrt(c0 max(K (s2 - s1), K^2))        over steps s1..s2.

    In an episode that begins at t_0, a replay of m = 2, 4, ..., 2^ceil(log2 T) steps begins at step t > t_0 with
    probability 1/sqrt(m (t - t_0)); if several are drawn, the longest begins. All arms are candidates again, and only
    steps s1 from its start on count. It ends at t_start + m, and what it interrupted continues with its own candidates,
    without those evicted in the meantime. When every arm has been evicted by some steps of the episode, a new episode
    begins.

    It must know T. The proof needs c0 to be large enough and leaves it open; 1 is our choice, less is more eager.

    All s1 are tested after every step, exactly: for s2 - s1 >= K the excess over the threshold is convex in the point
    (s1, sum before s1), so hulls decide, one for each pair of arms and each replay under way (those that a later one
    outlasts never resume, so they are at most log2 T); the last K steps are added up one by one. A hull is looked at
    only if a lead has grown enough since the last look. A step costs O(K log n) for each replay under way at most,
    mostly O(K).

    Checked against the paper's text: Algorithms 1 and 2, and the threshold, its (2), agree. Its estimate (1) lacks the
    factor 1{a in A_t}, which makes no difference to an arm that is still a candidate. The first author's code for two
    arms (github.com/joesuk/SmoothBandits) has the factor, and another threshold, C (e - 1) (sqrt(4 log2(T) s) + 4
    log2(T)) over s steps. Suk (2024) proves that META attains the best rate for means that move smoothly, without
    knowing how smoothly.

    Citation: J. Suk, S. Kpotufe, "Tracking Most Significant Arm Switches in Bandits", COLT 2022; J. Suk, "Adaptive
    Smooth Non-Stationary Bandits", arXiv 2407.08654.
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int
    c0: float = 1.0

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_between("c0", self.c0, 1e-12, 1e12)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The threshold for sums over s steps is ``threshold`` sqrt(max(s, K)); log2 of the longest replay."""
        threshold = math.log(self.horizon) * math.sqrt(self.c0 * n_arms)
        return {"threshold": threshold, "longest": (int(self.horizon) - 1).bit_length()}

    def init(self, n_arms: int) -> METAState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        depth = int(chosen["longest"]) + 1
        state = METAState(
            records(1, threshold="f8", longest="i8", t="i8", top="i8", candidates="i8", statistic="f8", limit="f8"),
            records(depth, start="i8", until="i8"),
            records(depth * n_arms, evicted="i8"),
            records(n_arms * n_arms, total="f8", earlier="f8"),
            records(depth * n_arms * n_arms, top="i8", at="f8", room="f8", lowest="f8"),
            records(n_arms, arm="i8", value="f8"),
            records(n_arms * n_arms, candidate="i8"),
            records(n_arms, recent="f8"),
            new_pool(),
            new_vertices(1),
            records(1, count="i8", step="i8", arm="i8", statistic="f8", threshold="f8"),
        )
        state.run.threshold, state.run.longest = chosen["threshold"], chosen["longest"]
        state.hulls.top, state.hulls.room, state.hulls.lowest = NONE, FAR, FAR
        _begin_episode(state, n_arms)
        return state

    def reserve(self, state: METAState, steps: int) -> METAState:
        """Room for the worst case, in which every point stays on its hulls."""
        return state._replace(vertices=with_room(state.pool, state.vertices, self._points(state, steps)))

    def has_room(self, state: METAState, steps: int) -> bool:
        return has_room(state.pool, state.vertices, self._points(state, steps))

    def _points(self, state: METAState, steps: int) -> int:
        """A step is a point of 2 (K - 1) hulls of the episode, and of as many of each replay under way.

        Replays under way are of different lengths, powers of two, so they have at most 4 T steps between them.
        """
        return 2 * (len(state.recent) - 1) * (steps + min(steps * (len(state.levels) - 1), 4 * int(self.horizon)))

    def select(self, state: METAState, rng: np.random.Generator) -> int:
        run, first = state.run[0], state.run[0].top * len(state.recent)
        left = int(rng.random() * run.candidates)
        for arm in range(len(state.recent)):
            if not state.sets[first + arm].evicted:
                if left == 0:
                    return arm
                left -= 1
        return 0

    def update(self, state: METAState, arm: int, reward: float, rng: np.random.Generator) -> None:  # type: ignore[override]
        run, n_arms = state.run[0], len(state.recent)
        run.t += 1
        remember(state, n_arms, arm, run.candidates * reward)
        evict(state, n_arms, arm, reward)
        if _draw_replay(state, n_arms, rng):
            return
        while run.top > 0 and run.t >= state.levels[run.top].until:
            _leave(state, n_arms, run.top)
            run.top -= 1
        run.candidates = _count(state, n_arms, run.top)
        if _count(state, n_arms, 0) == 0:
            event = state.event[0]
            event.count += 1
            event.step = run.t
            event.arm = -1
            event.statistic = run.statistic
            event.threshold = run.limit
            _begin_episode(state, n_arms)


def _enter(state: METAState, n_arms: int, level: int, until: int) -> None:
    """A level begins at the next step with all arms."""
    state.run[0].top = level
    state.run[0].candidates = n_arms
    state.levels[level].start = state.run[0].t + 1
    state.levels[level].until = until
    for arm in range(n_arms):
        state.sets[level * n_arms + arm].evicted = 0


def _leave(state: METAState, n_arms: int, level: int) -> None:
    """A level ends: its hulls are given back."""
    first = level * n_arms * n_arms
    for pair in range(n_arms * n_arms):
        empty_hull(state, state.hulls[first + pair])


def _begin_episode(state: METAState, n_arms: int) -> None:
    for level in range(state.run[0].top + 1):
        _leave(state, n_arms, level)
    _enter(state, n_arms, 0, 1 << 60)
    for pair in range(n_arms * n_arms):
        state.pairs[pair].total = 0.0
        state.pairs[pair].earlier = 0.0
    for place in range(n_arms):
        state.recent[place].value = 0.0


def _count(state: METAState, n_arms: int, level: int) -> int:
    left = n_arms
    for arm in range(n_arms):
        left -= state.sets[level * n_arms + arm].evicted
    return left


def _draw_replay(state: METAState, n_arms: int, rng: np.random.Generator) -> bool:
    """Whether a replay begins at the next step; of the lengths drawn the longest counts.

    One uniform number decides about all: given that it missed the longer ones it is uniform on what is left.
    """
    run, levels = state.run[0], state.levels
    rate = 1.0 / math.sqrt(run.t + 1 - levels[0].start)
    left = rng.random()
    if left >= rate / (math.sqrt(2.0) - 1.0):  # the probabilities of all lengths sum to less
        return False
    for power in range(run.longest, 0, -1):
        probability = rate / math.sqrt(1 << power)
        if left < probability:
            until = run.t + 1 + (1 << power)
            while run.top > 0 and levels[run.top].until <= until:
                _leave(state, n_arms, run.top)
                run.top -= 1
            _enter(state, n_arms, run.top + 1, until)
            return True
        left = (left - probability) / (1.0 - probability)
    return False
