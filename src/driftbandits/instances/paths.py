"""Paths of one mean that move by 0 or +-delta a step and turn back at 0 and at 1."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from driftbandits._common.arrays import Array

Plan: TypeAlias = "tuple[tuple[float, int], ...]"
"""(fraction, direction): go that way until that fraction of the horizon; the last fraction is 1."""

UP, FLAT, DOWN = 1, 0, -1


def reflect(positions: Array) -> Array:
    """Fold the real line into [0, 1] as two facing mirrors do: 1.2 becomes 0.8, and so does -0.8.

    >>> reflect(np.array([0.3, 1.2, -0.1, 2.3])).round(6).tolist()
    [0.3, 0.8, 0.1, 0.3]
    """
    # Most paths never leave [0, 1]; those points must keep their exact bits, so only the others are folded.
    outside = np.flatnonzero((positions < 0) | (positions > 1))
    folded = np.abs(np.remainder(positions[outside] + 1.0, 2.0) - 1.0)
    positions[outside] = folded
    return positions


def follow(start: float, drift: float, directions: Array) -> Array:
    """The mean that starts at ``start`` and then makes one step of ``drift`` times each direction."""
    # The steps are counted in whole numbers and multiplied once, so rounding does not grow with the horizon.
    counts = np.zeros(len(directions) + 1)
    np.cumsum(directions, out=counts[1:])
    return reflect(start + drift * counts)


def checkpoints(horizon: int, drift: float, start: float, plan: Plan, mirrored: bool = False) -> Array:
    """mu[0] = start; every later step adds delta * direction; once t >= fraction * T the next direction holds.

    >>> checkpoints(6, 0.1, 0.5, ((0.5, UP), (1.0, DOWN))).round(6).tolist()
    [0.5, 0.6, 0.7, 0.8, 0.7, 0.6]
    """
    lengths: list[int] = []
    end = 0
    for fraction, _ in plan:
        last = max(math.ceil(fraction * horizon), end + 1)  # a direction holds for one step at least
        lengths.append(last - end)
        end = last
    directions = np.repeat([direction for _, direction in plan], lengths)[: horizon - 1]
    return follow(start, -drift if mirrored else drift, directions)


def flips(horizon: int, drift: float, start: float, flat: int, direction: int) -> Array:
    """F = ``flat`` steps flat, F steps drifting by direction * delta, the direction turns; and so on.

    >>> flips(9, 0.1, 0.5, 2, UP).round(6).tolist()
    [0.5, 0.5, 0.6, 0.7, 0.7, 0.7, 0.6, 0.5, 0.5]
    """
    quarter = np.arange(1, horizon) // flat % 4
    return follow(start, drift, direction * np.array([FLAT, UP, FLAT, DOWN])[quarter])
