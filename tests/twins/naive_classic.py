"""Plain twins of the classic policies: the published rules on whole histories, with no running sums."""

from __future__ import annotations

import math

import numpy as np

History = list[tuple[int, float]]


class Naive:
    """Remembers every pull; a twin says what it would pull next."""

    def __init__(self, n_arms: int) -> None:
        self.K = n_arms
        self.history: History = []

    def select(self, rng: np.random.Generator) -> int:
        raise NotImplementedError

    def update(self, arm: int, reward: float) -> None:
        self.history.append((arm, reward))

    def rewards(self, arm: int, window: int | None = None) -> list[float]:
        start = 0 if window is None else max(0, len(self.history) - window)
        return [reward for pulled, reward in self.history[start:] if pulled == arm]

    def weighted(self, arm: int, discount: float) -> tuple[float, float]:
        """Discounted count and sum of rewards: a pull s steps ago weighs discount^s."""
        newest = len(self.history) - 1
        mine = [(discount ** (newest - s), reward) for s, (pulled, reward) in enumerate(self.history) if pulled == arm]
        return math.fsum(weight for weight, _ in mine), math.fsum(weight * reward for weight, reward in mine)


COMPARED: list[float] = []
"""What ``highest`` compared last."""


def highest(values: list[float]) -> int:
    COMPARED[:] = values
    return values.index(max(values))


def tied(one: int, other: int) -> bool:
    """Whether two of them are equal but for rounding: either may be the highest then."""
    return bool(COMPARED) and abs(COMPARED[one] - COMPARED[other]) <= 1e-12


def ucb(mean_of: list[float], width: float) -> float:
    return math.fsum(mean_of) / len(mean_of) + math.sqrt(width / len(mean_of)) if mean_of else math.inf


class NaiveExploreThenCommit(Naive):
    def __init__(self, n_arms: int, pulls: int) -> None:
        super().__init__(n_arms)
        self.pulls = pulls

    def select(self, rng: np.random.Generator) -> int:
        explored = self.history[: self.pulls * self.K]
        if len(explored) < self.pulls * self.K:
            return len(explored) % self.K
        return highest([sum(reward for pulled, reward in explored if pulled == arm) for arm in range(self.K)])


class NaiveSuccessiveElimination(Naive):
    def __init__(self, n_arms: int, horizon: int) -> None:
        super().__init__(n_arms)
        self.horizon = horizon
        self.active = list(range(n_arms))
        self.to_pull = list(self.active)

    def select(self, rng: np.random.Generator) -> int:
        if not self.to_pull:
            bounds = {}
            for arm in self.active:
                mine = self.rewards(arm)
                mean, radius = math.fsum(mine) / len(mine), math.sqrt(2 * math.log(self.horizon) / len(mine))
                bounds[arm] = mean - radius, mean + radius
            self.active = [a for a in self.active if not any(bounds[a][1] < bounds[b][0] for b in self.active)]
            self.to_pull = list(self.active)
        return self.to_pull[0]

    def update(self, arm: int, reward: float) -> None:
        super().update(arm, reward)
        self.to_pull.remove(arm)


class NaiveUCB1(Naive):
    def select(self, rng: np.random.Generator) -> int:
        so_far = max(len(self.history), 1)
        return highest([ucb(self.rewards(arm), 2 * math.log(so_far)) for arm in range(self.K)])


class NaiveKLUCB(Naive):
    def __init__(self, n_arms: int, c: float, sigma: float | None) -> None:
        super().__init__(n_arms)
        self.c, self.sigma = c, sigma

    def select(self, rng: np.random.Generator) -> int:
        t = len(self.history) + 1
        if t <= self.K:
            return t - 1
        allowed = math.log(t) + self.c * math.log(math.log(t))
        return highest([self.index(self.rewards(arm), allowed) for arm in range(self.K)])

    def index(self, mine: list[float], allowed: float) -> float:
        mean = math.fsum(mine) / len(mine)
        if self.sigma is not None:
            return mean + math.sqrt(2 * self.sigma**2 * allowed / len(mine))
        return bisect(min(mean, 1.0), allowed / len(mine))


def bernoulli_kl(p: float, q: float) -> float:
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def bisect(p: float, level: float) -> float:
    """The largest q in [p, 1] with kl(p, q) <= level, by halving."""
    low, high = p, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if bernoulli_kl(p, middle) <= level else (low, middle)
    return low if p < 1 else 1.0


class NaiveSWUCB(Naive):
    def __init__(self, n_arms: int, window: int, horizon: int, sigma: float, xi: float | None) -> None:
        super().__init__(n_arms)
        self.window, self.horizon, self.sigma, self.xi = window, horizon, sigma, xi

    def select(self, rng: np.random.Generator) -> int:
        t = len(self.history) + 1
        if self.xi is None:
            width = 2 * self.sigma**2 * math.log(2 * self.K * self.horizon**2)
        else:
            width = self.xi * math.log(min(t, self.window))
        return highest([ucb(self.rewards(arm, self.window), width) for arm in range(self.K)])


class NaiveDUCB(Naive):
    def __init__(self, n_arms: int, discount: float, xi: float) -> None:
        super().__init__(n_arms)
        self.discount, self.xi = discount, xi

    def select(self, rng: np.random.Generator) -> int:
        weighted = [self.weighted(arm, self.discount) for arm in range(self.K)]
        n = math.fsum(count for count, _ in weighted)
        return highest(
            [total / N + 2 * math.sqrt(self.xi * math.log(n) / N) if N else math.inf for N, total in weighted]
        )


def gamma(shape: float, rng: np.random.Generator) -> float:
    """Marsaglia and Tsang's method: d v, v = (1 + x/sqrt(9 d))^3, d = shape - 1/3, accepted by its density."""
    d = shape - 1 / 3
    while True:
        x = rng.standard_normal()
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v > 0 and 1 - rng.random() < math.exp(x**2 / 2 + d - d * v + d * math.log(v)):
            return d * v


class NaiveTS(Naive):
    """Thompson sampling; ``window`` or ``discount`` makes it forget. Draws are taken arm by arm."""

    def __init__(
        self, n_arms: int, posterior: str, sigma: float, window: int | None = None, discount: float | None = None
    ) -> None:
        super().__init__(n_arms)
        self.posterior, self.sigma, self.window, self.discount = posterior, sigma, window, discount
        self.prior_pulls = 1 if window is None and discount is None else 0

    def sums(self, arm: int) -> tuple[float, float]:
        if self.discount is not None:
            return self.weighted(arm, self.discount)
        mine = self.rewards(arm, self.window)
        return len(mine), math.fsum(mine)

    def select(self, rng: np.random.Generator) -> int:
        draws = []
        for arm in range(self.K):
            n, total = self.sums(arm)
            if self.posterior == "beta":
                won, lost = gamma(1 + total, rng), gamma(1 + (n - total), rng)
                draws.append(won / (won + lost))
            elif n + self.prior_pulls == 0:
                return arm
            else:
                n += self.prior_pulls
                draws.append(rng.normal(total / n, self.sigma / math.sqrt(n)))
        return highest(draws)
