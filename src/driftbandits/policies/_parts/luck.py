"""Random draws that a policy must remember: made in ``update``, from a generator that is part of the State.

``select`` has the run's own random generator but may not change the State, and ``update`` may but has no generator. So
such policies carry a small one of their own (L'Ecuyer's combined congruential generator of 1988, period 2 10^18), which
their ``seed`` starts from the run's own random stream. Every arm and reward is stirred into it as well. Adding a number
to a uniform one modulo m leaves it uniform, so a draw tells nothing of the rewards.

Citation: P. L'Ecuyer, "Efficient and portable combined random number generators", Communications of the ACM 1988.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftbandits._compile.kernels import kernel
from driftbandits.policies.base import Records, records

M1, M2 = 2_147_483_563, 2_147_483_399
HIGH, LOW = float(1 << 30), float(1 << 23)


def new_luck() -> Records:
    """The generator's two numbers, the same for everyone until ``seed_luck`` draws them."""
    luck = records(1, first="i8", second="i8")
    luck.first, luck.second = 1_234_567, 7_654_321
    return luck


def seed_luck(luck: Records, rng: np.random.Generator) -> None:
    """Start from two numbers of the run's own random stream."""
    luck.first, luck.second = rng.integers(1, M1), rng.integers(1, M2)


@kernel
def stir(luck: Any, arm: int, reward: float) -> None:
    """Mix a pull into the generator: the arm and all 53 bits of the reward."""
    mantissa = abs(math.frexp(reward)[0]) * HIGH
    high = math.floor(mantissa)
    luck.first = (luck.first + int(high)) % (M1 - 1) + 1
    luck.second = (luck.second + int((mantissa - high) * LOW) + arm) % (M2 - 1) + 1


@kernel
def uniform(luck: Any) -> float:
    """A number in [0, 1)."""
    luck.first = luck.first * 40_014 % M1
    luck.second = luck.second * 40_692 % M2
    return float((luck.first - luck.second) % (M1 - 1)) / (M1 - 1)
