"""Plain twins of the policies beyond the paper: the definitions, with no regard for speed, to compare kernels to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class NaiveKalmanTS:
    """Every posterior widens at every step."""

    def __init__(self, n_arms: int, drift: float, sigma: float) -> None:
        self.q = 4 ** (2 / 3) * drift ** (4 / 3) * sigma ** (2 / 3)
        self.sigma = sigma
        self.posterior: list[tuple[float, float] | None] = [None] * n_arms

    def draws(self, rng: np.random.Generator) -> list[float]:
        drawn: list[float] = []
        for mine in self.posterior:
            if mine is None:
                return unpulled_next(drawn, len(self.posterior))
            drawn.append(mine[0] + math.sqrt(mine[1] + self.q) * rng.standard_normal())
        return drawn

    def update(self, arm: int, reward: float) -> None:
        self.posterior = [mine and (mine[0], mine[1] + self.q) for mine in self.posterior]
        mine = self.posterior[arm]
        if mine is None:
            self.posterior[arm] = reward, self.sigma**2
        else:
            m, P = mine
            gain = P / (P + self.sigma**2)
            self.posterior[arm] = m + gain * (reward - m), (1 - gain) * P


class NaiveAutoTS:
    """The four things that a pull does, one after the other, arm by arm and filter by filter."""

    def __init__(self, n_arms: int) -> None:
        self.kappa = [0.0] + [8.0 ** (j - 9) for j in range(1, 8)]
        self.prior = normalised([8.0**-j for j in range(8)])
        self.pool = list(self.prior)
        self.t, self.s = 0, 0.0
        self.rewards: list[float] = []
        self.squares: list[tuple[int, float]] = []
        self.arms: list[dict[str, Any] | None] = [None] * n_arms

    def total_noise(self) -> float:
        everything = float(np.var(self.rewards)) if self.rewards else 0.0
        return (sum(square for _, square in self.squares) + everything) / max(len(self.squares) - 1, 1)

    def noise(self, arm: int) -> float:
        own = [square for which, square in self.squares if which == arm]
        return (sum(own) + 100 * self.total_noise()) / (len(own) + 100)

    def draws(self, rng: np.random.Generator) -> list[float]:
        drawn: list[float] = []
        for arm, mine in enumerate(self.arms):
            if mine is None:
                return unpulled_next(drawn, len(self.arms))
            n = self.t + 1 - mine["last"]
            share = self.s * n / (1 + self.s * n)
            edges = np.cumsum([share * p for p in self.pool] + [(1 - share) * w for w in mine["w"]])
            j = min(int(np.searchsorted(edges, rng.random(), side="right")), 15) % 8
            pulls = sum(which == arm for which, _ in self.squares)
            unsure = (mine["m"][j] - float(np.mean(self.rewards))) ** 2 / (1 + pulls)
            deviation = math.sqrt((self.noise(arm) + unsure) * (mine["c"][j] + self.kappa[j] * n))
            drawn.append(mine["m"][j] + deviation * rng.standard_normal())
        return drawn

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        mine = self.arms[arm]
        if mine is None:
            self.arms[arm] = {"m": [reward] * 8, "c": [1.0] * 8, "w": list(self.prior), "last": self.t}
        else:
            reward = self.learn(arm, mine, reward)
            mine["last"] = self.t
        self.rewards.append(reward)
        self.s = max(1e-5, min(0.05, 1 / self.t))

    def learn(self, arm: int, mine: dict[str, Any], reward: float) -> float:
        n = self.t - mine["last"]
        share, v = self.s * n / (1 + self.s * n), self.noise(arm)
        center = float(np.dot(mine["w"], mine["m"]))
        known = v > 1e-24 * center**2
        if known:
            limit = math.sqrt(self.total_noise() * max(len(self.squares), 100))
            limit = max(limit, 2 * abs(center - float(np.mean(self.rewards))))
            reward = min(max(reward, center - limit), center + limit)
        width = sum(w * (c + ((m - center) ** 2 / v if known else 0.0)) for w, m, c in columns(mine))
        square, likelihoods = 0.0, []
        for j, (w, m, c) in enumerate(columns(mine)):
            stays, comes = (1 - share) * w, share * self.pool[j]
            mixed = (stays * m + comes * center) / (stays + comes)
            apart = [((x - mixed) ** 2 / v if known else 0.0) for x in (m, center)]
            c = (stays * (c + apart[0]) + comes * (width + apart[1])) / (stays + comes) + self.kappa[j] * n
            z = (reward - mixed) ** 2 / (1 + c)
            square += (stays + comes) * z
            likelihoods.append((1 + (z / v if known else 0.0) / 63) ** -32 / math.sqrt(1 + c))
            mine["w"][j] = (stays + comes) * likelihoods[-1]
            mine["m"][j], mine["c"][j] = mixed + c / (1 + c) * (reward - mixed), c / (1 + c)
        mine["w"] = normalised(mine["w"])
        pool = normalised([p * x for p, x in zip(self.pool, likelihoods, strict=True)])
        self.pool = [(1 - self.s) * p + self.s * q for p, q in zip(pool, self.prior, strict=True)]
        self.squares.append((arm, square))
        return reward


class NaiveDriftUCB:
    """Every window of the grid, from the whole history."""

    def __init__(self, n_arms: int, horizon: int, drift: float, rho: float) -> None:
        self.L, self.drift, self.rho, self.t = math.log(horizon), drift, rho, 0
        self.pulls: list[list[tuple[int, float]]] = [[] for _ in range(n_arms)]

    def bounds(self, arm: int) -> list[tuple[float, float]]:
        """(bound, what it may exceed the mean by) for each window, now."""
        found = []
        for w in windows(len(self.pulls[arm])):
            times, rewards = zip(*self.pulls[arm][-w:], strict=True)
            age = self.t + 1 - math.fsum(times) / w
            radius = math.sqrt(self.rho * self.L / w)
            found.append((math.fsum(rewards) / w + radius + self.drift * age, 2 * radius + 2 * self.drift * age))
        return found

    def indices(self) -> list[float]:
        return [min((bound for bound, _ in self.bounds(arm)), default=math.inf) for arm in range(len(self.pulls))]

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        self.pulls[arm].append((self.t, reward))


def windows(pulls: int) -> list[int]:
    """The windows after so many pulls: one or two blocks of 1, of 2, of 4, ..., and all their sums from the newest."""
    sizes: list[int] = []
    size = 1
    while pulls > 0:
        blocks = 2 - pulls % 2
        sizes += [size] * blocks
        pulls, size = (pulls - blocks) // 2, 2 * size
    return [int(window) for window in np.cumsum(sizes)]


class NaiveSnoozeItTight:
    """All windows, every step."""

    def __init__(self, horizon: int, drift: float, confidence: float) -> None:
        self.C, self.drift = confidence * math.sqrt(3 * math.log(horizon)), drift
        self.t, self.start, self.last = 0, 0, 1
        self.ahead: int | None = None
        self.until = math.inf
        self.rewards: list[float] = []
        self.events: list[dict[str, float]] = []

    def select(self) -> int:
        return 1 - self.last if self.ahead is None else self.ahead

    def update(self, arm: int, reward: float) -> None:
        self.t, self.last = self.t + 1, arm
        if self.ahead is None:
            self.rewards.append(reward if arm == 0 else -reward)
            self.test()
        elif self.t >= self.until:
            self.ahead, self.start, self.rewards = None, self.t, []

    def test(self) -> None:
        w = np.arange(1, len(self.rewards) // 2 + 1)
        differences = np.cumsum(self.rewards[::-1])[2 * w - 1] / w
        radii = self.C / np.sqrt(w)
        if not (np.abs(differences) > 1.5 * radii).any():
            return
        leads = np.abs(differences) - radii - (2 * w - 1) * self.drift
        best = int(np.argmax(leads))
        steps = 0.0
        if leads[best] > 0:
            steps = math.floor(leads[best] / (2 * self.drift)) if self.drift > 0 else math.inf
        arm = 0 if differences[best] >= 0 else 1
        event = {"start": self.start, "passed": self.t, "arm": arm, "window": best + 1, "lead": float(leads[best])}
        self.events.append({**event, "snoozed": int(steps >= 1), "until": self.t + steps})
        if steps >= 1:
            self.ahead, self.until = arm, self.t + steps
        else:
            self.start, self.rewards = self.t, []


class NaiveSnoozeItK:
    """All windows of all pairs of the arm just pulled, every step, from the whole history."""

    def __init__(self, n_arms: int, horizon: int, drift: float, confidence: float) -> None:
        self.C, self.drift = confidence * math.sqrt(3 * math.log(horizon)), drift
        self.t = 0
        self.until: list[float] = [0.0] * n_arms
        self.pulls: list[list[tuple[int, float]]] = [[] for _ in range(n_arms)]
        self.starts = {frozenset((x, y)): 0 for x in range(n_arms) for y in range(x)}
        self.events: list[dict[str, float]] = []

    def active(self) -> list[int]:
        return [arm for arm, until in enumerate(self.until) if self.t >= until]

    def select(self) -> int:
        return min(self.active(), key=lambda arm: self.pulls[arm][-1][0] if self.pulls[arm] else 0)

    def update(self, arm: int, reward: float) -> None:
        others = [other for other in self.active() if other != arm]
        self.t += 1
        self.pulls[arm].append((self.t, reward))
        for other in others:
            if self.conclude(arm, other, others):
                break
        for woken in [x for x, until in enumerate(self.until) if until == self.t]:
            for other in range(len(self.until)):
                if other != woken:
                    self.starts[frozenset((woken, other))] = self.t

    def windows(self, x: int, y: int) -> list[tuple[float, float, float]]:
        """The lead of x over y, how far it is from passing, and what is certain of it, for w = 1, 2, ..."""
        start = self.starts[frozenset((x, y))]
        mine, other = ([pull for pull in reversed(self.pulls[arm]) if pull[0] > start] for arm in (x, y))
        found, gap, ages = [], 0.0, 0
        for w, ((s, X), (u, Y)) in enumerate(zip(mine, other, strict=False), start=1):
            gap, ages = gap + X - Y, ages + 2 * self.t - s - u
            radius = self.C / math.sqrt(w)
            lead = abs(gap) / w - radius - ages / w * self.drift
            found.append((gap, abs(gap) / w - 1.5 * radius, lead))
        return found

    def steps(self, lead: float) -> float:
        if lead <= 0:
            return 0
        return math.floor(lead / (2 * self.drift)) if self.drift > 0 else math.inf

    def conclude(self, x: int, y: int, others: list[int]) -> bool:
        windows = self.windows(x, y)
        if not any(margin > 0 for _, margin, _ in windows):
            return False
        best = max(windows, key=lambda window: window[2])
        ahead, behind = (x, y) if best[0] >= 0 else (y, x)
        choices = [(best[2], ahead, windows.index(best) + 1)]
        if self.steps(best[2]) >= 1:
            for other in (other for other in others if other != y):
                theirs = self.windows(other, behind)
                best = max(theirs, key=lambda window: window[2], default=(-1.0, 0.0, 0.0))
                if best[0] >= 0:
                    choices.append((best[2], other, theirs.index(best) + 1))
        lead, ahead, window = max(choices, key=lambda choice: choice[0])
        until = self.t + self.steps(lead)
        event = {"passed": self.t, "arm": ahead, "behind": behind, "window": window, "lead": lead, "until": until}
        start, snoozed = self.starts[frozenset((ahead, behind))], int(until > self.t)
        self.events.append({**event, "start": start, "snoozed": snoozed})
        if until > self.t:
            self.until[behind] = until
        else:
            self.starts[frozenset((x, y))] = self.t
        return True


def columns(mine: dict[str, Any]) -> list[tuple[float, float, float]]:
    return list(zip(mine["w"], mine["m"], mine["c"], strict=True))


def normalised(weights: list[float]) -> list[float]:
    return [weight / math.fsum(weights) for weight in weights]


def unpulled_next(drawn: list[float], n_arms: int) -> list[float]:
    """An arm that was never pulled goes before all others, whatever those before it drew."""
    return [*drawn, math.inf, *[-math.inf] * (n_arms - len(drawn) - 1)]
