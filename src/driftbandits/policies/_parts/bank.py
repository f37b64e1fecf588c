"""A bank of Kalman filters for each arm: eight for means that wander, eight for means that keep their direction.

A row of ``State.bank`` is an arm; in it lie the means of all filters, then their variances, and so on, so that one
instruction of the processor serves several filters. ``State.shared`` holds what arms share, in the same manner, and
room for what is computed on the way. All variances are in units of the noise's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.policies._parts.filters import chance, cut_back, merged, student, total
from driftbandits.policies._parts.learnt_noise import MEMORY, switched_share

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
FAST = 3
"""The first walk that is fast: its memory is of 512 steps."""
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


def half(row: Array) -> int:
    """The number of walks, which is that of slopes: 8. A length that the compiler knows it unrolls, filter by filter;
    one that it reads from the row it leaves a loop, and computes four filters at a time."""
    return len(row) // (ROW // WALKS)


def first_reward(row: Array, shared: Array, reward: float) -> None:
    """All filters of an arm begin at its first reward."""
    for j in range(2 * half(row)):
        row[MEAN + j] = reward
        row[SPREAD + j] = 1.0
    for i in range(half(row)):
        row[STEEP + i] = shared[RATE + i]


def look_ahead(row: Array, shared: Array, away: float, out: Array) -> None:
    """Mean and variance of every filter ``away`` steps after the arm's last pull, at the start of ``out``."""
    for j in range(half(row)):
        out[MEAN + j] = row[MEAN + j]
        out[SPREAD + j] = row[SPREAD + j] + shared[WALK + j] * away
    for i in range(half(row)):
        out[MEAN + WALKS + i], out[SPREAD + WALKS + i] = slope_ahead(row, shared, away, i)


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


def _age(row: Array, shared: Array, away: float) -> None:
    """All filters, ``away`` steps on."""
    for j in range(half(row)):
        row[SPREAD + j] += shared[WALK + j] * away
    for i in range(half(row)):
        x = away * shared[FADING + i]
        h = 0.5 * x * x
        kept = 1.0 / (1.0 + x + h)
        reach = away * (1.0 + 0.5 * x) * kept
        slope, cross, steep, rate = row[SLOPE + i], row[CROSS + i], row[STEEP + i], shared[RATE + i]
        wander = rate * (away * kept) * (away * kept) * x * (1.0 + 1.25 * x + h)
        row[MEAN + WALKS + i] += reach * slope
        row[SPREAD + WALKS + i] += reach * (2.0 * cross + reach * steep) + wander
        row[SLOPE + i] = kept * slope
        row[CROSS + i] = kept * (cross + reach * steep) + rate * reach * reach * shared[FADING + i]
        row[STEEP + i] = kept * kept * (steep + rate * (x + h) * (2.0 + x + h))


def _center(row: Array, shared: Array) -> float:
    """The mean of an arm's filters by weight."""
    for j in range(2 * half(row)):
        shared[PART + j] = row[WEIGHT + j] * row[MEAN + j]
    return total(shared, PART, FILTERS)


def _width(row: Array, shared: Array, center: float, precision: float) -> float:
    """The variance of an arm's filters together."""
    for j in range(2 * half(row)):
        offset = row[MEAN + j] - center
        shared[PART + j] = row[WEIGHT + j] * (row[SPREAD + j] + offset * offset * precision)
    return total(shared, PART, FILTERS)


def learn(run: Any, mine: Any, row: Array, shared: Array, reward: float) -> float:
    """Learn from a pull of an arm that was pulled before; returns the reward, cut back if it was an outlier.

    An arm that drifts otherwise does so from its last pull on: weights are received first, then filters age. In the
    other order a filter that got nearly all of its weight from the pool would still be narrow after a long time.
    """
    steps = run.t - mine.last
    center = _center(row, shared)
    _, precision = cut_back(run, mine, center, center)
    width = _width(row, shared, center, precision)
    _receive(row, shared, switched_share(run.switching, steps), center, width, precision)
    _age(row, shared, float(steps))
    learnt, _ = cut_back(run, mine, _center(row, shared), reward)
    _predict(run, row, shared, learnt, precision)
    _follow_slopes(row, shared)
    _weigh(row, shared, run.switching, run.hazard)
    mine.pulls = min(mine.pulls + 1.0, MEMORY)
    mine.noise += (total(shared, PART, FILTERS) - mine.noise) / mine.pulls
    return learnt


