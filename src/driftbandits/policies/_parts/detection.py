"""What policies for changes are told: the horizon and how much changes, or the numbers these give."""

from __future__ import annotations

from typing import Any

from driftbandits._common.checks import FOREVER, check_between, check_drift, check_horizon, check_whole
from driftbandits.errors import InputError


def check_detection(policy: Any) -> None:
    """Check horizon, changes, drift, threshold and exploration, of which those that are given must suffice."""
    name = type(policy).__name__
    if policy.horizon is None and (policy.threshold is None or policy.exploration is None):
        raise InputError(f"{name} needs horizon, or both threshold=... and exploration=...")
    _check_told(policy)
    check_between("threshold", policy.threshold, 0.0, 1e300, optional=True)
    check_between("exploration", policy.exploration, 0.0, 1.0, optional=True)


def check_changes(policy: Any) -> None:
    """Check horizon, changes and drift of a policy that needs the horizon only to make something of changes."""
    _check_told(policy)
    if policy.changes is not None and policy.horizon is None:
        raise InputError(f"{type(policy).__name__} needs horizon beside changes: what counts is how rare they are")


def _check_told(policy: Any) -> None:
    if policy.horizon is not None:
        check_horizon(policy.horizon)
    if policy.changes is not None and policy.drift is not None:
        raise InputError(f"{type(policy).__name__} takes changes (abrupt) or drift (slow), not both")
    if policy.changes is not None:
        check_whole("changes", policy.changes, 1, FOREVER)
    if policy.drift is not None:
        check_drift(policy.drift)
