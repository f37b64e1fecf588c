"""Plain twins of policies that start all arms anew: whole histories, every window, draws one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from naive_detectors import Event, NaiveGenerator, first_of_the_largest


class NaiveBOB:
    def __init__(self, n_arms: int, horizon: int, sigma: float, block: int) -> None:
        self.K, self.H, self.sigma = n_arms, block, sigma
        last = math.ceil(math.log(block))
        self.windows = [math.floor(block ** (j / last) + 1e-9) for j in range(last + 1)] if last else [block]
        self.width = sigma * math.sqrt(2 * math.log(2 * n_arms * horizon**2))
        self.Q = 2 * block + 4 * sigma * math.sqrt(block * max(0.0, math.log(horizon / math.sqrt(block))))
        count = len(self.windows)
        self.gamma = min(1.0, math.sqrt(count * math.log(count) / ((math.e - 1) * math.ceil(horizon / block))))
        self.s = [1.0] * count
        self.history: list[tuple[int, float]] = []
        self.chosen, self.t, self.generator = 0, 0, NaiveGenerator()
        self.events: list[Event] = []

    def probabilities(self) -> list[float]:
        return [(1 - self.gamma) * s / sum(self.s) + self.gamma / len(self.s) for s in self.s]

    def select(self, rng: np.random.Generator) -> int:
        recent = self.history[-self.windows[self.chosen] :]
        mine = [[reward for arm, reward in recent if arm == k] for k in range(self.K)]
        return first_of_the_largest(
            [math.fsum(x) / len(x) + self.width / math.sqrt(len(x)) if x else math.inf for x in mine]
        )

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        if not self.history:
            shares = np.cumsum(self.probabilities())[:-1]
            self.chosen = int(np.searchsorted(shares, self.generator.uniform(), side="right"))
            self.events.append((self.t, -1))
        self.history.append((arm, reward))
        if len(self.history) == self.H:
            p, received = self.probabilities()[self.chosen], math.fsum(reward for _, reward in self.history)
            self.s[self.chosen] *= math.exp(self.gamma / (len(self.s) * p) * (0.5 + received / self.Q))
            self.history = []


class NaiveAdSwitch:
    """Eviction looks at windows with 2, 4, 8, ... pulls of the arm just pulled, the tests for change at all windows."""

    def __init__(self, n_arms: int, horizon: int, c1: float) -> None:
        self.K, self.T, self.L, self.c1 = n_arms, horizon, math.log(horizon), c1
        self.t, self.episode, self.generator = 0, 0, NaiveGenerator()
        self.pulled_at = [0] * n_arms
        self.events: list[Event] = []
        self.new_episode()

    def new_episode(self) -> None:
        self.episode += 1
        self.history: list[tuple[int, float]] = []
        self.bad: dict[int, tuple[float, float]] = {}
        self.owed = [0] * self.K

    def select(self, rng: np.random.Generator) -> int:
        candidates = [a for a in range(self.K) if a not in self.bad or self.owed[a] > 0]
        return min(candidates, key=lambda a: (self.pulled_at[a], a))

    def windows(self, x: list[float]) -> Iterator[tuple[float, float]]:
        """The confidence interval of every window of an arm's rewards."""
        for end in range(1, len(x) + 1):
            total = 0.0
            for start in range(end - 1, -1, -1):
                total += x[start]
                n = end - start
                yield total / n - math.sqrt(2 * self.L / n), total / n + math.sqrt(2 * self.L / n)

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        self.pulled_at[arm] = self.t
        self.history.append((arm, reward))
        self.owed[arm] -= 1
        x = [reward for a, reward in self.history if a == arm]
        if arm in self.bad:
            mean, gap = self.bad[arm]
            ends = [math.fsum(x[s:]) / (len(x) - s) for s in range(len(x))]
            radii = [math.sqrt(2 * self.L / (len(x) - s)) for s in range(len(x))]
            self.statistic = max(abs(e - mean) - gap / 4 - r for e, r in zip(ends, radii, strict=True))
        else:
            lows, highs = zip(*self.windows(x), strict=True)
            self.statistic = max(lows) - min(highs)
        if self.statistic > 0:
            self.events.append((self.t, -1))
            self.new_episode()
            return
        if arm not in self.bad:
            self.evict(arm)
        for a in sorted(self.bad):
            self.oblige(a)

    def evict(self, arm: int) -> None:
        places = [i for i, (a, _) in enumerate(self.history) if a == arm]
        pulls = 2
        while pulls <= len(places):
            window = self.history[places[-pulls] :]
            good = {a: [r for b, r in window if b == a] for a in range(self.K) if a not in self.bad}
            means = {a: math.fsum(x) / len(x) for a, x in good.items()}
            best = max(means.values())
            for a, x in good.items():
                if len(x) >= 2 and best - means[a] > math.sqrt(self.c1 * self.L / (len(x) - 1)):
                    self.bad[a], self.owed[a] = (means[a], best - means[a]), 0
            pulls *= 2

    def oblige(self, arm: int) -> None:
        """One uniform number decides about all i: the largest that is drawn counts."""
        u, none_larger = self.generator.uniform(), 1.0
        rate = min(1.0, math.sqrt(self.episode / (self.K * self.T * self.L)))
        for i in reversed([i for i in range(1, 60) if 2.0**-i >= self.bad[arm][1] / 16]):
            none_so_far = none_larger * (1 - rate * 2.0**-i)
            if 1 - none_larger <= u < 1 - none_so_far:
                self.owed[arm] = max(self.owed[arm], math.ceil(2 ** (2 * i + 1) * self.L - 1e-9))
            none_larger = none_so_far


