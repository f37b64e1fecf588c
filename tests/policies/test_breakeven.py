"""BreakEven against its reference implementation on whole trajectories, and what it promises."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_beyond import SHARED, rewards_of

import driftbandits as db
from driftbandits.live.explanation import ArmView, Explanation, Overtaking
from driftbandits.policies._parts.excess import excess
from driftbandits.policies._parts.models import models
from driftbandits.simulation.late import late_regret
from naive_breakeven import PRIOR, NaiveBreakEven, rational_excess, settled


def follow(play: db.Online, twin: NaiveBreakEven, rewards: np.ndarray[Any, Any], forced: np.ndarray[Any, Any]) -> None:
    """Prices and choices agree at every step; where ``forced`` is an arm, its reward is learnt instead."""
    scale = float(np.abs(rewards).max())
    for row, arm in zip(rewards, forced, strict=True):
        best, prices = int(play.state.run[0].best), np.array(twin.prices())
        assert prices[best] >= prices.max() - 1e-6 * scale
        seen = np.array([mine is not None and arm not in twin.off for arm, mine in enumerate(twin.arms)])
        np.testing.assert_allclose(play.state.arms.price[seen], prices[seen], rtol=1e-6, atol=1e-6 * scale)
        assert play.select() == best
        arm = best if arm < 0 else arm
        play.update(arm, row[arm])
        twin.update(arm, row[arm], bool(play.state.run[0].rough == arm))
        check_rough(play, twin, arm, 1e-6 * scale)


def check_rough(play: db.Online, twin: NaiveBreakEven, arm: int, tolerance: float) -> None:
    """The mean stands for the price exactly when it exceeds all other prices."""
    if arm in twin.off:
        assert play.state.run[0].rough == -1
        return
    mean, highest = twin.worths(arm)[0], max(price for each, price in enumerate(twin.prices()) if each != arm)
    if abs(mean - highest) > tolerance:
        assert (play.state.run[0].rough == arm) == (mean > highest)


def forced_arms(order: str, seed: int, steps: int, n_arms: int) -> np.ndarray[Any, Any]:
    """Arms whose rewards come unasked: none, any now and then, or long runs of one, as when rewards are delayed."""
    rng = np.random.default_rng(seed)
    if order == "delayed":
        return np.repeat(rng.integers(-1, n_arms, size=steps), 40)[:steps]
    return np.where(rng.random(steps) < (0.3 if order == "mixed" else 0.0), rng.integers(n_arms, size=steps), -1)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(**SHARED, order=st.sampled_from(["asked", "mixed", "delayed"]))
@example(kind="gaussian", seed=1, steps=300, n_arms=2, order="asked")
@example(kind="bernoulli", seed=2, steps=300, n_arms=3, order="asked")
@example(kind="gaussian", seed=3, steps=400, n_arms=3, order="delayed")
@example(kind="bernoulli", seed=4, steps=400, n_arms=2, order="mixed")
@example(kind="outliers", seed=5, steps=300, n_arms=4, order="asked")
def test_whole_trajectories(kind: str, seed: int, steps: int, n_arms: int, order: str) -> None:
    play, twin = db.Online(db.BreakEven(), n_arms, seed), NaiveBreakEven(n_arms)
    rewards = rewards_of(kind, seed, steps, n_arms)
    follow(play, twin, rewards, forced_arms(order, seed, steps, n_arms))
    np.testing.assert_allclose(play.state.shared.pooled[0], twin.pool, rtol=1e-6)
    np.testing.assert_allclose(play.state.shared.average[0], twin.average, rtol=1e-6)
    tolerance = 1e-6 * float(np.abs(rewards).max())
    belief, unknown = play.policy.belief(play.state), (math.nan, math.nan, math.nan)
    mean, _, slope = np.array([mine or unknown for mine in twin.posteriors()]).T
    np.testing.assert_allclose(belief.estimate, mean, rtol=1e-6, atol=tolerance)
    np.testing.assert_allclose(belief.slope, slope, rtol=1e-5, atol=tolerance * 1e-3)
    check_crossing(belief.crossing, twin, mean)


def check_crossing(found: Any, twin: NaiveBreakEven, mean: np.ndarray[Any, Any]) -> None:
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


def test_the_constants_of_the_models() -> None:
    found = models()
    np.testing.assert_allclose(found.settled, [settled(j) for j in range(16)], rtol=1e-6)
    np.testing.assert_allclose(found.prior, PRIOR, rtol=1e-6)
    assert found.walk[[1, 7]].tolist() == [2.0**-24, 2.0**-6]
    np.testing.assert_allclose(np.sqrt(found.rate[8:]), [1e-5 * 3**i for i in range(8)])


def test_the_expected_excess_is_close_to_the_exact_one() -> None:
    for u in np.linspace(-8, 8, 321).tolist():
        gain, tail = excess(u)
        assert (gain, tail) == pytest.approx(rational_excess(u), rel=1e-12)
        if u <= 5:
            assert gain == pytest.approx(scipy.stats.norm.pdf(u) - u * scipy.stats.norm.sf(u), rel=4e-3)
            assert tail == pytest.approx(scipy.stats.norm.sf(u), rel=4e-3)
    assert excess(1e300) == excess(8.0)


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli"])
def test_prices_solve_the_equation(kind: str) -> None:
    """One Newton step per reward is enough: prices are within 5 % of the solution's distance to the mean."""
    steps, off = 3_000, []
    play, twin = db.Online(db.BreakEven(), 3), NaiveBreakEven(3)
    rewards = rewards_of(kind, 11, steps, 3)
    for step, row in enumerate(rewards):
        arm = play.select()
        play.update(arm, row[arm])
        twin.update(arm, row[arm], bool(play.state.run[0].rough == arm))
        if step > 300 and step % 100 == 0 and twin.rough < 0:
            mean, _ = twin.worths(arm)
            off.append((float(play.state.arms.price[arm]) - mean) / (twin.solved(arm) - mean))
    assert len(off) > 5
    assert np.median(np.abs(np.array(off) - 1)) < 0.05


