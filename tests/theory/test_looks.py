"""Section 6 of docs/proofs-beyond.md: an index whose deviation grows looks at every arm again, not late, not often."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

SETTINGS = [(2, 1e-3, 0.25, 2.5), (2, 1e-2, 0.01, 1.0), (3, 3e-3, 0.25, 2.0), (6, 2e-3, 0.09, 3.0)]


def waits(
    n_arms: int, q: float, v: float, z: float, reward: Callable[[int], float], steps: int
) -> list[list[tuple[int, float]]]:
    """For each arm the steps between its pulls, and the most that another's estimate was above its own meanwhile."""
    estimate, variance, last = np.array([reward(arm) for arm in range(n_arms)]), np.full(n_arms, v), np.arange(n_arms)
    found: list[list[tuple[int, float]]] = [[] for _ in range(n_arms)]
    behind = np.zeros(n_arms)
    for t in range(n_arms, steps):
        now = variance + q * (t - last)
        behind = np.maximum(behind, estimate.max() - estimate)
        arm = int(np.argmax(estimate + z * np.sqrt(now)))
        found[arm].append((t - int(last[arm]), float(behind[arm])))
        gain = now[arm] / (now[arm] + v)
        estimate[arm] += gain * (reward(arm) - estimate[arm])
        variance[arm], last[arm], behind[arm] = gain * v, t, 0.0
    return found


def longest(n_arms: int, q: float, v: float, z: float, behind: float) -> int:
    return math.ceil((behind / z + math.sqrt(v + q * (n_arms - 1))) ** 2 / q) + n_arms - 1


@pytest.mark.parametrize(("n_arms", "q", "v", "z"), SETTINGS)
@pytest.mark.parametrize("kind", ["ladder", "coins", "hostile"])
def test_no_arm_is_left_alone_longer(n_arms: int, q: float, v: float, z: float, kind: str) -> None:
    rng = np.random.default_rng(1)
    rewards: dict[str, Callable[[int], Any]] = {
        "ladder": lambda arm: arm / (n_arms - 1),
        "coins": lambda arm: float(rng.random() < (arm + 1) / (n_arms + 1)),
        "hostile": lambda arm: float(arm > 0),
    }
    found = waits(n_arms, q, v, z, rewards[kind], 6_000)
    for mine in found:
        assert len(mine) > 1, "so there is something to check"
        for wait, behind in mine:
            assert wait <= longest(n_arms, q, v, z, behind) <= longest(n_arms, q, v, z, 1.0)


@pytest.mark.parametrize(("n_arms", "q", "v", "z"), SETTINGS)
def test_an_arm_that_stays_behind_is_not_looked_at_more_often(n_arms: int, q: float, v: float, z: float) -> None:
    mine = waits(n_arms, q, v, z, lambda arm: float(arm > 0), 6_000)[0]
    assert min(wait for wait, _ in mine) >= ((1.0 / z) ** 2 - v) / q


def test_both_limits_are_sharp_where_a_pull_tells_nearly_all() -> None:
    q, v, z = 1e-4, 1e-5, 1.0
    ((wait, behind), *_) = waits(2, q, v, z, lambda arm: float(arm > 0), 12_000)[0]
    assert behind == 1.0
    assert 0.95 * longest(2, q, v, z, 1.0) < wait < 1.05 * ((1.0 / z) ** 2 - v) / q
