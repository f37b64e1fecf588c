"""What an experiment over HTTP is unless its creator says otherwise: safe for a site that reports successes alone."""

from __future__ import annotations

from typing import Any

from driftbandits.policies import Policy
from driftbandits.service.http import models

UNIT = (0.0, 1.0)


def declared(new: models.NewExperiment, policy: Policy) -> dict[str, Any]:
    """All settings of a new experiment but its policy.

    A reward that does not come counts as 0, as a visitor who does not click should; or as the worst, if 0 is none.
    """
    found = new.model_dump(exclude={"id", "policy", "policy_settings"})
    given = new.model_fields_set
    if "reward_range" not in given:
        found["reward_range"] = assumed_range(policy)
    if "default_reward" not in given and found["timeout"] is not None:
        low, high = found["reward_range"] or (0.0, 0.0)
        found["default_reward"] = 0.0 if low <= 0.0 <= high else low
    return found


def assumed_range(policy: Policy) -> tuple[float, float] | None:
    """The rewards that a policy is made for: from 0 to 1, unless it learns their scale or was told of another.

    >>> from driftbandits import BreakEven, KalmanTS
    >>> assumed_range(BreakEven()), assumed_range(KalmanTS(1e-3)), assumed_range(KalmanTS(1e-3, sigma=20))
    (None, (0.0, 1.0), None)
    """
    return UNIT if policy.rewards.rescaled else None
