"""Whether a policy can do on an instance what it is for. What it cannot is a warning: to see that may be the point."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.rewards import USUAL_SIGMA, Rewards, rewards_of
from driftbandits.errors import FeasibilityWarning
from driftbandits.instances.base import Instance
from driftbandits.instances.noise import Gaussian, Noise
from driftbandits.policies import Doubling, Policy, SnoozeIt, SnoozeItK, SnoozeItTight
from driftbandits.policies.registry import short_horizon

SNOOZING = SnoozeIt, SnoozeItTight, SnoozeItK


def misfit(policy: Any, instance: Instance) -> str | None:
    """Why the policy does not fit the instance; None if it does, or if it said so already when it was made."""
    if not isinstance(policy, Policy) or policy.why_never() is not None:
        return None
    scaled = instance if instance.reward_range is None else instance.rescaled()
    return policy.why_never(scaled) or short_horizon(policy, instance.horizon)


def too_loud(policy: Any, instance: Instance, noise: Noise) -> str | None:
    """Why the policy is not defined for this noise; None if it is, or if that is not known.

    >>> from driftbandits import UCB1, instances
    >>> print(too_loud(UCB1(), instances.stationary(), Gaussian(2)))
    UCB1 is defined for noise of standard deviation 0.5 at most; got 2: take less noise, or a policy that learns it, \
such as BreakEven
    """
    kind = rewards_of(policy)
    if not isinstance(noise, Gaussian) or kind not in (Rewards.SCALED, Rewards.SIGMA):
        return None
    low, high = (instance.reward_range if kind.rescaled else None) or (0.0, 1.0)
    most = USUAL_SIGMA if kind is Rewards.SCALED else getattr(policy, "sigma", math.inf)
    sigma = noise.sigma / (high - low)
    if sigma <= most * (1.0 + 1e-12):
        return None
    scale = "" if high - low == 1.0 else ", on the scale of [0, 1]"
    return (
        f"{type(policy).__name__} is defined for noise of standard deviation {most:g} at most{scale}; got {sigma:g}: "
        "take less noise, or a policy that learns it, such as BreakEven"
    )


def warn_of_misfits(policies: Mapping[str, Any], instance: Instance, noise: Noise) -> None:
    """Warn of each policy that does not fit the instance or its noise."""
    for name, policy in policies.items():
        for why in (misfit(policy, instance), too_loud(policy, instance, noise)):
            if why is not None:
                warnings.warn(f"policy {name!r}: {why}", FeasibilityWarning, stacklevel=3)


def warn_of_round_robin(policies: Mapping[str, Any], instance: Instance, pulls: Mapping[str, Array]) -> None:
    """Warn of each policy that might have snoozed an arm, and did not in any run."""
    for name, policy in policies.items():
        snoozing = policy.base if isinstance(policy, Doubling) else policy
        if not isinstance(snoozing, SNOOZING) or instance.available is not None:
            continue
        if np.ptp(pulls[name], axis=1).max() > _stages(policy, instance.horizon):
            continue
        if policy.why_never() is None and misfit(policy, instance) is None:
            gap = float(np.ptp(instance.means, axis=1).max())
            warnings.warn(
                f"policy {name!r}: it snoozed no arm in any of {len(pulls[name]):,} runs, so it was round robin: the "
                f"gaps of {instance.name!r}, at most {gap:.3g}, are too small or too short; take a smaller "
                "confidence, or another policy, such as BreakEven",
                FeasibilityWarning,
                stacklevel=3,
            )


def _stages(policy: Policy, horizon: int) -> int:
    """How often the policy starts; round robin then pulls two arms equally often, but for one pull per start."""
    count = end = 0
    while end < horizon:
        count, end = count + 1, policy.stage(end).stop
    return count
