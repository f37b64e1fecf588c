"""A policy between asks and tells: it chooses for a step, and learns rewards in the order that it needs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from driftbandits._compile.loops import make_select_many, make_update_many
from driftbandits._compile.lowlevel import StepStream
from driftbandits._compile.player import Player
from driftbandits.errors import InputError, PolicyError
from driftbandits.policies.base import Policy, State

KEEP = 4096
"""What the policy knew can be told for at least so many updates back."""
DRAWS = 100
"""Of so many draws of the policy one is taken, where the probability of a choice must be known."""
SEED_STEPS, EXPLORE_STEPS, EXPLAIN_STEPS = 1 << 60, 1 << 61, 1 << 62
"""No ask has a step as large as these. Random streams from here on serve what a policy draws once, exploration, and
``shares``."""

Rewards = Sequence[tuple[int, int, float]]
"""Rewards that came, as (step, arm, reward)."""


class Learner:
    """For policies that take rewards of any arm in any order: each is learnt when it comes."""

    def __init__(self, policy: Policy, n_arms: int, seed: int, explore: float) -> None:
        self.policy, self.n_arms, self.explore = policy, n_arms, explore
        self.stream = StepStream(seed)
        self.player = Player(policy, n_arms, lambda learnt: self.stream.at(SEED_STEPS + learnt))
        self._generator = self.player.random(self.stream.rng)
        self.unknown = set(range(n_arms))
        """Arms of which no reward has been learnt."""
        # Compile now, so that the first ask takes no longer than the others.
        arms, p = np.zeros(1, np.int64), np.zeros(1)
        self.player.prepare(make_select_many, self._generator, self.stream.memory, 1, 1, (n_arms, explore), arms, p)
        self.player.prepare(make_update_many, arms, p)
        self.begin_past()

    @property
    def learnt(self) -> int:
        """How many rewards have been learnt."""
        return self.player.step

    @property
    def state(self) -> State:
        """What has been learnt."""
        learnt: State = self.player.state
        return learnt

    def choose(self, step: int, count: int, waiting: int) -> tuple[Any, Any]:
        """Arms for the asks ``step``, ``step + 1``, ..., and the probability of each choice.

        At first most policies want each arm once, the first of them as long as they have learnt nothing. Asks that
        don't wait for rewards cycle through the arms not known yet instead: ``waiting`` asks have done so already.
        """
        if not self.unknown:
            return self._draw(self.player, step, count, self.explore)
        arms, _ = self._draw(self.player, step, count)
        unknown = sorted(self.unknown)
        for index, arm in enumerate(arms.tolist()):
            if arm in self.unknown:
                arms[index] = unknown[(unknown.index(arm) + waiting + index) % len(unknown)]
        return self._by_chance(step, arms)

    def take(self, rewards: Rewards, oldest: int) -> None:
        """Rewards came; those of asks before step ``oldest`` are too old for a policy that must put them aside.

        PolicyError when a kernel fails at one of them: then none was taken.
        """
        before, unknown = self.learnt, self.unknown.copy()
        self._forget_long_past()
        try:
            self._take(rewards, oldest)
        except PolicyError:
            # A kernel that failed may have changed anything: go back to the State before.
            self.player = self.past(before)
            self.unknown = unknown
            del self._past[before - self._marks[0][0] :]
            raise

    def _take(self, rewards: Rewards, oldest: int) -> None:
        self._learn([(arm, reward) for _, arm, reward in rewards])

    def past(self, learnt: int) -> Player:
        """The policy as it was after so many updates; InputError when that is too long ago."""
        mark = next((mark for mark in reversed(self._marks) if mark[0] <= learnt), None)
        if mark is None or learnt > self.learnt:
            raise InputError(f"only the last {self.learnt - self._marks[0][0]:,} updates can be looked at")
        first = mark[0] - self._marks[0][0]
        player = self.player.at(_copy(mark[1]), mark[0])
        player.update_many(self._past[first : first + learnt - mark[0]])
        return player

    def rewards_before(self, learnt: int, most: int) -> list[list[float]]:
        """Each arm's last rewards, at most ``most``, among the remembered ones of the first ``learnt`` updates."""
        found: list[list[float]] = [[] for _ in range(self.n_arms)]
        for arm, reward in reversed(self._past[: max(0, learnt - self._marks[0][0])]):
            if len(found[arm]) < most:
                found[arm].append(reward)
        return found

    def shares(self, learnt: int, draws: int = 1000) -> Any:
        """The probability with which each arm is chosen after so many updates, as its share of so many draws."""
        arms, _ = self._draw(self.past(learnt), EXPLAIN_STEPS, draws)
        return np.bincount(arms, minlength=self.n_arms) / draws

    def begin_past(self) -> None:
        """Remember from here on."""
        self._marks: deque[tuple[int, State]] = deque([(self.learnt, _copy(self.state))])
        self._past: list[tuple[int, float]] = []

    def resume(self, state: State, learnt: int, unknown: Iterable[int], aside: Rewards) -> None:
        """Go on from a snapshot."""
        self.player.resume(state, learnt)
        self.unknown = set(unknown)
        self.begin_past()

    def _draw(self, player: Player, step: int, count: int, explore: float = 0.0) -> tuple[Any, Any]:
        arms, p = np.empty(count, np.int64), np.empty(count)
        draws, chances = DRAWS if explore > 0 else 1, (self.n_arms, explore)
        if self.stream.memory:
            player.play(make_select_many, self._generator, self.stream.memory, step, draws, chances, arms, p)
            return arms, p
        for index in range(count):  # the loop can't move the stream to the next step by itself
            self.stream.at(step + index)
            one = slice(index, index + 1)
            player.play(make_select_many, self._generator, (), step + index, draws, chances, arms[one], p[one])
        return arms, p

    def _by_chance(self, step: int, arms: Any) -> tuple[Any, Any]:
        """These arms, or any arm by chance; which ones the policy wanted is certain, so the probabilities know it."""
        wanted = arms.copy()
        if self.explore > 0:
            for index in range(len(arms)):
                rng = self.stream.at(EXPLORE_STEPS + step + index)
                if rng.random() < self.explore:
                    arms[index] = int(rng.random() * self.n_arms)
        return arms, self.explore / self.n_arms + (1.0 - self.explore) * (arms == wanted)

    def _learn(self, pulls: list[tuple[int, float]]) -> None:
        self.player.update_many(pulls)
        self.unknown.difference_update(arm for arm, _ in pulls)
        self._past.extend(pulls)

    def _forget_long_past(self) -> None:
        if self.learnt - self._marks[-1][0] >= KEEP:
            self._marks.append((self.learnt, _copy(self.state)))
            if len(self._marks) > 2:
                forgotten, _ = self._marks.popleft()
                del self._past[: self._marks[0][0] - forgotten]


