"""Rexp3, Exp3.S, SW-UCB#: against plain twins on whole trajectories, and against the published tunings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import driftbandits as db
from many_examples import examples
from naive import NaiveExp3S, NaiveRexp3, NaiveSWUCBSharp
from taking import unlimited


def rewards_of(kind: str, seed: int, steps: int, n_arms: int) -> np.ndarray[Any, Any]:
    rng = np.random.Generator(np.random.SFC64(seed))
    means = 0.5 + 0.4 * np.sin(0.01 * np.arange(steps)[:, None] + np.arange(n_arms))
    if kind == "bernoulli":
        return np.asarray(rng.random((steps, n_arms)) < means, dtype=float)
    return np.asarray(means + 0.5 * rng.standard_normal((steps, n_arms)))


SHARED = {
    "kind": st.sampled_from(["gaussian", "bernoulli"]),
    "seed": st.integers(0, 2**32),
    "steps": st.integers(1, 400),
    "n_arms": st.integers(2, 6),
}
UNITS = st.sampled_from([1.0, 1.0, 100.0])
"""What rewards are multiplied by: with 100, one reward decides everything, and plain weights soon overflow."""


@examples(50)
@given(**SHARED, unit=UNITS, batch=st.integers(1, 700), gamma=st.floats(0.01, 1.0))
@example(kind="gaussian", seed=1, steps=400, n_arms=3, unit=100.0, batch=300, gamma=0.1)
def test_rexp3(kind: str, seed: int, steps: int, n_arms: int, unit: float, batch: int, gamma: float) -> None:
    play, twin = unlimited(db.Rexp3(batch=batch, gamma=gamma), n_arms, seed), NaiveRexp3(n_arms, batch, gamma)
    follow_random(play, twin, unit * rewards_of(kind, seed, steps, n_arms), seed)


@examples(50)
@given(**SHARED, unit=UNITS, alpha=st.floats(1e-6, 1.0), gamma=st.floats(0.01, 1.0))
@example(kind="gaussian", seed=1, steps=400, n_arms=3, unit=100.0, alpha=1e-6, gamma=0.1)
def test_exp3s(kind: str, seed: int, steps: int, n_arms: int, unit: float, alpha: float, gamma: float) -> None:
    play, twin = unlimited(db.Exp3S(alpha=alpha, gamma=gamma), n_arms, seed), NaiveExp3S(n_arms, alpha, gamma)
    follow_random(play, twin, unit * rewards_of(kind, seed, steps, n_arms), seed)


def test_rexp3_where_every_weight_is_far_below_its_start() -> None:
    """Arm 1 loses half as much a pull as arm 0, being the likelier one, so its second loss puts it behind."""
    play = unlimited(db.Rexp3(batch=100, gamma=0.3), 2)
    for arm, likelier in ((0, 1), (1, 1), (1, 0)):
        play.update(arm, -1e4)
        assert play.state.arms.probability[likelier] == pytest.approx(0.7 + 0.3 / 2)


def test_exp3s_comes_back_from_weights_too_small_for_numbers() -> None:
    """A reward of 10^6 leaves the other arms nothing; one more, and the arm that received it has all but everything."""
    play = unlimited(db.Exp3S(alpha=0.1, gamma=0.3), 3)
    for arm in (0, 1, 2, 1):
        play.update(arm, 1e6)
        assert play.state.arms.probability[arm] == pytest.approx(0.7 + 0.3 / 3)


def follow_random(play: db.Online, twin: Any, rewards: np.ndarray[Any, Any], seed: int) -> None:
    rng = np.random.Generator(np.random.SFC64(seed))
    for row in rewards:
        mine = play.state.arms.probability.tolist()
        assert all(abs(p / q - 1) < 1e-9 for p, q in zip(mine, twin.probabilities(), strict=True))
        assert abs(sum(mine) - 1) < 1e-12
        arm = play.select()
        assert arm == twin.select(rng)
        play.update(arm, row[arm])
        twin.update(arm, row[arm])


@examples(50)
@given(**SHARED, alpha=st.sampled_from([0.0, 0.1, 0.53, 0.8, 1.0]), lam=st.sampled_from([0.3, 9 / 14, 1.0, 4.3, 12.3]))
def test_swucbsharp(kind: str, seed: int, steps: int, n_arms: int, alpha: float, lam: float) -> None:
    play, twin = unlimited(db.SWUCBSharp(alpha=alpha, lam=lam), n_arms, seed), NaiveSWUCBSharp(n_arms, alpha, lam)
    for row in rewards_of(kind, seed, steps, n_arms):
        arm = play.select()
        assert arm == twin.select()
        play.update(arm, row[arm])
        twin.update(arm, row[arm])
        assert play.state.run[0].window == twin.tau()


@pytest.mark.parametrize(
    ("alpha", "lam"), [(0.0, 63.0), (0.0, 64.0), (0.0, 65.0), (0.9, 0.5), (1e-300, 3.5), (1.0, 9 / 14), (1.0, 3 / 17)]
)
def test_swucbsharp_where_the_ring_is_just_full(alpha: float, lam: float) -> None:
    """The ring's length is a power of two: a window as long as the ring must still find the pull that leaves it.

    With 9/14 and 3/17 rounding makes the window grow one step earlier than a tangent without its margin would say.
    """
    test_swucbsharp.hypothesis.inner_test("gaussian", 1, 400, 3, alpha, lam)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("n_arms", "drift", "batch", "rexp3_gamma", "exp3s_gamma"),
    [
        (2, 1 / 4_800, 318, 0.05037, 0.1928),
        (2, 1 / 48_000, 1_473, 0.0234, 0.0895),
        (5, 1 / 4_800, 571, 0.09056, 0.2678),
        (5, 1.0, 3, 1.0, 1.0),  # by the formulas alone 1.25 and 4.5
    ],
)
def test_published_tunings(n_arms: int, drift: float, batch: int, rexp3_gamma: float, exp3s_gamma: float) -> None:
    rexp3 = db.Rexp3(162_755, drift).parameters(n_arms)
    assert rexp3["batch"] == batch
    assert rexp3["gamma"] == pytest.approx(rexp3_gamma, abs=5e-5)
    exp3s = db.Exp3S(162_755, drift).parameters(n_arms)
    assert exp3s["gamma"] == pytest.approx(exp3s_gamma, abs=5e-5)
    assert exp3s["alpha"] == 1 / 162_755


def test_published_window() -> None:
    chosen = db.SWUCBSharp(162_755, 1 / 4_800).parameters(2)
    assert chosen["alpha"] == pytest.approx(0.52977, abs=5e-6)
    assert chosen["lam"] == 4.3
    assert chosen["window_at_end"] == 2_480
    abrupt = db.SWUCBSharp(162_755, nu=0.2).parameters(2)
    assert (abrupt["alpha"], abrupt["lam"]) == (0.4, 12.3)
    assert db.SWUCBSharp(10, 1e-9, lam=1.0).parameters(2) == {"alpha": 1.0, "lam": 1.0, "window_at_end": 10}


def test_what_is_given_by_hand_is_used() -> None:
    assert db.Rexp3(1_000, 0.01, batch=7, gamma=0.3).parameters(2) == {"batch": 7, "gamma": 0.3}
    assert isinstance(db.Rexp3(batch=7.0).parameters(2)["batch"], int)  # type: ignore[arg-type]
    assert db.Exp3S(1_000, 0.01, alpha=0.2, gamma=0.3).parameters(2) == {"alpha": 0.2, "gamma": 0.3}
    assert db.SWUCBSharp(alpha=0.5, lam=2.0).parameters(2) == {"alpha": 0.5, "lam": 2.0}


@pytest.mark.parametrize(("n_arms", "horizon"), [(2, 10**7), (5, 10**6)])
def test_ten_million_steps_at_the_extremes(n_arms: int, horizon: int) -> None:
    """Rewards of exactly 0 and 1 for 10^7 steps: the State stays finite and probabilities still sum to one."""
    from driftbandits.simulation.engine import Job

    means = np.zeros((horizon, n_arms))
    means[:, -1] = 1.0
    instance = db.Instance(means)  # takes longer than to play on it
    told: list[Any] = [db.Rexp3, db.Exp3S, db.SWUCBSharp, *([db.SnoozeIt] if n_arms == 2 else [])]
    for policy in [*(kind(horizon, 1e-6) for kind in told), db.RoundRobin(), db.Uniform()]:
        job = Job(policy, instance, db.Bernoulli(), np.array([horizon]), seed=0)
        assert job.play(0, lambda steps: True) is not None
        state = job._model[0].state
        for array in state:
            for field in array.dtype.names or ():
                if field not in ("level", "wake"):
                    assert np.isfinite(array[field]).all(), (policy, field)
        if isinstance(policy, db.Rexp3 | db.Exp3S):
            assert abs(state.arms.probability.sum() - 1) < 1e-12
            assert state.arms.probability.min() > 0


def test_an_outlier_leaves_the_window_with_its_rounding() -> None:
    """1e15 once would spoil running sums for ever; the window's sums are added up afresh."""
    play = unlimited(db.SWUCBSharp(alpha=0.0, lam=100.0), 2)
    for step in range(1_000):
        play.update(play.select(), 1e15 if step == 50 else 0.1)
    arms = play.state.arms
    np.testing.assert_allclose(arms.total / arms["count"], 0.1, rtol=1e-12)