class NaiveMASTER:
    def __init__(self, n_arms: int, horizon: int, confidence: float) -> None:
        self.K, self.T, self.confidence = n_arms, horizon, confidence
        self.t, self.generator = 0, NaiveGenerator()
        self.events: list[Event] = []
        self.new_block(0)

    def rho(self, t: int) -> float:
        return math.sqrt(self.K * math.log(self.T**2) / t) + self.K * math.log(self.T**2) / t

    def rho_hat(self, t: int) -> float:
        return self.confidence * 6 * (math.log2(self.T) + 1) * math.log(self.T**2) * self.rho(t)

    def new_block(self, order: int) -> None:
        self.n = order
        self.block: list[tuple[float, float]] = []  # the optimistic value and the reward of each step
        self.instances: list[tuple[int, int, list[tuple[int, float]]]] = []  # first step, length, what it has learnt
        self.schedule()

    def schedule(self) -> None:
        tau = len(self.block)
        for m in range(self.n + 1):
            if tau % 2**m == 0 and (m == self.n or self.generator.uniform() < self.rho(2**self.n) / self.rho(2**m)):
                self.instances.append((tau, 2**m, []))

    def active(self) -> list[tuple[int, float]]:
        alive = [each for each in self.instances if each[0] <= len(self.block) < each[0] + each[1]]
        return min(alive, key=lambda each: each[1])[2]

    def indices(self) -> list[float]:
        mine = [[reward for arm, reward in self.active() if arm == k] for k in range(self.K)]
        pulls = [max(1, len(x)) for x in mine]
        return [math.fsum(x) / n + math.sqrt(math.log(self.T**2) / n) for x, n in zip(mine, pulls, strict=True)]

    def select(self, rng: np.random.Generator) -> int:
        return first_of_the_largest(self.indices())

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        optimistic = min(1.0, max(self.indices()))
        self.active().append((arm, reward))
        self.block.append((optimistic, reward))
        if self.test():
            self.events.append((self.t, -1))
            self.new_block(0)
        elif len(self.block) == 2**self.n:
            self.new_block(self.n + 1)
        else:
            self.schedule()

    def test(self) -> bool:
        length, lowest = len(self.block), min(value for value, _ in self.block)
        for start, span, _ in self.instances:
            rewards = [reward for _, reward in self.block[start : start + span]]
            if start + span == length and math.fsum(rewards) / span >= lowest + 9 * self.rho_hat(span):
                return True
        return math.fsum(value - reward for value, reward in self.block) / length >= 3 * self.rho_hat(length)


class NaiveMETA:
    """The pseudo-code word for word: a replay is a call that interrupts its caller."""

    def __init__(self, n_arms: int, horizon: int, c0: float) -> None:
        self.K, self.T, self.c0 = n_arms, horizon, c0
        self.t, self.generator = 1, NaiveGenerator()  # the step to come
        self.events: list[Event] = []
        self.running = self.episodes()
        next(self.running)

    def episodes(self) -> Iterator[None]:
        while True:
            self.start, self.steps = self.t, np.zeros((self.K, self.K, 0))
            self.latest = [0] * self.K  # the latest s1 of steps s1..s2 that evict the arm
            yield from self.base(self.t, math.inf)
            self.events.append((self.t - 1, -1))

    def base(self, start: int, until: float) -> Iterator[None]:
        mine = set(range(self.K))
        while self.t <= until:
            self.candidates = sorted(mine)
            yield
            length = self.replay()
            if length:
                yield from self.base(self.t, self.t + length)
            mine = {a for a in mine if self.latest[a] < start}
            if all(s1 >= self.start for s1 in self.latest):
                return

    def replay(self) -> int:
        u, none_longer, chosen = self.generator.uniform(), 1.0, 0
        for power in range(math.ceil(math.log2(self.T)), 0, -1):
            none_so_far = none_longer * (1 - 1 / math.sqrt(2**power * (self.t - self.start)))
            if 1 - none_longer <= u < 1 - none_so_far:
                chosen = 2**power
            none_longer = none_so_far
        return chosen

    def select(self, rng: np.random.Generator) -> int:
        return self.candidates[int(rng.random() * len(self.candidates))]

    def update(self, arm: int, reward: float) -> None:
        leads = np.zeros((self.K, self.K, 1))
        for a in self.candidates:
            leads[arm, a] += len(self.candidates) * reward
            leads[:, a] -= len(self.candidates) * reward * (a == arm)
        self.steps = np.concatenate([self.steps, leads], axis=2)
        sums = self.steps[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]  # from each s1 until now
        lengths = self.t - np.arange(self.start, self.t + 1)
        limits = math.log(self.T) * np.sqrt(self.c0 * np.maximum(self.K * lengths, self.K**2))
        for a in range(self.K):
            passing = np.flatnonzero((sums[:, a] > limits).any(axis=0))
            if len(passing):
                self.latest[a] = max(self.latest[a], self.start + int(passing[-1]))
        self.t += 1
        next(self.running)
