"""Plain twins of the instance families: one step after the other, exactly where a path adds up many steps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

Path = list[float]


def bounce(start: float, drift: float, directions: Iterable[int]) -> Path:
    """Make the steps one by one; at a wall turn round, and keep all later directions turned round too."""
    one = math.lcm(Fraction(start).denominator, Fraction(drift).denominator)  # counted in parts of it, all are whole
    mean, step = int(Fraction(start) * one), int(Fraction(drift) * one)
    path = [mean / one]
    for direction in directions:
        mean += step * direction
        while not 0 <= mean <= one:
            mean = 2 * one - mean if mean > one else -mean
            step = -step
        path.append(mean / one)
    return path


def checkpoints(horizon: int, drift: float, start: float, plan: list[tuple[float, int]]) -> Path:
    """After setting mu[t], if t >= fraction * T, move to the next (fraction, direction)."""
    directions = []
    stage = 0
    for t in range(1, horizon):
        directions.append(plan[stage][1])
        if t >= plan[stage][0] * horizon:
            stage += 1
    return bounce(start, drift, directions)


def flips(horizon: int, drift: float, start: float, flat: int, sign: int) -> Path:
    """F steps flat, F steps drifting, the sign turns; the first of all steps is t = 0."""
    directions = []
    drifting, done = False, 0
    for _ in range(horizon):
        directions.append(sign if drifting else 0)
        done += 1
        if done == flat:
            if drifting:
                sign = -sign
            drifting, done = not drifting, 0
    return bounce(start, drift, directions[1:])


def separated(horizon: int, drift: float) -> list[Path]:
    plan = [(0.1, 0), (0.2, -1), (0.3, 0), (0.42, 1), (0.8, 0), (0.9, -1), (1.0, 1)]
    return [checkpoints(horizon, drift, 0.9, plan), [0.2] * horizon]


def toggling(horizon: int, drift: float, flat: int, start: tuple[float, float]) -> list[Path]:
    return [flips(horizon, drift, start[0], flat, -1), flips(horizon, drift, start[1], flat, 1)]


def mirrored(horizon: int, drift: float, plan: list[tuple[float, int]]) -> list[Path]:
    opposite = [(fraction, -direction) for fraction, direction in plan]
    return [checkpoints(horizon, drift, 0.5, plan), checkpoints(horizon, drift, 0.5, opposite)]


def common_periods(horizon: int, drift: float) -> list[Path]:
    plan = [(0.1, 0), (0.2, 1), (0.3, 0), (0.5, -1), (0.6, 0), (0.8, 1), (0.9, 0), (1.0, -1)]
    return mirrored(horizon, drift, plan)


def equal_drift(k: int, horizon: int, drift: float) -> list[Path]:
    lag = Fraction(1, 10 * k)
    turns = [Fraction(4, 10) - lag, Fraction(4, 10) + lag, Fraction(7, 10) - lag, Fraction(7, 10) + lag, 1 - lag]
    ends = [0.1, float(Fraction(1, 10) + lag), *map(float, turns), 1.0]
    return mirrored(horizon, drift, list(zip(ends, [0, 1, 0, -1, 0, 1, 0, -1], strict=True)))


def bump(drift: float) -> Path:
    """What the bump of one block of the lower bound adds to 1/2, as the paper's proof writes it for t = 1..m."""
    m = math.ceil((2 * drift) ** (-2 / 3))
    eps = 1 / (2 * math.sqrt(m))
    return [(t - 1) / m * eps if t <= math.ceil(m / 2) else (m - t) / m * eps for t in range(1, m + 1)]


def sinusoid(horizon: int, drift: float, n_arms: int, amplitude: float) -> list[Path]:
    def mean(arm: int, t: int) -> float:
        return 0.5 + amplitude * math.sin(drift / amplitude * t + 2 * math.pi * arm / n_arms)

    return [[mean(arm, t) for t in range(1, horizon + 1)] for arm in range(n_arms)]


def wave(horizon: int, drift: float, n_arms: int) -> list[Path]:
    K, sigma = n_arms, 2 * n_arms * drift / (n_arms - 1)

    def mean(i: int, t: int) -> float:
        crest = 1 + (K - 1) * (1 + math.sin(sigma * t)) / 2
        return (K - 1) / K - abs(crest - i) / K

    return [[mean(i, t) for t in range(1, horizon + 1)] for i in range(1, K + 1)]
