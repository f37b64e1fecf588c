"""Checks of numbers that callers give: each error names the value and the limit."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

from driftbandits.errors import InputError

LARGEST_REWARD = 1e100
"""Larger rewards would overflow sums of squares; no policy here is asked to bear them."""


def check_whole(name: str, value: float, low: int, high: float = math.inf) -> int:
    """A whole number in [low, high]; 1e5 counts as one, True does not.

    >>> check_whole("seed", 1e5, 0)
    100000
    >>> check_whole("n_arms", 1, 2)
    Traceback (most recent call last):
    driftbandits.errors.InputError: n_arms must be a whole number, at least 2; got 1
    """
    if not (_is_number(value) and low <= value <= high and value % 1 == 0):
        limit = f"at least {low:,}" if high == math.inf else f"from {low:,} to {high:,.0f}"
        raise InputError(f"{name} must be a whole number, {limit}; got {value!r}")
    return int(value)


def check_horizon(horizon: float) -> int:
    """T must be a whole number of at least one step."""
    return check_whole("horizon", horizon, 1)


def check_drift(drift: float) -> float:
    """0 <= delta <= 1: means live in [0, 1], so nothing can drift faster."""
    if not (_is_number(drift) and 0.0 <= drift <= 1.0):
        raise InputError(f"drift must lie in [0, 1], since means do; got {drift!r}")
    return float(drift)


def check_tuning_drift(owner: str, parameter: str, drift: float | None) -> None:
    """A policy that tunes ``parameter`` to the drift needs one above 0; the error names the way out.

    >>> check_tuning_drift("SWTS", "window", 0.0)
    Traceback (most recent call last):
    driftbandits.errors.InputError: SWTS's window is undefined for drift=0, where all is worth keeping: give window=...
    """
    if drift is None:
        raise InputError(f"{owner} needs drift to choose its {parameter}, or {parameter}=... itself")
    if check_drift(drift) == 0:
        raise InputError(
            f"{owner}'s {parameter} is undefined for drift=0, where all is worth keeping: give {parameter}=..."
        )


def check_between(name: str, value: float | None, low: float, high: float) -> None:
    """An optional number must lie in [low, high]."""
    if value is not None and not (_is_number(value) and low <= value <= high):
        raise InputError(f"{name} must lie in [{low:g}, {high:g}]; got {value!r}")


def is_reward(value: Any) -> bool:
    """Whether a value can be learnt from: a finite number. True and False count as 1 and 0."""
    # Asking first for what nearly all are spares the slow look at what counts as a real number.
    return (type(value) is float or isinstance(value, numbers.Real)) and -LARGEST_REWARD <= float(
        value
    ) <= LARGEST_REWARD


def check_names(name: str, values: Sequence[str]) -> list[str]:
    """Different, non-empty names.

    >>> check_names("arms", ["red", "red"])
    Traceback (most recent call last):
    driftbandits.errors.InputError: arms must be a list of different names, such as ['red', 'blue']; got ['red', 'red']
    """
    names = [] if isinstance(values, str) else list(values)
    if not names or not all(isinstance(each, str) and each for each in names) or len(set(names)) < len(names):
        raise InputError(f"{name} must be a list of different names, such as ['red', 'blue']; got {values!r}")
    return names


def _is_number(value: Any) -> bool:
    """True and False are not numbers."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_timeout(timeout: float | None) -> float | None:
    """Seconds after which something is settled; None for never."""
    if timeout is not None and not (is_reward(timeout) and timeout > 0):
        raise InputError(f"timeout must be a positive number of seconds, or None to wait for ever; got {timeout!r}")
    return None if timeout is None else float(timeout)


def check_share(name: str, share: float) -> float:
    """A share of all Decisions."""
    if not (is_reward(share) and 0 <= share <= 1):
        raise InputError(f"{name} is a share of all Decisions, from 0 to 1; got {share!r}")
    return float(share)