class InTurnLearner(Learner):
    """For policies that must be told the reward of exactly the arm they chose before they choose again.

    All asks get the arm that the policy waits for. When rewards come it learns one of that arm, chooses the next, and
    continues while there are rewards of what it chooses (Joulani, György, Szepesvári 2013, QPM-D). Rewards put aside
    are dropped when they are older than ``oldest``: means drift.
    """

    def __init__(self, policy: Policy, n_arms: int, seed: int, explore: float) -> None:
        super().__init__(policy, n_arms, seed, explore)
        self.aside: list[deque[tuple[int, float]]] = [deque() for _ in range(n_arms)]
        self._choose_next()

    def _choose_next(self) -> None:
        arms, _ = self._draw(self.player, self.learnt + 1, 1)
        self.next_arm = int(arms[0])

    def choose(self, step: int, count: int, waiting: int) -> tuple[Any, Any]:
        return self._by_chance(step, np.full(count, self.next_arm))

    def _take(self, rewards: Rewards, oldest: int) -> None:
        aside, next_arm = [queue.copy() for queue in self.aside], self.next_arm
        try:
            for step, arm, reward in rewards:
                self.aside[arm].append((step, reward))
            # Every old one, wherever it stands in its queue: what is learnt must not depend on how rewards came.
            self.aside = [deque(kept for kept in queue if kept[0] >= oldest) for queue in self.aside]
            while self.aside[self.next_arm]:
                _, reward = self.aside[self.next_arm].popleft()
                self._learn([(self.next_arm, reward)])
                self._choose_next()
        except PolicyError:
            self.aside, self.next_arm = aside, next_arm
            raise

    def resume(self, state: State, learnt: int, unknown: Iterable[int], aside: Rewards) -> None:
        """Go on from a snapshot, with the rewards that were put aside."""
        super().resume(state, learnt, unknown, aside)
        for step, arm, reward in aside:
            self.aside[arm].append((step, reward))
        self._choose_next()


def make_learner(policy: Policy, n_arms: int, seed: int, explore: float) -> Learner:
    """The learner for this policy."""
    return (Learner if policy.any_order else InTurnLearner)(policy, n_arms, seed, explore)


def _copy(state: State) -> State:
    return type(state)(*(array.copy() for array in state))
