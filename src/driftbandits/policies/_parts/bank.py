"""A bank of Kalman filters for each arm: eight for means that wander, eight for means that keep their direction.

A row of ``State.bank`` is an arm; in it lie the means of all filters, then their variances, and so on, so that one
instruction of the processor serves several filters. ``State.shared`` holds what arms share, in the same manner, and
room for what is computed on the way. All variances are in units of the noise's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._compile.kernels import kernel
from driftbandits.policies._parts.learnt_noise import (
    LEAST_ROOT,
    MEMORY,
    POOLED_PULLS,
    ROUNDING,
    TAIL,
    arm_noise,
    switched_share,
    total,
)

WALKS, SLOPES, FILTERS = 8, 8, 16
SLOWEST_WALK, WALK_STEP = 2.0**-24, 8.0
"""Variance a step of the slowest walk that moves, and how much faster the next one is."""
SLOWEST_SLOPE, SLOPE_STEP = 1e-5, 3.0
"""Deviation of the flattest slope, in deviations of the noise a step, and how much steeper the next one is."""
FORGOTTEN = 2.0
"""The share of a slope that is forgotten a step, in units of its deviation."""
SLOPES_PRIOR = 0.03
"""What all slopes weigh together before the first reward."""

MEAN, SPREAD, WEIGHT, SLOPE, CROSS, STEEP, ROW = 0, 16, 32, 48, 56, 64, 72
"""Where things lie in an arm's row: a filter's mean, its variance and weight; for slopes also the slope, its covariance
with the mean, and its variance."""
POOL, PRIOR, WALK, RATE, FADING, PART, VARIANCE, WATCH, SHARED = 32, 48, 64, 72, 80, 88, 104, 120, 136
"""Where things lie in what is shared, after room for means and variances ahead; walks are variances a step, rates the
squared deviations of slopes, fadings the shares of a slope that are forgotten a step, the watch weights of walks."""
FAST = 5
"""The first walk that is fast: its memory is of 64 steps."""
JUMPED = 0.5
"""The share of its weights that an arm gives to the watch's when there is an alarm."""


def new_bank(n_arms: int) -> tuple[Array, Array]:
    """The filters of all arms before the first reward, and what they share."""
    walk, slope = np.arange(WALKS, dtype=np.float64), np.arange(SLOPES, dtype=np.float64)
    deviation = SLOWEST_SLOPE * np.power(SLOPE_STEP, slope)
    walks, slopes = np.power(WALK_STEP, -walk), np.power(SLOPE_STEP, -slope)
    prior = np.concatenate([(1.0 - SLOPES_PRIOR) * walks / walks.sum(), SLOPES_PRIOR * slopes / slopes.sum()])
    shared = np.zeros(SHARED)
    shared[POOL : POOL + FILTERS] = shared[PRIOR : PRIOR + FILTERS] = prior
    shared[WATCH : WATCH + WALKS] = walks / walks.sum()
    shared[WALK : WALK + WALKS] = np.where(walk > 0, SLOWEST_WALK * np.power(WALK_STEP, walk - 1), 0.0)
    shared[RATE : RATE + SLOPES] = deviation * deviation
    shared[FADING : FADING + SLOPES] = FORGOTTEN * deviation
    bank = np.zeros((n_arms, ROW))
    bank[:, WEIGHT : WEIGHT + FILTERS] = prior
    return bank, shared


@kernel
def half(row: Array) -> int:
    """The number of walks, which is that of slopes: 8. A length that the compiler knows it unrolls, filter by filter;
    one that it reads from the row it leaves a loop, and computes four filters at a time."""
    return len(row) // (ROW // WALKS)


@kernel
def first_reward(row: Array, shared: Array, reward: float) -> None:
    """All filters of an arm begin at its first reward."""
    for j in range(2 * half(row)):
        row[MEAN + j] = reward
        row[SPREAD + j] = 1.0
    for i in range(half(row)):
        row[STEEP + i] = shared[RATE + i]


