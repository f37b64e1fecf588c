"""AutoUCB against its plain twin on whole trajectories, and what it promises."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_beyond import SHARED, rewards_of

import driftbandits as db
from driftbandits.live.explanation import ArmView, Explanation, Overtaking
from driftbandits.policies._parts import bank
from driftbandits.simulation.late import late_regret
from naive_autoucb import NaiveAutoUCB


def follow(
    play: db.Online, twin: NaiveAutoUCB, rewards: np.ndarray[Any, Any], forced: np.ndarray[Any, Any], seed: int
) -> None:
    """Indices, draws and choices agree at every step; where ``forced`` is an arm, its reward is learnt instead."""
    scale, rng = float(np.abs(rewards).max()), np.random.Generator(np.random.SFC64(seed))
    for row, arm in zip(rewards, forced, strict=True):
        best, indices = int(play.state.run[0].best), np.array(twin.indices())
        lead, centers = int(play.state.run[0].lead), twin.centers()
        assert centers[lead] >= max(centers) - 1e-6 * scale
        assert indices[best] >= indices.max() - 1e-6 * scale
        seen = np.array([mine is not None and arm not in twin.off for arm, mine in enumerate(twin.arms)])
        pulled = seen & np.isfinite(indices)
        np.testing.assert_array_equal(np.isposinf(play.state.arms.index[seen]), np.isposinf(indices[seen]))
        np.testing.assert_allclose(play.state.arms.index[pulled], indices[pulled], rtol=1e-6, atol=1e-6 * scale)
        chosen = play.select()
        if twin.late > 20:
            draws = twin.draws(rng)
            assert draws[chosen] >= max(draws) - 1e-6 * scale
        else:
            assert chosen == best
        arm = chosen if arm < 0 else arm
        play.update(arm, row[arm])
        twin.update(arm, row[arm], best, lead)


def forced_arms(order: str, seed: int, steps: int, n_arms: int) -> np.ndarray[Any, Any]:
    """Arms whose rewards come unasked: none, any now and then, or long runs of one, as when rewards come late."""
    rng = np.random.default_rng(seed)
    if order == "late":
        return np.repeat(rng.integers(-1, n_arms, size=steps), 40)[:steps]
    return np.where(rng.random(steps) < (0.3 if order == "mixed" else 0.0), rng.integers(n_arms, size=steps), -1)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(**SHARED, order=st.sampled_from(["asked", "mixed", "late"]))
@example(kind="gaussian", seed=1, steps=300, n_arms=2, order="asked")  # looks are due
@example(kind="bernoulli", seed=2, steps=300, n_arms=3, order="asked")
@example(kind="gaussian", seed=3, steps=400, n_arms=3, order="late")  # draws
@example(kind="bernoulli", seed=4, steps=400, n_arms=2, order="late")
def test_twin(kind: str, seed: int, steps: int, n_arms: int, order: str) -> None:
    play, twin = db.Online(db.AutoUCB(), n_arms, seed), NaiveAutoUCB(n_arms)
    rewards = rewards_of(kind, seed, steps, n_arms)
    follow(play, twin, rewards, forced_arms(order, seed, steps, n_arms), seed)
    assert order != "late" or steps < 400 or twin.late > 20
    np.testing.assert_allclose(play.state.shared[bank.POOL : bank.POOL + 16], twin.pool, rtol=1e-6)
    tolerance = 1e-6 * float(np.abs(rewards).max())
    belief, unknown = play.policy.belief(play.state), (math.nan, math.nan, math.nan)
    mean, variance, slope = np.array([mine or unknown for mine in twin.posteriors()]).T
    np.testing.assert_allclose(belief.estimate, mean, rtol=1e-6, atol=tolerance)
    np.testing.assert_allclose(belief.high, mean + 1.96 * np.sqrt(variance), rtol=1e-6, atol=tolerance)
    np.testing.assert_allclose(belief.slope, slope, rtol=1e-5, atol=tolerance * 1e-3)
    check_crossing(belief.crossing, twin, mean)


def test_twin_where_an_arm_led_and_then_cost() -> None:
    """The first arm leads for 300 steps; then it lies below, is looked at in vain, and in the end not at all."""
    rng, T, turn, still = np.random.default_rng(19), 2_000, 300, 1_000
    step = np.arange(T)
    means = np.where(step[:, None] < turn, [0.6, 0.5], [0.42, 0.5])
    play, twin = db.Online(db.AutoUCB(), 2), NaiveAutoUCB(2)
    follow(play, twin, means + 0.5 * rng.standard_normal((T, 2)), np.where(step < still, -1, 1), 0)
    np.testing.assert_allclose(play.state.arms.spent, twin.spent, rtol=1e-6)
    assert play.state.arms.led.tolist() == twin.led
    assert twin.led[0] > 200
    assert 1 < twin.spent[0] < 3 * (5 + twin.led[0] / 100)  # neither as if it had cost nothing, nor as rarely as can be


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli"])
def test_twin_where_an_arm_close_below_is_looked_at(kind: str) -> None:
    """Late in a run, when arms are well known and means are known to move: looks are due, and some are repeated."""
    rng, T, begun, later = np.random.default_rng(3), 500, 60, 50_000
    means = np.tile([0.52, 0.5], (T, 1))
    rewards = means + 0.2 * rng.standard_normal((T, 2)) if kind == "gaussian" else rng.random((T, 2)) < means
    play, twin = db.Online(db.AutoUCB(), 2), NaiveAutoUCB(2)
    follow(play, twin, rewards[:begun].astype(float), np.full(begun, -1), 0)
    moves = np.full(16, 1e-9)
    moves[3] = 1.0
    state, twin.pool = play.state, moves.tolist()
    state.shared[bank.POOL : bank.POOL + 16] = moves
    state.run.t += later
    twin.t += later
    state.run.switching = twin.s = 1e-5
    state.arms.last += later
    state.bank[:, bank.SPREAD : bank.SPREAD + 16] = 1e-6
    state.bank[:, bank.CROSS : bank.CROSS + 8] = 0.0
    for mine in twin.arms:
        assert mine is not None
        mine["last"] += later
        for P in mine["P"]:
            P[0], P[1, 0] = (1e-6, 0.0), 0.0
    follow(play, twin, rewards[begun:].astype(float), np.full(T - begun, -1), 0)
    np.testing.assert_allclose(state.arms.hope, twin.hope, rtol=1e-5, atol=1e-6)
    assert twin.looks > 0
    assert twin.follow_ups > 0


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


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli"])
def test_an_alarm_when_means_jump(kind: str) -> None:
    """Both arms jump while the worse one is hardly seen: one alarm, after which the new best arm is found at once."""
    rng, T, half = np.random.default_rng(5), 1_200, 800
    means = np.where(np.arange(T)[:, None] < half, [0.3, 0.05], [0.6, 0.95])
    rewards = means + 0.2 * rng.standard_normal((T, 2)) if kind == "gaussian" else rng.random((T, 2)) < means
    play, twin = db.Online(db.AutoUCB(), 2), NaiveAutoUCB(2)
    follow(play, twin, rewards[:half].astype(float), np.full(half, -1), 0)
    assert twin.alarms == 0
    follow(play, twin, rewards[half:].astype(float), np.full(T - half, -1), 0)
    assert twin.alarms == 1
    np.testing.assert_allclose(play.state.shared[bank.WATCH : bank.WATCH + 8], twin.watch, rtol=1e-6)
    assert play.select() == 1


def test_after_an_alarm_any_arm_may_lead() -> None:
    """All means are computed anew then, also of arms that are neither pulled nor have their turn."""
    rng, play = np.random.default_rng(3), db.Online(db.AutoUCB(), 4)
    for step in range(400):
        play.update(step % 4, (0.2, 0.3, 0.9, 0.1)[step % 4] + 0.1 * rng.standard_normal())
    run, arms = play.state.run, play.state.arms
    arms.center[2], run.lead, run.rival, run.turn, run.alarm = -5.0, 1, 0.25, 2, 0
    play.state.shared[bank.WATCH + bank.FAST : bank.WATCH + bank.WALKS] = 1.0
    play.update(1, 0.3)
    assert run.alarm[0] == 1
    assert run.lead[0] == 2 == arms.center.argmax()


def test_an_alarm_is_worth_it_and_a_false_one_rare() -> None:
    """Where the arm that is pulled jumps up and the other one higher still, only an alarm tells of it."""
    T = 40_000
    levels = np.repeat([[0.2, 0.1], [0.5, 0.9]], [T // 2, T - T // 2], axis=0)
    still = db.instances.stationary(T, [0.5, 0.3, 0.2])
    jump = db.simulate({"it": db.AutoUCB()}, db.Instance(levels), db.Gaussian(0.5), runs=20, checkpoints=1)
    assert jump.regret["it"].max() < 400  # never finding it costs 8,000
    calm = db.simulate({"it": db.AutoUCB()}, still, db.Gaussian(0.5), runs=20, checkpoints=1)
    assert calm.regret["it"].max() < 200


def test_an_alarm_when_the_arm_that_is_pulled_jumps_a_little() -> None:
    """The arm that is pulled rises by 0.2 deviations, and another one jumps far above it while it is left alone."""
    T = 40_000
    levels = np.repeat([[0.6, 0.15], [0.7, 0.95]], [T // 2, T - T // 2], axis=0)
    found = db.simulate({"it": db.AutoUCB()}, db.Instance(levels), db.Gaussian(0.5), runs=20, checkpoints=1)
    assert np.median(found.regret["it"]) < 800  # never finding it costs 5,000


def test_an_arm_whose_looks_cost_much_and_that_never_led_is_looked_at_more_rarely() -> None:
    """Far below the other arm it is pulled ever more rarely; one that led half of the time is not."""
    T = 120_000
    far = db.Instance(np.stack([0.7 + 0.2 * np.sin(np.arange(T) / 5_000), np.full(T, 0.1)], axis=1))
    lost = db.simulate({"it": db.AutoUCB()}, far, runs=8, checkpoints=20).regret["it"].sum(axis=0)
    assert lost[-1] - lost[9] < 0.75 * (lost[9] - lost[0])

    play = db.Online(db.AutoUCB(), 2)
    for step in range(400):
        play.update(step % 2, 0.5 * (1 - step % 2) + 0.1 * math.sin(step))
    for step in range(3_000):
        play.update(0, 0.5 + 0.1 * math.sin(step))
    state, high = play.state, []
    for led in (0, 10**6):
        state.arms.led[1], state.arms.due[1] = led, 0
        play.update(0, 0.5)
        play.update(0, 0.5)
        high.append(float(state.arms.index[1]))
    assert state.arms.spent[1] > 100
    assert high[0] < high[1]


def test_a_burst_of_an_arm_close_below_is_found() -> None:
    """The arm that is pulled shows nothing of it. Never finding it costs 1,360; without looks at close arms, or without
    looks that are repeated, half of that is lost on average."""
    T, first, last = 30_000, 20_000, 24_000
    means = np.array([0.2, 0.18]) * (1 + 0.25 * np.sin(2 * np.pi * np.arange(T)[:, None] / 5_000))
    means[first:last, 1] += 0.35
    found = db.simulate({"it": db.AutoUCB()}, db.Instance(means), db.Bernoulli(), runs=40, checkpoints=15)
    times = found.times.tolist()
    lost = found.regret["it"][:, times.index(last)] - found.regret["it"][:, times.index(first)]
    assert lost.mean() < 330


def test_no_look_is_repeated_while_rewards_come_late() -> None:
    """A reward of another arm than the one that would be chosen now says that rewards are late."""
    rng, play = np.random.default_rng(2), db.Online(db.AutoUCB(), 2)
    for step in range(200):
        play.update(step % 2, (0.9, 0.1)[step % 2] + 0.1 * rng.standard_normal())
    assert play.state.run.late[0] >= 1
    play.update(1, 3.0)
    assert play.state.arms.hope[1] == 0
    play.policy.after_log(play.state)
    play.state.run.best = 1
    play.update(1, 3.0)
    assert play.state.arms.hope[1] > 1
    assert play.select() == 1


def test_a_reward_after_a_long_time_counts_for_filters_that_received_their_weight_from_the_pool() -> None:
    """A filter that the pool makes an arm believe in is as uncertain as the index says when its arm is pulled again."""
    rng, play, walk, away = np.random.default_rng(1), db.Online(db.AutoUCB(), 2), 5, 5_000
    for step in range(600):
        play.update(step % 2, 0.2 + 0.5 * rng.standard_normal())
    for _ in range(away):
        play.update(0, 0.2 + 0.5 * rng.standard_normal())
    pool = play.state.shared[bank.POOL : bank.POOL + 16]
    pool[:], pool[walk] = 0.0, 1.0
    before, ahead = play.state.bank[1].copy(), np.empty(32)
    bank.look_ahead(before, play.state.shared, away + 1.0, ahead)
    spread, mean = ahead[bank.SPREAD + walk], ahead[bank.MEAN + walk]
    assert before[bank.WEIGHT + walk] < 0.1 * 1e-5 * away  # nearly all of its weight comes from the pool
    assert spread > 0.3
    play.update(1, 1.2)
    moved = (play.state.bank[1, bank.MEAN + walk] - mean) / (1.2 - mean)
    assert moved == pytest.approx(spread / (1.0 + spread), rel=0.1)


@pytest.mark.parametrize(("delay", "bundle"), [(100, 1), (0, 100)])
def test_late_rewards_cost_no_more_than_draws_do(delay: int, bundle: int) -> None:
    """The index alone has three to six times AutoTS's regret here, because it gives each look a hundred pulls."""
    found = late_regret(
        {"new": db.AutoUCB(), "old": db.AutoTS()},
        db.instances.toggling(40_000, 3e-4),
        db.Gaussian(0.5),
        delay=delay,
        bundle=bundle,
        runs=6,
    )
    assert found["new"].mean() < 1.3 * found["old"].mean()


