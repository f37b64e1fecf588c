"""Policies that detect changes or restart: against plain twins on whole trajectories, and against known behaviour."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
from driftbandits.policies.divergence import bernoulli_upper
from driftbandits.policies.luck import new_luck, stir, uniform
from naive_detectors import (
    NaiveAdSwitch,
    NaiveBOB,
    NaiveCUSUMUCB,
    NaiveGLRUCB,
    NaiveLuck,
    NaiveMASTER,
    NaiveMETA,
    NaiveMUCB,
    kl_upper,
)

Array = np.ndarray[Any, Any]


def tape(kind: str, seed: int, steps: int, n_arms: int, jumps: int) -> Array:
    """Rewards of every arm at every step, with means that jump."""
    rng = np.random.Generator(np.random.SFC64(seed))
    means = rng.random((jumps + 1, n_arms))[np.arange(steps) * (jumps + 1) // steps]
    if kind == "bernoulli":
        return np.asarray(rng.random((steps, n_arms)) < means, dtype=float)
    return np.asarray(means + (0.5 if kind == "gaussian" else 0.05) * rng.standard_normal((steps, n_arms)))


def follow(policy: db.Policy, twin: Any, rewards: Array, seed: int) -> int:
    """Play both side by side: every arm and every event must agree. Answers the number of events."""
    play, rng = db.Online(policy, rewards.shape[1], seed), np.random.Generator(np.random.SFC64(seed))
    events = []
    for step, row in enumerate(rewards):
        arm = play.select()
        assert arm == twin.select(rng), f"another arm at step {step + 1}"
        play.update(arm, row[arm])
        twin.update(arm, row[arm])
        event = play.state.event[0]
        if event["count"] > len(events):
            events.append((int(event.step), int(event.arm)))
    assert events == twin.events
    return len(events)


SHARED = {
    "kind": st.sampled_from(["gaussian", "bernoulli", "quiet"]),
    "seed": st.integers(0, 2**32),
    "steps": st.integers(1, 350),
    "n_arms": st.integers(2, 5),
    "jumps": st.integers(0, 4),
}
twins = settings(max_examples=60, deadline=None, derandomize=True)


@twins
@given(
    **SHARED,
    exploration=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
    risk=st.sampled_from([1.0, 0.3, 0.01]),
    test=st.sampled_from(["bernoulli", "gaussian"]),
    restart=st.sampled_from(["local", "global"]),
)
def test_glrucb(
    kind: str, seed: int, steps: int, n_arms: int, jumps: int, exploration: float, risk: float, test: str, restart: str
) -> None:
    policy = db.GLRUCB(exploration=exploration, risk=risk, test=test, restart=restart)
    twin = NaiveGLRUCB(n_arms, exploration, risk, test, restart)
    follow(policy, twin, tape(kind, seed, steps, n_arms, jumps), seed)


@pytest.mark.parametrize("test", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("shape", ["rising", "falling"])
def test_glr_with_every_point_on_a_hull(test: str, shape: str) -> None:
    """Steady growth puts every sum on a hull: the worst case for the shortcut, for time and for memory."""
    slope = np.linspace(0.3, 0.7, 300)
    rewards = np.stack([slope if shape == "rising" else slope[::-1], np.full(300, 0.1)], axis=1)
    policy = db.GLRUCB(exploration=0.1, risk=1e-3, test=test)
    assert follow(policy, NaiveGLRUCB(2, 0.1, 1e-3, test, "local"), rewards, 0) <= 1


@twins
@given(
    **SHARED,
    threshold=st.sampled_from([0.5, 2.0, 5.0]),
    exploration=st.sampled_from([0.0, 0.1, 1.0]),
    epsilon=st.sampled_from([0.01, 0.1, 0.3]),
    warmup=st.sampled_from([1, 5, 30]),
)
def test_cusumucb(kind: str, seed: int, steps: int, n_arms: int, jumps: int, **options: Any) -> None:
    follow(db.CUSUMUCB(**options), NaiveCUSUMUCB(n_arms, **options), tape(kind, seed, steps, n_arms, jumps), seed)


@twins
@given(
    **SHARED,
    window=st.sampled_from([2, 6, 20, 50]),
    threshold=st.sampled_from([0.3, 1.2, 4.1]),
    exploration=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
)
def test_mucb(kind: str, seed: int, steps: int, n_arms: int, jumps: int, **options: Any) -> None:
    follow(db.MUCB(**options), NaiveMUCB(n_arms, **options), tape(kind, seed, steps, n_arms, jumps), seed)


@twins
@given(**SHARED, sigma=st.sampled_from([0.05, 0.5]), block=st.sampled_from([1, 2, 9, 40, 130]))
def test_bob(kind: str, seed: int, steps: int, n_arms: int, jumps: int, **options: Any) -> None:
    policy, twin = db.BOB(horizon=350, **options), NaiveBOB(n_arms, 350, **options)
    follow(policy, twin, tape(kind, seed, steps, n_arms, jumps), seed)


@twins
@given(**SHARED, horizon=st.sampled_from([2, 5, 350]), c1=st.sampled_from([0.1, 0.5, 3.0]))
def test_adswitch(kind: str, seed: int, steps: int, n_arms: int, jumps: int, horizon: int, c1: float) -> None:
    rewards = tape(kind, seed, min(steps, 150), n_arms, jumps)
    follow(db.AdSwitch(horizon, c1), NaiveAdSwitch(n_arms, horizon, c1), rewards, seed)


@twins
@given(**SHARED, horizon=st.sampled_from([3, 350, 10**6]), confidence=st.sampled_from([1.0, 1e-2, 1e-3, 1e-4]))
def test_master(kind: str, seed: int, steps: int, n_arms: int, jumps: int, horizon: int, confidence: float) -> None:
    policy, twin = db.MASTER(horizon, confidence), NaiveMASTER(n_arms, horizon, confidence)
    follow(policy, twin, tape(kind, seed, min(steps, 2 * horizon), n_arms, jumps), seed)


@twins
@given(**SHARED, horizon=st.sampled_from([2, 350, 10**6]), c0=st.sampled_from([0.3, 0.03, 0.003, 1e-4]))
def test_meta(kind: str, seed: int, steps: int, n_arms: int, jumps: int, horizon: int, c0: float) -> None:
    follow(db.META(horizon, c0), NaiveMETA(n_arms, horizon, c0), tape(kind, seed, steps, n_arms, jumps), seed)


def test_the_comparisons_meet_events() -> None:
    """The properties above are only worth as much as the trajectories they see: ten runs of each, many events."""
    cusum: dict[str, Any] = {"threshold": 2.0, "exploration": 0.1, "epsilon": 0.1, "warmup": 5}
    mucb: dict[str, Any] = {"window": 20, "threshold": 4.1, "exploration": 0.3}
    for make in (
        lambda: (db.GLRUCB(exploration=0.3, risk=0.3), NaiveGLRUCB(3, 0.3, 0.3, "bernoulli", "local")),
        lambda: (db.CUSUMUCB(**cusum), NaiveCUSUMUCB(3, **cusum)),
        lambda: (db.MUCB(**mucb), NaiveMUCB(3, **mucb)),
        lambda: (db.AdSwitch(2, 0.1), NaiveAdSwitch(3, 2, 0.1)),
        lambda: (db.MASTER(200, 1e-3), NaiveMASTER(3, 200, 1e-3)),
        lambda: (db.META(200, 1e-2), NaiveMETA(3, 200, 1e-2)),
    ):
        assert sum(follow(*make(), tape("bernoulli", seed, 200, 3, 2), seed) for seed in range(10)) >= 5


@settings(max_examples=300, deadline=None, derandomize=True)
@given(p=st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0.0, 1.0)), level=st.floats(1e-6, 30.0))
def test_kl_upper_bound(p: float, level: float) -> None:
    assert bernoulli_upper(p, level) == pytest.approx(kl_upper(p, level) if p < 1 else 1.0, abs=1e-9)
    assert p <= bernoulli_upper(p, level) <= 1.0
    assert bernoulli_upper(p, 0.0) == p


def test_luck_is_uniform_whatever_is_stirred_in() -> None:
    """Means and covariances of 20,000 draws, within five standard errors (p < 1e-6); the twin draws the same."""
    luck, twin = new_luck(), NaiveLuck()
    rng = np.random.Generator(np.random.SFC64(0))
    rewards, draws = np.round(rng.random(20_000)), []
    for step, reward in enumerate(rewards):
        stir(luck[0], step % 3, reward)
        twin.stir(step % 3, reward)
        draws.append(uniform(luck[0]))
        assert draws[-1] == twin.uniform()
    centred = np.array(draws) - 0.5
    error = math.sqrt(1 / 12 / len(draws))
    assert abs(centred.mean()) < 5 * error
    assert abs((centred * (rewards - 0.5)).mean()) < 5 * error / 2
    assert abs((centred[1:] * centred[:-1]).mean()) < 5 * error * math.sqrt(1 / 12)


# Known behaviour.


@pytest.mark.parametrize("test", ["bernoulli", "gaussian"])
def test_glr_false_alarms_stay_below_their_level(test: str) -> None:
    """On arms that never change, a run raises an alarm about an arm with probability at most risk.

    2,000 runs at a risk of 0.1: a rate within it exceeds 270 alarms with probability under 1e-6. (The rates are 6 % for
    Bernoulli rewards and 9 % for Gaussian ones, so fewer than 60 alarms are as unlikely: the test does look.)
    """
    policy = db.GLRUCB(exploration=1.0, risk=0.1, test=test)
    noise = db.Bernoulli() if test == "bernoulli" else db.Gaussian(0.5)
    result = db.simulate({"it": policy}, db.instances.stationary(2_000, (0.5, 0.5)), noise, runs=2_000, events=True)
    assert result.pulls["it"][:, 0].min() >= 1_000
    assert 60 <= result.events["it"].filter(arm=0)["run"].n_unique() <= 270


def jump(horizon: int, before: tuple[float, ...], after: tuple[float, ...]) -> db.Instance:
    return db.Instance(np.repeat([before, after], horizon // 2, axis=0), name="jump")


@pytest.mark.parametrize(
    ("policy", "longest"),
    [
        (db.GLRUCB(20_000), 1_000),
        (db.GLRUCB(20_000, test="gaussian", restart="global"), 1_000),
        (db.CUSUMUCB(20_000, changes=1), 1_000),
        (db.MUCB(20_000, changes=1, window=200), 4_000),
        (db.AdSwitch(20_000, c1=1.0), 1_000),
        (db.MASTER(20_000, confidence=0.003), 10_000),
        (db.META(20_000, c0=0.5), 8_000),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, db.Policy) else "",
)
def test_a_clear_jump_is_seen(policy: db.Policy, longest: int) -> None:
    """The arm that was played falls from 0.9 to 0.1: every run sees it, and soon."""
    world = jump(20_000, (0.9, 0.5), (0.1, 0.5))
    result = db.simulate({"it": policy}, world, runs=20, events=True)
    from driftbandits.detections import detection_delays

    delays = detection_delays(result)["delay"]
    assert delays.null_count() == 0
    assert delays.max() <= longest  # type: ignore[operator]


def test_restarts_help_after_a_jump() -> None:
    """Where the best arm falls below another, forgetting pays: less than half the regret of staying."""
    world = jump(20_000, (0.9, 0.5), (0.1, 0.5))
    result = db.simulate({"GLR": db.GLRUCB(20_000), "never": db.GLRUCB(20_000, risk=1e-300)}, world, runs=10)
    assert result.regret["GLR"][:, -1].max() < 0.5 * result.regret["never"][:, -1].min()


def test_masters_theory_constants_are_inert() -> None:
    assert db.MASTER(10**6).parameters(2)["first_test"] > 10**6
    assert db.MASTER(2 * 10**9).parameters(2)["first_test"] < 2 * 10**9
    world = jump(50_000, (1.0, 0.0), (0.0, 0.0))
    result = db.simulate({"it": db.MASTER(50_000)}, world, db.Bernoulli(), runs=3, events=True)
    assert len(result.events["it"]) == 0


def test_published_parameters() -> None:
    T = 162_755
    glr = db.GLRUCB(T).parameters(2)
    assert glr["exploration"] == pytest.approx(math.sqrt(2 * 12 / T), rel=1e-5)
    assert glr["risk"] == pytest.approx(1 / math.sqrt(T))
    cusum = db.CUSUMUCB(T, changes=4).parameters(2)
    assert cusum["threshold"] == pytest.approx(math.log(T / 4))
    assert cusum["exploration"] == pytest.approx(math.sqrt(4 / T * math.log(T / 4)))
    b = math.sqrt(100 * math.log(2 * 3 * T**2))
    mucb = db.MUCB(T, changes=4, window=200).parameters(3)
    assert mucb["threshold"] == pytest.approx(b)
    assert mucb["exploration"] == pytest.approx(math.sqrt(4 * 3 * (2 * b + 3 * math.sqrt(200)) / (2 * T)))
    bob = db.BOB(T).parameters(2)
    assert (bob["block"], bob["windows"]) == (570, 8)
    assert bob["gamma"] == pytest.approx(math.sqrt(8 * math.log(8) / ((math.e - 1) * 286)))
    adswitch = db.AdSwitch(T).parameters(2)
    assert adswitch["check_rate"] == pytest.approx(1 / math.sqrt(2 * T * math.log(T)))


def test_drift_stands_for_changes() -> None:
    """delta T / epsilon = 10 moves of 0.1, and likewise for M-UCB's smallest visible change 2b/w."""
    assert db.CUSUMUCB(10_000, drift=1e-4).parameters(2) == db.CUSUMUCB(10_000, changes=10).parameters(2)
    assert db.MUCB(10_000, drift=0.002, window=50, threshold=25.0).parameters(2) == pytest.approx(
        db.MUCB(10_000, changes=20, window=50, threshold=25.0).parameters(2)
    )
    assert db.CUSUMUCB(10_000, drift=0.0).parameters(2) == db.CUSUMUCB(10_000).parameters(2)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("GLRUCB", {}, "needs horizon, or both exploration"),
    ("GLRUCB", {"horizon": 100, "test": "poisson"}, "bernoulli, gaussian"),
    ("GLRUCB", {"horizon": 100, "restart": "never"}, "local, global"),
    ("GLRUCB", {"horizon": 100, "risk": 0.0}, "risk must lie in"),
    ("CUSUMUCB", {}, "needs horizon, or both threshold"),
    ("CUSUMUCB", {"horizon": 100, "changes": 2, "drift": 0.1}, "not both"),
    ("CUSUMUCB", {"horizon": 100, "warmup": 0}, "warmup must be a whole number"),
    ("MUCB", {}, "needs horizon, or both threshold"),
    ("MUCB", {"horizon": 100, "changes": 2, "drift": 0.1}, "not both"),
    ("MUCB", {"horizon": 100, "window": 5}, "window must be even"),
    ("BOB", {"horizon": 100, "block": 0}, "block must be a whole number"),
    ("AdSwitch", {"horizon": 100, "c1": 0.0}, "c1 must lie in"),
    ("MASTER", {"horizon": 100, "confidence": 0.0}, "confidence must lie in"),
    ("META", {"horizon": 100, "c0": 0.0}, "c0 must lie in"),
]


@pytest.mark.parametrize(("name", "options", "words"), WRONG)
def test_wrong_parameters(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        db.POLICIES[name](**options)


def test_memory_follows_the_hulls() -> None:
    """Online, a GLR-UCB that has played for long keeps a few vertices, not its history."""
    play = db.Online(db.GLRUCB(10**6), 2)
    rewards = np.random.Generator(np.random.SFC64(0)).random(20_000)
    for reward in rewards:
        play.update(play.select(), reward)
    assert play.state.pool[0].fresh < 200
    assert len(play.state.vertices) < 10_000
