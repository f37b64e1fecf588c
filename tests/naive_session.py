"""A Session said as plainly as can be: the policy's own methods, lists, a new random generator for every choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftbandits.policies.base import Policy


class NaiveSession:
    def __init__(
        self, policy: Policy, n_arms: int, seed: int, timeout: float | None, default: float | None, draws: int = 1
    ) -> None:
        self.policy, self.seed, self.timeout, self.default, self.draws = policy, seed, timeout, default, draws
        self.state = policy.reserve(policy.init(n_arms), 10_000)
        self.decisions: list[dict[str, Any]] = []
        self.aside: list[tuple[int, int, float]] = []
        self.learnt = 0
        self.most_open = 0
        self.wish: tuple[int, float] | None = None

    def draw(self, step: int) -> tuple[int, float]:
        rng = np.random.Generator(np.random.Philox(key=self.seed, counter=[0, step, 0, 0]))
        drawn = [int(self.policy.select(self.state, rng)) for _ in range(self.draws)]
        arm = drawn[int(rng.random() * self.draws)] if self.draws > 1 else drawn[0]
        return arm, drawn.count(arm) / self.draws

    def ask(self, now: float, count: int) -> list[tuple[int, float]]:
        self.settle(now)
        chosen = []
        for _ in range(count):
            if self.policy.any_order:
                arm, p = self.draw(len(self.decisions) + 1)
            elif self.wish is None:
                arm, p = self.wish = self.draw(self.learnt + 1)
            else:
                arm, p = self.wish[0], 1.0
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
                self.policy.update(self.state, arm, reward)
                self.learnt += 1
            return
        if not came:
            return
        self.aside += came
        self.aside = [entry for entry in self.aside if entry[0] >= len(self.decisions) - 2 * self.most_open]
        while True:
            wish = self.wish or self.draw(self.learnt + 1)
            fitting = [entry for entry in self.aside if entry[1] == wish[0]]
            if not fitting:
                return
            self.aside.remove(fitting[0])
            self.policy.update(self.state, wish[0], fitting[0][2])
            self.learnt += 1
            self.wish = None
