"""A policy between asks and tells: it chooses for a step, and learns rewards in the order that it needs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftbandits.errors import InputError
from driftbandits.kernels import entry
from driftbandits.loops import make_select_many, make_update_many
from driftbandits.lowlevel import StepStream
from driftbandits.policies.base import Policy, State

KEEP = 4096
"""What the policy knew can be told for at least so many updates back."""
ROOM = 1024
DRAWS = 100
"""Of so many draws of the policy one is taken, where the probability of a choice must be known."""
BY_CHANCE, NOWHERE = 1 << 61, 1 << 62
"""Steps from here on are nobody's: their random streams serve for choices by chance, and for looking at a State."""

Rewards = Sequence[tuple[int, int, float]]
"""Rewards that came, as (step, arm, reward)."""


class Learner:
    """For policies that take rewards of any arm in any order: each is learnt when it comes."""

    def __init__(self, policy: Policy, n_arms: int, seed: int, explore: float) -> None:
        self.policy, self.n_arms, self.explore = policy, n_arms, explore
        self.stream = StepStream(seed)
        self.learnt = 0
        self.unknown = set(range(n_arms))
        """Arms of which no reward has been learnt."""
        self._begin_stage(0)
        self.state: State = self.player(0).init(n_arms)
        owners = (type(self.player(0)),)
        arms, p = np.zeros(1, np.int64), np.zeros(1)
        asked = (self._me, self.state, self.stream.addresses, self.stream.memory, 1, 1, (n_arms, explore), arms, p)
        self._select_many = entry(make_select_many, owners, asked)
        self._update_many = entry(make_update_many, owners, (self._me, self.state, arms, p))
        self.begin_past()

    def choose(self, step: int, count: int, waiting: int) -> tuple[Any, Any]:
        """Arms for the asks ``step``, ``step + 1``, ..., and the probability of each choice.

        At first most policies want each arm once, the first of them as long as they have learnt nothing. Asks that
        don't wait for rewards go round the arms not known yet instead: ``waiting`` asks have done so already.
        """
        if not self.unknown:
            return self._draw(self.state, self.learnt, step, count, self.explore)
        arms, _ = self._draw(self.state, self.learnt, step, count)
        unknown = sorted(self.unknown)
        for index, arm in enumerate(arms.tolist()):
            if arm in self.unknown:
                arms[index] = unknown[(unknown.index(arm) + waiting + index) % len(unknown)]
        return self._by_chance(step, arms)

    def take(self, rewards: Rewards, oldest: int) -> None:
        """Rewards came; those of asks before step ``oldest`` are too old for a policy that must put them aside."""
        self._learn([arm for _, arm, _ in rewards], [reward for _, _, reward in rewards])

    def state_at(self, learnt: int) -> State:
        """The State after so many updates; InputError when that is too long ago."""
        mark = next((mark for mark in reversed(self._marks) if mark[0] <= learnt), None)
        if mark is None or learnt > self.learnt:
            raise InputError(f"only the last {self.learnt - self._marks[0][0]:,} updates can be looked at")
        first = mark[0] - self._marks[0][0]
        return self._updated(_copy(mark[1]), mark[0], self._past[first : first + learnt - mark[0]])

    def rewards_before(self, learnt: int, most: int) -> list[list[float]]:
        """Each arm's last rewards, at most ``most``, among the remembered ones of the first ``learnt`` updates."""
        found: list[list[float]] = [[] for _ in range(self.n_arms)]
        for arm, reward in reversed(self._past[: max(0, learnt - self._marks[0][0])]):
            if len(found[arm]) < most:
                found[arm].append(reward)
        return found

    def shares(self, learnt: int, draws: int = 1000) -> Any:
        """The probability of every arm's being chosen after so many updates, as the share of so many draws."""
        arms, _ = self._draw(self.state_at(learnt), learnt, NOWHERE, draws)
        return np.bincount(arms, minlength=self.n_arms) / draws

    def begin_past(self) -> None:
        """Remember from here on."""
        self._marks: deque[tuple[int, State]] = deque([(self.learnt, _copy(self.state))])
        self._past: list[tuple[int, float]] = []

    def player(self, learnt: int) -> Policy:
        """The policy whose State it is after so many updates: another in every stage, where there are stages."""
        if not self._stage.start <= learnt < self._stage.stop:
            self._begin_stage(learnt)
        return self._stage.policy

    def _begin_stage(self, learnt: int) -> None:
        self._stage = self.policy.stage(learnt)
        self._me = self._stage.policy.compiled()

    def _draw(self, state: State, learnt: int, step: int, count: int, explore: float = 0.0) -> tuple[Any, Any]:
        arms, p = np.empty(count, np.int64), np.empty(count)
        self.player(learnt)
        place, draws = (self.stream.addresses, self.stream.memory, step), DRAWS if explore > 0 else 1
        self._select_many(self._me, state, *place, draws, (self.n_arms, explore), arms, p)
        return arms, p

    def _by_chance(self, step: int, arms: Any) -> tuple[Any, Any]:
        """These arms, or any arm by chance; which ones the policy wanted is certain, so the probabilities know it."""
        wanted = arms.copy()
        if self.explore > 0:
            for index in range(len(arms)):
                rng = self.stream.at(BY_CHANCE + step + index)
                if rng.random() < self.explore:
                    arms[index] = int(rng.random() * self.n_arms)
        return arms, self.explore / self.n_arms + (1.0 - self.explore) * (arms == wanted)

    def _learn(self, arms: list[int], rewards: list[float]) -> None:
        pulls = list(zip(arms, rewards, strict=True))
        self.state = self._updated(self.state, self.learnt, pulls)
        self.learnt += len(pulls)
        self.unknown.difference_update(arms)
        self._past.extend(pulls)
        if self.learnt - self._marks[-1][0] >= KEEP:
            self._marks.append((self.learnt, _copy(self.state)))
            if len(self._marks) > 2:
                forgotten, _ = self._marks.popleft()
                del self._past[: self._marks[0][0] - forgotten]

    def _updated(self, state: State, learnt: int, pulls: list[tuple[int, float]]) -> State:
        """The State after ``pulls``, which follow its first ``learnt`` updates.

        Room is made at fixed numbers of updates, so that even the bytes of a State do not depend on how rewards were
        bundled when they came.
        """
        while pulls:
            policy, stage = self.player(learnt), self._stage
            left = min(ROOM - learnt % ROOM, stage.stop - learnt)
            if learnt % ROOM == 0 or learnt == stage.start:
                state = policy.reserve(state, ROOM)
            arms = np.array([arm for arm, _ in pulls[:left]], np.int64)
            self._update_many(self._me, state, arms, np.array([reward for _, reward in pulls[:left]]))
            learnt, pulls = learnt + len(arms), pulls[left:]
            if learnt == stage.stop:
                state = self.player(learnt).init(self.n_arms)
        return state


