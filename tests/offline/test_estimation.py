"""estimate_drift on logs whose drift is known, and on logs that tell nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits.offline.drift import estimate_drift
from driftbandits.simulation.trajectory import trajectory


def ramps(seed: int, drift: float, sigma: float, steps: int = 40_000) -> tuple[Any, Any]:
    """Two arms that go up and down all the time at the full drift, pulled in turn."""
    rng = np.random.Generator(np.random.SFC64(seed))
    arms = np.arange(steps) % 2
    height = np.abs((drift * np.arange(steps) + arms) % 2 - 1)
    return height + sigma * rng.standard_normal(steps), arms


@pytest.mark.parametrize(("drift", "sigma"), [(1e-4, 0.5), (1e-3, 0.5), (1e-3, 0.1), (5e-5, 0.2)])
def test_ramps(drift: float, sigma: float) -> None:
    for seed in range(5):
        found = estimate_drift(*ramps(seed, drift, sigma))
        assert drift / 2 < found.drift < 2 * drift
        assert found.low < 2**0.25 * 1.05 * drift
        assert drift < found.high
        assert found.sigma == pytest.approx(sigma, rel=0.05)


def test_the_unit_of_rewards() -> None:
    rewards, arms = ramps(1, 1e-3, 0.5)
    one, other = estimate_drift(rewards, arms), estimate_drift(1_000 * rewards - 7, arms + 3)
    np.testing.assert_allclose(other, 1_000 * np.array(one), rtol=1e-6)


def test_arms_that_stand_still() -> None:
    """The interval ends at zero; that it would not has a chance of about 2 % a log, so most of 20 logs must agree."""
    instance = db.instances.stationary(20_000, (0.6, 0.4))
    found = [estimate_drift(*reversed(trajectory(db.AutoTS(), instance, seed=seed))) for seed in range(20)]
    assert sum(each.low == 0 for each in found) >= 14
    assert max(each.drift for each in found) < 1e-4


def test_what_a_policy_saw() -> None:
    """The log of a policy that looks where it pleases: KalmanTS told the estimate does as well as told the truth."""
    instance = db.instances.sinusoid(60_000, drift=2e-4)
    arms, rewards = trajectory(db.AutoTS(), instance, seed=3)
    found = estimate_drift(rewards, arms)
    assert 2e-4 / 3 < found.drift < 3 * 2e-4
    policies = {"told": db.KalmanTS(2e-4), "estimated": db.KalmanTS(found.drift, found.sigma)}
    regret = db.simulate(policies, instance, runs=20, seed=4).regret
    assert regret["estimated"][:, -1].mean() < 1.2 * regret["told"][:, -1].mean()


@pytest.mark.parametrize(
    ("rewards", "arms", "words"),
    [
        ([1.0, 2.0], [0], "one length"),
        ([1.0, np.nan, 2.0, 3.0], [0, 0, 0, 0], "finite"),
        ([1.0, 0.0, 2.0, 3.0], [0, 0, -1, 0], "whole numbers from 0"),
        ([1.0, 0.0, 2.0, 3.0], [0.5, 0, 0, 0], "whole numbers from 0"),
        ([1.0, 0.0], [0, 1], "too short"),
        ([], np.zeros(0, int), "too short"),
        ([1.0] * 9, [0] * 9, "constant"),
    ],
)
def test_wrong_logs(rewards: Any, arms: Any, words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        estimate_drift(rewards, arms)
