"""Policies that detect changes or restart, against what is known of them: false alarms, delays, published tunings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits.simulation.detections import detection_delays


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
        (db.MASTER(20_000, confidence=5e-4), 4_000),
        (db.META(20_000, c0=0.5), 8_000),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, db.Policy) else "",
)
def test_a_clear_jump_is_seen(policy: db.Policy, longest: int) -> None:
    """The arm that was played falls from 0.9 to 0.1: every run sees it, and soon."""
    instance = jump(20_000, (0.9, 0.5), (0.1, 0.5))
    noise = db.Bernoulli() if policy.rewards is db.Rewards.UNIT else db.Gaussian(0.5)
    result = db.simulate({"it": policy}, instance, noise, runs=20, events=True)
    delays = detection_delays(result)["delay"]
    assert delays.null_count() == 0
    assert delays.max() <= longest  # type: ignore[operator]


def test_restarts_help_after_a_jump() -> None:
    """Where the best arm falls below another, forgetting pays: less than half the regret of staying."""
    instance = jump(20_000, (0.9, 0.5), (0.1, 0.5))
    risks = {"GLR": None, "never": 1e-300}
    policies = {name: db.GLRUCB(20_000, test="gaussian", risk=risk) for name, risk in risks.items()}
    result = db.simulate(policies, instance, runs=10)
    assert result.regret["GLR"][:, -1].max() < 0.5 * result.regret["never"][:, -1].min()


def test_masters_theory_constants_are_inert() -> None:
    """The figures of its docstring: when 3 rhohat(t) <= 1, and when a block is so long."""
    horizon, first = 162_755, db.MASTER(162_755).parameters(2)["first_test"]
    assert first == pytest.approx(3.0e9, rel=0.01)
    spread, scale = 2 * math.log(horizon**2), 6 * (math.log2(horizon) + 1) * math.log(horizon**2)
    rho = [math.sqrt(spread / t) + spread / t for t in (first - 1, first)]
    assert 3 * scale * rho[1] <= 1 < 3 * scale * rho[0]
    begun = 2**38 - 1  # the steps before the block of 2^38, which is the first of which more than 2^37 are played
    assert 2**37 < 430 * 10**9 - begun < db.MASTER(430 * 10**9).parameters(2)["first_test"]
    assert db.MASTER(432 * 10**9).parameters(2)["first_test"] < 432 * 10**9 - begun
    begun = 2**16 - 1
    assert db.MASTER(10**5, 0.0037).parameters(2)["first_test"] > 10**5 - begun
    assert db.MASTER(10**5, 0.0034).parameters(2)["first_test"] < 10**5 - begun
    instance = jump(50_000, (1.0, 0.0), (0.0, 0.0))
    result = db.simulate({"it": db.MASTER(50_000)}, instance, db.Bernoulli(), runs=3, events=True)
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
    assert db.AdSwitch(1).parameters(2) == {"radius": 0.0, "lead": 0.0, "check_rate": 1.0}


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
