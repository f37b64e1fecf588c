"""The reference implementation of BreakEven: filters as vectors and matrices, prices from the equation."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.stats

from naive_beyond import Remembered, beta_moments, normalised

B, S = 3.0, 6e-5
KAPPA = [0.0] + [2.0**-24 * 8.0 ** (j - 1) for j in range(1, 8)] + [0.0] * 8
D = [0.0] * 8 + [1e-5 * 3.0**i for i in range(8)]


def motion(j: int, n: int) -> tuple[Any, Any]:
    """F and Q of n steps."""
    d = D[j]
    y = 2 * n * d
    grown = 1 + y + y**2 / 2
    reach = n * (1 + y / 2) / grown
    across = 2 * d**3 * reach**2
    own = KAPPA[j] * n + d**2 * n**2 * y * (1 + 5 * y / 4 + y**2 / 2) / grown**2
    F = np.array([[1, reach], [0, 1 / grown]])
    return F, np.array([[own, across], [across, d**2 * (1 - 1 / grown**2)]])


@functools.cache
def settled(j: int) -> float:
    """c*: the variance before each pull of an arm that is pulled at every step."""
    if j == 0:
        return 0.0
    F, Q = motion(j, 1)
    size = 1 if j < 8 else 2  # a walk has no velocity
    H = np.eye(size, 1)
    return float(scipy.linalg.solve_discrete_are(F[:size, :size].T, H, Q[:size, :size], [[1.0]])[0, 0])


PRIOR = normalised([math.sqrt(8) / settled(1)] + [1 / settled(j) for j in range(1, 16)])


def exact_excess(u: float) -> tuple[float, float]:
    """E (Z - u)^+ and P(Z > u)."""
    return float(scipy.stats.norm.pdf(u) - u * scipy.stats.norm.sf(u)), float(scipy.stats.norm.sf(u))


def rational_excess(u: float) -> tuple[float, float]:
    """As the policy computes them: fractions of polynomials."""
    a, d, x = 2.90982644, 3.09901818, min(abs(u), 8.0)
    b = d * math.sqrt(math.pi / 2)
    y = x**2 / 64
    density = (1 + y + y**2 / 2 + y**3 / 6 + y**4 / 24) ** -32 / math.sqrt(2 * math.pi)
    below = x**3 + a * x**2 + (b + 1) * x + d
    gain, tail = density * (x + d) / below, density * (x**2 + a * x + b) / below
    return (gain, tail) if u >= 0 else (gain - u, 1 - tail)


class NaiveBreakEven:
    """Every filter is a mean (level, velocity) with a covariance in units of the noise's variance."""

    def __init__(self, n_arms: int) -> None:
        self.pool, self.average = list(PRIOR), list(PRIOR)
        self.t, self.turn, self.pooled, self.rough = 0, 0, 0.0, -1
        self.values: list[set[float]] = [set() for _ in range(n_arms)]
        self.rewards = Remembered()
        self.squares = [Remembered() for _ in range(n_arms)]
        self.arms: list[dict[str, Any] | None] = [None] * n_arms
        self.begins = [list(PRIOR) for _ in range(n_arms)]
        self.off: set[int] = set()

    def add_arm(self) -> None:
        """An arm whose weights begin at the pool's of now."""
        self.values.append(set())
        self.squares.append(Remembered())
        self.arms.append(None)
        self.begins.append(list(self.pool))

    def set_arm(self, arm: int, on: bool) -> None:
        self.off = self.off - {arm} if on else self.off | {arm}

    def noise(self, arm: int) -> float:
        own = self.squares[arm]
        return (own.pulls * own.mean + 100 * self.pooled) / (own.pulls + 100)

    def known(self, arm: int, center: float) -> float:
        """The variance of an arm's noise, 0 if that is rounding."""
        v = self.noise(arm)
        return v if v > 1e-24 * center**2 else 0.0

    def pool_noise(self) -> float:
        counted = [min(own.pulls, 100) for own in self.squares]
        squares = sum(n * own.mean for n, own in zip(counted, self.squares, strict=True))
        return (squares + self.rewards.variance) / (sum(counted) + 1)

    def coin(self) -> bool:
        seen = set().union(*self.values)
        return len(seen) == 2 == max(len(own) for own in self.values) and max(seen) - min(seen) > 1e-300

    def range(self) -> tuple[float, float]:
        low, high = sorted(set().union(*self.values))
        return low, high

    def probability(self, m: float) -> float:
        low, high = self.range()
        return min(max((m - low) / (high - low), 0.0), 1.0)

    def ahead(self, arm: int, n: int) -> list[tuple[float, Any, Any]]:
        """Weight, mean and covariance of all models n steps after the last pull: they change, then they move."""
        mine = self.arms[arm]
        assert mine is not None
        share, center, spread = S * n / (1 + S * n), mine["center"], mine["spread"]
        v = self.known(arm, center)

        def apart(x: float) -> float:
            return float(x) ** 2 / v if v > 0 else 0.0

        found = []
        for j, (w, x, P) in enumerate(zip(mine["w"], mine["x"], mine["P"], strict=True)):
            stays, comes = (1 - share) * w, share * self.pool[j]
            a, b = stays / (stays + comes), comes / (stays + comes)
            mixed = np.array([x[0] + b * (center - x[0]), a * x[1]])
            level = a * (P[0, 0] + apart(x[0] - mixed[0])) + b * (spread + apart(center - mixed[0]))
            steep = a * (P[1, 1] + apart(x[1] - mixed[1])) + b * (D[j] ** 2 + apart(mixed[1]))
            F, Q = motion(j, n)
            merged = np.array([[level, a * P[0, 1]], [a * P[0, 1], steep]])
            found.append((stays + comes, F @ mixed, F @ merged @ F.T + Q))
        return found

    def worths(self, arm: int, pending: int = 0) -> tuple[float, list[tuple[float, float, float]]]:
        """The arm's mean; and w h, m and c of every model, for Bernoulli rewards as probabilities."""
        mine, parts = self.arms[arm], []
        assert mine is not None
        means = []
        for j, (w, x, P) in enumerate(self.ahead(arm, self.t + 1 - mine["last"])):
            m, c = x[0], P[0, 0]
            h = B * c / (settled(j) + S) * (1 + c) / ((1 + pending * c) * (1 + (pending + 1) * c))
            if self.coin():
                low, high = self.range()
                p, c = (self.probability(m) + c) / (1 + 2 * c), c / (1 + 2 * c)
                means.append(w * (low + (high - low) * p - mine["center"]))
                parts.append((w * h, p, c))
            else:
                means.append(w * (m - mine["center"]))
                parts.append((w * h, m, c))
        return mine["center"] + math.fsum(means), parts

    def gains(self, arm: int, price: float, parts: list[Any], excess: Any = rational_excess) -> tuple[float, float]:
        """The right side of the equation at a price, and minus its slope there."""
        right, slope = [], []
        for worth, m, c in parts:
            if self.coin():
                low, high = self.range()
                at = (price - low) / (high - low)
                v = (m * (1 - m) + 2 * max(at * (1 - at), 0.0)) / 3 * (high - low) ** 2
                m = low + (high - low) * m
            else:
                v = self.noise(arm) + (m - self.rewards.mean) ** 2 / (1 + self.squares[arm].pulls)
            deviation = math.sqrt(v * c) + 1e-300
            gain, tail = excess((price - m) / deviation)
            right.append(worth * deviation * gain)
            slope.append(worth * tail)
        return math.fsum(right), math.fsum(slope)

    def price(self, arm: int, pending: int = 0, rounds: int = 1) -> float:
        """Newton's steps from the last price, or from the mean if that is higher."""
        mine = self.arms[arm]
        assert mine is not None
        mean, parts = self.worths(arm, pending)
        if self.known(arm, mine["center"]) == 0:
            return mean
        price = mine["price"] if mean < mine["price"] < math.inf else mean
        for _ in range(rounds):
            right, slope = self.gains(arm, price, parts)
            price -= (price - mean - right) / (1 + slope)
        return float(price)

    def solved(self, arm: int, pending: int = 0) -> float:
        """The solution of the equation, with exact Gaussian distributions."""
        mean, parts = self.worths(arm, pending)

        def left_over(price: float) -> float:
            return price - mean - self.gains(arm, price, parts, exact_excess)[0]

        width = math.sqrt(self.noise(arm))
        return float(scipy.optimize.brentq(left_over, mean, mean + 100 * width, xtol=1e-10 * width))

    def prices(self, pending: list[int] | None = None) -> list[float]:
        """What the next choice compares; an arm that was never pulled goes first."""
        found = [math.inf if mine is None else mine["price"] for mine in self.arms]
        if pending is not None and self.rough < 0:
            for arm, count in enumerate(pending):
                if count > 0 and self.arms[arm] is not None:
                    found[arm] = min(found[arm], self.price(arm, count, 4))
        return [-math.inf if arm in self.off else price for arm, price in enumerate(found)]

    def mixture(self, arm: int, further: int) -> tuple[float, float, float]:
        """Mean, variance and slope ``further`` steps after the next one."""
        mine, found = self.arms[arm], []
        assert mine is not None
        for w, x, P in self.ahead(arm, self.t + 1 + further - mine["last"]):
            m, c = x[0], P[0, 0]
            variance = (self.noise(arm) + (m - self.rewards.mean) ** 2 / (1 + self.squares[arm].pulls)) * c
            if self.coin():
                low, high = self.range()
                p, variance = beta_moments(self.probability(m), 1 / c)
                m, variance = low + (high - low) * p, (high - low) ** 2 * variance
            found.append((w, m, variance, x[1]))
        mean = math.fsum(w * m for w, m, _, _ in found)
        variance = math.fsum(w * (variance + (m - mean) ** 2) for w, m, variance, _ in found)
        return mean, variance, math.fsum(w * b for w, _, _, b in found)

    def posteriors(self) -> list[tuple[float, float, float] | None]:
        """Mean, variance and slope of every arm's mixture at the next step."""
        return [None if mine is None else self.mixture(arm, 0) for arm, mine in enumerate(self.arms)]

    def update(self, arm: int, reward: float, rough: bool | None = None) -> None:
        """Learn; ``rough`` tells whether the mean stands for the price, where that is a matter of rounding."""
        self.t += 1
        self.values[arm].add(reward)
        mine = self.arms[arm]
        if mine is None:
            x = [np.array([reward, 0.0]) for _ in range(16)]
            P = [np.diag([1.0, D[j] ** 2]) for j in range(16)]
            mine = {"x": x, "P": P, "w": self.begins[arm], "due": 0, "center": reward, "spread": 1.0, "price": math.inf}
            self.arms[arm] = mine
        else:
            reward = self.learn(arm, mine, reward)
        mine["last"] = self.t
        self.rewards.add(reward)
        others = [(self.turn + step) % len(self.arms) for step in (1, 2)]
        self.turn = next(other for other in others if other != arm)
        if self.turn < 2 or self.squares[arm].pulls < 100:
            self.pooled = self.pool_noise()
        if self.rough not in (-1, arm):
            before = self.arms[self.rough]
            assert before is not None
            before["price"] = self.price(self.rough)
        other = self.arms[self.turn]
        if other is not None and self.t >= other["due"]:
            other["price"] = self.price(self.turn)
            other["due"] = self.t + 1 + (self.t - other["last"]) // 16
        mean, _ = self.worths(arm)
        highest = max(price for each, price in enumerate(self.prices()) if each != arm)
        sure = (mean > highest and arm not in self.off) if rough is None else rough
        self.rough = arm if sure else -1
        mine["price"] = mean if sure else self.price(arm)

    def learn(self, arm: int, mine: dict[str, Any], reward: float) -> float:
        parts, old = self.ahead(arm, self.t - mine["last"]), mine["center"]
        expected = old + math.fsum(w * (x[0] - old) for w, x, _ in parts)
        v = self.known(arm, expected)
        if v > 0 and not self.coin():
            limit = max(math.sqrt(v * (self.squares[arm].pulls + 100)), 2 * abs(expected - self.rewards.mean))
            reward = min(max(reward, expected - limit), expected + limit)
        square, likelihoods = 0.0, []
        for j, (w, x, P) in enumerate(parts):
            c, error = P[0, 0], reward - x[0]
            square += w * error**2 / (1 + c)
            if self.coin():
                p = self.probability(x[0])
                likelihoods.append(((p if reward == self.range()[1] else 1 - p) + c) / (1 + 2 * c))
            else:
                z = error**2 / (v * (1 + c)) if v > 0 else 0.0
                likelihoods.append(max(1 / (1 + z / 63), 1e-8) ** 32 / math.sqrt(1 + c))
            gain = P[:, 0] / (1 + c)
            mine["x"][j], mine["P"][j] = x + gain * error, P - np.outer(gain, P[0])
        mine["w"] = normalised([w * x for (w, _, _), x in zip(parts, likelihoods, strict=True)])
        pool = normalised([p * x for p, x in zip(self.pool, likelihoods, strict=True)])
        self.pool = [(1 - S) * p + S * r for p, r in zip(pool, self.average, strict=True)]
        self.average = [r + (p - r) / (30 + self.t) for r, p in zip(self.average, self.pool, strict=True)]
        mine["center"] = old + math.fsum(w * (x[0] - old) for w, x in zip(mine["w"], mine["x"], strict=True))
        mine["spread"] = math.fsum(
            w * (P[0, 0] + ((x[0] - mine["center"]) ** 2 / v if v > 0 else 0.0))
            for w, x, P in zip(mine["w"], mine["x"], mine["P"], strict=True)
        )
        self.squares[arm].add(square)
        return reward
