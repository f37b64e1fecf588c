"""Random draws that a policy must remember: made in ``update``, from a generator that is part of the State.

``select`` is given the run's random generator but may not change the State. ``update`` may change the State but is
given no generator. So some policies keep a small one in their State, in the field ``generator``: L'Ecuyer's combined
congruential generator of 1988, with a period of 2 10^18. Their ``seed`` starts it from the run's own random stream.

Every arm and reward is mixed into the generator as well. Adding a number to a uniform one modulo m leaves it uniform,
so a draw says nothing about the rewards.

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


def new_generator() -> Records:
    """The generator's two numbers, the same for every run until ``seed_generator`` draws them."""
    generator = records(1, first="i8", second="i8")
    generator.first, generator.second = 1_234_567, 7_654_321
    return generator


def seed_generator(generator: Records, rng: np.random.Generator) -> None:
    """Start from two numbers of the run's own random stream."""
    generator.first, generator.second = rng.integers(1, M1), rng.integers(1, M2)


@kernel
def mix_in(generator: Any, arm: int, reward: float) -> None:
    """Mix a pull into the generator: the arm and all 53 bits of the reward."""
    mantissa = abs(math.frexp(reward)[0]) * HIGH
    high = math.floor(mantissa)
    generator.first = (generator.first + int(high)) % (M1 - 1) + 1
    generator.second = (generator.second + int((mantissa - high) * LOW) + arm) % (M2 - 1) + 1


@kernel
def uniform(generator: Any) -> float:
    """A number in [0, 1)."""
    generator.first = generator.first * 40_014 % M1
    generator.second = generator.second * 40_692 % M2
    return float((generator.first - generator.second) % (M1 - 1)) / (M1 - 1)
