"""AutoUCB against its plain twin on whole trajectories, and what it promises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_beyond import SHARED, rewards_of

import driftbandits as db
from driftbandits.policies._parts import bank
from naive_autoucb import NaiveAutoUCB


def follow(play: db.Online, twin: NaiveAutoUCB, rewards: np.ndarray[Any, Any], forced: np.ndarray[Any, Any]) -> None:
    """Indices and choices agree at every step; where ``forced`` is an arm, its reward is learnt instead."""
    scale = float(np.abs(rewards).max())
    for row, arm in zip(rewards, forced, strict=True):
        chosen, indices = play.select(), np.array(twin.indices())
        assert indices[chosen] >= indices.max() - 1e-6 * scale or not np.isfinite(indices.max())
        pulled = np.isfinite(indices)
        np.testing.assert_allclose(play.state.arms.index[pulled], indices[pulled], rtol=1e-6, atol=1e-6 * scale)
        arm = chosen if arm < 0 else arm
        play.update(arm, row[arm])
        twin.update(arm, row[arm])


@settings(max_examples=30, deadline=None, derandomize=True)
@given(**SHARED, order=st.booleans())
@example(kind="gaussian", seed=1, steps=600, n_arms=2, order=False)  # looks are due
@example(kind="bernoulli", seed=2, steps=600, n_arms=3, order=False)
def test_twin(kind: str, seed: int, steps: int, n_arms: int, order: bool) -> None:
    play, twin = db.Online(db.AutoUCB(), n_arms, seed), NaiveAutoUCB(n_arms)
    rewards = rewards_of(kind, seed, steps, n_arms)
    rng = np.random.default_rng(seed)
    forced = np.where(rng.random(steps) < 0.3, rng.integers(n_arms, size=steps), -1) if order else np.full(steps, -1)
    follow(play, twin, rewards, forced)
    np.testing.assert_allclose(play.state.shared[bank.POOL : bank.POOL + 16], twin.pool, rtol=1e-6)
    tolerance = 1e-6 * float(np.abs(rewards).max())
    belief, unknown = play.policy.belief(play.state), (math.nan, math.nan, math.nan)
    mean, variance, slope = np.array([mine or unknown for mine in twin.posteriors()]).T
    np.testing.assert_allclose(belief.estimate, mean, rtol=1e-6, atol=tolerance)
    np.testing.assert_allclose(belief.high, mean + 1.96 * np.sqrt(variance), rtol=1e-6, atol=tolerance)
    np.testing.assert_allclose(belief.slope, slope, rtol=1e-5, atol=tolerance * 1e-3)
    check_crossing(belief.crossing, twin, mean)


def check_crossing(found: Any, twin: NaiveAutoUCB, mean: np.ndarray[Any, Any]) -> None:
    """The best arm is expected to stay the best until the crossing, and not after it."""
    if found is None:
        return
    assert np.isfinite(mean).all()
    assert found.steps <= twin.t

    def ahead(further: int) -> list[float]:
        return [twin.mixture(arm, further)[0] for arm in range(len(mean))]

    before, after = ahead(found.steps - 1), ahead(found.steps)
    assert before[found.other] == pytest.approx(max(before), rel=1e-9)
    assert after[found.arm] == pytest.approx(max(after), rel=1e-9)
