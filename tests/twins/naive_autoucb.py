"""The plain twin of AutoUCB: filters as vectors and matrices, indices from their definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from naive_beyond import Remembered, beta_moments, draw_beta, normalised, unpulled_next


class NaiveAutoUCB:
    """Every filter is a mean (level, slope) with a covariance in units of the noise; walks have no slope."""

    def __init__(self, n_arms: int) -> None:
        self.kappa = [0.0] + [8.0 ** (j - 9) for j in range(1, 8)]
        self.d = [1e-5 * 3.0**i for i in range(8)]
        walks, slopes = normalised([8.0**-j for j in range(8)]), normalised([3.0**-i for i in range(8)])
        self.prior = [0.97 * p for p in walks] + [0.03 * p for p in slopes]
        self.pool = list(self.prior)
        self.t, self.s, self.turn, self.pooled = 0, 0.0, 0, 0.0
        self.watch, self.alarmed, self.alarms = walks, False, 0
        self.others, self.late = 0, 0.0
        self.spent, self.led, self.hope, self.lead = [0.0] * n_arms, [0] * n_arms, [0.0] * n_arms, 0
        self.looks, self.follow_ups = 0, 0
        self.values: list[set[float]] = [set() for _ in range(n_arms)]
        self.rewards = Remembered()
        self.squares = [Remembered() for _ in range(n_arms)]
        self.arms: list[dict[str, Any] | None] = [None] * n_arms
        self.begins = [list(self.prior) for _ in range(n_arms)]
        self.off: set[int] = set()

    def add_arm(self) -> None:
        """An arm whose weights begin at the pool's of now."""
        self.values.append(set())
        self.squares.append(Remembered())
        self.arms.append(None)
        self.spent.append(0.0)
        self.led.append(0)
        self.hope.append(0.0)
        self.begins.append(list(self.pool))

    def set_arm(self, arm: int, on: bool) -> None:
        self.off = self.off - {arm} if on else self.off | {arm}

    def noise(self, arm: int) -> float:
        own = self.squares[arm]
        return (own.pulls * own.mean + 100 * self.pooled) / (own.pulls + 100)

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

    def moved(self, j: int, x: Any, covariance: Any, n: int) -> tuple[Any, Any]:
        """Filter j, n steps on."""
        if j < 8:
            return x, covariance + np.diag([self.kappa[j] * n, 0.0])
        d = self.d[j - 8]
        y = 2 * n * d
        D = 1 + y + y**2 / 2
        A = n * (1 + y / 2) / D
        F = np.array([[1, A], [0, 1 / D]])
        across = 2 * d**3 * A**2
        Q = [[d**2 * n**2 * y * (1 + 5 * y / 4 + y**2 / 2) / D**2, across], [across, d**2 * (1 - 1 / D**2)]]
        return F @ x, F @ covariance @ F.T + np.array(Q)

    def parts(self, arm: int, n: int) -> list[tuple[float, Any, Any]]:
        """Weight, mean and covariance of all filters of an arm, n steps after its last pull."""
        mine = self.arms[arm]
        assert mine is not None
        share = self.s * n / (1 + self.s * n)
        return [
            (share * self.pool[j] + (1 - share) * w, *self.moved(j, x, P, n))
            for j, (w, x, P) in enumerate(zip(mine["w"], mine["x"], mine["P"], strict=True))
        ]

    def bound(self, arm: int, m: float, c: float, z2: float) -> float:
        """The bound of one filter at a squared number of deviations."""
        if self.coin():
            p, c = (self.probability(m) + c) / (1 + 2 * c), c / (1 + 2 * c)
            # (x - p)^2 = z2 c (p (1 - p) + 2 x (1 - x))/3 is a quadratic equation
            h = z2 * c / 3
            a, b = 1 + 2 * h, p + h
            x = (b + math.sqrt(max(b**2 - a * (p**2 - h * p * (1 - p)), 0.0))) / a
            low, high = self.range()
            return low + (high - low) * x
        v = self.noise(arm) + (m - self.rewards.mean) ** 2 / (1 + self.squares[arm].pulls)
        return m + math.sqrt(z2 * v * c)

    def index(self, arm: int) -> float:
        mine = self.arms[arm]
        assert mine is not None
        n = self.t + 1 - mine["last"]
        parts = [(w, x[0], P[0, 0]) for w, x, P in self.parts(arm, n)]
        bounds = [math.fsum(w * self.bound(arm, m, c, 2.7**2) for w, m, c in parts)]
        mine["center"] = self.mixture(arm, 0)[0]
        leading = self.arms[self.lead] or mine  # at the first reward none leads
        if self.late < 1 and self.noise(arm) > 0:
            gap = max(0.0, leading["center"] - mine["center"]) / math.sqrt(self.noise(arm))
            if n * (1 - self.pool[0]) > 40 + (gap / 0.012) ** 2:
                self.looks += 1
                return math.inf
        rarely = 60 * min(4, 1 + self.spent[arm] / (5 + self.led[arm] / 100))
        rarely *= min(1, (1 + self.squares[arm].pulls) / 32)
        above = 0.0
        if leading is not mine and math.isfinite(leading["index"]):
            above = max(0.0, leading["index"] - leading["center"])
        for j, (w, m, c) in enumerate(parts):
            chances = n * w / rarely if j == 0 else n * min(w, 2 * w**1.5) / rarely
            if chances > 1:
                before = mine["P"][j][0, 0]
                chances /= 1 + (1 if j < 8 else 3) * (c - before) / c * math.log(chances)
            if chances > 1:
                bounds.append(above + self.bound(arm, m, c, 2 * math.log(chances)))
        return max(bounds)

    def centers(self) -> list[float]:
        """What decides who leads: the means of arms as they were when their indices were computed."""
        found = [-math.inf if mine is None else mine["center"] for mine in self.arms]
        return [-math.inf if arm in self.off else center for arm, center in enumerate(found)]

    def indices(self) -> list[float]:
        """What the next choice compares; an arm that was never pulled goes first."""
        found = [math.inf if mine is None else mine["index"] for mine in self.arms]
        return [-math.inf if arm in self.off else index for arm, index in enumerate(found)]

    def draws(self, rng: np.random.Generator) -> list[float]:
        """What the next choice compares while rewards come late."""
        drawn: list[float] = []
        for arm, mine in enumerate(self.arms):
            if arm in self.off:
                drawn.append(-math.inf)
                continue
            if mine is None:
                return unpulled_next(drawn, len(self.arms))
            parts = self.parts(arm, self.t + 1 + int(self.late) - mine["last"])
            j = min(int(np.searchsorted(np.cumsum([w for w, _, _ in parts]), rng.random(), side="right")), 15)
            m, c = parts[j][1][0], parts[j][2][0, 0]
            if self.coin():
                drawn.append(draw_beta(self.probability(m) / c, (1 - self.probability(m)) / c, rng))
            else:
                v = self.noise(arm) + (m - self.rewards.mean) ** 2 / (1 + self.squares[arm].pulls)
                drawn.append(m + math.sqrt(v * c) * rng.standard_normal())
        return drawn

    def posteriors(self) -> list[tuple[float, float, float] | None]:
        """Mean, variance and slope of every arm's mixture at the next step."""
        return [None if mine is None else self.mixture(arm, 0) for arm, mine in enumerate(self.arms)]

    def mixture(self, arm: int, further: int) -> tuple[float, float, float]:
        mine, found = self.arms[arm], []
        assert mine is not None
        for w, x, P in self.parts(arm, self.t + 1 + further - mine["last"]):
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

    def update(self, arm: int, reward: float, chosen: int, lead: int) -> None:
        """Learn; ``chosen`` would be chosen now, and ``lead`` leads: numbers may be equal but for rounding."""
        self.t += 1
        self.others = 0 if arm == chosen else self.others + 1
        self.late = max(self.late * (1 - 1e-4), self.others)
        self.values[arm].add(reward)
        mine, leading, self.lead = self.arms[arm], self.arms[lead], lead
        self.led[lead] += 1
        if mine is not None and leading is not None and self.noise(arm) > 0:
            self.spent[arm] += max(0.0, (leading["center"] - mine["center"]) / math.sqrt(self.noise(arm)))
        if mine is None:
            x = [np.array([reward, 0.0]) for _ in range(16)]
            P = [np.diag([1.0, 0.0 if j < 8 else self.d[j - 8] ** 2]) for j in range(16)]
            mine = self.arms[arm] = {"x": x, "P": P, "w": self.begins[arm], "due": 0}
        else:
            reward = self.learn(arm, mine, reward)
            self.hope[arm] = self.hope_after(arm, mine, leading, reward)
        mine["last"] = self.t
        self.rewards.add(reward)
        self.s = max(1e-5, min(0.05, 1 / self.t))
        others = [(self.turn + step) % len(self.arms) for step in (1, 2)]
        self.turn = next(other for other in others if other != arm)
        if self.turn < 2 or self.squares[arm].pulls < 100:
            self.pooled = self.pool_noise()
        fast = sum(self.watch[3:])
        if fast > 0.5 and not self.alarmed:
            self.alarmed, self.alarms = True, self.alarms + 1
            for each, known in enumerate(self.arms):
                if known is not None:
                    self.shake(each, known)
                    known["index"] = self.index(each)
        elif fast < 0.1:
            self.alarmed = False
        mine["index"] = self.index(arm)
        if self.hope[arm] > 0:
            mine["index"], self.follow_ups = math.inf, self.follow_ups + 1
        other = self.arms[self.turn]
        if other is not None and self.t >= other["due"]:
            other["index"] = self.index(self.turn)
            other["due"] = self.t + 1 + (self.t - other["last"]) // 16

    def hope_after(self, arm: int, mine: dict[str, Any], leading: dict[str, Any] | None, reward: float) -> float:
        """Whether the arm has risen by half a deviation above the leader: a sequential test, begun anew below 0."""
        v = self.noise(arm)
        if arm == self.lead or leading is None or v <= 0 or self.late >= 1:
            return 0.0
        middle = float(mine["center"] + leading["center"] + 0.5 * math.sqrt(v)) / 2
        return max(0.0, self.hope[arm] + (reward - middle) / math.sqrt(v))

    def shake(self, arm: int, mine: dict[str, Any]) -> None:
        """Half of the weights become the watch's."""
        v = self.noise(arm)
        center = math.fsum(w * x[0] for w, x in zip(mine["w"], mine["x"], strict=True))
        known = v > 1e-24 * center**2
        wide = 1 + math.fsum(
            w * (P[0, 0] + ((x[0] - center) ** 2 / v if known else 0))
            for w, x, P in zip(mine["w"], mine["x"], mine["P"], strict=True)
        )
        for j, comes in enumerate([0.5 * w for w in self.watch] + [0.0] * 8):
            stays = 0.5 * mine["w"][j]
            before = mine["x"][j], mine["P"][j]
            mine["x"][j], mine["P"][j] = self.merged(j, before, stays, comes, (center, wide), v if known else 0.0)
            mine["w"][j] = stays + comes

    def merged(
        self, j: int, before: tuple[Any, Any], stays: float, comes: float, of_all: tuple[float, float], v: float
    ) -> tuple[Any, Any]:
        """Filter j, merged with what comes: mean and variance of all filters, no slope; v = 0: no noise known."""

        def apart(x: float) -> float:
            return x**2 / v if v > 0 else 0.0

        (x, P), (center, width) = before, of_all
        a, b = stays / (stays + comes), comes / (stays + comes)
        mixed = np.array([a * x[0] + b * center, a * x[1]])
        steep = a * (P[1, 1] + apart(x[1] - mixed[1])) + b * ((self.d[j - 8] ** 2 if j > 7 else 0) + apart(mixed[1]))
        level = a * (P[0, 0] + apart(x[0] - mixed[0])) + b * (width + apart(center - mixed[0]))
        return mixed, np.array([[level, a * P[0, 1]], [a * P[0, 1], steep]])

    def cut_back(self, arm: int, center: float, reward: float) -> float:
        """The reward, no further from what was expected than an outlier may be."""
        v = self.noise(arm)
        if v <= 1e-24 * center**2 or self.coin():
            return reward
        limit = max(math.sqrt(v * (self.squares[arm].pulls + 100)), 2 * abs(center - self.rewards.mean))
        return min(max(reward, center - limit), center + limit)

    def learn(self, arm: int, mine: dict[str, Any], reward: float) -> float:
        n = self.t - mine["last"]
        share, v = self.s * n / (1 + self.s * n), self.noise(arm)
        center = math.fsum(w * x[0] for w, x in zip(mine["w"], mine["x"], strict=True))
        known = v > 1e-24 * center**2

        def apart(x: float) -> float:
            return x**2 / v if known else 0.0

        before = list(zip(mine["w"], mine["x"], mine["P"], strict=True))
        width = math.fsum(w * (P[0, 0] + apart(x[0] - center)) for w, x, P in before)
        weights, moved = [], []
        for j, (w, x, P) in enumerate(before):  # first the arm may drift otherwise, then it drifts
            stays, comes = (1 - share) * w, share * self.pool[j]
            weights.append(stays + comes)
            moved.append(self.moved(j, *self.merged(j, (x, P), stays, comes, (center, width), v if known else 0.0), n))
        reward = self.cut_back(arm, math.fsum(w * x[0] for w, (x, _) in zip(weights, moved, strict=True)), reward)
        square, likelihoods = 0.0, []
        for j, (mixed, P) in enumerate(moved):
            c = P[0, 0]
            z = (reward - mixed[0]) ** 2 / (1 + c)
            square += weights[j] * z
            if self.coin():
                p = self.probability(mixed[0])
                likelihoods.append(((p if reward == self.range()[1] else 1 - p) + c) / (1 + 2 * c))
            else:
                likelihoods.append(max((1 + (z / v if known else 0.0) / 63), 1e-8) ** -32 / math.sqrt(1 + c))
            mine["w"][j] = weights[j] * likelihoods[-1]
            gain = P[:, 0] / (1 + c)
            mine["x"][j], mine["P"][j] = mixed + gain * (reward - mixed[0]), P - np.outer(gain, P[0])
        mine["w"] = normalised(mine["w"])
        self.watch = [w + 1e-7 for w in normalised([w * x for w, x in zip(self.watch, likelihoods[:8], strict=True)])]
        pool = normalised([p * x for p, x in zip(self.pool, likelihoods, strict=True)])
        self.pool = [(1 - self.s) * p + self.s * q for p, q in zip(pool, self.prior, strict=True)]
        self.squares[arm].add(square)
        return reward
