"""Whether a policy can do on an instance what it is for. What it cannot is a warning: to see that may be the point."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.errors import FeasibilityWarning
from driftbandits.instances.base import Instance
from driftbandits.policies import Doubling, Policy, SnoozeIt, SnoozeItK, SnoozeItTight
from driftbandits.policies.registry import short_horizon

SNOOZING = SnoozeIt, SnoozeItTight, SnoozeItK


def misfit(policy: Any, instance: Instance) -> str | None:
    """Why the policy does not fit the instance; None if it does, or if it said so already when it was made."""
    if not isinstance(policy, Policy) or policy.why_never() is not None:
        return None
    scaled = instance if instance.reward_range is None else instance.rescaled()
    return policy.why_never(scaled) or short_horizon(policy, instance.horizon)


def warn_of_misfits(policies: Mapping[str, Any], instance: Instance) -> None:
    """Warn of each policy that does not fit the instance."""
    for name, policy in policies.items():
        if (why := misfit(policy, instance)) is not None:
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
                "confidence, or another policy, such as AutoTS",
                FeasibilityWarning,
                stacklevel=3,
            )


def _stages(policy: Policy, horizon: int) -> int:
    """How often the policy starts; round robin then pulls two arms equally often, but for one pull per start."""
    count = end = 0
    while end < horizon:
        count, end = count + 1, policy.stage(end).stop
    return count
