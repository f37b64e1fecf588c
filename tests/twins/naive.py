"""Plain twins of the policies: the definitions, word for word, with no regard for speed, to compare kernels to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np


class NaiveSnoozeIt:
    """All windows, every step, as the paper (and the authors' code, for ``released``) says."""

    def __init__(
        self, horizon: int, drift: float, variant: str = "modified", confidence: float = 1.0, pick: str | None = None
    ) -> None:
        self.L, self.delta, self.variant, self.confidence = math.log(horizon), drift, variant, confidence
        self.pick = pick or ("smallest" if variant == "released" else "largest")
        self.w_min = 1 if variant == "released" else max(1, math.ceil(confidence**2 * 72 * self.L))
        self.t = self.t_i = 0
        self.snoozed: int | None = None
        self.end = math.inf
        self.last_pull = [-2, -1]  # so that arm 0 is the less recently pulled one at the start
        self.better_first: int | None = None
        self.sums = np.zeros(1 << 14)  # arm 0's rewards less arm 1's, after each step of the episode
        windows = np.arange(self.w_min, 1 << 13)
        self.thresholds = 4 * confidence * math.sqrt(2 * self.L) * np.sqrt(windows)
        self.thresholds -= (0.0 if variant == "released" else drift) * windows
        self.episodes: list[dict[str, Any]] = []

    def select(self) -> int:
        if self.snoozed is not None:
            return 1 - self.snoozed
        if self.better_first is not None:
            return self.better_first
        return int(np.argmin(self.last_pull))

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        self.last_pull[arm] = self.t
        self.better_first = None
        if self.snoozed is None:
            m = self.t - self.t_i
            self.sums[m] = self.sums[m - 1] + (reward if arm == 0 else -reward)
            self.test(m)
        if self.snoozed is not None and self.t >= self.end:
            if self.variant == "released":
                self.better_first = 1 - self.snoozed
            self.snoozed = None
            self.new_episode()

    def new_episode(self) -> None:
        self.t_i = self.t

    def test(self, m: int) -> None:
        if m // 2 < self.w_min or (self.variant == "released" and m % 2 == 1):
            return
        leads = self.sums[m] - self.sums[m % 2 : m - 2 * self.w_min + 1 : 2][::-1]  # one for every w, w_min first
        passing = np.flatnonzero(np.abs(leads) > self.thresholds[: len(leads)])
        if len(passing):
            which = int(passing[-1] if self.pick == "largest" else passing[0])
            self.conclude(self.w_min + which, float(leads[which]))

    def conclude(self, w: int, lead: float) -> None:
        tau = self.t - self.t_i
        c1 = self.confidence**2 * (36 if self.variant == "released" else 72)
        gap = math.sqrt(c1 * self.L / w)
        span = tau if self.variant == "original" else 2 * w
        if self.delta == 0:
            buffer = math.inf
        elif self.variant == "original":
            buffer = math.sqrt(2 * c1 * self.L / tau) / (6 * self.delta)
        elif self.variant == "modified":
            buffer = gap / (6 * self.delta)
        else:
            buffer = gap / (3 * self.delta)
        arm = 0 if lead >= 0 else 1
        snooze = buffer > span
        end: float = self.t
        if snooze:
            end = self.t_i + buffer if self.variant == "original" else self.t - 2 * w + buffer
            if self.variant != "released" and math.isfinite(end):
                end = math.floor(end)
        self.episodes.append(
            {
                "start": self.t_i,
                "passed": self.t,
                "arm": arm,
                "window": w,
                "gap": gap,
                "buffer": buffer,
                "snoozed": int(snooze),
                "until": end,
            }
        )
        if snooze:
            self.snoozed, self.end = 1 - arm, end
        else:
            self.new_episode()


class NaiveExp3:
    """Plain weights, as decimals: these neither overflow nor vanish."""

    def __init__(self, n_arms: int, gamma: float) -> None:
        self.K, self.gamma = n_arms, gamma
        self.w = [Decimal(1)] * n_arms

    def probabilities(self) -> list[float]:
        return [(1 - self.gamma) * float(w / sum(self.w)) + self.gamma / self.K for w in self.w]

    def select(self, rng: np.random.Generator) -> int:
        return pick(self.probabilities(), rng)

    def factor(self, arm: int, reward: float) -> Decimal:
        return Decimal(self.gamma * reward / (self.probabilities()[arm] * self.K)).exp()


class NaiveRexp3(NaiveExp3):
    """Exp3, started again every batch."""

    def __init__(self, n_arms: int, batch: int, gamma: float) -> None:
        super().__init__(n_arms, gamma)
        self.batch, self.t = batch, 0

    def update(self, arm: int, reward: float) -> None:
        self.w[arm] *= self.factor(arm, reward)
        self.t += 1
        if self.t % self.batch == 0:
            self.w = [Decimal(1)] * self.K


class NaiveExp3S(NaiveExp3):
    """Auer et al.'s Exp3.S."""

    def __init__(self, n_arms: int, alpha: float, gamma: float) -> None:
        super().__init__(n_arms, gamma)
        self.alpha = alpha

    def update(self, arm: int, reward: float) -> None:
        share, factor = sum(self.w) * Decimal(math.e * self.alpha / self.K), self.factor(arm, reward)
        self.w = [w * (factor if k == arm else 1) + share for k, w in enumerate(self.w)]


class NaiveSWUCBSharp:
    """Everything from the whole history, at every step."""

    def __init__(self, n_arms: int, alpha: float, lam: float) -> None:
        self.K, self.alpha, self.lam = n_arms, alpha, lam
        self.history: list[tuple[int, float]] = []

    def tau(self) -> int:
        t = len(self.history)
        return min(math.ceil(self.lam * t**self.alpha), t) if t > 0 else 0

    def select(self) -> int:
        t = len(self.history) + 1
        recent = self.history[len(self.history) - self.tau() :]
        indices = []
        for k in range(self.K):
            mine = [reward for arm, reward in recent if arm == k]
            width = (1 + self.alpha) * math.log(t)
            indices.append(math.fsum(mine) / len(mine) + math.sqrt(width / len(mine)) if mine else math.inf)
        return indices.index(max(indices))

    def update(self, arm: int, reward: float) -> None:
        self.history.append((arm, reward))


def pick(probabilities: Sequence[float], rng: np.random.Generator) -> int:
    """The arm in whose share of [0, 1] a uniform number falls."""
    shares = np.cumsum(probabilities)[:-1]
    return int(np.searchsorted(shares, rng.random(), side="right"))


def pieces(first: int, steps: int) -> list[tuple[int, int]]:
    """(start, length) of the pieces that doubling cuts so many steps into; the last may stick out."""
    found = [(0, first)]
    while sum(found[-1]) < steps:
        found.append((sum(found[-1]), 2 * found[-1][1]))
    return found
