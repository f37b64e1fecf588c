"""Policies beside their plain twins, on rewards as a simulation's noise may draw them: far from [0, 1] too."""

from __future__ import annotations

from typing import Any

import driftbandits as db
from driftbandits._common.arrays import Array
from driftbandits._common.rewards import taken_by


def unlimited(policy: Any, n_arms: int, seed: int = 0) -> db.Online:
    """An Online that takes what ``simulate`` takes: any reward, unless the policy is undefined outside of [0, 1]."""
    play = db.Online(policy, n_arms, seed)
    play._player.taken, play._player._excess = taken_by(policy, simulated=True), None
    return play


def cut(policy: Any, rewards: Array) -> Array:
    """The nearest rewards that the policy is defined for."""
    low, high, _, _ = taken_by(policy, simulated=True)
    return rewards.clip(low, high)
