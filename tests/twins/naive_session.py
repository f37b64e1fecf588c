"""A Session said as plainly as can be: the policy's own methods, lists, a new random generator for every choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftbandits._numba.loops import update
from driftbandits.policies.base import Policy


class NaiveSession:
    def __init__(
        self, policy: Policy, n_arms: int, seed: int, timeout: float | None, default: float | None, explore: float = 0.0
    ) -> None:
        self.policy, self.seed, self.timeout, self.default, self.explore = policy, seed, timeout, default, explore
        self.n_arms = n_arms
        self.state = policy.reserve(policy.init(n_arms), 10_000)
        self.decisions: list[dict[str, Any]] = []
        self.aside: list[tuple[int, int, float]] = []
        self.learnt = 0
        self.unknown = list(range(n_arms))
        self.most_open = 0
        self.fresh = True
        """Whether no ask has had a chance of the arm that a policy which learns in turn waits for."""

    def rng(self, step: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=self.seed, counter=[0, step, 0, 0]))

    def draw(self, step: int) -> tuple[int, float]:
        """A policy that takes any order: by chance, or one of a hundred draws."""
        rng = self.rng(step)
        if self.explore == 0:
            return int(self.policy.select(self.state, rng)), 1.0
        drawn = [int(self.policy.select(self.state, rng)) for _ in range(100)]
        by_chance, where = rng.random() < self.explore, rng.random()
        arm = int(where * self.n_arms) if by_chance else drawn[int(where * 100)]
        return arm, self.explore / self.n_arms + (1 - self.explore) * drawn.count(arm) / 100

    def wait_for(self) -> int:
        """A policy that learns in turn: the arm it waits for."""
        return int(self.policy.select(self.state, self.rng(self.learnt + 1)))

    def ask(self, now: float, count: int) -> list[tuple[int, float | None]]:
        self.settle(now)
        chosen: list[tuple[int, float | None]] = []
        likely = self.policy.probabilities(self.state)
        for _ in range(count):
            step, p = len(self.decisions) + 1, None
            if self.policy.any_order and not self.unknown:
                arm, p = self.draw(step)
                p = p if self.explore > 0 else None
                known = list(range(self.n_arms))
            else:
                wish, rng = self.wait_for(), self.rng(2**61 + step)
                if self.policy.any_order:
                    wish = int(self.policy.select(self.state, self.rng(step)))
                    waiting = sum(decision["open"] for decision in self.decisions)
                    if wish in self.unknown:
                        wish = self.unknown[(self.unknown.index(wish) + waiting) % len(self.unknown)]
                known = list(range(self.n_arms))
                if self.policy.any_order:  # the arm that was turned into each
                    for place, each in enumerate(self.unknown):
                        known[self.unknown[(place + waiting) % len(self.unknown)]] = each
                arm = int(rng.random() * self.n_arms) if rng.random() < self.explore else wish
                if self.explore > 0:
                    p = self.explore / self.n_arms + (1 - self.explore) * (arm == wish)
            if likely is not None and (self.policy.any_order or (self.fresh and not self.aside)):
                p = self.explore / self.n_arms + (1 - self.explore) * float(likely[known[arm]])
            self.fresh = False
            due = np.inf if self.timeout is None else now + self.timeout
            self.decisions.append({"arm": arm, "due": due, "open": True, "reward": None})
            chosen.append((arm, p))
        self.most_open = max(self.most_open, sum(decision["open"] for decision in self.decisions))
        return chosen

    def tell(self, now: float, rewards: list[tuple[int, float]]) -> list[str]:
        self.settle(now)
        outcomes, came = [], []
        for step, reward in rewards:
            if not np.isfinite(reward):
                outcomes.append("invalid")
            elif not 1 <= step <= len(self.decisions):
                outcomes.append("unknown")
            else:
                decision = self.decisions[step - 1]
                if decision["open"]:
                    decision.update(open=False, reward=reward)
                    came.append((step, decision["arm"], reward))
                    outcomes.append("new")
                elif decision["reward"] is None:
                    outcomes.append("expired")
                else:
                    outcomes.append("again" if decision["reward"] == reward else "conflict")
        self.take(came)
        return outcomes

    def settle(self, now: float) -> None:
        came = []
        for step, decision in enumerate(self.decisions, 1):
            if decision["open"] and decision["due"] <= now:
                decision["open"] = False
                if self.default is not None:
                    came.append((step, decision["arm"], self.default))
        self.take(came)

    def take(self, came: list[tuple[int, int, float]]) -> None:
        if self.policy.any_order:
            for _, arm, reward in came:
                update(self.policy, self.state, arm, reward, self.rng(2**60 + self.learnt))
                self.learnt += 1
                self.unknown = [each for each in self.unknown if each != arm]
            return
        if not came:
            return
        self.aside += came
        self.aside = [entry for entry in self.aside if entry[0] >= len(self.decisions) - 2 * self.most_open]
        while True:
            wish = self.wait_for()
            fitting = [entry for entry in self.aside if entry[1] == wish]
            if not fitting:
                return
            self.aside.remove(fitting[0])
            update(self.policy, self.state, wish, fitting[0][2], self.rng(2**60 + self.learnt))
            self.learnt += 1
            self.fresh = True
