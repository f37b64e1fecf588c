"""Plain twins of the policies beyond the paper: the definitions, with no regard for speed, to compare kernels to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from naive_classic import gamma


class NaiveKalmanTS:
    """Every posterior widens at every step; a Beta posterior is one with so many pulls that it is as wide."""

    def __init__(self, n_arms: int, drift: float, sigma: float, posterior: str) -> None:
        self.q = 4 ** (2 / 3) * drift ** (4 / 3) * sigma ** (2 / 3)
        self.sigma, self.coin = sigma, posterior == "beta"
        self.posterior: list[tuple[float, float] | None] = [None] * n_arms

    def draws(self, rng: np.random.Generator) -> list[float]:
        drawn: list[float] = []
        for mine in self.posterior:
            if mine is None:
                return unpulled_next(drawn, len(self.posterior))
            m, P = mine[0], mine[1] + self.q
            if self.coin:
                pulls = self.sigma**2 / P
                drawn.append(draw_beta(pulls * m, pulls * (1 - m), rng))
            else:
                drawn.append(m + math.sqrt(P) * rng.standard_normal())
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

    def posteriors(self) -> list[tuple[float, float] | None]:
        """Mean and variance of what the next draw is from, arm by arm."""
        wider = [mine and (mine[0], mine[1] + self.q) for mine in self.posterior]
        return [mine and (beta_moments(mine[0], self.sigma**2 / mine[1]) if self.coin else mine) for mine in wider]


class NaiveAutoTS:
    """The four things that a pull does, one after the other, arm by arm and filter by filter."""

    def __init__(self, n_arms: int) -> None:
        self.kappa = [0.0] + [8.0 ** (j - 9) for j in range(1, 8)]
        self.prior = normalised([8.0**-j for j in range(8)])
        self.pool = list(self.prior)
        self.t, self.s = 0, 0.0
        self.values: list[set[float]] = [set() for _ in range(n_arms)]
        self.rewards = Remembered()
        self.squares = [Remembered() for _ in range(n_arms)]
        self.arms: list[dict[str, Any] | None] = [None] * n_arms

    def noise(self, arm: int) -> float:
        counted = [min(own.pulls, 100) for own in self.squares]
        squares = sum(n * own.mean for n, own in zip(counted, self.squares, strict=True))
        pooled = (squares + self.rewards.variance) / (sum(counted) + 1)
        own = self.squares[arm]
        return (own.pulls * own.mean + 100 * pooled) / (own.pulls + 100)

    def coin(self) -> bool:
        seen = set().union(*self.values)
        return len(seen) == 2 == max(len(own) for own in self.values) and max(seen) - min(seen) > 1e-300

    def as_coin(self, m: float) -> float:
        low, high = sorted(set().union(*self.values))
        return (m - low) / (high - low)

    def draws(self, rng: np.random.Generator) -> list[float]:
        drawn: list[float] = []
        for arm, mine in enumerate(self.arms):
            if mine is None:
                return unpulled_next(drawn, len(self.arms))
            n = self.t + 1 - mine["last"]
            share = self.s * n / (1 + self.s * n)
            edges = np.cumsum([share * p for p in self.pool] + [(1 - share) * w for w in mine["w"]])
            j = min(int(np.searchsorted(edges, rng.random(), side="right")), 15) % 8
            m, c = mine["m"][j], mine["c"][j] + self.kappa[j] * n
            if self.coin():
                drawn.append(draw_beta(self.as_coin(m) / c, (1 - self.as_coin(m)) / c, rng))
            else:
                unsure = (m - self.rewards.mean) ** 2 / (1 + self.squares[arm].pulls)
                drawn.append(m + math.sqrt((self.noise(arm) + unsure) * c) * rng.standard_normal())
        return drawn

    def posteriors(self) -> list[tuple[float, float] | None]:
        """Mean and variance of what the next draw is from, arm by arm: of a mixture, by its first two moments."""
        return [None if mine is None else self.mixture(arm, mine) for arm, mine in enumerate(self.arms)]

    def mixture(self, arm: int, mine: dict[str, Any]) -> tuple[float, float]:
        n, parts = self.t + 1 - mine["last"], []
        for j in range(8):
            m, c = mine["m"][j], mine["c"][j] + self.kappa[j] * n
            variance = (self.noise(arm) + (m - self.rewards.mean) ** 2 / (1 + self.squares[arm].pulls)) * c
            if self.coin():
                low, high = sorted(set().union(*self.values))
                p, variance = beta_moments(self.as_coin(m), 1 / c)
                m, variance = low + (high - low) * p, (high - low) ** 2 * variance
            parts.append(((self.s * n * self.pool[j] + mine["w"][j]) / (1 + self.s * n), m, variance))
        mean = math.fsum(weight * m for weight, m, _ in parts)
        return mean, math.fsum(weight * (variance + (m - mean) ** 2) for weight, m, variance in parts)

    def update(self, arm: int, reward: float) -> None:
        self.t += 1
        self.values[arm].add(reward)
        mine = self.arms[arm]
        if mine is None:
            self.arms[arm] = {"m": [reward] * 8, "c": [1.0] * 8, "w": list(self.prior), "last": self.t}
        else:
            reward = self.learn(arm, mine, reward)
            mine["last"] = self.t
        self.rewards.add(reward)
        self.s = max(1e-5, min(0.05, 1 / self.t))

    def learn(self, arm: int, mine: dict[str, Any], reward: float) -> float:
        n = self.t - mine["last"]
        share, v = self.s * n / (1 + self.s * n), self.noise(arm)
        center = float(np.dot(mine["w"], mine["m"]))
        known = v > 1e-24 * center**2
        if known and not self.coin():
            limit = math.sqrt(v * (self.squares[arm].pulls + 100))
            limit = max(limit, 2 * abs(center - self.rewards.mean))
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
            if self.coin():
                p = self.as_coin(mixed)
                likelihoods.append(((p if reward == max(set().union(*self.values)) else 1 - p) + c) / (1 + 2 * c))
            else:
                likelihoods.append((1 + (z / v if known else 0.0) / 63) ** -32 / math.sqrt(1 + c))
            mine["w"][j] = (stays + comes) * likelihoods[-1]
            mine["m"][j], mine["c"][j] = mixed + c / (1 + c) * (reward - mixed), c / (1 + c)
        mine["w"] = normalised(mine["w"])
        pool = normalised([p * x for p, x in zip(self.pool, likelihoods, strict=True)])
        self.pool = [(1 - self.s) * p + self.s * q for p, q in zip(pool, self.prior, strict=True)]
        self.squares[arm].add(square)
        return reward


class Remembered:
    """Mean and variance of all numbers so far, or about the last 3,000."""

    def __init__(self) -> None:
        self.pulls, self.mean, self.variance = 0, 0.0, 0.0

    def add(self, number: float) -> None:
        self.pulls = min(self.pulls + 1, 3_000)
        share, before = 1 / self.pulls, self.mean
        self.mean = (1 - share) * before + share * number
        self.variance = (1 - share) * self.variance + share * (number - before) * (number - self.mean)


class NaiveDriftUCB:
    """Every window of the grid, from the whole history."""

    def __init__(self, n_arms: int, horizon: int, drift: float, risk: float, kl: str) -> None:
        self.coin = kl == "bernoulli"
        self.chances, self.drift, self.t = n_arms * horizon / risk, drift, 0
        self.window = min(horizon, drift ** (-2 / 3)) if drift > 0 else horizon
        self.pulls: list[list[tuple[int, float]]] = [[] for _ in range(n_arms)]

    def bounds(self, arm: int) -> list[tuple[float, float]]:
        """(bound, what it may exceed the mean by) for each window, now."""
        found = []
        for w in windows(len(self.pulls[arm])):
            times, rewards = zip(*self.pulls[arm][-w:], strict=True)
            age = self.t + 1 - math.fsum(times) / w
            oldest = 2 ** int(math.log2((w + 1) / 2))  # w lies in [2 m - 1, 4 m - 2]
            x = max(1.0, math.log(self.chances / oldest * max(1.0, self.window / oldest)))
            mean = math.fsum(rewards) / w
            if self.coin:
                upper, slack = self.coin_bound(mean, x / w), 4 * math.sqrt(x / w)
            else:
                radius = math.sqrt(x / (12 * math.sqrt(2) - 16) / (2 * w))
                upper, slack = mean + radius, 2 * radius
            found.append((upper + self.drift * age, slack + 2 * self.drift * age))
        return found

    def coin_bound(self, mean: float, level: float) -> float:
        tilt = 2.0 ** math.floor(math.log2(2 * level / (mean * (1 - mean) + level)) / 2)
        return min(1.0, *((1 - math.exp(-b * mean - level)) / (1 - math.exp(-b)) for b in (tilt, 2 * tilt, 4 * tilt)))

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

    def belief(self) -> tuple[Any, ...]:
        """Gap, threshold and window nearest to passing, and who is snoozed, by whom, by what, since and until when."""
        if self.ahead is not None:
            last = self.events[-1]
            return (
                None,
                None,
                None,
                [(1 - self.ahead, self.ahead, *(last[x] for x in ("lead", "window", "passed", "until")))],
            )
        w, differences, radii = self.windows()
        if len(w) == 0:
            return None, None, None, []
        nearest = int(np.argmax(np.abs(differences) - 1.5 * radii))
        return abs(differences[nearest]), 1.5 * radii[nearest], w[nearest], []

    def windows(self) -> tuple[Any, Any, Any]:
        w = np.arange(1, len(self.rewards) // 2 + 1)
        return w, np.cumsum(self.rewards[::-1])[2 * w - 1] / w, self.C / np.sqrt(w)

    def test(self) -> None:
        w, differences, radii = self.windows()
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
        self.off: set[int] = set()
        self.snoozed_for: dict[int, int] = {}
        self.until: list[float] = [0.0] * n_arms
        self.pulls: list[list[tuple[int, float]]] = [[] for _ in range(n_arms)]
        self.starts = {frozenset((x, y)): 0 for x in range(n_arms) for y in range(x)}
        self.events: list[dict[str, float]] = []

    def active(self) -> list[int]:
        return [arm for arm, until in enumerate(self.until) if self.t >= until and arm not in self.off]

    def add_arm(self) -> None:
        self.starts |= {frozenset((len(self.until), y)): self.t for y in range(len(self.until))}
        self.until.append(0.0)
        self.pulls.append([])

    def set_arm(self, arm: int, on: bool) -> None:
        (self.off.discard if on else self.off.add)(arm)
        woken = [arm] if on else [x for x in range(len(self.until)) if self.snoozed_for.get(x) == arm]
        for x in woken:
            if on or self.t < self.until[x]:
                self.until[x] = self.t
                self.wake(x)

    def wake(self, woken: int) -> None:
        for other in range(len(self.until)):
            if other != woken:
                self.starts[frozenset((woken, other))] = self.t

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
            self.wake(woken)

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
            self.snoozed_for[behind] = ahead
        else:
            self.starts[frozenset((x, y))] = self.t
        return True


def columns(mine: dict[str, Any]) -> list[tuple[float, float, float]]:
    return list(zip(mine["w"], mine["m"], mine["c"], strict=True))


def draw_beta(successes: float, failures: float, rng: np.random.Generator) -> float:
    won = gamma(1 + successes, rng)
    return won / (won + gamma(1 + failures, rng))


def beta_moments(p: float, pulls: float) -> tuple[float, float]:
    """Mean and variance of Beta(1 + successes, 1 + failures), a share p of the pulls being successes."""
    a, b = 1 + pulls * p, 1 + pulls * (1 - p)
    return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))


def normalised(weights: list[float]) -> list[float]:
    return [weight / math.fsum(weights) for weight in weights]


def unpulled_next(drawn: list[float], n_arms: int) -> list[float]:
    """An arm that was never pulled goes before all others, whatever those before it drew."""
    return [*drawn, math.inf, *[-math.inf] * (n_arms - len(drawn) - 1)]
