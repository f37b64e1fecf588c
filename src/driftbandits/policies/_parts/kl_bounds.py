"""Bounds on KL-UCB's indices that are cheap to keep, and nearly always tell which arm has the largest.

Let U be the largest q with count kl(p, q) <= allowed. Two things make bounds on it cheap:

- kl(p, .) is convex, so one step of Newton's method from any start s > p ends at or above U, and no further above it
  than 4 C d^2 if C d <= 1/4: d is the length of the step, 2 C the largest second derivative within d of it over the
  first derivative at s. (It is so if U is above s, for then U lies within the step. If U < s and U < s - 2d, then kl(p,
  s - 2d) is above the level; but by Taylor's formula it is at most the level - (1 - 4 C d) d kl'(s).) A pull moves U by
  about as much as the mean, so the bound before it is a good start.
- U is concave in ``allowed``, which is concave in time: while an arm is not pulled, its index grows no faster than it
  did at first. The time may be any variable in which ``allowed`` is concave, also ``allowed`` itself.

The bounds are wider than rounding errors. Where they leave it open which index is largest, indices are solved for.
"""

from __future__ import annotations

from typing import Any

from driftbandits.policies._parts.divergence import bernoulli_divergence, bernoulli_upper
from driftbandits.policies.base import Records

KL_BOUNDS = {"estimate": "f8", "low": "f8", "high": "f8", "growth": "f8", "at": "f8"}
"""An arm's columns: its index lay from ``low`` to ``high`` at time ``at``, and since then has grown at most by
``growth`` a unit of time."""
OPEN = -1
FAR = 1e300
SMALLEST_LEVEL = 1e-9
"""For smaller allowed/count divergences are not much larger than their rounding errors."""


def forget_bounds(arm: Any) -> None:
    """Nothing is known of an index."""
    arm.low = -FAR
    arm.high = FAR
    arm.growth = 0.0
    arm.at = 0.0


def bound_index(arm: Any, mean: float, allowed: float, now: float, rate: float) -> None:
    """New bounds after a pull; ``mean`` lies in [0, 1], and ``allowed`` grows at this rate now."""
    start = arm.high + arm.growth * (now - arm.at) + (mean - arm.estimate)
    level = allowed / arm.count
    arm.estimate = mean
    arm.at = now
    if level < SMALLEST_LEVEL:
        forget_bounds(arm)
        return
    if mean < start < 1.0:
        slope = (start - mean) / (start * (1.0 - start))
        step = (bernoulli_divergence(mean, start) - level) / slope
        high, length = start - step, abs(step)
        lowest, highest = min(start, high) - length, 1.0 - max(start, high)
        if lowest > mean and highest > 0.0:
            bend = (mean / (lowest * lowest) + (1.0 - mean) / (highest * highest)) / (2.0 * slope)
            if bend * length <= 0.25 and _set_bounds(arm, high - 4.0 * bend * step * step, high, slope, rate):
                return
    index = bernoulli_upper(mean, level)
    if not (mean < index < 1.0 and _set_bounds(arm, index, index, (index - mean) / (index * (1.0 - index)), rate)):
        forget_bounds(arm)


def _set_bounds(arm: Any, low: float, high: float, slope: float, rate: float) -> bool:
    """Widen the bounds by far more than rounding errors; False if they would reach the mean."""
    margin = 1e-12 + 1e-14 / slope
    low -= margin
    if low <= arm.estimate:
        return False
    arm.low = low
    arm.high = high + margin
    arm.growth = rate * low * (1.0 - low) / (arm.count * (low - arm.estimate))
    return True


def surely_largest(arms: Records, now: float) -> int:
    """The arm whose index is surely larger than all others, by more than 1e-12; OPEN if the bounds don't tell."""
    best, first, second = OPEN, -FAR, -FAR
    for arm in range(len(arms)):
        high = arms[arm].high + arms[arm].growth * (now - arms[arm].at)
        if high > first:
            best, first, second = arm, high, first
        else:
            second = max(second, high)
    return best if second < arms[best].low - 1e-12 else OPEN