@kernel
def look_ahead(row: Array, shared: Array, away: float, out: Array) -> None:
    """Mean and variance of every filter ``away`` steps after the arm's last pull, at the start of ``out``."""
    for j in range(half(row)):
        out[MEAN + j] = row[MEAN + j]
        out[SPREAD + j] = row[SPREAD + j] + shared[WALK + j] * away
    for i in range(half(row)):
        out[MEAN + WALKS + i], out[SPREAD + WALKS + i] = slope_ahead(row, shared, away, i)


@kernel
def slope_ahead(row: Array, shared: Array, away: float, i: int) -> tuple[float, float]:
    """Mean and variance of slope ``i``, ``away`` steps after the arm's last pull."""
    x = away * shared[FADING + i]
    h = 0.5 * x * x
    kept = 1.0 / (1.0 + x + h)
    reach = away * (1.0 + 0.5 * x) * kept
    wander = shared[RATE + i] * (away * kept) * (away * kept) * x * (1.0 + 1.25 * x + h)
    return (
        row[MEAN + WALKS + i] + reach * row[SLOPE + i],
        row[SPREAD + WALKS + i] + reach * (2.0 * row[CROSS + i] + reach * row[STEEP + i]) + wander,
    )


@kernel
def _age_slopes(row: Array, shared: Array, away: float) -> None:
    """Slopes and their covariances, ``away`` steps on."""
    for i in range(half(row)):
        x = away * shared[FADING + i]
        h = 0.5 * x * x
        kept = 1.0 / (1.0 + x + h)
        reach = away * (1.0 + 0.5 * x) * kept
        row[SLOPE + i] *= kept
        row[CROSS + i] = kept * (row[CROSS + i] + reach * row[STEEP + i]) + (
            shared[RATE + i] * reach * reach * shared[FADING + i]
        )
        row[STEEP + i] = kept * kept * (row[STEEP + i] + shared[RATE + i] * (x + h) * (2.0 + x + h))


@kernel
def learn(run: Any, mine: Any, row: Array, shared: Array, reward: float) -> float:
    """Learn from a pull of an arm that was pulled before; returns the reward, cut back if it was an outlier."""
    steps = run.t - mine.last
    away, switched = float(steps), switched_share(run.switching, steps)
    look_ahead(row, shared, away, row)
    _age_slopes(row, shared, away)
    for j in range(2 * half(row)):
        shared[PART + j] = row[WEIGHT + j] * row[MEAN + j]
    center = total(shared, PART, FILTERS)
    noise, precision = arm_noise(run, mine), 0.0
    if noise > ROUNDING * center * center:
        precision = 1.0 / noise
        limit = max(math.sqrt(noise * (mine.pulls + POOLED_PULLS)), 2.0 * abs(center - run.center))
        if not run.coin:
            reward = min(max(reward, center - limit), center + limit)
    _receive(row, shared, switched, center, precision, 0.0)
    if run.coin:
        _predict_coin(row, shared, reward == run.high, run.low, 1.0 / (run.high - run.low))
    else:
        _predict(row, shared, reward, precision / TAIL)
    _watch(row, shared, run.hazard)
    squares = _follow(row, shared, reward)
    _weigh(row, shared, run.switching)
    mine.pulls = min(mine.pulls + 1.0, MEMORY)
    mine.noise += (squares - mine.noise) / mine.pulls
    return reward


@kernel
def shake(run: Any, mine: Any, row: Array, shared: Array) -> None:
    """After an alarm: an arm gives half of its weights to the watch's, and what comes with them is less certain."""
    for j in range(2 * half(row)):
        shared[PART + j] = row[WEIGHT + j] * row[MEAN + j]
    center, noise = total(shared, PART, FILTERS), arm_noise(run, mine)
    precision = 1.0 / noise if noise > ROUNDING * center * center else 0.0
    for j in range(FILTERS):  # for a moment the watch is the pool
        shared[VARIANCE + j], shared[POOL + j] = shared[POOL + j], shared[WATCH + j]
    _receive(row, shared, JUMPED, center, precision, 1.0)
    for j in range(FILTERS):
        shared[POOL + j] = shared[VARIANCE + j]


@kernel
def fast_share(shared: Array) -> float:
    """What fast walks weigh in the watch."""
    share = 0.0
    for j in range(FAST, WALKS):
        share += shared[WATCH + j]
    return share


