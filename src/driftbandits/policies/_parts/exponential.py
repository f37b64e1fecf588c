"""What the Exp3 family shares: the exploration mix, and drawing an arm from probabilities."""

from __future__ import annotations

import numpy as np

from driftbandits.policies.base import Records


def draw_arm(arms: Records, rng: np.random.Generator) -> int:
    """An arm drawn by ``arms.probability``; rounding in their sum falls to the last arm."""
    left = rng.random()
    for arm in range(len(arms) - 1):
        left -= arms[arm].probability
        if left < 0.0:
            return arm
    return len(arms) - 1


def mix(arms: Records, total: float, gamma: float) -> None:
    """p_k = (1 - gamma) w_k / W + gamma / K."""
    share, scale = gamma / len(arms), (1.0 - gamma) / total
    for arm in range(len(arms)):
        arms[arm].probability = scale * arms[arm].weight + share
