"""Plain twins of the studies: every step, window and digit one after the other."""

from __future__ import annotations

import copy
import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from driftbandits._numba.loops import update
from driftbandits.instances import Instance
from driftbandits.instances.noise import Noise
from driftbandits.simulation.engine import NOISE, OWN, stream


def bernoulli_kl(p: float, q: float) -> float:
    """The definition, with 400 digits."""
    with localcontext() as context:
        context.prec = 400
        total = Decimal(0)
        for a, b in ((Decimal(p), Decimal(q)), (1 - Decimal(p), 1 - Decimal(q))):
            if a > 0:
                if b == 0:
                    return math.inf
                total += a * (a / b).ln()
        return float(total)


def play(policy: Any, instance: Instance, noise: Noise, seed: int, run: int) -> tuple[list[int], list[float]]:
    """One run in plain Python, whatever the policy is."""
    policy = copy.deepcopy(policy)
    world, own = stream(seed, run, NOISE), stream(seed, run, OWN)
    state = policy.init(instance.n_arms)
    if hasattr(policy, "reserve"):
        state = policy.reserve(state, instance.horizon)
    arms, rewards = [], []
    for means in instance.means:
        arm = int(policy.select(state, own))
        reward = noise.draw(float(means[arm]), world)
        update(policy, state, arm, reward, own)
        arms.append(arm)
        rewards.append(reward)
    return arms, rewards


def largest_ratio(sums: list[float]) -> float:
    """Every pair of points."""
    ends = range(len(sums))
    return max((abs(sums[e] - sums[s]) / math.sqrt(e - s) for e in ends for s in range(e)), default=0.0)


def critical_confidence(instance: Instance, noise: Noise, seed: int, run: int) -> float:
    """Claim 1 word by word: every arm, every t, both sequences that end at t and t - 1, every w <= t/2."""
    T, K = instance.means.shape
    worst = 0.0
    for arm in range(K):
        rng = stream(seed, run * K + arm, NOISE)
        means = [float(mean) for mean in instance.means[:, arm]]
        tape = [noise.draw(mean, rng) for mean in means]
        for t in range(1, T + 1):
            for end in (t, t - 1):
                for w in range(1, t // 2 + 1):
                    steps = [end - 2 * i - 1 for i in range(w)]
                    apart = abs(sum(tape[step] for step in steps) - sum(means[step] for step in steps)) / w
                    worst = max(worst, apart / math.sqrt(2 * math.log(T) / w))
    return worst


def binomial_tail(hits: int, count: int, p: float) -> float:
    """P(X >= hits) for a binomial X."""
    return math.fsum(math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(hits, count + 1))


def unsafe_snoozes(events: list[dict[str, Any]], instance: Instance) -> int:
    """Walk through every passive phase: the steps after the test passed until the first step >= until."""
    failures = 0
    for event in events:
        step, failed = event["passed"], False
        while event["snoozed"] and step < event["until"] and step < instance.horizon:
            step += 1
            played, snoozed = instance.means[step - 1, event["arm"]], instance.means[step - 1, 1 - event["arm"]]
            failed = failed or bool(snoozed > played)
        failures += failed
    return failures


def line(x: list[float], y: list[float]) -> tuple[float, float]:
    """The slope of least squares and its standard error, from sums over all points."""
    n = len(x)
    mean_x, mean_y = math.fsum(x) / n, math.fsum(y) / n
    spread = math.fsum((a - mean_x) ** 2 for a in x)
    slope = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
    left = math.fsum((b - mean_y - slope * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))
    return slope, math.sqrt(left / (n - 2) / spread)


class Greedy:
    """A plain Python policy that knows nothing of numba and keeps what it learns in itself."""

    def __init__(self, explore: float = 0.1) -> None:
        self.explore = explore
        self.sums: list[float] = []

    def init(self, n_arms: int) -> None:
        self.sums, self.counts = [0.0] * n_arms, [1] * n_arms

    def select(self, state: None, rng: np.random.Generator) -> int:
        if rng.random() < self.explore:
            return int(rng.integers(len(self.sums)))
        return int(np.argmax(np.array(self.sums) / self.counts))

    def update(self, state: None, arm: int, reward: float) -> None:
        self.sums[arm] += reward
        self.counts[arm] += 1