@kernel
def _watch(row: Array, shared: Array, hazard: float) -> None:
    """The watch's weights learn from the densities, and none gets smaller than ``hazard``."""
    for j in range(half(row)):
        shared[WATCH + j] *= shared[PART + j]
    own = 1.0 / total(shared, WATCH, FILTERS)
    for j in range(half(row)):
        shared[WATCH + j] = own * shared[WATCH + j] + hazard


@kernel
def _receive(row: Array, shared: Array, switched: float, center: float, precision: float, wider: float) -> None:
    """Give a share of the weights to the pool's; what receives weight is merged with what comes with it.

    What comes has the mean and the variance of all filters together, and ``wider`` variances of the noise more.
    """
    for j in range(2 * half(row)):
        offset = row[MEAN + j] - center
        shared[PART + j] = row[WEIGHT + j] * (row[SPREAD + j] + offset * offset * precision)
    width = total(shared, PART, FILTERS) + wider
    for j in range(2 * half(row)):
        received = switched * shared[POOL + j]
        before = (1.0 - switched) * row[WEIGHT + j] + received
        share = received / before
        offset = center - row[MEAN + j]
        row[WEIGHT + j] = before
        row[MEAN + j] += share * offset
        row[SPREAD + j] += share * (width - row[SPREAD + j] + (1.0 - share) * offset * offset * precision)
        shared[PART + j] = share
    for i in range(half(row)):
        share = shared[PART + WALKS + i]
        kept = 1.0 - share
        slope = row[SLOPE + i]
        row[STEEP + i] = kept * row[STEEP + i] + share * (shared[RATE + i] + kept * slope * slope * precision)
        row[SLOPE + i] = kept * slope
        row[CROSS + i] *= kept


@kernel
def _predict(row: Array, shared: Array, reward: float, tail: float) -> None:
    """The density of the reward, for each filter."""
    for j in range(2 * half(row)):
        error = reward - row[MEAN + j]
        scale = 1.0 / (1.0 + row[SPREAD + j])
        root = max(1.0 / (1.0 + error * error * scale * tail), LEAST_ROOT)
        root *= root
        root *= root
        root *= root
        root *= root
        shared[PART + j] = root * root * math.sqrt(scale)


@kernel
def _predict_coin(row: Array, shared: Array, success: bool, low: float, per_range: float) -> None:
    """The probability of what the coin showed, for each filter."""
    sign, start = (1.0, 0.0) if success else (-1.0, 1.0)
    for j in range(2 * half(row)):
        p = min(max((row[MEAN + j] - low) * per_range, 0.0), 1.0)
        c = row[SPREAD + j]
        shared[PART + j] = (start + sign * p + c) / (1.0 + 2.0 * c)


@kernel
def _follow(row: Array, shared: Array, reward: float) -> float:
    """Every filter learns, and weights are multiplied by the densities; returns the square that the noise learns."""
    for i in range(half(row)):
        scale = 1.0 / (1.0 + row[SPREAD + WALKS + i])
        gain = row[CROSS + i] * scale
        row[SLOPE + i] += gain * (reward - row[MEAN + WALKS + i])
        row[STEEP + i] -= gain * row[CROSS + i]
        row[CROSS + i] = gain
    for j in range(2 * half(row)):
        error = reward - row[MEAN + j]
        scale = 1.0 / (1.0 + row[SPREAD + j])
        density = shared[PART + j]
        shared[PART + j] = row[WEIGHT + j] * (error * error * scale)
        row[MEAN + j] = reward - scale * error
        row[SPREAD + j] *= scale
        row[WEIGHT + j] *= density
        shared[POOL + j] *= density
    return total(shared, PART, FILTERS)


@kernel
def _weigh(row: Array, shared: Array, switching: float) -> None:
    """Weights sum to one again, and the pool's move back to the prior."""
    own, others = 1.0 / total(row, WEIGHT, FILTERS), (1.0 - switching) / total(shared, POOL, FILTERS)
    for j in range(2 * half(row)):
        row[WEIGHT + j] *= own
        shared[POOL + j] = others * shared[POOL + j] + switching * shared[PRIOR + j]
