"""Plain twins of DS-TS, predictive sampling, RAW-UCB and SW-LB-SDA: the published rules on whole histories."""

from __future__ import annotations

import math

import numpy as np

from naive_classic import Naive, highest
from naive_detectors import NaiveGenerator


class NaiveDSTS(Naive):
    def __init__(self, n_arms: int, discount: float, cap: float) -> None:
        super().__init__(n_arms)
        self.discount, self.cap = discount, cap

    def select(self, rng: np.random.Generator) -> int:
        draws = []
        for arm in range(self.K):
            count, total = self.weighted(arm, self.discount)
            known = count >= 1e-8
            mean, deviation = (total / count, min(1 / math.sqrt(count), self.cap)) if known else (total, self.cap)
            draws.append(rng.normal(mean, deviation))
        return highest(draws)


class NaivePredictiveSampling(Naive):
    """Every mean is a Gaussian process of covariance spread^2 memory^|i-j|, conditioned on all its rewards at once."""

    def __init__(self, n_arms: int, memory: float, sigma: float, centre: float, spread: float) -> None:
        super().__init__(n_arms)
        self.memory, self.sigma, self.centre, self.spread = memory, sigma, centre, spread

    def select(self, rng: np.random.Generator) -> int:
        return highest([rng.normal(mean, math.sqrt(self.told(variance))) for mean, variance in self.posteriors()])

    def posteriors(self) -> list[tuple[float, float]]:
        """Mean and variance of each arm's mean at the coming step."""
        return [
            self.posterior([step for step, (pulled, _) in enumerate(self.history) if pulled == a])
            for a in range(self.K)
        ]

    def posterior(self, steps: list[int]) -> tuple[float, float]:
        times = np.array(steps)
        shared = self.spread**2 * self.memory ** np.abs(times[:, None] - times) + self.sigma**2 * np.eye(len(times))
        with_now = self.spread**2 * self.memory ** (len(self.history) - times)
        weights = np.linalg.solve(shared, with_now)
        seen = np.array([self.history[step][1] for step in steps]) - self.centre
        return self.centre + float(weights @ seen), self.spread**2 - float(weights @ with_now)

    def told(self, variance: float) -> float:
        """Proposition 3, as printed: the variance of what all later rewards tell about a mean."""
        square, noise = self.memory**2, self.sigma**2
        walk = self.spread**2 * (1 - square)
        sum_ = walk + noise - square * noise
        x = 0.5 * (sum_ + math.sqrt(sum_**2 + 4 * square * walk * noise))
        return square * variance**2 / (square * variance + x)

    def told_by(self, variance: float, later: int) -> float:
        """The same from the definition, if the rewards of so many later steps were known: by conditioning on them."""
        ahead = np.arange(1, later + 1)
        lag = np.abs(ahead[:, None] - ahead)
        start = self.spread**2 - variance  # known of the mean now, so it is missing from every later covariance
        shared = self.spread**2 * self.memory**lag - start * self.memory ** (ahead[:, None] + ahead)
        with_now = variance * self.memory**ahead
        return float(with_now @ np.linalg.solve(shared + self.sigma**2 * np.eye(later), with_now))


class NaiveRAWUCB(Naive):
    def __init__(self, n_arms: int, alpha: float, sigma: float) -> None:
        super().__init__(n_arms)
        self.alpha, self.sigma = alpha, sigma

    def select(self, rng: np.random.Generator) -> int:
        return highest([self.index(self.rewards(arm)) for arm in range(self.K)])

    def index(self, mine: list[float]) -> float:
        log_t = math.log(max(len(self.history), 1))
        bounds = [
            math.fsum(mine[-h:]) / h + self.sigma * math.sqrt(2 * self.alpha * log_t / h)
            for h in range(1, len(mine) + 1)
        ]
        return min(bounds, default=math.inf)


class NaiveSWLBSDA(Naive):
    """The round under way is a set of arms yet to be pulled; what earlier rounds pulled is kept, round by round."""

    def __init__(self, n_arms: int, window: int) -> None:
        super().__init__(n_arms)
        self.window, self.generator = window, NaiveGenerator()
        self.leaders: list[int] = []
        self.rounds: list[set[int]] = []
        self.winners = set(range(n_arms))
        self.left = list(range(n_arms))

    def select(self, rng: np.random.Generator) -> int:
        if len(self.left) == 1 or not self.rounds:
            return self.left[0]
        return self.left[int(rng.random() * len(self.left))]

    def update(self, arm: int, reward: float) -> None:
        super().update(arm, reward)
        self.left.remove(arm)
        if not self.left:
            recent = [self.rewards(each, self.window) for each in range(self.K)]
            self.leaders.append(self.leader(recent))
            self.winners = {each for each in range(self.K) if self.wins(each, recent)}
            self.left = sorted(self.winners) or [self.leaders[-1]]
            self.rounds.append(set(self.left))

    def leader(self, recent: list[list[float]]) -> int:
        before = self.leaders[-1] if self.leaders else None
        share = min(len(self.leaders) + 1, self.window) / self.K
        eligible = set(range(self.K))
        if before is not None and len(recent[before]) >= share / 2:
            eligible = {arm for arm in self.winners if len(recent[arm]) >= share} | {before}
        most = max((len(recent[arm]), math.fsum(recent[arm])) for arm in eligible)
        best = sorted(arm for arm in eligible if (len(recent[arm]), math.fsum(recent[arm])) == most)
        if before in best:
            return before
        return best[int(self.generator.uniform() * len(best))] if len(best) > 1 else best[0]

    def wins(self, arm: int, recent: list[list[float]]) -> bool:
        log_w, leader, mine = math.log(self.window), self.leaders[-1], recent[arm]
        if len(mine) < log_w**0.333:
            return True
        if arm == leader:
            return False
        theirs = recent[leader][-len(mine) :]
        if math.fsum(mine) / len(mine) >= math.fsum(theirs) / len(theirs):
            return True
        patience, now = int((self.K - 1) * log_w**2), len(self.leaders)
        led_since = max((r for r, each in enumerate(self.leaders, 1) if each != leader), default=0) + 1
        last_events = led_since, self.last_pull(leader), self.last_pull(arm)
        return len(mine) <= log_w**2 and all(now - event >= patience for event in last_events)

    def last_pull(self, arm: int) -> int:
        """The round in which the arm was pulled last."""
        return max((r for r, pulled in enumerate(self.rounds, 1) if arm in pulled), default=1)