@pytest.mark.parametrize(("scale", "offset"), [(1_024.0, 0.0), (1_000.0, -5_000.0), (0.01, 3.0)])
def test_unit_and_origin_do_not_matter(scale: float, offset: float) -> None:
    """Powers of two change no bit; others only round otherwise, which may exchange arms that are as good as equal."""
    rewards, pulls = rewards_of("gaussian", 3, 3_000, 3), []
    for a, b in ((1.0, 0.0), (scale, offset)):
        play, counts = db.Online(db.AutoUCB(), 3), np.zeros(3)
        for row in a * rewards + b:
            arm = play.select()
            play.update(arm, float(row[arm]))
            counts[arm] += 1
        pulls.append(counts)
    np.testing.assert_allclose(pulls[1], pulls[0], atol=0 if offset == 0 else 30)
    assert pulls[0].min() > 100


def test_equals_are_pulled_in_turn() -> None:
    play, pulled = db.Online(db.AutoUCB(), 3), []
    for _ in range(30):
        pulled.append(play.select())
        play.update(pulled[-1], 0.5)
    assert pulled == [0, 1, 2] * 10


def test_an_arm_left_alone_is_expected_to_go_on_and_to_overtake() -> None:
    """Both arms are seen in turn while one falls and one rises; then neither, and the crossing is foretold."""
    rng, play = np.random.default_rng(1), db.Online(db.AutoUCB(), 2)
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
