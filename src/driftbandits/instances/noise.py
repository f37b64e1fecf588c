"""Noise: how a reward scatters around its mean. One draw a step, so all policies of a run meet the same noise."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from driftbandits._common.checks import is_number, is_ours, shown
from driftbandits._common.verbs import check_call
from driftbandits._numba.compiled import Compiled
from driftbandits.errors import InputError


class Noise(Compiled):
    """Base of noise models: a frozen dataclass with the kernel ``draw(self, mean, rng) -> reward``.

    ``docs/tutorials/your-own-noise.md`` has examples: counts, heavy tails.
    """

    means: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    """The least and the largest mean that it is defined for."""

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        """Kernel: one reward with the given mean. It must use the same number of draws whatever the mean is."""
        raise NotImplementedError


def check_noise(value: Any) -> Noise:
    """What scatters rewards must be a noise model."""
    if not isinstance(value, Noise):
        raise InputError(f"noise must be a noise model, such as Gaussian(0.5) or Bernoulli(); got {shown(value)}")
    if not is_ours(type(value)):
        check_call(type(value).__name__, value.draw, ("mean", "rng"))
    return value


@dataclass(frozen=True)
class Gaussian(Noise):
    """Normal rewards N(mean, sigma^2), not clipped. The paper's experiments use sigma = 1/2.

    >>> Gaussian(0.5)
    Gaussian(sigma=0.5)
    """

    sigma: float = 0.5

    def __post_init__(self) -> None:
        if not (is_number(self.sigma) and 0 <= self.sigma <= sys.float_info.max):
            raise InputError(f"sigma must be finite and at least 0; got {shown(self.sigma)}")

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        return mean + self.sigma * rng.standard_normal()


@dataclass(frozen=True)
class Bernoulli(Noise):
    """Rewards 1 with probability ``mean``, else 0."""

    means: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        return 1.0 if rng.random() < mean else 0.0


@dataclass(frozen=True)
class Bounded(Noise):
    """Continuous rewards that stay in [0, 1]: uniform on [mean - h, mean + h], h = min(width, mean, 1 - mean)."""

    means: ClassVar[tuple[float, float]] = (0.0, 1.0)

    width: float = 0.5

    def __post_init__(self) -> None:
        if not (is_number(self.width) and 0 <= self.width <= 0.5):
            raise InputError(f"width must lie in [0, 0.5], so that rewards stay in [0, 1]; got {shown(self.width)}")

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        half = min(self.width, min(mean, 1.0 - mean))
        return mean + half * (2.0 * rng.random() - 1.0)