class InTurnLearner(Learner):
    """For policies that must be told the reward of the very arm they chose before they choose again.

    All asks get the arm that the policy waits for. When rewards come it learns one of that arm, chooses the next, and
    learns on while rewards of what it chooses are there (Joulani, György, Szepesvári 2013, QPM-D). Rewards put aside
    are dropped when they are older than ``oldest``: means drift.
    """

    def __init__(self, policy: Policy, n_arms: int, seed: int, explore: float) -> None:
        super().__init__(policy, n_arms, seed, explore)
        self.aside: list[deque[tuple[int, float]]] = [deque() for _ in range(n_arms)]
        self._choose_next()

    def _choose_next(self) -> None:
        arms, _ = self._draw(self.state, self.learnt, self.learnt + 1, 1)
        self.wish = int(arms[0])

    def choose(self, step: int, count: int, waiting: int) -> tuple[Any, Any]:
        return self._by_chance(step, np.full(count, self.wish))

    def take(self, rewards: Rewards, oldest: int) -> None:
        for step, arm, reward in rewards:
            self.aside[arm].append((step, reward))
        # Every old one, wherever it stands in its queue: what is learnt must not depend on how rewards were bundled.
        self.aside = [deque(kept for kept in queue if kept[0] >= oldest) for queue in self.aside]
        while self.aside[self.wish]:
            _, reward = self.aside[self.wish].popleft()
            self._learn([self.wish], [reward])
            self._choose_next()

    def resume(self, aside: Rewards) -> None:
        """Go on from a snapshot: ``state`` and ``learnt`` are set already."""
        for step, arm, reward in aside:
            self.aside[arm].append((step, reward))
        self._choose_next()


def make_learner(policy: Policy, n_arms: int, seed: int, explore: float) -> Learner:
    """The learner that suits the policy."""
    return (Learner if policy.any_order else InTurnLearner)(policy, n_arms, seed, explore)


def _copy(state: State) -> State:
    return type(state)(*(array.copy() for array in state))