def shake(run: Any, mine: Any, row: Array, shared: Array) -> None:
    """After an alarm: an arm gives half of its weights to the watch's, and what comes with them is less certain."""
    center = _center(row, shared)
    _, precision = cut_back(run, mine, center, center)
    width = _width(row, shared, center, precision) + 1.0
    for j in range(FILTERS):  # for a moment the watch is the pool
        shared[VARIANCE + j], shared[POOL + j] = shared[POOL + j], shared[WATCH + j]
    _receive(row, shared, JUMPED, center, width, precision)
    for j in range(FILTERS):
        shared[POOL + j] = shared[VARIANCE + j]


def fast_share(shared: Array) -> float:
    """What fast walks weigh in the watch."""
    share = 0.0
    for j in range(FAST, WALKS):
        share += shared[WATCH + j]
    return share


def _receive(row: Array, shared: Array, switched: float, center: float, width: float, precision: float) -> None:
    """Give a share of the weights to the pool's; what receives weight is merged with what comes with it."""
    for j in range(2 * half(row)):
        row[WEIGHT + j], row[MEAN + j], row[SPREAD + j], shared[PART + j] = merged(
            (1.0 - switched) * row[WEIGHT + j],
            row[MEAN + j],
            row[SPREAD + j],
            switched * shared[POOL + j],
            center,
            width,
            precision,
        )
    for i in range(half(row)):
        share = shared[PART + WALKS + i]
        kept = 1.0 - share
        slope = row[SLOPE + i]
        row[STEEP + i] = kept * row[STEEP + i] + share * (shared[RATE + i] + kept * slope * slope * precision)
        row[SLOPE + i] = kept * slope
        row[CROSS + i] *= kept


def _predict(run: Any, row: Array, shared: Array, reward: float, precision: float) -> None:
    """Every filter learns, but for its slope, and weights are multiplied by the densities.

    What is left in ``shared``: errors, 1/(1 + c), the densities, and squares that the noise learns.
    """
    coin, success, low = run.coin, reward == run.high, run.low
    per_range = 1.0 / (run.high - run.low) if coin else 0.0
    for j in range(2 * half(row)):
        m, c, weight = row[MEAN + j], row[SPREAD + j], row[WEIGHT + j]
        error = reward - m
        scale, density = chance((m - low) * per_range, c, success) if coin else student(error, c, precision)
        row[MEAN + j] = reward - scale * error
        row[SPREAD + j] = c * scale
        row[WEIGHT + j] = weight * density
        shared[MEAN + j] = error
        shared[SPREAD + j] = scale
        shared[VARIANCE + j] = density
        shared[POOL + j] *= density
        shared[PART + j] = weight * (error * error * scale)


def _follow_slopes(row: Array, shared: Array) -> None:
    """Slopes and their covariances learn from the error of the mean."""
    for i in range(half(row)):
        cross = row[CROSS + i]
        gain = cross * shared[SPREAD + WALKS + i]
        row[SLOPE + i] += gain * shared[MEAN + WALKS + i]
        row[STEEP + i] -= gain * cross
        row[CROSS + i] = gain


def _weigh(row: Array, shared: Array, switching: float, hazard: float) -> None:
    """Weights sum to one again; the pool's move back to the prior, and none of the watch's gets below ``hazard``."""
    for j in range(half(row)):
        shared[WATCH + j] *= shared[VARIANCE + j]
    own, others = 1.0 / total(row, WEIGHT, FILTERS), (1.0 - switching) / total(shared, POOL, FILTERS)
    watch = 1.0 / total(shared, WATCH, WALKS)
    for j in range(2 * half(row)):
        row[WEIGHT + j] *= own
        shared[POOL + j] = others * shared[POOL + j] + switching * shared[PRIOR + j]
    for j in range(half(row)):
        shared[WATCH + j] = watch * shared[WATCH + j] + hazard
