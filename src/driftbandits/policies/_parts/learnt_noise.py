"""What AutoTS and BreakEven share: the noise learnt from rewards, coins recognised, and how weights age."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftbandits.policies._parts.posteriors import draw_beta
from driftbandits.policies.base import Records

MOST_SWITCHING, LEAST_SWITCHING = 0.05, 1e-5
MEMORY = 3e3
"""Pulls that an arm's noise is learnt from."""
POOLED_PULLS = 100.0
"""How many pulls of its own an arm needs until they count as much for its noise as all arms' together; and how many of
them count at most for that of all arms."""
LEAST_RANGE = 1e-300
"""Two rewards that are closer are not taken for a coin's: one divided by their distance may be no number."""

RUN = {"t": "i8", "noise": "f8", "center": "f8", "total_variance": "f8"}
VALUES = {"coin": "i8", "varied": "i8", "values": "i8", "low": "f8", "high": "f8"}
"""How many different rewards there were, 3 meaning more than two; the first two; whether an arm had both."""
ARM = {"last": "i8", "first": "f8", "pulls": "f8", "noise": "f8"}


def switched_share(switching: float, away: int) -> float:
    """The chance that an arm drifts otherwise than ``away`` steps ago."""
    return switching * away / (1.0 + switching * away)


def switching_after(t: int) -> float:
    """How likely an arm is to drift otherwise at the next step, after ``t`` steps."""
    return max(LEAST_SWITCHING, min(MOST_SWITCHING, 1.0 / t))


def arm_noise(run: Any, arm: Any) -> float:
    """The variance of an arm's noise."""
    return (arm.pulls * arm.noise + POOLED_PULLS * run.noise) / (arm.pulls + POOLED_PULLS)  # type: ignore[no-any-return]


def draw_mean(run: Any, arm: Any, mean: float, spread: float, rng: np.random.Generator) -> float:
    """A draw from what a filter knows of an arm's mean; ``spread`` is its variance in units of the noise's."""
    if run.coin:
        p = min(max((mean - run.low) / (run.high - run.low), 0.0), 1.0)  # but for rounding it is
        return draw_beta(p / spread, (1.0 - p) / spread, rng)
    offset = mean - run.center
    noise = arm_noise(run, arm) + offset * offset / (1.0 + arm.pulls)
    return mean + math.sqrt(noise * spread) * rng.standard_normal()


def pooled_noise(run: Any, arms: Records) -> float:
    """The variance of all arms' noise; no arm counts for much more than others, however often it was pulled."""
    squares, pulls = run.total_variance, 1.0
    for index in range(len(arms)):
        counted = min(arms[index].pulls, POOLED_PULLS)
        squares += counted * arms[index].noise
        pulls += counted
    return squares / pulls  # type: ignore[no-any-return]


def count_values(run: Any, arm: Any, reward: float) -> None:
    """Note whether rewards so far had one value, two, or more, and whether they are those of a coin."""
    if run.values == 0:
        run.values, run.low, run.high = 1, reward, reward
    elif run.values == 1 and reward != run.low:
        run.values, run.low, run.high = 2, min(run.low, reward), max(run.low, reward)
    elif run.values == 2 and reward != run.low and reward != run.high:
        run.values = 3
    if arm.last == 0:
        arm.first = reward
    if reward != arm.first:
        run.varied = 1
    run.coin = run.varied == 1 and run.values == 2 and run.high - run.low > LEAST_RANGE


def learn_total_variance(run: Any, reward: float) -> None:
    """The variance of all rewards about their mean, of about the last 3,000."""
    share = 1.0 / min(float(run.t), MEMORY)
    gap = reward - run.center
    run.center += share * gap
    run.total_variance += share * (gap * (reward - run.center) - run.total_variance)
