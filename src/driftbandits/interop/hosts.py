"""Policies of this package behind the verbs of another library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from driftbandits._common.extras import needs


def to_river(policy: Any, seed: int = 0, *, reward_range: Sequence[float] | None = None) -> Any:
    """One of our policies as one of river's: ``pull(arm_ids)``, then ``update(arm_id, reward)``.

    The object is derived from river's ``bandit.base.Policy``, so ``river.bandit.evaluate`` takes it. The arms of the
    first pull, in their order, are the policy's arms 0 to K - 1, and must stay. The policy is played compiled, by
    ``Online(policy, K, seed, reward_range=reward_range)``.
    """
    with needs("river", "to_river"):
        from driftbandits.interop.river_policy import RiverPolicy

    return RiverPolicy(policy, seed, reward_range)
