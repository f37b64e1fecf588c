"""Policies that detect changes or restart, against plain twins on whole trajectories."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import driftbandits as db
from driftbandits.policies import adswitch
from driftbandits.policies._parts.divergence import bernoulli_upper
from driftbandits.policies._parts.hulls import NONE, new_pool, new_vertices, push_vertex
from many_examples import examples
from naive_detectors import NaiveCUSUMUCB, NaiveGLRUCB, NaiveMUCB, kl_upper
from naive_restarts import NaiveAdSwitch, NaiveBOB, NaiveMASTER, NaiveMETA
from taking import cut, unlimited

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
    play, rng = unlimited(policy, rewards.shape[1], seed), np.random.Generator(np.random.SFC64(seed))
    if hasattr(twin, "generator"):
        twin.generator.seed(rng)
    events: list[tuple[int, int]] = []
    for step, row in enumerate(cut(policy, rewards)):
        arm = play.select()
        assert arm == twin.select(rng), f"another arm at step {step + 1}"
        play.update(arm, row[arm])
        twin.update(arm, row[arm])
        event = play.state.event[0]
        if event["count"] > len(events):
            events.append((int(event.step), int(event.arm)))
            if hasattr(twin, "statistic"):
                assert event.statistic == pytest.approx(twin.statistic, rel=1e-9, abs=1e-9)
            if "changed" in event.dtype.names:
                assert event.changed == arm
    assert events == twin.events
    return len(events)


SHARED = {
    "kind": st.sampled_from(["gaussian", "bernoulli", "quiet"]),
    "seed": st.integers(0, 2**32),
    "steps": st.integers(1, 350),
    "n_arms": st.integers(2, 5),
    "jumps": st.integers(0, 4),
}
twins = examples(30)


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
    threshold=st.sampled_from([0.5037, 2.0037, 5.0037]),  # no sum of coins is equal to these but for rounding
    exploration=st.sampled_from([0.0, 0.1, 1.0]),
    epsilon=st.sampled_from([0.01, 0.1, 0.3]),
    warmup=st.sampled_from([1, 5, 30]),
)
def test_cusumucb(kind: str, seed: int, steps: int, n_arms: int, jumps: int, **options: Any) -> None:
    follow(db.CUSUMUCB(**options), NaiveCUSUMUCB(n_arms, **options), tape(kind, seed, steps, n_arms, jumps), seed)


def test_cusumucb_at_the_threshold_itself() -> None:
    """Sums of 0.75 and 0.25 are exact, and a sum that is equal to the threshold is a change."""
    options: dict[str, Any] = {"threshold": 1.5, "exploration": 0.1, "epsilon": 0.25, "warmup": 1}
    assert follow(db.CUSUMUCB(**options), NaiveCUSUMUCB(2, **options), tape("bernoulli", 3, 100, 2, 2), 3) > 3


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
@given(
    **SHARED,
    unit=st.sampled_from([1.0, 20.0]),
    horizon=st.sampled_from([2, 5, 350]),
    c1=st.sampled_from([0.1, 0.5, 3.0]),
)
@example(kind="gaussian", seed=3, steps=150, n_arms=2, jumps=0, unit=1.0, horizon=350, c1=3.0)  # the sums must grow
def test_adswitch(
    kind: str, seed: int, steps: int, n_arms: int, jumps: int, unit: float, horizon: int, c1: float
) -> None:
    """With a unit of 20 there are leads of more than 8, after which no arm is checked again."""
    rewards = unit * tape(kind, seed, min(steps, 150), n_arms, jumps)
    with patch.object(adswitch, "ROOM", 1):  # so that the sums are full, grow and shrink all the time
        follow(db.AdSwitch(horizon, c1), NaiveAdSwitch(n_arms, horizon, c1), rewards, seed)


@examples(150)
@given(
    share=st.floats(0.0, 1.1),
    gap=st.one_of(st.sampled_from([0.25, 0.5, 1.0, 8.0, 9.0]), st.floats(0.01, 10.0)),
    horizon=st.sampled_from([2, 350]),
    episode=st.integers(1, 5),
    owed=st.integers(0, 100),
)
def test_adswitch_checks_bad_arms(share: float, gap: float, horizon: int, episode: int, owed: int) -> None:
    """What one draw adds to what an arm owes; trajectories meet too few of the long checks."""
    rate = min(1.0, math.sqrt(episode / (2 * horizon * math.log(horizon))))
    drawn = min(share * rate, 1 - 2**-53)
    state, twin = db.AdSwitch(horizon).init(2), NaiveAdSwitch(2, horizon, 16.1)
    state.run.episode = twin.episode = episode
    state.arms[1].bad, state.arms[1].count, state.arms[1].old_gap, state.arms[1].owed_until = 1, 10, gap, 10 + owed
    twin.bad, twin.owed = {1: (0.0, gap)}, [0, owed]
    rng = Mock()
    rng.random.return_value = drawn
    twin.generator.seed(rng)
    adswitch._oblige(state, rng)
    twin.oblige(1)
    assert state.arms.owed_until.tolist() == [0, 10 + twin.owed[1]]


def test_adswitch_gives_back_what_an_ended_episode_left_behind() -> None:
    """Vertices at once, for the next hulls; the sums of a long episode when the next room is made."""
    play, vertices = unlimited(db.AdSwitch(1_000), 2), []
    for step in range(20_000):
        play.update(play.select(), float(step % 4 > 1))
    assert len(play.state.sums) > 10_000
    for step in range(4_000):
        play.update(play.select(), float(step // 100 % 2 * 50))
        vertices.append(play.state.pool[0].fresh)
    assert play.state.event[0]["count"] >= 30
    assert vertices[-1] == vertices[1_000]
    assert len(play.state.sums) < 5_000


@twins
@given(**SHARED, horizon=st.sampled_from([3, 350, 10**6]), confidence=st.sampled_from([1.0, 1e-3, 1e-4, 1e-5]))
def test_master(kind: str, seed: int, steps: int, n_arms: int, jumps: int, horizon: int, confidence: float) -> None:
    policy, twin = db.MASTER(horizon, confidence), NaiveMASTER(n_arms, horizon, confidence)
    follow(policy, twin, tape(kind, seed, min(steps, 2 * horizon), n_arms, jumps), seed)


def test_masters_first_test() -> None:
    """Rewards that leap upwards: instances that end then have seen more than was thought possible."""
    events = []
    for height in np.linspace(2.0, 40.0, 30):
        rewards = np.where(np.arange(500) < 400, 0.0, height)[:, None].repeat(2, axis=1)
        events.append(follow(db.MASTER(350, 1e-3), NaiveMASTER(2, 350, 1e-3), rewards, 0))
    assert events[0] == 0
    assert min(events[15:]) >= 1


@twins
@given(**SHARED, horizon=st.sampled_from([2, 350, 10**6]), c0=st.sampled_from([0.3, 0.03, 0.003, 1e-4]))
def test_meta(kind: str, seed: int, steps: int, n_arms: int, jumps: int, horizon: int, c0: float) -> None:
    follow(db.META(horizon, c0), NaiveMETA(n_arms, horizon, c0), tape(kind, seed, steps, n_arms, jumps), seed)


def test_the_comparisons_meet_events() -> None:
    """The properties above are only worth as much as the trajectories they see: ten runs of each, many events."""
    cusum: dict[str, Any] = {"threshold": 2.0, "exploration": 0.1, "epsilon": 0.1, "warmup": 5}
    mucb: dict[str, Any] = {"window": 20, "threshold": 4.1, "exploration": 0.3}
    pairs: list[Callable[[], tuple[db.Policy, Any]]] = [
        lambda: (db.GLRUCB(exploration=0.3, risk=0.3), NaiveGLRUCB(3, 0.3, 0.3, "bernoulli", "local")),
        lambda: (db.CUSUMUCB(**cusum), NaiveCUSUMUCB(3, **cusum)),
        lambda: (db.MUCB(**mucb), NaiveMUCB(3, **mucb)),
        lambda: (db.AdSwitch(2, 0.1), NaiveAdSwitch(3, 2, 0.1)),
        lambda: (db.MASTER(200, 1e-4), NaiveMASTER(3, 200, 1e-4)),
        lambda: (db.META(200, 1e-2), NaiveMETA(3, 200, 1e-2)),
    ]
    for pair in pairs:
        assert sum(follow(*pair(), tape("bernoulli", seed, 200, 3, 2), seed) for seed in range(10)) >= 5


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_hulls_keep_every_vertex_and_no_other_point(sign: float) -> None:
    """Against the definition: a vertex lies below every chord of points on either side of it."""
    for seed in range(20):
        y = np.cumsum(np.random.Generator(np.random.SFC64(seed)).standard_normal(25))
        pool, vertices, top = new_pool(), new_vertices(100), NONE
        for x in range(25):
            top = push_vertex(pool[0], vertices, top, sign, x, y[x])
        found = []
        while top >= 0:
            found.append(int(vertices[top]["count"]))
            top = int(vertices[top].below)
        chords = {
            x: [y[a] + (y[b] - y[a]) * (x - a) / (b - a) for a in range(x) for b in range(x + 1, 25)] for x in range(25)
        }
        assert found[::-1] == [x for x in range(25) if all(sign * y[x] < sign * chord for chord in chords[x])]
        assert pool[0].fresh <= 25


@examples(150)
@given(p=st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0.0, 1.0)), level=st.floats(1e-6, 30.0))
def test_kl_upper_bound(p: float, level: float) -> None:
    assert bernoulli_upper(p, level) == pytest.approx(kl_upper(p, level) if p < 1 else 1.0, abs=1e-9)
    assert p <= bernoulli_upper(p, level) <= 1.0
    assert bernoulli_upper(p, 0.0) == p
