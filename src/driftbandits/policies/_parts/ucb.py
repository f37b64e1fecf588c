"""What the UCB family shares: the arm with the highest index."""

from __future__ import annotations

import math

import numpy as np

from driftbandits._numba.loops import is_on
from driftbandits.policies._parts.largest import keep_largest
from driftbandits.policies.base import Records


def highest_index(arms: Records, width: float) -> int:
    """The arm with the largest total/count + sqrt(width/count): an arm without pulls first, of equals the lowest."""
    best, best_index = 0, -np.inf
    for arm in range(len(arms)):
        if is_on(arms, arm):
            count = arms[arm].count
            if count == 0:
                return arm
            share = 1.0 / count
            index = arms[arm].total * share + math.sqrt(width * share)
            best, best_index = keep_largest(best, best_index, arm, index)
    return best
