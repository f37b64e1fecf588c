"""Plain twins of policies that detect changes, arm by arm: whole histories, every split. Others: naive_restarts."""

from __future__ import annotations

import math

import numpy as np

Event = tuple[int, int]
"""When, and which arm (-1: all)."""


def kl(p: float, q: float) -> float:
    """Bernoulli's divergence, infinite where q rules out what p allows."""
    found = 0.0
    for mine, other in ((p, q), (1 - p, 1 - q)):
        if mine > 0:
            found += mine * math.log(mine / other) if other > 0 else math.inf
    return found


def kl_upper(p: float, level: float) -> float:
    """The largest q with kl(p, q) <= level, by halving."""
    low, high = p, 1.0 if level > 0 else p
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if kl(p, middle) > level else (middle, high)
    return high


def first_of_the_largest(indices: list[float]) -> int:
    """Indices closer than rounding are equal."""
    best = 0
    for arm, index in enumerate(indices):
        if index > indices[best] + 1e-12:
            best = arm
    return best


class NaiveGenerator:
    """The draws of ``update``: they come from the run's own generator, which ``seed`` names before the first step."""

    def seed(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def uniform(self) -> float:
        return float(self.rng.random())


class NaiveGLRUCB:
    def __init__(self, n_arms: int, exploration: float, risk: float, test: str, restart: str) -> None:
        self.K, self.exploration, self.risk, self.test, self.restart = n_arms, exploration, risk, test, restart
        self.t, self.episode = 0, 1
        self.rewards: list[list[float]] = [[] for _ in range(n_arms)]
        self.since = [0] * n_arms
        self.events: list[Event] = []
        self.statistic = 0.0

    def kl(self, x: float, y: float) -> float:
        return 2 * (x - y) ** 2 if self.test == "gaussian" else kl(min(x, 1.0), min(y, 1.0))

    def index(self, arm: int) -> float:
        rewards = self.rewards[arm]
        if not rewards:
            return math.inf
        level = math.log(self.t - self.since[arm]) / len(rewards)
        mean = math.fsum(rewards) / len(rewards)
        return mean + math.sqrt(level / 2) if self.test == "gaussian" else kl_upper(min(mean, 1.0), level)

    def select(self, rng: np.random.Generator) -> int:
        alpha = min(1.0, self.exploration * math.sqrt(self.episode))
        place = (self.t + 1) % math.floor(self.K / alpha) if alpha > 0 else self.t + 1
        return place - 1 if 1 <= place <= self.K else first_of_the_largest([self.index(a) for a in range(self.K)])

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        self.rewards[arm].append(reward)
        x = self.rewards[arm]
        n, mean = len(x), math.fsum(x) / len(x)
        self.statistic = max((self.split(x, s, mean) for s in range(1, n)), default=0.0)
        if self.statistic >= math.log(n**1.5 / self.risk):
            local = self.restart == "local"
            self.events.append((self.t, arm if local else -1))
            self.episode += 1
            for other in [arm] if local else range(self.K):
                self.rewards[other], self.since[other] = [], self.t

    def split(self, x: list[float], s: int, mean: float) -> float:
        n = len(x)
        return s * self.kl(math.fsum(x[:s]) / s, mean) + (n - s) * self.kl(math.fsum(x[s:]) / (n - s), mean)


class NaiveCUSUMUCB:
    def __init__(self, n_arms: int, threshold: float, exploration: float, epsilon: float, warmup: int) -> None:
        self.K, self.h, self.alpha, self.epsilon, self.warmup = n_arms, threshold, exploration, epsilon, warmup
        self.t = 0
        self.rewards: list[list[float]] = [[] for _ in range(n_arms)]
        self.events: list[Event] = []

    def select(self, rng: np.random.Generator) -> int:
        if rng.random() < self.alpha:
            return int(rng.random() * self.K)
        n = sum(map(len, self.rewards))
        return first_of_the_largest(
            [math.fsum(x) / len(x) + math.sqrt(math.log(n) / len(x)) if x else math.inf for x in self.rewards]
        )

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        x = self.rewards[arm]
        x.append(reward)
        if len(x) > self.warmup:
            u = math.fsum(x[: self.warmup]) / self.warmup
            rise = fall = 0.0
            for later in x[self.warmup :]:
                rise = max(0.0, rise + later - u - self.epsilon)
                fall = max(0.0, fall + u - later - self.epsilon)
            if max(rise, fall) >= self.h:
                self.events.append((self.t, arm))
                self.rewards[arm] = []


class NaiveMUCB:
    def __init__(self, n_arms: int, window: int, threshold: float, exploration: float) -> None:
        self.K, self.w, self.b, self.gamma = n_arms, window, threshold, exploration
        self.t = self.tau = 0
        self.rewards: list[list[float]] = [[] for _ in range(n_arms)]
        self.events: list[Event] = []

    def select(self, rng: np.random.Generator) -> int:
        elapsed = self.t + 1 - self.tau
        place = elapsed % math.floor(self.K / self.gamma) if self.gamma > 0 else 0
        if 1 <= place <= self.K:
            return place - 1
        return first_of_the_largest(
            [math.fsum(x) / len(x) + math.sqrt(2 * math.log(elapsed) / len(x)) if x else math.inf for x in self.rewards]
        )

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        self.rewards[arm].append(reward)
        last = self.rewards[arm][-self.w :]
        if len(last) == self.w and abs(math.fsum(last[self.w // 2 :]) - math.fsum(last[: self.w // 2])) > self.b:
            self.events.append((self.t, -1))
            self.tau, self.rewards = self.t, [[] for _ in range(self.K)]
