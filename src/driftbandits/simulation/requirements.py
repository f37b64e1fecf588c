"""Whether a policy can be played on an instance with this noise: its arms, and the rewards that there will be."""

from __future__ import annotations

from typing import Any

from driftbandits._common.rewards import DECLARE_MEANS, OTHER_NOISE, OWN_NOISE, Rewards, not_taken, rewards_of
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance
from driftbandits.instances.noise import Gaussian, Noise
from driftbandits.simulation.changing import check_arms_on


def check_fits(policy: Any, instance: Instance, noise: Noise) -> None:
    """Raise InputError, before the first step, if the policy is not defined for the arms or the rewards."""
    check_arms_on(policy, instance)
    check_noise_fits(noise, instance)
    kind = rewards_of(policy)
    if kind.rescaled and instance.reward_range is None and not instance.within(0.0, 1.0):
        got = f"{instance.farthest(0.0, 1.0)} of {instance.name!r}"
        raise not_taken(policy, None, got, undeclared=DECLARE_MEANS)
    if kind is Rewards.UNIT and isinstance(noise, Gaussian) and noise.sigma > 0:
        got = f"{noise!r}, whose rewards have no limits"
        raise not_taken(policy, instance.reward_range, got, undeclared=OTHER_NOISE, declared=OWN_NOISE)


def usual_noise(instance: Instance) -> Noise:
    """The noise unless another is given: Gaussian, with half the width of the range of rewards as deviation, or 1/2."""
    return Gaussian(0.5 * instance.unit)


def check_noise_fits(noise: Noise, instance: Instance) -> None:
    """Raise InputError if the noise is not defined for the means of an instance."""
    low, high = noise.means
    if not instance.within(low, high):
        raise InputError(
            f"{noise!r} is defined for means from {low:g} to {high:g}; got {instance.farthest(low, high)} of "
            f"{instance.name!r}: take Gaussian(sigma), or noise of your own"
        )