@settings(max_examples=6, deadline=None, derandomize=True)
@given(**SHARED)
@example(kind="gaussian", seed=1, steps=200, n_arms=3)
@example(kind="bernoulli", seed=2, steps=200, n_arms=3)
def test_choices_with_pending_rewards(kind: str, seed: int, steps: int, n_arms: int) -> None:
    """The arm with the highest price is chosen, each with as many pending rewards as the State is told."""
    policy, twin, rng = db.BreakEven(), NaiveBreakEven(n_arms), np.random.default_rng(seed)
    state: Any = policy.init(n_arms)
    rewards = rewards_of(kind, seed, steps, n_arms)
    scale = float(np.abs(rewards).max())
    for row in rewards:
        pending = rng.integers(0, 30, n_arms)
        state.arms.pending[:] = pending
        arm, prices = policy.select(state, rng), twin.prices(pending.tolist())
        assert prices[arm] >= max(prices) - 1e-6 * scale
        policy.update(state, arm, row[arm])
        twin.update(arm, row[arm], bool(state.run[0].rough == arm))


# Streams that are hard on arithmetic


def played(reward: Any, steps: int, n_arms: int = 3) -> tuple[db.Online, list[int]]:
    """The arms pulled where ``reward`` tells that of step and arm; every number of the State stays finite."""
    play, pulled = db.Online(db.BreakEven(), n_arms), []
    for step in range(steps):
        pulled.append(play.select())
        play.update(pulled[-1], float(reward(step, pulled[-1])))
    check_finite(play)
    return play, pulled


def check_finite(play: db.Online) -> None:
    bank, run = play.state.bank, play.state.run
    for column in bank.dtype.names:
        assert np.isfinite(getattr(bank, column)).all()
    assert (bank.variance > 0).all()
    assert bank.weight.sum(axis=1) == pytest.approx(1.0)
    assert play.state.shared.pooled.sum() == pytest.approx(1.0)
    assert np.isfinite([run.noise, run.center, run.total_variance]).all()


def test_equals_are_pulled_in_turn() -> None:
    assert played(lambda step, arm: 0.7, 300)[1] == [0, 1, 2] * 100


@pytest.mark.parametrize("size", [1e-150, 1e-9, 1.0, 1e9, 1e99])
def test_constant_rewards_of_any_size(size: float) -> None:
    _, pulled = played(lambda step, arm: size * (arm + 1), 400)
    assert pulled[-100:].count(2) > 90


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e99])
def test_alternating_rewards(size: float) -> None:
    played(lambda step, arm: size * (-1) ** step, 500)
    played(lambda step, arm: size * (-1) ** step * (1 + step % 7), 500)


def test_one_outlier_does_little_harm() -> None:
    rng = np.random.default_rng(1)
    _, pulled = played(lambda step, arm: 1e12 if step == 400 else 0.5 * arm + 0.3 * rng.standard_normal(), 3_000)
    assert pulled[-1_000:].count(2) > 900


def test_ten_million_rewards() -> None:
    rng, play = np.random.default_rng(2), db.Online(db.BreakEven(), 2)
    pulls = [(int(rng.random() < 0.1), float(reward)) for reward in 0.5 + 0.2 * rng.standard_normal(100_000)]
    for _ in range(100):
        play._player.update_many(pulls)
    check_finite(play)
    belief = play.policy.belief(play.state)
    assert belief.estimate == pytest.approx([0.5, 0.5], abs=0.02)
    assert play.state.run[0].noise == pytest.approx(0.04, rel=0.1)


@pytest.mark.parametrize(("scale", "offset"), [(1_024.0, 0.0), (1_000.0, -5_000.0), (0.01, 3.0)])
def test_unit_and_origin_do_not_matter(scale: float, offset: float) -> None:
    """Powers of two change no bit; others only round otherwise, which may exchange arms that are as good as equal."""
    rewards, pulls = rewards_of("gaussian", 3, 3_000, 3), []
    for a, b in ((1.0, 0.0), (scale, offset)):
        play, counts = db.Online(db.BreakEven(), 3), np.zeros(3)
        for row in a * rewards + b:
            arm = play.select()
            play.update(arm, float(row[arm]))
            counts[arm] += 1
        pulls.append(counts)
    np.testing.assert_allclose(pulls[1], pulls[0], atol=0 if offset == 0 else 30)
    assert pulls[0].min() > 100


# Delayed rewards, and what the policy expects


@pytest.mark.parametrize(("delay", "bundle"), [(100, 1), (0, 100)])
def test_delays_cost_no_more_than_with_autots(delay: int, bundle: int) -> None:
    """Without the share of information this is 1.5 to 2.5."""
    found = late_regret(
        {"new": db.BreakEven(), "old": db.AutoTS()},
        db.instances.sinusoid(40_000, 1 / 4_800, 4),
        db.Bernoulli(),
        delay=delay,
        bundle=bundle,
        runs=8,
    )
    assert found["new"].mean() < 1.2 * found["old"].mean()


def test_a_falling_and_a_rising_arm_are_expected_to_cross() -> None:
    """Both arms are pulled alternately while one falls and one rises; then neither, and the crossing is predicted."""
    rng, play = np.random.default_rng(1), db.Online(db.BreakEven(), 2)
    for step in range(4_300):
        means = 0.9 - 1e-4 * step, 0.1 + 0.8e-4 * step
        play.update(step % 2, means[step % 2] + 0.1 * rng.standard_normal())
    belief = play.policy.belief(play.state)
    assert belief.slope is not None
    # Walks have no slope, and weigh something.
    assert (np.array([0.3, 0.3]) < belief.slope / [-1e-4, 0.8e-4]).all()
    assert (belief.slope / [-1e-4, 0.8e-4] < 1.3).all()
    assert belief.crossing is not None
    assert (belief.crossing.arm, belief.crossing.other) == (1, 0)
    assert 50 < belief.crossing.steps < 1_500  # they meet at step 4,444, and slopes are expected to fade


def test_how_an_overtaking_is_said() -> None:
    view = ArmView("blue", 0.4, 0.3, 0.5, 0.0, None, 1e-4)
    why = Explanation("d-1", 1, "red", "exploring", 9, 1.0, None, None, None, None, "policy", (view,))
    assert "overtake" not in str(why)
    assert "blue: 0.4 (0.3 to 0.5), +0.0001 a step" in str(why)
    said = str(replace(why, overtaking=Overtaking("blue", "red", 913)))
    assert said.endswith("blue is expected to overtake red in about 910 steps")
